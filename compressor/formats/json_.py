"""JSON documents: one conversation, or a list of conversations that is cut into its items while it is read."""

import re
from collections.abc import Iterable, Iterator
from types import MappingProxyType
from typing import Any, TextIO

from compressor.errors import InputError
from compressor.formats.messages import edits, is_series, read_document
from compressor.formats.shapes import anthropic
from compressor.formats.splice import parse, spans, splice
from compressor.formats.splitting import Piece, chunks
from compressor.transcript import Transcript

_SPACE = " \t\r\n\ufeff"
_MARK = re.compile(r'["\[\]{},]')
_FIRST = re.compile(r"[^ \t\r\n\ufeff]")
_VALUE_START = re.compile(r"[^ \t\r\n]")
_STRING = re.compile(r'[^"\\]*(?:\\.[^"\\]*)*', re.DOTALL)


def read(source: str, shape: str | None = None) -> Transcript:
    """Read a JSON document: a list of messages, or an object that holds one.

    Args:
        source: The JSON text.
        shape: A name in SHAPES. None: found by the content.
    Raises:
        InputError: It is no JSON, no conversation or several, or a message of it cannot be read.
    """
    name, turns = read_document(parse(source), shape)
    return Transcript(turns, "json", MappingProxyType({"source": source, "shape": name}))


def write(transcript: Transcript) -> str:
    """The document that was read, with the texts of the turns; the rest is the same to the last space."""
    return splice(source_of(transcript), dict(edits(transcript)))


def source_of(transcript: Transcript) -> str:
    """The text that a transcript was read from.

    Raises:
        InputError: It was read from none.
    """
    source = transcript.extra.get("source")
    if not isinstance(source, str):
        raise InputError(f"the transcript was not read from {transcript.format}; write it as messages instead.")
    return source


def split(stream: Iterable[str] | TextIO, shape: str | None = None) -> Iterator[Piece]:
    """Cut a list of conversations, or the requests of a batch, into its items; any other document is one piece.

    Time is linear in the length; memory is that of the longest item, or of the document if it is no such list.

    Args:
        stream: The JSON text; what follows the list, or is no JSON, is in the pieces all the same.
        shape: A name in SHAPES. None: found by the content.
    """
    pieces = _items(chunks(stream))
    head: list[Piece] = []
    for piece in pieces:
        head.append(piece)
        if piece.is_record and not _is_null(piece.raw):
            break
    is_object = bool(head) and head[0].raw.lstrip(_SPACE)[:1] == "{"
    if is_object or not head or not head[-1].is_record or not _is_conversation(head[-1].raw, shape):
        raw = "".join(piece.raw for piece in (*head, *pieces))
        yield from _requests(raw, shape)
        return
    yield from head
    yield from pieces


def read_piece(piece: Piece, shape: str | None = None) -> Transcript:
    """Read one piece; see `Format.read_piece`."""
    try:
        return read(piece.raw, shape)
    except InputError as error:
        if piece.line == 1:
            raise
        raise InputError(f"line {piece.line}: {error}") from error


def _is_null(raw: str) -> bool:
    return raw.strip(_SPACE) == "null"


def _is_conversation(raw: str, shape: str | None) -> bool:
    """Whether the first item of a list is a conversation, so that the list is no conversation itself."""
    try:
        item: Any = parse(raw)
    except InputError:
        return False
    return is_series([item], shape)


def _requests(raw: str, shape: str | None) -> Iterator[Piece]:
    """The requests of a batch, and what stands between them; one piece if the document is none."""
    at, line = 0, 1
    for start, end in _request_spans(raw) if shape in (None, anthropic.SHAPE.name) and '"requests"' in raw else ():
        yield Piece(raw[at:start], line, is_record=False)
        line += raw.count("\n", at, start)
        yield Piece(raw[start:end], line)
        line += raw.count("\n", start, end)
        at = end
    if at < len(raw):
        yield Piece(raw[at:], line, is_record=at == 0)


def _request_spans(raw: str) -> list[tuple[int, int]]:
    try:
        count = anthropic.requests(parse(raw))
    except InputError:  # told by the reader of the document
        return []
    return [span for _, span in spans(raw, {("requests", index) for index in range(count)})] if count else []


def _items(source: Iterable[str]) -> Iterator[Piece]:
    """The items of the list that a document is, and what stands between them; one piece if it is no list."""
    cut = _Cutter()
    for chunk in source:
        yield from cut.feed(chunk)
    yield from cut.rest()


class _Cutter:
    """Finds the edges of the items of a list in a text that comes in portions."""

    def __init__(self) -> None:
        self.parts: list[str] = []  # of the piece that is being read
        self.line = self.began = 1
        self.depth = 0
        self.in_item = self.in_string = self.escaped = self.over = False

    def feed(self, chunk: str) -> Iterator[Piece]:
        """The pieces that end in the next portion of the text."""
        start = at = 0
        while at < len(chunk):
            if self.over:
                break
            if self.in_string:
                at = self._skip_string(chunk, at)
                continue
            if self.depth == 1 and not self.in_item:
                found = _VALUE_START.search(chunk, at)
                if found is None:
                    break
                at = found.start()
                if chunk[at] == ",":
                    at += 1
                    continue
                if chunk[at] != "]":
                    yield from self._cut(chunk[start:at], False)
                    start, self.in_item = at, True
            found = (_MARK if self.depth else _FIRST).search(chunk, at)
            if found is None:
                break
            mark, at = found[0], found.end()
            if mark == '"' and self.depth:
                self.in_string = True
            elif mark in "[{":
                self.over = not self.depth and mark == "{"
                self.depth += 1
            elif mark in "]}":
                self.depth -= 1
                self.over = self.depth <= 0
            elif mark != ",":
                self.over = True  # no list at all
            if self.in_item and (self.depth == 0 or (self.depth == 1 and mark == ",")):
                yield from self._item(chunk[start : at - 1])
                start = at - 1
        self.parts.append(chunk[start:])

    def rest(self) -> Iterator[Piece]:
        """What is left at the end of the text: a record, for the reader to complain of, unless it closes the list."""
        closes = self.over and not self.in_item and "".join(self.parts).strip(_SPACE) in ("]", "[]")
        yield from self._cut("", not closes)

    def _skip_string(self, chunk: str, at: int) -> int:
        if self.escaped:
            self.escaped = False
            at += 1
        found = _STRING.match(chunk, at)
        at = found.end() if found else at
        if at < len(chunk):
            self.in_string = chunk[at] != '"'
            self.escaped = self.in_string  # a backslash at the end of the portion
            at += 1
        return at

    def _item(self, end: str) -> Iterator[Piece]:
        """An item, and the white space behind it as a piece of its own."""
        raw = "".join([*self.parts, end])
        text = raw.rstrip(" \t\r\n")
        self.parts = [text]
        yield from self._cut("", True)
        self.parts = [raw[len(text) :]]
        self.in_item = False

    def _cut(self, end: str, is_record: bool) -> Iterator[Piece]:
        raw = "".join([*self.parts, end])
        self.parts = []
        if raw:
            yield Piece(raw, self.line, is_record)
            self.line += raw.count("\n")
