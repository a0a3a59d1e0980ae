"""Deletion quality: the words that were kept, and their scores, against those that annotators kept."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from compressor.evaluation.bootstrap import COVERED, Bootstrap, Estimate
from compressor.evaluation.cases import Dialogue
from compressor.evaluation.outputs import Output
from compressor.selection import Mask
from compressor.words import by_turn, has_unspaced, segment, segment_text

HEADS = ("light", "tight")
_REDRAWS = 200  # resamples of figures that rank all words, each of which sorts them again
_FAR = 2**14


@dataclass(frozen=True, slots=True)
class Labels:
    """Which words of a dialogue each edit keeps, and which words have a usable label. Each of shape (n_words,)."""

    light: Mask
    tight: Mask
    known: Mask


def labels_of(dialogue: Dialogue) -> Labels:
    """Place the annotators' texts in the source; a turn whose edit is no subsequence of it has no label."""
    columns: list[list[NDArray[np.bool_]]] = [[], [], []]
    for turn, own, edits in zip(
        dialogue.transcript, by_turn(dialogue.transcript, segment(dialogue.transcript)), dialogue.labels, strict=True
    ):
        spans = [(word.start, word.end) for word in own]
        light, tight = (kept_words(turn.text, edit, spans) for edit in edits)
        known = light is not None and tight is not None
        nothing = np.zeros(len(own), np.bool_)
        for column, value in zip(columns, (light, tight, nothing | known), strict=True):
            column.append(value if known and value is not None else nothing)
    return Labels(*(np.concatenate(column) for column in columns))


def kept_words(text: str, edit: str, words: Sequence[tuple[int, int]]) -> Mask | None:
    """Which words of a text an edit keeps, or None if it is no subsequence.

    Words are aligned; characters where words have no spaces between them or were cut, and a word stays with most of
    its characters.
    """
    if not has_unspaced(text):
        places = align([text[a:b] for a, b in words], [edit[a:b] for a, b in segment_text(edit)])
        if places is not None:
            mask = np.zeros(len(words), np.bool_)
            mask[places] = True
            return mask
    solid = [place for place, char in enumerate(text) if not char.isspace()]
    places = align([text[place] for place in solid], [char for char in edit if not char.isspace()])
    if places is None:
        return None
    chars = np.zeros(len(text), np.bool_)
    chars[[solid[place] for place in places]] = True
    return np.array([chars[a:b].mean() > 0.5 for a, b in words], np.bool_)


def align(source: Sequence[str], kept: Sequence[str]) -> list[int] | None:
    """Where a subsequence stands in its source: in the fewest stretches, the earliest of these; None if it is none.

    Editors cut stretches rather than every other word, so of all places for an equal word this is the likeliest.
    """
    if not kept:
        return []
    items = np.array(source, dtype=object)
    size = len(source)
    runs = np.full((len(kept), size), _FAR, np.int32)  # fewest stretches of kept[j:] with kept[j] at source[i]
    for j in range(len(kept) - 1, -1, -1):
        match = items == kept[j]
        if j == len(kept) - 1:
            runs[j, match] = 1
            continue
        joined = np.append(runs[j + 1, 1:], _FAR)
        best_behind = np.minimum.accumulate(runs[j + 1, ::-1])[::-1]
        apart = np.concatenate((best_behind[2:] + 1, (_FAR, _FAR)))[:size]
        runs[j, match] = np.minimum(joined, apart)[match]
    at = int(np.argmin(runs[0]))
    if runs[0, at] >= _FAR:
        return None
    places = [at]
    for j in range(1, len(kept)):
        if at + 1 < size and runs[j, at + 1] == runs[j - 1, at]:
            at += 1
        else:
            at += 2 + int(np.argmax(runs[j, at + 2 :] == runs[j - 1, at] - 1))
        places.append(at)
    return places


