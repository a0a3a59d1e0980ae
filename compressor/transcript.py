"""What was read: turns of a conversation, frozen."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, NamedTuple

from compressor.errors import InputError

ROLES = ("user", "assistant", "system", "tool", "speaker", "none")
"""Roles that the scorer tells apart, in the order of their ids; any other role is scored as `none`."""

VERBATIM_ROLES = frozenset({"system", "developer", "tool", "function"})
"""Turns of these roles are never altered."""


class Span(NamedTuple):
    """A stretch of one turn: characters `start` to `end` (excluded) of the text of turn number `turn`."""

    turn: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Turn:
    """One speaker's message.

    Args:
        role: Who speaks in a chat (`user`, `assistant`, `system`, `tool`), `speaker` in meetings and calls, `none` for a
            plain document. Other names are kept as they are.
        speaker: The label of the speaker, if there is one.
        text: What was said. May be empty.
        extra: What the format carries through untouched. Never read by the compressor.
        blocks: Where the text comes from several text blocks of one message: the characters (start, end) of each
            block in `text`, in order. What lies between two blocks is no part of the message. Empty: one block.
    Raises:
        InputError: A field has the wrong type, or the blocks overlap, are out of order or reach beyond the text.
    """

    role: str = "none"
    speaker: str | None = None
    text: str = ""
    extra: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}), compare=False, repr=False)
    blocks: tuple[tuple[int, int], ...] = ()

    def __post_init__(self) -> None:
        for name, value, kinds in (
            ("role", self.role, str),
            ("speaker", self.speaker, (str, type(None))),
            ("text", self.text, str),
            ("extra", self.extra, Mapping),
        ):
            if not isinstance(value, kinds):
                raise InputError(f"Turn.{name} is {type(value).__name__}; allowed: {_names(kinds)}.")
        object.__setattr__(self, "blocks", _checked_blocks(self.blocks, len(self.text)))

    def with_text(self, text: str, blocks: tuple[tuple[int, int], ...] = ()) -> "Turn":
        """The same turn with another text."""
        return replace(self, text=text, blocks=blocks)


@dataclass(frozen=True, slots=True)
class Transcript:
    """Turns in the order in which they were said.

    Args:
        turns: The turns; a list is made a tuple.
        format: The name of the format that it was read from, and is written to.
        extra: What the format needs to write itself again.
    """

    turns: tuple[Turn, ...] = ()
    format: str = "turns"
    extra: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}), compare=False, repr=False)

    def __post_init__(self) -> None:
        if isinstance(self.turns, str) or not isinstance(self.turns, Iterable):
            raise InputError(f"Transcript.turns is {type(self.turns).__name__}; allowed: a sequence of Turn.")
        turns = tuple(self.turns)
        for index, turn in enumerate(turns):
            if not isinstance(turn, Turn):
                raise InputError(f"turn {index} is {type(turn).__name__}; allowed: Turn.")
        object.__setattr__(self, "turns", turns)

    def __len__(self) -> int:
        return len(self.turns)

    def __iter__(self) -> Iterator[Turn]:
        return iter(self.turns)

    def with_turns(self, turns: Iterable[Turn]) -> "Transcript":
        """The same transcript with other turns."""
        return replace(self, turns=tuple(turns))

    @property
    def is_chat(self) -> bool:
        """Whether a user and an assistant take part."""
        roles = {turn.role for turn in self.turns}
        return "user" in roles and "assistant" in roles


def _checked_blocks(blocks: Any, length: int) -> tuple[tuple[int, int], ...]:
    allowed = f"allowed: pairs (start, end) in order that do not overlap, from 0 to {length}, the length of the text"
    if not isinstance(blocks, (tuple, list)):
        raise InputError(f"Turn.blocks is {type(blocks).__name__}; {allowed}.")
    at = 0
    for number, block in enumerate(blocks):
        if not isinstance(block, (tuple, list)) or len(block) != 2 or not all(type(edge) is int for edge in block):
            raise InputError(f"Turn.blocks, block {number} is {block!r}; {allowed}.")
        if not at <= block[0] <= block[1] <= length:
            raise InputError(f"Turn.blocks, block {number} is {block!r}, and {at} is the end before it; {allowed}.")
        at = block[1]
    return tuple((start, end) for start, end in blocks)


def _names(kinds: Any) -> str:
    kinds = kinds if isinstance(kinds, tuple) else (kinds,)
    return " or ".join("None" if kind is type(None) else kind.__name__ for kind in kinds)
