"""Scoring: how much a later reader needs each word. The protocol, and the arrays that a scorer returns."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from compressor.errors import ScorerError
from compressor.transcript import Turn
from compressor.words import Word

Array = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Scores:
    """What a scorer says of each word of one transcript. Every array has shape (n_words,) and values 0 to 1.

    Args:
        light: Probability that a careful editor keeps the word.
        tight: Probability that the word survives a telegraphic edit.
        entity: Probability that the word is part of a named entity.
        pin: Probability that the word is part of a question, a request or a constraint.
    """

    light: Array
    tight: Array
    entity: Array
    pin: Array

    @property
    def keep(self) -> Array:
        """How much a later reader needs the word: the mean of light and tight, for ranking under a budget."""
        return (self.light + self.tight) / np.float32(2)


class Scorer(Protocol):
    """Scores words. A turn's scores depend on that turn and its role alone, so that they can be cached."""

    name: str

    def thresholds(self, turn: Turn) -> Mapping[str, float]:
        """From which probability a word of a turn counts as `light`, `tight`, `entity` and `pin`."""
        ...

    def score(self, turns: Sequence[Turn], words: Sequence[Sequence[Word]]) -> list[Scores]:
        """Score the words of each turn.

        Args:
            turns: The turns, of one transcript or of many.
            words: The words of each turn, in order; only `start` and `end` are read.
        Returns:
            One `Scores` a turn, whose arrays have the length of that turn's words.
        """
        ...


def checked(name: str, scores: Sequence[Scores], words: Sequence[Sequence[Word]]) -> Sequence[Scores]:
    """The scores of a scorer, if they keep to the protocol.

    Raises:
        ScorerError: Turns or words are missing, or a value is no probability.
    """
    if len(scores) != len(words):
        raise ScorerError(f"scorer {name} returned scores for {len(scores)} turns; there are {len(words)}.")
    for index, (scored, own) in enumerate(zip(scores, words, strict=True)):
        for field in fields(Scores):
            values = getattr(scored, field.name)
            if np.shape(values) != (len(own),):
                raise ScorerError(
                    f"scorer {name} returned {field.name} of shape {np.shape(values)} for turn {index} of {len(own)} words."
                )
            if not bool(np.all((values >= 0) & (values <= 1))):
                raise ScorerError(f"scorer {name} returned a {field.name} outside 0 to 1 for turn {index}.")
    return scores


def concatenate(scores: Sequence[Scores]) -> Scores:
    """The scores of all turns in a row."""
    nothing = np.zeros(0, np.float32)
    return Scores(
        *(np.concatenate([nothing, *(getattr(scored, field.name) for scored in scores)]) for field in fields(Scores))
    )
