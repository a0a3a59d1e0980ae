"""Bootstrap intervals over cases."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

RESAMPLES = 1000
COVERED = 95  # per cent


@dataclass(frozen=True, slots=True)
class Estimate:
    """A share with its 95 % bootstrap interval.

    Args:
        value, low, high: Of the same unit; NaN if there is nothing to count.
        n: How many things were counted; all of them belong to `n_cases` cases, which are what is resampled.
    """

    value: float
    low: float
    high: float
    n: int
    n_cases: int

    def to_dict(self) -> dict[str, Any]:
        """Plain values; NaN becomes None, because JSON has no word for it."""
        numbers = {"value": self.value, "low": self.low, "high": self.high}
        return {name: None if np.isnan(number) else round(number, 5) for name, number in numbers.items()} | {
            "n": self.n,
            "n_cases": self.n_cases,
        }


@dataclass(frozen=True, slots=True)
class Bootstrap:
    """Draws the same resamples for every figure over the same number of cases, so that two figures can be paired."""

    seed: int = 0
    resamples: int = RESAMPLES

    def share(self, hits: ArrayLike, totals: ArrayLike) -> Estimate:
        """Hits ÷ totals, both summed over cases; cases without totals take no part.

        Args:
            hits: Of each case. Shape: (n_cases,).
            totals: Of each case, 0 or more. Shape: (n_cases,).
        """
        hit, total = _counted(hits, totals)
        return self._estimate(hit, total, _ratio(hit, total, self._draws(len(hit))))

    def mean(self, values: Sequence[float] | Floats) -> Estimate:
        """The mean over cases."""
        return self.share(values, np.ones(len(values)))

    def difference(self, hits: ArrayLike, others: ArrayLike, totals: ArrayLike) -> Estimate:
        """(hits - others) ÷ totals: how far one system is above another on the same cases."""
        return self.share(np.asarray(hits, np.float64) - np.asarray(others, np.float64), totals)

    def _draws(self, n_cases: int) -> NDArray[np.int64]:
        return _draws(n_cases, self.seed, self.resamples)

    def _estimate(self, hits: Floats, totals: Floats, drawn: Floats) -> Estimate:
        n = round(float(totals.sum()))
        if not n:
            return Estimate(float("nan"), float("nan"), float("nan"), 0, 0)
        tail = (100 - COVERED) / 2
        low, high = np.nanpercentile(drawn, [tail, 100 - tail])
        return Estimate(float(hits.sum() / totals.sum()), float(low), float(high), n, len(hits))


def _counted(hits: ArrayLike, totals: ArrayLike) -> tuple[Floats, Floats]:
    hit, total = np.asarray(hits, np.float64), np.asarray(totals, np.float64)
    used = total > 0
    return hit[used], total[used]


def _ratio(hits: Floats, totals: Floats, draws: NDArray[np.int64]) -> Floats:
    if not len(hits):
        return np.full(len(draws), np.nan)
    ratios: Floats = hits[draws].sum(axis=1) / totals[draws].sum(axis=1)
    return ratios


@lru_cache(maxsize=64)
def _draws(n_cases: int, seed: int, resamples: int) -> NDArray[np.int64]:
    """Which cases each resample holds. Shape: (resamples, n_cases)."""
    return np.random.default_rng(seed).integers(0, max(n_cases, 1), (resamples, n_cases))
