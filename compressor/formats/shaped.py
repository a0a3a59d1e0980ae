"""A shape of JSON that was asked for by its name: in JSON documents, JSON lines and memory alike."""

import json
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, TextIO

from compressor.errors import InputError
from compressor.formats import json_, jsonl, messages
from compressor.formats.splitting import Piece, chunks
from compressor.transcript import Transcript

_SPACE = "\ufeff \t\r\n"
_LONGEST_HEAD = 1 << 20
"""A list whose first line is longer is a document on one line."""


def read(source: Any, *, shape: str) -> Transcript:
    """Read a JSON document, JSON lines, or a list or object in memory, as a conversation of one shape.

    Raises:
        InputError: It is none.
    """
    if not isinstance(source, str):
        return messages.read(source, shape)
    is_lines, _ = _is_lines([source])
    return jsonl.read(source, shape) if is_lines else json_.read(source, shape)


def write(transcript: Transcript) -> Any:
    """What was read, with the texts of the turns: a transcript's format names the container, not the shape."""
    writers = {"json": json_.write, "jsonl": jsonl.write, "messages": messages.write}
    if transcript.format not in writers:
        raise InputError(f"the transcript was read from {transcript.format}; allowed: {', '.join(writers)}.")
    return writers[transcript.format](transcript)


def split(stream: Iterable[str] | TextIO, *, shape: str) -> Iterator[Piece]:
    """Cut a file of JSON or JSON lines into its conversations."""
    is_lines, source = _is_lines(stream)
    for piece in (jsonl.split if is_lines else json_.split)(source, shape):
        yield Piece(piece.raw, piece.line, piece.is_record, "lines" if is_lines else "")


def read_piece(piece: Piece, *, shape: str) -> Transcript:
    """Read one piece; see `Format.read_piece`."""
    return jsonl.read_piece(piece, shape) if piece.header else json_.read_piece(piece, shape)


def _is_lines(stream: Iterable[str] | TextIO) -> tuple[bool, Iterable[str]]:
    """Whether a stream of JSON is one of JSON lines, and the stream again.

    It is, if its first line is a value by itself and more follows.
    """
    source = iter(chunks(stream))
    seen: list[str] = []
    length = 0
    next_look = _LONGEST_HEAD
    for chunk in source:
        seen.append(chunk)
        length += len(chunk)
        if "\n" not in chunk and length < next_look:
            continue
        next_look = 2 * length
        head = "".join(seen).lstrip(_SPACE)
        seen = ["".join(seen)]
        first, end, rest = head.partition("\n")
        if len(first) > _LONGEST_HEAD and not end and first.startswith("["):
            break
        if end and rest.strip(_SPACE):
            return _is_json(first), chain(seen, source)
    return False, chain(seen, source)


def _is_json(line: str) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True
