"""From the scores of a transcript to what may go and what must stay, before any budget."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from compressor.floor import floor
from compressor.marks import find_marks
from compressor.places import keep_labels_apart, keep_places
from compressor.policy import Policy
from compressor.protection import Protection, View, protect
from compressor.release import release
from compressor.scoring import Scores, concatenate
from compressor.selection import Choice, Mask
from compressor.tokens import Ledger, TokenCounter
from compressor.transcript import Transcript
from compressor.words import Word


@dataclass(frozen=True, slots=True)
class Weighed:
    """What a choice of words is made from; every array indexes the words of the transcript.

    Args:
        scores: The scores of all turns in a row.
        protection: Which rules asked for which word.
        released: True for protected words that the policy lets go. Shape: (n_words,).
        ledger: What the words cost.
        choice: The words that stay in any case, those that may be chosen, and their marks.
    """

    scores: Scores
    protection: Protection
    released: Mask
    ledger: Ledger
    choice: Choice


def weigh(
    transcript: Transcript,
    words: Sequence[Word],
    views: Sequence[View],
    scores: Sequence[Scores],
    policy: Policy,
    counter: TokenCounter,
) -> Weighed:
    """Protect, release, and find what no budget cuts.

    Args:
        words: All words of the transcript.
        views, scores: One entry a turn.
    """
    merged = concatenate(scores)
    protection = protect(views, policy.rules([view.turn for view in views]))
    released = release(views, scores, protection) if policy.release_filler else np.zeros(len(words), np.bool_)
    must = protection.mask & ~released | keep_labels_apart(transcript, words)
    marks = find_marks(transcript, words, must)
    ledger = Ledger.of(transcript, words, counter)
    choice = Choice(merged.keep, ledger.costs, must, ~marks.follows & ~must, marks.close)
    if policy.level is None and policy.floor == "sure":
        choice = choice.with_base(floor(views, scores, must) & choice.candidates)
    choice = choice.with_base(keep_places(transcript, words, choice, released, policy))
    return Weighed(merged, protection, released, ledger, choice)
