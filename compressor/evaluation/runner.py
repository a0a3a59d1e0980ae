"""Runs an evaluation: every system on the same cases, beside random deletion at the ratio that it kept."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from compressor.evaluation import drift as drifting
from compressor.evaluation.baselines import run_baseline
from compressor.evaluation.bootstrap import RESAMPLES, Bootstrap
from compressor.evaluation.cases import SHIPPED, Dialogue, fingerprint, read_annotated, read_flips, read_split
from compressor.evaluation.cost import cost, reference_seconds
from compressor.evaluation.coverage import coverage, gold_items, lost_items, reference_items, survival
from compressor.evaluation.deletion import Labels, deletion_scores, labels_of
from compressor.evaluation.endpoint import Endpoint
from compressor.evaluation.outputs import Output, masked
from compressor.evaluation.probes import answerability, flip_scores, read_answers, reader_scores
from compressor.evaluation.reader import Reader
from compressor.evaluation.systems import System, make_system
from compressor.evaluation.versions import versions

FORMAT = 1
"""Version of the result's shape."""

DEFAULT_SYSTEMS = ("none", "light", "tight", "keep_ratio=0.5", "truncation=0.5", "stopwords", "sentences=0.5")

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Settings:
    """What is run; stored in the result, so that a gate can run the same again.

    Args:
        systems: What is graded; see `systems.ALLOWED`.
        model: For ours.
        cases: Files or folders of flip cases; none: those of the package.
        annotated: Files or folders of annotated transcripts; none: the figures that need them are left out.
        split, part: A file that lists ids, and the list in it to take; none: all annotated transcripts.
        drift: Turns of the growing conversations.
        seed, resamples: Of everything that is drawn, and of the bootstrap.
    """

    systems: tuple[str, ...] = DEFAULT_SYSTEMS
    model: str = "default"
    cases: tuple[str, ...] = ()
    annotated: tuple[str, ...] = ()
    split: str | None = None
    part: str = "test"
    drift: tuple[int, ...] = (40, 200)
    seed: int = 0
    resamples: int = RESAMPLES

    def to_dict(self) -> Json:
        """Plain values."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}

    @classmethod
    def from_dict(cls, stored: Json) -> "Settings":
        """The settings of a stored result."""
        values: Json = {name: tuple(value) if isinstance(value, list) else value for name, value in stored.items()}
        return cls(**values)


@dataclass(frozen=True, slots=True)
class Material:
    """The cases that were read, and what is derived from them once."""

    flips: list[Dialogue]
    annotated: list[Dialogue]
    labels: list[Labels]

    @classmethod
    def of(cls, settings: Settings) -> "Material":
        """Read what the settings name."""
        flips = read_flips([Path(path) for path in settings.cases] or [SHIPPED])
        ids = read_split(Path(settings.split), settings.part) if settings.split else None
        annotated = read_annotated([Path(path) for path in settings.annotated], ids) if settings.annotated else []
        return cls(flips, annotated, [labels_of(dialogue) for dialogue in annotated])

    @property
    def all(self) -> list[Dialogue]:
        """Flip cases, then annotated transcripts."""
        return [*self.flips, *self.annotated]

    def conversations(self, settings: Settings) -> Iterator[tuple[str, Dialogue, int]]:
        """Name, conversation and step of each drift run: each length in each language."""
        for n_turns in settings.drift:
            step = drifting.STEPS.get(n_turns, max(1, n_turns // 4))
            for lang in dict.fromkeys(dialogue.lang for dialogue in self.all):
                # Annotated transcripts come first, for their labels; flip cases fill up what they leave.
                own = [[one for one in some if one.lang == lang] for some in (self.annotated, self.flips)]
                parts = [drifting.grow(some, n_turns, settings.seed) for some in own if some]
                yield f"{lang}-{n_turns}", drifting.join(parts, n_turns), step


def evaluate(
    settings: Settings,
    *,
    reader: Reader | None = None,
    summariser: Endpoint | None = None,
    drift_for: Callable[[System], bool] = lambda system: True,
    progress: bool = False,
) -> Json:
    """Grade every system.

    Args:
        settings: What to run.
        reader: Answers the flip cases' questions; without one the figures that need it are left out.
        summariser: Where `summariser=RATIO` asks.
        drift_for: Which systems to follow through growing conversations.
        progress: Whether to show a progress bar on standard error.
    Returns:
        Plain values: `format`, `versions`, `settings`, `cases`, and one entry a system in `systems`.
    Raises:
        EvaluationError: A case, a system, the reader or the summariser cannot be used.
    """
    material = Material.of(settings)
    graded = [make_system(spec, settings.model, summariser, settings.seed) for spec in settings.systems]
    conversations = list(material.conversations(settings))
    checkpoints = sum(-(-len(whole.transcript) // step) for _, whole, step in conversations)
    total = len(graded) * len(material.all) + sum(map(drift_for, graded)) * checkpoints
    if reader is not None:  # it reads the sources once, each system's outputs and those of random deletion
        total += len(material.flips) * (1 + sum(1 if system.name == "none" else 2 for system in graded))
    with _bar(total, progress) as tick:
        originals = _original_answers(material, reader, tick)
        grades = _Grades(settings, material, reader, originals, tick)
        results = {}
        for system in graded:
            outputs = []
            for dialogue in material.all:
                outputs.append(system.run(dialogue.transcript, dialogue.id))
                tick()
            results[system.name] = grades.of(system, outputs)
            followed = conversations if drift_for(system) else []
            results[system.name]["drift"] = {
                name: drifting.drift(system, whole, step, tick) for name, whole, step in followed
            }
    return {
        "format": FORMAT,
        "versions": versions(settings.model) if any(system.family == "ours" for system in graded) else versions(None),
        "settings": settings.to_dict(),
        "reader": reader.name if reader else None,
        "reference_seconds": round(reference_seconds(), 5),
        "cases": {
            "flips": {"n": len(material.flips), "fingerprint": fingerprint(material.flips)},
            "annotated": {"n": len(material.annotated), "fingerprint": fingerprint(material.annotated)},
        },
        "systems": results,
    }


@dataclass(frozen=True, slots=True)
class _Grades:
    """Grades outputs over the same material, with the same resamples for all systems."""

    settings: Settings
    material: Material
    reader: Reader | None
    originals: list[str]
    tick: Callable[[], None]

    def of(self, system: System, outputs: list[Output]) -> Json:
        """All figures of one system but drift."""
        own, marks = self._figures(outputs)
        result = {"family": system.family, "rewrites": sum(output.rewrites for output in outputs)} | own
        if system.name == "none":
            return result
        paired = [
            run_baseline("random", dialogue.transcript, output.tokens, f"{self.settings.seed} {dialogue.id}")
            for dialogue, output in zip(self.material.all, outputs, strict=True)
        ]
        other, other_marks = self._figures(paired, brief=True)
        bootstrap = self._bootstrap
        result["random"] = other
        result["above_random"] = {
            name: bootstrap.difference(marks[name], other_marks[name], totals).to_dict()
            for name, totals in (
                ("intact", np.ones(len(self.material.flips))),
                ("answerability", np.array([len(one.probes) for one in self.material.annotated], np.float64)),
            )
            if name in marks and len(totals)
        }
        return result

    @property
    def _bootstrap(self) -> Bootstrap:
        return Bootstrap(self.settings.seed, self.settings.resamples)

    def _figures(self, outputs: list[Output], brief: bool = False) -> tuple[Json, dict[str, Any]]:
        """Figures, and the marks of single cases to pair with another system; brief leaves out what reads and ranks."""
        flips, annotated = self.material.flips, self.material.annotated
        on_flips, on_annotated = outputs[: len(flips)], outputs[len(flips) :]
        bootstrap = self._bootstrap
        figures: Json = {"cost": cost(self.material.all, outputs, bootstrap)}
        figures["flips"], intact = flip_scores(flips, on_flips, bootstrap)
        figures["flips"]["kept_ratio"] = cost(flips, on_flips, bootstrap)["kept_ratio"]
        marks: dict[str, Any] = {"intact": intact}
        references = reference_items(self.material.all)
        figures["coverage"] = {"reference": self._coverage(references, self.material.all, outputs, brief)}
        masks = [masked(output) for output in outputs]
        if not brief and all(mask is not None for mask in masks):
            promised = [mask for mask in masks if mask is not None]
            figures["coverage"]["protected"] = self._coverage(references, self.material.all, promised, brief)
        if annotated:
            gold = gold_items(annotated)
            figures["coverage"]["gold"] = self._coverage(gold, annotated, on_annotated, brief)
            figures["answerability"], marks["answerability"] = answerability(annotated, on_annotated, bootstrap)
            if not brief:
                figures["deletion"] = deletion_scores(annotated, self.material.labels, on_annotated, bootstrap)
        if self.reader is not None:
            answers = read_answers(flips, on_flips, self.reader, self.tick)
            figures["reader"] = reader_scores(flips, answers, self.originals, bootstrap)
        return figures, marks

    def _coverage(self, items: Any, dialogues: list[Dialogue], outputs: list[Output], brief: bool) -> Json:
        hits = survival(items, outputs)
        table = coverage(items, hits, len(dialogues), self._bootstrap)
        return table if brief else table | {"lost": lost_items(items, hits, dialogues)}


def _original_answers(material: Material, reader: Reader | None, tick: Callable[[], None]) -> list[str]:
    if reader is None:
        return []
    sources = [Output(tuple(turn.text for turn in case.transcript), True, False) for case in material.flips]
    return read_answers(material.flips, sources, reader, tick)


@contextmanager
def _bar(total: int, shown: bool) -> Iterator[Callable[[], None]]:
    """A progress bar where the package tqdm is installed; else nothing."""
    if shown:
        try:
            from tqdm import tqdm
        except ImportError:
            shown = False
    if not shown:
        yield lambda: None
        return
    with tqdm(total=total, unit="run", leave=False) as bar:
        yield lambda: bar.update() and None
