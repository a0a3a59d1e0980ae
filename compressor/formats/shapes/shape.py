"""What a shape of JSON conversations is, and how the texts of a message become a turn and find back to their places."""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, NamedTuple

from compressor.errors import InputError
from compressor.formats.splice import Path
from compressor.transcript import Turn
from compressor.words import UNSPACED, WIDE_MARKS

_SEPARATOR = "\n\n"
# Of a text in which strings meet, and of one beside markup; scripts without spaces would be one run to the end of a line.
_RUN = re.compile(r"\S")
_SPACED_RUN = re.compile(rf"[^\s<>{UNSPACED}{WIDE_MARKS}]")


class Field(NamedTuple):
    """A string of a message, and the blocks of the turn that it became.

    Args:
        path: Where it is in the message.
        first, last: Its blocks, `last` excluded.
        before, after: Characters of the string before its first and behind its last block.
    """

    path: Path
    first: int
    last: int
    before: int = 0
    after: int = 0


class Part(NamedTuple):
    """A stretch of a text that runs on: a string of the message at `path`, or with None what is never altered."""

    path: Path | None
    text: str


def nothing(items: Sequence[Any]) -> frozenset[int]:
    """No item passes unread."""
    return frozenset()


@dataclass(frozen=True, slots=True)
class Shape:
    """One way to lay out a conversation in JSON.

    Args:
        name: Its name in SHAPES and FORMATS.
        doc: One line that says what it is.
        find: Where in a JSON value its messages are: paths to lists of them, or to single ones. None: the value has not
            this shape. Empty: it has, and holds no message. Raises InputError for a value of this shape that is broken.
        owns: Whether a JSON value on its own is one message of this shape.
        read: The turn of one message, from the message, its number (for errors) and its path. None: it holds no turn.
            Raises InputError that names the turn and the field.
        passes: The numbers of those in a list of messages that are carried through unread.
        removable: Whether a message may be taken out of the list.
    """

    name: str
    doc: str
    find: Callable[[Any], tuple[Path, ...] | None]
    owns: Callable[[Any], bool]
    read: Callable[[Any, int, Path], Turn | None]
    passes: Callable[[Sequence[Any]], frozenset[int]] = nothing
    removable: bool = False


def turn_of(
    role: str,
    speaker: Any,
    text: str,
    path: Path,
    message: Any,
    fields: tuple[Field, ...] = (),
    blocks: tuple[tuple[int, int], ...] = (),
    keys: tuple[str, ...] = (),
) -> Turn:
    """A turn that knows where it was read.

    Args:
        role, speaker, text, blocks: As in `Turn`; a speaker that is no string is none.
        path: Where the message is in its document.
        message: The message, or None if it is none of a chat.
        fields: Its strings that may change.
        keys: Of its keys, those that hold role, text and name.
    """
    extra = {"message": message, "path": path, "keys": keys, "fields": fields, "text": text, "blocks": blocks}
    return Turn(role, speaker if isinstance(speaker, str) and speaker else None, text, MappingProxyType(extra), blocks)


def one_text(path: Path, text: str) -> tuple[str, tuple[Field, ...], tuple[tuple[int, int], ...]]:
    """Text, fields and blocks of a message that is one string."""
    return text, (Field(path, 0, 1),), ()


def paragraphs(texts: Sequence[tuple[Path, str]]) -> tuple[str, tuple[Field, ...], tuple[tuple[int, int], ...]]:
    """Text, fields and blocks of a message of several texts, with a blank line between two that belongs to neither."""
    blocks: list[tuple[int, int]] = []
    start = 0
    for _, text in texts:
        blocks.append((start, start + len(text)))
        start += len(text) + len(_SEPARATOR)
    fields = tuple(Field(path, index, index + 1) for index, (path, _) in enumerate(texts))
    return _SEPARATOR.join(text for _, text in texts), fields, tuple(blocks)


