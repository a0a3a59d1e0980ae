"""What no budget cuts by default: the words that even a telegram needs, by the scorer's word.

The masks alone are mostly function words. A text cut down to them keeps "only if … by noon" and loses what may be done
then, so a budget stops at the words that the scorer is sure of. `Policy(floor="masks")` lets it go on.
"""

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

import numpy as np

from compressor.protection import View, with_slices
from compressor.protection.lexicons import lexicon
from compressor.scoring import Scores
from compressor.selection import Mask

SURE = 0.8
"""From this probability on a telegram needs the word. Raised until flip cases broke, lowered by what it costs in tokens:
`benchmarks/floor.py` and `compressor evaluate` measure the two sides."""

GAP = 2
"""So many small words between two that stay come along: `except the first one in the month`."""


def floor(views: Sequence[View], scores: Sequence[Scores], protected: Mask) -> Mask:
    """Find the words below which no budget cuts.

    In user turns what a careful edit keeps, elsewhere the content words that a telegram surely keeps, and the small words
    between words that stay.

    Args:
        views, scores: One entry a turn.
        protected: True for words that stay in any case. Shape: (n_words,).
    Returns:
        True for the further words that stay. Shape: (n_words,).
    """
    found = np.zeros(len(protected), np.bool_)
    for (view, own), scored in zip(with_slices(views), scores, strict=True):
        small = np.array([_is_small(view.text[start:end]) for start, end in view.words], np.bool_)
        if view.turn.role == "user":
            sure = scored.light >= view.thresholds["light"]
        else:
            sure = (scored.tight >= SURE) & ~small
        found[own] = sure | _between(sure | protected[own], small)
    return found


def _between(kept: Mask, small: Mask) -> Mask:
    """The short runs of small words that stand between two kept words. Shape: (n_words,)."""
    filled = np.zeros(len(kept), np.bool_)
    places = np.flatnonzero(kept)
    for left, right in pairwise(places):
        if 1 < right - left <= GAP + 1 and small[left + 1 : right].all():
            filled[left + 1 : right] = True
    return filled


@lru_cache(maxsize=8192)
def _is_small(word: str) -> bool:
    return word.casefold() in _english() or (bool(word) and all(char in _chinese() for char in word))


@lru_cache(maxsize=1)
def _english() -> frozenset[str]:
    return frozenset([*lexicon("en")["scope"]["chain"].split(), "the", "a", "an"])


@lru_cache(maxsize=1)
def _chinese() -> frozenset[str]:
    return frozenset(lexicon("zh")["scope"]["chain_characters"])
