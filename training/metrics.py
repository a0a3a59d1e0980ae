"""Measures, as pure functions on arrays; areas and curves are scikit-learn's."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import average_precision_score, precision_recall_curve, roc_auc_score

Bools = NDArray[np.bool_]
Floats = NDArray[np.floating]


def precision_recall(target: Bools, found: Bools) -> tuple[float, float]:
    """Share of what was found that is right, and share of what is right that was found. 1 where there is nothing."""
    hits = int(np.sum(target & found))
    n_found, n_target = int(np.sum(found)), int(np.sum(target))
    return (hits / n_found if n_found else 1.0), (hits / n_target if n_target else 1.0)


def f1(target: Bools, found: Bools) -> float:
    """Harmonic mean of precision and recall. 0 if both are."""
    precision, recall = precision_recall(target, found)
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def false_positives(target: Bools, found: Bools) -> float:
    """Share of what is not right that was found all the same."""
    negatives = int(np.sum(~target))
    return int(np.sum(found & ~target)) / negatives if negatives else 0.0


def auc(target: Bools, scores: Floats) -> float:
    """Chance that a random positive outranks a random negative, ties counting half. NaN if one kind is missing."""
    if np.all(target) or not np.any(target):
        return float("nan")
    return float(roc_auc_score(target, scores))


def average_precision(target: Bools, scores: Floats) -> float:
    """Area under precision over recall, as steps; equal scores are one step. NaN without a positive."""
    return float(average_precision_score(target, scores)) if np.any(target) else float("nan")


def calibration_error(target: Bools, scores: Floats, bins: int = 10) -> float:
    """Mean gap between promised and observed share over equal bins of probability, weighted by their sizes.

    Source: Guo et al. (2017), On Calibration of Modern Neural Networks (expected calibration error).
    """
    if not len(scores):
        return float("nan")
    place = np.minimum((scores * bins).astype(int), bins - 1)
    sizes = np.bincount(place, minlength=bins)
    gaps = np.abs(np.bincount(place, scores, bins) - np.bincount(place, target.astype(float), bins))
    return float(np.sum(gaps[sizes > 0]) / len(scores))


def threshold_for_recall(target: Bools, scores: Floats, recall: float) -> float:
    """The highest threshold (score >= threshold) that finds at least this share of the positives; 0.5 without any."""
    if not np.any(target):
        return 0.5
    _, found, thresholds = precision_recall_curve(target, scores)
    return float(thresholds[found[:-1] >= recall - 1e-9][-1])


def threshold_for_f1(target: Bools, scores: Floats, low: float = 0.2, high: float = 0.8) -> float:
    """The threshold between `low` and `high`, in steps of 0.01, with the best F1 to three digits; of those the one nearest 0.5."""
    steps = np.round(np.arange(low, high + 0.005, 0.01), 2)
    best = max(steps, key=lambda step: (round(f1(target, scores >= step), 3), -abs(step - 0.5)))
    return float(best)


def mean_of_spans(values: Floats, spans: Sequence[tuple[int, int]]) -> NDArray[np.float64]:
    """The mean of the values from start to end (excluded) of each span; 0 for an empty one. Shape: (n_spans,)."""
    return np.array([values[a:b].mean() if b > a else 0.0 for a, b in spans], dtype=np.float64)
