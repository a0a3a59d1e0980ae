"""Which words stay: the protected ones, then the best-scored until the limit."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from compressor.errors import ScorerError
from compressor.scoring import Array
from compressor.tokens import Costs

Mask = NDArray[np.bool_]
Close = Callable[[Mask], Mask]


@dataclass(frozen=True, slots=True)
class Choice:
    """What may be chosen, and by what.

    Args:
        scores: How much a later reader needs each word, 0 to 1. Shape: (n_words,).
        costs: Tokens that each word adds. Shape: (n_words,).
        base: True for words that stay whatever the limit. Shape: (n_words,).
        candidates: True for words that may be chosen by score. Shape: (n_words,).
        close: Adds to a choice what it needs (punctuation, separators); must grow with the choice.
    Raises:
        ScorerError: The arrays differ in length.
    """

    scores: Array
    costs: Costs
    base: Mask
    candidates: Mask
    close: Close

    def __post_init__(self) -> None:
        if not len(self.scores) == len(self.costs) == len(self.base) == len(self.candidates):
            lengths = f"{len(self.scores)}, {len(self.costs)}, {len(self.base)}, {len(self.candidates)}"
            raise ScorerError(f"scores, costs, base and candidates differ in length: {lengths}.")

    def with_base(self, more: Mask) -> "Choice":
        """The same choice with more words that stay in any case."""
        return replace(self, base=self.base | more)

    def where(self, chosen: Mask) -> Mask:
        """The base and the chosen candidates, closed. Shape: (n_words,)."""
        return self.close(self.base | (self.candidates & chosen))

    def within(self, limit: float, fits: Callable[[Mask], bool] = lambda _: True) -> Mask:
        """The base, then the best-scored candidates while everything fits.

        Candidates are taken in the order of their scores, equal ones from the front; the first that no longer fits ends
        it. So a larger limit keeps a superset of what a smaller one keeps.

        Args:
            limit: Most tokens that all kept words may cost together, by `costs`.
            fits: A second test on the choice, for costs that do not add up exactly.
        Returns:
            True where the word stays. Shape: (n_words,). Over the limit only if the closed base alone is.
        """
        free = np.flatnonzero(self.candidates & ~self.base)
        order = free[np.argsort(-self.scores[free], kind="stable")]
        count = self._longest(order, len(order), lambda keep: bool(self.costs[keep].sum() <= limit))
        return self._first(order, self._longest(order, count, fits))

    def _first(self, order: NDArray[np.int64], count: int) -> Mask:
        keep = self.base.copy()
        keep[order[:count]] = True
        return self.close(keep)

    def _longest(self, order: NDArray[np.int64], most: int, fits: Callable[[Mask], bool]) -> int:
        """How many of the first candidates fit, by bisection; 0 where not even the base does."""
        if fits(self._first(order, most)):
            return most
        low, high = 0, most - 1
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if fits(self._first(order, middle)) else (low, middle - 1)
        return max(low, 0)


def best_of_each(groups: NDArray[np.int64], needy: Mask, scores: Array, candidates: Mask) -> Mask:
    """The best-scored candidate of every needy group, the earliest of equals.

    It is the first of its group that `Choice.within` takes, so asking for it breaks no nesting of budgets.

    Args:
        groups: The group of each word, ascending. Shape: (n_words,).
        needy: True for groups that must keep a word. Shape: (n_groups,).
    Returns:
        True for the chosen words. Shape: (n_words,).
    """
    chosen = np.zeros(len(groups), np.bool_)
    free = np.flatnonzero(candidates & needy[groups]) if len(groups) else np.empty(0, np.int64)
    order = free[np.lexsort((free, -scores[free], groups[free]))]
    _, first = np.unique(groups[order], return_index=True)
    chosen[order[first]] = True
    return chosen
