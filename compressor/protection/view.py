"""One turn as the protection rules see it."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from compressor.scoring import Array, Scores
from compressor.structure import Range, sentences
from compressor.transcript import Transcript, Turn
from compressor.words import Word, by_turn


@dataclass(frozen=True)
class View:
    """One turn as the rules see it.

    Args:
        turn: The turn.
        words: (start, end) characters of its words, in order.
        entity, pin: The scorer's probabilities for its words. Shape: (n_words,).
        thresholds: From which probability a word counts as `entity` or `pin`.
        previous: The turn before, if any.
        verbatim: Why the whole turn is kept (`last 4 turns`, `system turn`, ...), or an empty string.
    """

    turn: Turn
    words: tuple[Range, ...]
    entity: Array
    pin: Array
    thresholds: Mapping[str, float]
    previous: Turn | None = None
    verbatim: str = ""
    _found: dict[Callable[..., object], tuple[Range, ...]] = field(default_factory=dict, repr=False, compare=False)

    def run(self, rule: "Rule") -> tuple[Range, ...]:
        """What a rule protects here; a rule that others build on is run once."""
        if rule not in self._found:
            self._found[rule] = tuple(rule(self))
        return self._found[rule]

    @property
    def text(self) -> str:
        """The text of the turn."""
        return self.turn.text

    @cached_property
    def sentences(self) -> tuple[Range, ...]:
        """Its sentences."""
        return sentences(self.text)

    @cached_property
    def starts(self) -> list[int]:
        """The first character of each word, for searching; a list, in which single places are found faster."""
        return [start for start, _ in self.words]

    def inside(self, start: int, end: int) -> range:
        """The indices of the words that touch the characters `start` to `end` (excluded)."""
        first = bisect_right(self.starts, start) - 1
        if first < 0 or self.words[first][1] <= start:
            first += 1
        return range(first, max(first, bisect_left(self.starts, end)))


def views_of(
    transcript: Transcript,
    words: Sequence[Word],
    scores: Sequence[Scores],
    thresholds: Sequence[Mapping[str, float]],
    verbatim: Sequence[str],
) -> list[View]:
    """A view of each turn; `scores`, `thresholds` and `verbatim` hold one entry a turn."""
    previous = (None, *transcript.turns)
    own = by_turn(transcript, words)
    return [
        View(
            turn,
            tuple((word.start, word.end) for word in own[index]),
            scores[index].entity,
            scores[index].pin,
            thresholds[index],
            previous[index],
            verbatim[index],
        )
        for index, turn in enumerate(transcript.turns)
    ]


def with_slices(views: Sequence[View]) -> Iterator[tuple[View, slice]]:
    """Each turn with the place of its words in the arrays of the transcript."""
    first = 0
    for view in views:
        yield view, slice(first, first + len(view.words))
        first += len(view.words)


Rule = Callable[[View], Iterable[Range]]
"""From a turn to the ranges of characters that must stay; every word that a range touches is protected."""