def deletion_scores(
    dialogues: Sequence[Dialogue], labels: Sequence[Labels], outputs: Sequence[Output], bootstrap: Bootstrap
) -> dict[str, Any]:
    """How a system's deletions agree with the annotators'.

    Returns:
        For `light` and `tight`: F1 of the kept words and the annotators' kept share; with scores also AUC, average
        precision and calibration error. Empty if any output is rewritten.
    """
    masks = [
        output.keep if output.keep is not None else _mask_of(dialogue, output)
        for dialogue, output in zip(dialogues, outputs, strict=True)
    ]
    if any(mask is None for mask in masks):
        return {}
    figures: dict[str, Any] = {}
    for head in HEADS:
        gold = [getattr(label, head)[label.known] for label in labels]
        kept = [mask[label.known] for mask, label in zip(masks, labels, strict=True) if mask is not None]
        both = [2 * int(np.sum(a & b)) for a, b in zip(gold, kept, strict=True)]
        either = [int(a.sum() + b.sum()) for a, b in zip(gold, kept, strict=True)]
        figures[head] = {
            "f1": bootstrap.share(both, either).to_dict(),
            "kept_by_annotators": bootstrap.share([a.sum() for a in gold], [len(a) for a in gold]).to_dict(),
        }
        scores = [
            getattr(output.scores, head)[label.known].astype(np.float64)
            for output, label in zip(outputs, labels, strict=True)
            if output.scores is not None
        ]
        if len(scores) == len(gold):
            for name, measure in (("auc", auc), ("average_precision", average_precision), ("ece", calibration_error)):
                figures[head][name] = _redrawn(measure, gold, scores, bootstrap.seed).to_dict()
    return figures


def auc(gold: Mask, scores: NDArray[np.float64]) -> float:
    """Chance that a kept word outscores a deleted one, ties counting half; NaN if there are none of one."""
    positives = int(gold.sum())
    negatives = len(gold) - positives
    if not positives or not negatives:
        return float("nan")
    _, group, sizes = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(sizes) - (sizes - 1) / 2)[group]  # mean rank of equal scores, from 1
    return float((ranks[gold].sum() - positives * (positives + 1) / 2) / (positives * negatives))


def average_precision(gold: Mask, scores: NDArray[np.float64]) -> float:
    """Area under precision over recall, in steps, one for equal scores; NaN if no word was kept."""
    if not gold.any():
        return float("nan")
    order = np.argsort(-scores, kind="stable")
    hits = np.cumsum(gold[order])
    ends = np.flatnonzero(np.append(np.diff(scores[order]) != 0, True))
    return float(np.sum(np.diff(hits[ends], prepend=0) / hits[-1] * hits[ends] / (ends + 1)))


def calibration_error(gold: Mask, scores: NDArray[np.float64]) -> float:
    """Expected calibration error over ten equal bins, 0 to 1. Source: Guo et al. (2017)."""
    if not len(gold):
        return float("nan")
    bins = np.minimum((scores * 10).astype(np.int64), 9)
    gaps = np.bincount(bins, scores, 10) - np.bincount(bins, gold.astype(np.float64), 10)
    return float(np.abs(gaps).sum() / len(gold))


def _redrawn(
    measure: Callable[[Mask, NDArray[np.float64]], float],
    gold: Sequence[Mask],
    scores: Sequence[NDArray[np.float64]],
    seed: int,
) -> Estimate:
    """A measure of all words, with an interval over dialogues."""
    rng = np.random.default_rng(seed)
    drawn = []
    for _ in range(_REDRAWS):
        chosen = rng.integers(0, len(gold), len(gold)).tolist()
        drawn.append(measure(np.concatenate([gold[i] for i in chosen]), np.concatenate([scores[i] for i in chosen])))
    tail = (100 - COVERED) / 2
    finite = [value for value in drawn if not np.isnan(value)]
    low, high = np.percentile(finite, [tail, 100 - tail]) if finite else (float("nan"), float("nan"))
    value = measure(np.concatenate(gold), np.concatenate(scores))
    return Estimate(value, float(low), float(high), sum(map(len, gold)), len(gold))


def _mask_of(dialogue: Dialogue, output: Output) -> Mask | None:
    if output.rewrites:
        return None
    own = by_turn(dialogue.transcript, segment(dialogue.transcript))
    masks = [
        kept_words(turn.text, text, [(word.start, word.end) for word in words])
        for turn, text, words in zip(dialogue.transcript, output.turns, own, strict=True)
    ]
    return None if any(mask is None for mask in masks) else np.concatenate([mask for mask in masks if mask is not None])
