"""Measure a model folder on a split, through the same scoring that users get: `python -m training evaluate`.

    python -m training evaluate models/mine --against default
    python -m training evaluate models/default --data training/data/synthetic [--data OWN] [--names CORPORA]

Writes the numbers into the folder's metrics.json: under the name of the split those of one's own transcripts, under
`general` those of the repository's where they were mixed in, under `against` those of another model on the same ones.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import click
import numpy as np
from numpy.typing import NDArray

from compressor.scoring import Scores
from compressor.scoring.classifier import ClassifierScorer
from compressor.scoring.weights import HEADS, LANGUAGES
from compressor.structure import sentences
from compressor.transcript import VERBATIM_ROLES
from compressor.words import Word
from training import metrics
from training.corpora import crossner, ner_collection, wnut17
from training.errors import DataError
from training.examples import Example
from training.options import FOLDER, own_data_option, splits_option
from training.provenance import sources_of
from training.sources import gather

PINNED_ROLES = ("user", "speaker")
"""Roles of whose sentences the pin head is asked; the threshold is that of user turns, meetings need more certainty."""

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Pins:
    """The sentences of all turns of one role.

    Args:
        scores: Mean pin of the words of each sentence. Shape: (n_sentences,).
        labels: Whether an annotated sentence touches it. Shape: (n_sentences,).
        intents: The least score of the sentences that each annotated sentence touches. Shape: (n_intents,).
    """

    scores: Array
    labels: NDArray[np.bool_]
    intents: Array


@dataclass(frozen=True, slots=True)
class Scored:
    """Examples of one language with what a scorer said of them.

    Args:
        labels: Of all words the model ran, in a row. Shape: (n_words, 4).
        scores: Shape: (n_words, 4).
        pins: The sentences of each role of `PINNED_ROLES`.
    """

    labels: Array
    scores: Array
    pins: Mapping[str, Pins]


def score(scorer: ClassifierScorer, examples: Sequence[Example]) -> Scored:
    """Run the scorer over examples."""
    labels: list[Array] = []
    values: list[Array] = []
    pinned: dict[str, list[tuple[float, bool]]] = {role: [] for role in PINNED_ROLES}
    intents: dict[str, list[float]] = {role: [] for role in PINNED_ROLES}
    for example in examples:
        words = [[Word(at, a, b) for a, b in cut] for at, cut in enumerate(example.words)]
        scored = scorer.score(example.transcript.turns, words)
        for at, (turn, label, said) in enumerate(zip(example.transcript, example.labels, scored, strict=True)):
            if turn.role in VERBATIM_ROLES or not len(label):
                continue
            labels.append(label.astype(np.float64))
            values.append(as_array(said))
            if turn.role in PINNED_ROLES:
                wanted = [(a, b) for number, a, b in example.intents if number == at]
                found, least = _sentences(turn.text, example.words[at], said.pin, wanted)
                pinned[turn.role].extend(found)
                intents[turn.role].extend(least)
    return Scored(
        labels=np.concatenate(labels) if labels else np.empty((0, 4)),
        scores=np.concatenate(values) if values else np.empty((0, 4)),
        pins={
            role: Pins(
                scores=np.array([value for value, _ in pinned[role]], dtype=np.float64),
                labels=np.array([wanted for _, wanted in pinned[role]], dtype=np.bool_),
                intents=np.array(intents[role], dtype=np.float64),
            )
            for role in PINNED_ROLES
        },
    )


def measure(scored: Scored, thresholds: dict[str, float]) -> dict[str, Any]:
    """The numbers of one language."""
    found: dict[str, Any] = {"words": len(scored.labels)}
    for column, head in enumerate(HEADS):
        known = ~np.isnan(scored.labels[:, column])
        if known.any():
            target = scored.labels[known, column] >= 0.5
            found[head] = _head(target, scored.scores[known, column], thresholds[head])
    found["pinned_sentences"] = {
        role: _pins(pins, thresholds["pin"]) for role, pins in scored.pins.items() if len(pins.scores)
    }
    return found


def as_array(scores: Scores) -> Array:
    """The heads as columns. Shape: (n_words, 4)."""
    return np.stack([getattr(scores, head) for head in HEADS], axis=1).astype(np.float64)


def evaluate(scorer: ClassifierScorer, examples: Sequence[Example]) -> dict[str, Any]:
    """All numbers of annotated transcripts: by language, and F1 by language and source."""
    result: dict[str, Any] = {"transcripts": len(examples)}
    for lang in LANGUAGES:
        thresholds = {head: scorer.config.thresholds[head][lang] for head in HEADS}
        own = [example for example in examples if example.lang == lang]
        if not own:
            continue
        result[lang] = measure(score(scorer, own), thresholds)
        by_source = {}
        for source in sorted({example.source for example in own}):
            part = measure(score(scorer, [example for example in own if example.source == source]), thresholds)
            by_source[source] = {
                "words": part["words"],
                "light_f1": part["light"]["f1"],
                "tight_f1": part["tight"]["f1"],
                "entity_recall": part["entity"]["recall"],
                "pinned_found": {role: row["found"] for role, row in part["pinned_sentences"].items()},
            }
        result[lang]["by_source"] = by_source
    return result


def evaluate_names(scorer: ClassifierScorer, folder: Path) -> dict[str, Any]:
    """The entity head on the test splits of name corpora (English)."""
    tests = {
        "wnut17": wnut17.read(folder / "wnut17.tar.xz", "test"),
        "crossner": crossner.read(folder / "crossner.tar.xz", "test"),
        "sec": ner_collection.read(folder / "ner_collection.tar.xz", "sec-test"),
    }
    thresholds = {head: scorer.config.thresholds[head]["en"] for head in HEADS}
    return {name: measure(score(scorer, list(test)), thresholds)["entity"] for name, test in tests.items()}


def update(folder: Path, **parts: Any) -> None:
    """Replace parts of metrics.json, leave the others."""
    path = folder / "metrics.json"
    record = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    record.update(parts)
    path.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


def _sentences(
    text: str, words: Sequence[tuple[int, int]], pin: NDArray[np.float32], wanted: Sequence[tuple[int, int]]
) -> tuple[list[tuple[float, bool]], list[float]]:
    """(score, whether wanted) of each sentence, and the least score that covers each wanted range."""
    cut = sentences(text)
    spans = []
    for start, end in cut:
        inside = [number for number, (a, b) in enumerate(words) if a < end and b > start]
        spans.append((inside[0], inside[-1] + 1) if inside else (0, 0))
    scores = metrics.mean_of_spans(pin.astype(np.float64), spans)
    touched = [[a < end and b > start for start, end in cut] for a, b in wanted]
    least = [min((float(s) for s, hit in zip(scores, row, strict=True) if hit), default=0.0) for row in touched]
    marks = [any(row[number] for row in touched) for number in range(len(cut))]
    return list(zip(map(float, scores), marks, strict=True)), least


def _head(target: NDArray[np.bool_], scores: Array, threshold: float) -> dict[str, float]:
    found = scores >= threshold
    precision, recall = metrics.precision_recall(target, found)
    return {
        "threshold": _round(threshold),
        "f1": _round(metrics.f1(target, found)),
        "precision": _round(precision),
        "recall": _round(recall),
        "false_positives": _round(metrics.false_positives(target, found)),
        "auc": _round(metrics.auc(target, scores)),
        "ap": _round(metrics.average_precision(target, scores)),
        "calibration_error": _round(metrics.calibration_error(target, scores)),
        "share": _share(target),
        "found": _share(found),
    }


def _pins(pins: Pins, threshold: float) -> dict[str, float]:
    chosen = pins.scores >= threshold
    precision, recall = metrics.precision_recall(pins.labels, chosen)
    return {
        "annotated": len(pins.intents),
        "found": _share(pins.intents >= threshold),
        "sentences": len(chosen),
        "precision": _round(precision),
        "recall": _round(recall),
        "pinned": _share(chosen),
        "auc": _round(metrics.auc(pins.labels, pins.scores)),
    }


def _share(mask: NDArray[np.bool_]) -> float:
    return _round(float(mask.mean())) if len(mask) else 1.0


def _round(value: float) -> float:
    return round(float(value), 4)


def _table(parts: Mapping[str, Any], against: Mapping[str, Any], groups: Sequence[str]) -> Iterator[str]:
    """What counts of each head, a line each: this model, the other, and the difference."""
    for group in groups:
        for lang in LANGUAGES:
            for head in HEADS if lang in parts[group] else ():
                measure_of = "f1" if head in ("light", "tight") else "recall"
                now = parts[group][lang].get(head, {}).get(measure_of)
                old = against.get(group, {}).get(lang, {}).get(head, {}).get(measure_of)
                if now is not None:
                    than = f"{old:8.3f} {now - old:+8.3f}" if old is not None else ""
                    yield f"{group:8} {lang} {head + ' ' + measure_of:14} {now:8.3f} {than}".rstrip()


@click.command(name="evaluate", help=__doc__)
@click.argument("model", type=FOLDER)
@own_data_option
@splits_option
@click.option("--names", type=FOLDER, help="Folder of the archives of the name corpora, for the entity head.")
@click.option("--split", type=click.Choice(["train", "dev", "test"]), default="test", show_default=True)
@click.option("--against", help="Another model, by name or folder, to measure on the same transcripts.")
@click.option("--backend", type=click.Choice(["onnx", "torch"]), default="onnx", show_default=True)
def command(
    model: Path,
    data: tuple[Path, ...],
    splits: Path | None,
    names: Path | None,
    split: str,
    against: str | None,
    backend: Literal["onnx", "torch"],
) -> None:
    """Read the command line and measure."""
    own, general = gather(sources_of(model, data, splits)).part(split)
    if not own:
        raise DataError(f"no transcript in the {split} split of {', '.join(map(str, data)) or model}.")
    groups = {split: own} | ({"general": general} if general else {})

    def all_parts(scorer: ClassifierScorer) -> dict[str, Any]:
        return {name: evaluate(scorer, examples) for name, examples in groups.items()}

    scorer = ClassifierScorer.from_folder(model.resolve(), backend=backend)
    parts = all_parts(scorer)
    if names:
        parts["names"] = evaluate_names(scorer, names)
    other: dict[str, Any] = {}
    if against is not None:
        rival = ClassifierScorer.from_folder(against, backend=backend)
        other = all_parts(rival)
        parts["against"] = {"version": rival.config.version, **other}
    update(model, **parts)
    click.echo("\n".join(_table(parts, other, list(groups))))
