"""Measures on arrays."""

import numpy as np
import pytest

from training import metrics

TARGET = np.array([1, 1, 0, 1, 0, 0], dtype=bool)
SCORES = np.array([0.9, 0.8, 0.7, 0.4, 0.4, 0.1])


def test_f1_of_known_counts() -> None:
    """Two of three found, one of three found wrong."""
    assert metrics.f1(TARGET, SCORES >= 0.5) == pytest.approx(2 / 3)
    assert metrics.false_positives(TARGET, SCORES >= 0.5) == pytest.approx(1 / 3)


def test_nothing_to_find_is_found() -> None:
    """Empty sets give 1, not a division by zero."""
    empty = np.zeros(3, dtype=bool)
    assert metrics.precision_recall(empty, empty) == (1.0, 1.0)


def test_areas_of_known_rankings() -> None:
    """Of nine pairs of a positive and a negative, eight are in order and a tie counts half; one class has no area."""
    assert metrics.auc(TARGET, SCORES) == pytest.approx(7.5 / 9)
    assert metrics.average_precision(TARGET, SCORES) == pytest.approx((1 + 1 + 3 / 5) / 3)
    for one_class in (np.ones(6, dtype=bool), np.zeros(6, dtype=bool)):
        assert np.isnan(metrics.auc(one_class, SCORES))
    assert np.isnan(metrics.average_precision(np.zeros(6, dtype=bool), SCORES))


def test_threshold_for_recall_finds_what_it_promises() -> None:
    """The share of positives at or above it, and no lower threshold is needed."""
    chance = np.random.default_rng(2)
    target = chance.random(1000) < 0.2
    scores = chance.random(1000)
    limit = metrics.threshold_for_recall(target, scores, 0.98)
    assert metrics.precision_recall(target, scores >= limit)[1] >= 0.98
    assert metrics.precision_recall(target, scores > limit)[1] < 0.98 + 1 / target.sum()


def test_calibration_of_a_fair_score_is_small() -> None:
    """Scores that are true probabilities have a small error, opposite ones a large one."""
    chance = np.random.default_rng(3)
    scores = chance.random(20_000)
    target = chance.random(20_000) < scores
    assert metrics.calibration_error(target, scores) < 0.02
    assert metrics.calibration_error(~target, scores) > 0.3
