"""Cutting a file into conversations while it is read: what a piece is, and the cuts that several formats share."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TextIO

CHUNK = 1 << 16
"""Characters that are read at once."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of a file, exactly as it stands there: one conversation, or what lies between two.

    Args:
        raw: Its characters; those of all pieces, one after the other, are the whole file.
        line: The number of the line that it begins on, from 1.
        is_record: Whether it holds a conversation. False: written back as it is (commas and brackets between items, blank
            lines, headings).
        header: What reading it needs and stands elsewhere in the file (the header row of a table); no part of `raw`.
    """

    raw: str
    line: int
    is_record: bool = True
    header: str = ""


def whole(stream: Iterable[str] | TextIO) -> Iterator[Piece]:
    """The whole file as one conversation."""
    yield Piece("".join(chunks(stream)), 1)


def lines(stream: Iterable[str] | TextIO) -> Iterator[str]:
    """The lines of a stream with their ends; only a line feed ends one.

    U+2028, U+0085 or a lone carriage return may stand inside a line, where `str.splitlines` would cut it.
    """
    begun: list[str] = []
    for chunk in chunks(stream):
        *whole_lines, rest = chunk.split("\n")
        for line in whole_lines:
            yield "".join([*begun, line, "\n"])
            begun = []
        if rest:
            begun.append(rest)
    if begun:
        yield "".join(begun)


def chunks(stream: Iterable[str] | TextIO) -> Iterator[str]:
    """The characters of a stream, some at a time; an iterable gives its own strings, whatever their length."""
    read = getattr(stream, "read", None)
    if read is None:
        yield from stream
        return
    while chunk := read(CHUNK):
        yield chunk
