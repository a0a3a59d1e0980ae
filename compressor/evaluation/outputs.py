"""What a compressor returned, in one shape, whatever it returned."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from compressor.contract import is_subsequence
from compressor.formats import text as text_format
from compressor.scoring import Scores
from compressor.selection import Mask
from compressor.tokens import EstimatedTokens
from compressor.transcript import Transcript


@dataclass(frozen=True, slots=True)
class Output:
    """A compressed transcript under test.

    Args:
        turns: The text of each turn.
        aligned: Whether turn i is what became of turn i of the source; else strings are sought in the whole output.
        rewrites: Whether the output is no subsequence of the source, turn by turn.
        seconds: How long the compression took.
        cpu_seconds: Processor time that it took, which other work on the machine hardly changes.
        keep: Which words of the source stay, if that is known. Shape: (n_words,).
        scores: What the scorer said of each word, if there was one.
        protected: For each turn the stretches that the library itself promises to keep, if it is ours.
    """

    turns: tuple[str, ...]
    aligned: bool
    rewrites: bool
    seconds: float = 0.0
    keep: Mask | None = None
    scores: Scores | None = None
    protected: tuple[tuple[str, ...], ...] | None = None
    cpu_seconds: float = 0.0

    @property
    def text(self) -> str:
        """All turns, a line each."""
        return "\n".join(self.turns)

    @property
    def tokens(self) -> int:
        """Tokens of all turns, without labels of speakers."""
        return sum(tokens(turn) for turn in self.turns)

    def place_of(self, turn: int) -> str:
        """The text in which strings of a source turn must be found."""
        return self.turns[turn] if self.aligned else self.text

    def as_transcript(self, source: Transcript) -> Transcript:
        """The output as something to compress again; a single turn if it no longer follows the source."""
        if self.aligned:
            return source.with_turns(turn.with_text(text) for turn, text in zip(source.turns, self.turns, strict=True))
        return text_format.read(self.text)


def masked(output: Output) -> Output | None:
    """What would be left if the library kept its promises and nothing else; None if the output is not ours."""
    if output.protected is None:
        return None
    return Output(tuple("\n".join(runs) for runs in output.protected), aligned=True, rewrites=False)


@lru_cache(maxsize=1)
def _counter() -> EstimatedTokens:
    return EstimatedTokens()


def tokens(text: str) -> int:
    """Tokens of a text by the shipped tokenizer, the same for every system."""
    return _counter()(text) if text else 0


def word_tokens(words: Sequence[str]) -> NDArray[np.int64]:
    """Tokens of each word. Shape: (n_words,)."""
    return _counter().of_words(words)


def as_output(source: Transcript, returned: Any, seconds: float = 0.0) -> Output:
    """Grade whatever a compressor returned: text, messages, strings or a Transcript.

    A text is read as `Name: text` lines where that gives as many turns as the source has.

    Raises:
        TypeError: It is none of these.
    """
    turns = _turns(source, returned)
    aligned = len(turns) == len(source)
    follows = aligned and all(is_subsequence(after, turn.text) for turn, after in zip(source, turns, strict=True))
    return Output(turns, aligned, not follows, seconds)


def _turns(source: Transcript, returned: Any) -> tuple[str, ...]:
    if isinstance(returned, Transcript):
        return tuple(turn.text for turn in returned)
    if isinstance(returned, str):
        read = text_format.read(returned)
        return tuple(turn.text for turn in read) if len(read) == len(source) else (returned,)
    if isinstance(returned, Mapping) and isinstance(returned.get("messages"), Sequence):
        returned = returned["messages"]
    if isinstance(returned, Sequence):
        return tuple(_message(item, index) for index, item in enumerate(returned))
    raise TypeError(
        f"returned {type(returned).__name__}; allowed: a string, messages, a list of strings or a Transcript"
    )


def _message(item: Any, index: int) -> str:
    if isinstance(item, str):
        return item
    content = item.get("content") if isinstance(item, Mapping) else getattr(item, "text", item)
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, Sequence):
        return "\n\n".join(str(part.get("text", "")) for part in content if isinstance(part, Mapping))
    raise TypeError(f"returned {type(item).__name__} as item {index}; allowed: a string or a message with content")
