"""The opt-in release: pure pleasantries may go, although they hold a modal or a negation ("could I help you?")."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from compressor.protection import Protection, View, with_slices
from compressor.scoring import Scores

RELEASABLE = frozenset({"modals", "negation", "quantifiers", "conditions", "scope"})
"""Rules whose words a pleasantry may lose; a name, a number, a quote or a pinned sentence is never released."""

FILLER_BELOW = 0.25
"""A sentence of whose words none is kept by a careful editor with this probability is pure filler."""


def release(views: Sequence[View], scores: Sequence[Scores], protection: Protection) -> NDArray[np.bool_]:
    """Find the protected words of pure pleasantries.

    Returns:
        True for protected words that may be deleted. Shape: (n_words,).
    """
    hard = np.array([name not in RELEASABLE for name in protection.names], np.bool_)
    held: NDArray[np.bool_] = np.any(protection.asked[hard], axis=0)
    protected = protection.mask
    released = np.zeros(len(protected), np.bool_)
    for (view, words), scored in zip(with_slices(views), scores, strict=True):
        for start, end in view.sentences:
            found = view.inside(start, end)
            own = slice(words.start + found.start, words.start + found.stop)
            if len(found) and not held[own].any() and scored.light[found.start : found.stop].max() < FILLER_BELOW:
                released[own] = protected[own]
    return released
