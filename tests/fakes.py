"""Stand-ins that tests can see through."""

from collections.abc import Mapping, Sequence

import numpy as np

from compressor.scoring import Scores
from compressor.transcript import Turn
from compressor.words import Word, segment_text


class FixedScorer:
    """Scores each word by a function of its text; entity and pin are constant."""

    name = "fixed"

    def __init__(self, value: object = 0.5, entity: float = 0.0, pin: float = 0.0) -> None:
        self.value = value if callable(value) else lambda text: value
        self.entity, self.pin = entity, pin

    def thresholds(self, turn: Turn) -> Mapping[str, float]:
        return {"light": 0.5, "tight": 0.5, "entity": 0.5, "pin": 0.5}

    def score(self, turns: Sequence[Turn], words: Sequence[Sequence[Word]]) -> list[Scores]:
        result = []
        for turn, own in zip(turns, words, strict=True):
            keep = np.array([self.value(turn.text[word.start : word.end]) for word in own], np.float32)
            same = np.ones(len(own), np.float32)
            result.append(Scores(keep, keep, same * np.float32(self.entity), same * np.float32(self.pin)))
        return result


def scattered(text: str) -> float:
    """A score that depends on the text alone and looks random."""
    return (sum(ord(char) * (index + 7) for index, char in enumerate(text)) * 2654435761 % 1000) / 1000


def word_counter(text: str) -> int:
    """Tokens are words."""
    return len(segment_text(text))


def char_counter(text: str) -> int:
    """Tokens are characters, spaces included: a counter that does not add up over words."""
    return len(text)