def running(
    parts: Sequence[Part], markup: "re.Pattern[str]"
) -> tuple[str, tuple[Field, ...], tuple[tuple[int, int], ...]]:
    """Text, fields and blocks of a message whose parts are one text, with markup in it that is never altered.

    A block is a stretch between two pieces of markup, without the white space at its edges, so that no deletion brings
    markup and a word together. A word that is written in one piece with markup (`<@U1>'s`), or over the edge of two
    strings, is not altered either.
    """
    text = "".join(part.text for part in parts)
    fixed = list(_fixed(text, parts, markup))
    fields: list[Field] = []
    blocks: list[tuple[int, int]] = []
    at = 0
    for path, part in parts:
        end = at + len(part)
        own = list(_between(text, at, end, fixed)) if path is not None else []
        if path is not None and own == [(0, len(text))]:
            return one_text(path, text)
        if path is not None and own:
            first = len(blocks)
            fields.append(Field(path, first, first + len(own), own[0][0] - at, end - own[-1][1]))
            blocks += own
        at = end
    return text, tuple(fields), tuple(blocks) or ((0, 0),)


def _fixed(text: str, parts: Sequence[Part], markup: "re.Pattern[str]") -> Iterator[tuple[int, int]]:
    """The stretches that are never altered, in order, with the words that they are in one piece with."""
    cores: list[tuple[int, int]] = []
    at = 0
    for path, part in parts:
        end = at + len(part)
        cores += [(at, end)] if path is None else [found.span() for found in markup.finditer(text, at, end)]
        cores.append((end, end))
        at = end
    at = 0
    for start, end in sorted(cores):
        if end < at or (start == end and (end in (at, len(text)) or text[end - 1].isspace() or text[end].isspace())):
            continue
        pieces = _RUN if start == end else _SPACED_RUN
        while start > at and pieces.match(text, start - 1):
            start -= 1
        while end < len(text) and pieces.match(text, end):
            end += 1
        yield max(start, at), end
        at = end


def _between(text: str, start: int, end: int, fixed: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """The stretches of `text` from `start` to `end` that may be altered, without the space at their edges."""
    at = start
    for left, right in fixed[bisect_left(fixed, start, key=lambda span: span[1]) :]:
        if left >= end:
            break
        yield from _stripped(text, at, min(left, end))
        at = max(at, right)
    yield from _stripped(text, at, end)


def _stripped(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    while start and start < end and text[start].isspace():
        start += 1
    while end < len(text) and end > start and text[end - 1].isspace():
        end -= 1
    if start < end:
        yield start, end


def changes(turn: Turn, index: int) -> Iterator[tuple[Path, str]]:
    """The strings of a turn's message that differ from it: where in the message, and the new text.

    Raises:
        InputError: The text blocks of the turn are not those of its message.
    """
    fields: tuple[Field, ...] = turn.extra["fields"]
    was: str = turn.extra["text"]
    old, new = turn.extra["blocks"] or ((0, len(was)),), turn.blocks
    if not new:  # with_text() without blocks: the text it had, nothing, or the text of the only block
        if turn.text == was:
            return
        if not turn.text:
            yield from ((field.path, "") for field in fields)
            return
        new = ((0, len(turn.text)),)
    if len(new) != len(old) or (not fields and turn.text != was):
        raise InputError(f"turn {index} has {len(new)} text blocks; its message has {len(old) if fields else 0}.")
    for field in fields:
        text = _slice(turn.text, field, new)
        if text != _slice(was, field, old):
            yield field.path, text


def _slice(text: str, field: Field, blocks: Sequence[tuple[int, int]]) -> str:
    return text[blocks[field.first][0] - field.before : blocks[field.last - 1][1] + field.after]


def within(turn: Turn, prefix: Path, **facts: Any) -> Turn:
    """The same turn read from a value that stands at `prefix` in its document, with more facts about it."""
    extra = {**turn.extra, "path": prefix + turn.extra["path"], **facts}
    return replace(turn, extra=MappingProxyType(extra))


def kind(value: Any) -> str:
    """What a value is, for errors."""
    return "null" if value is None else type(value).__name__


def keys_of(value: Any) -> str:
    """The first keys of an object, for errors."""
    return ", ".join(repr(key) for key in list(value)[:5]) or "none"


def deep(value: Any, *keys: str) -> Any:
    """The value under keys inside objects, or None where one is missing."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def find_items(document: Any, owns: Callable[[Any], bool], *keys: str) -> tuple[Path, ...] | None:
    """Where the list is that holds messages of a shape: the document itself, or under one of its keys."""
    for path in ((), *((key,) for key in keys)):
        items = deep(document, *path)
        if isinstance(items, list) and any(owns(item) for item in items):
            return (path,)
    return None
