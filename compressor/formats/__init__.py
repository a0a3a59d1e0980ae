"""What a conversation can be read from and is written back to: the FORMATS table, read, write and detect."""

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from compressor.errors import InputError
from compressor.formats import jsonl, messages, text
from compressor.formats.files import decode, encode, refuse_inputs, sniff, targets
from compressor.formats.messages import as_messages, drop, removable
from compressor.formats.splice import dump
from compressor.formats.text import as_text, misread
from compressor.transcript import Transcript, Turn

__all__ = [
    "FORMATS",
    "Format",
    "as_messages",
    "as_text",
    "decode",
    "detect",
    "drop",
    "dump",
    "encode",
    "load",
    "misread",
    "read",
    "read_batches",
    "read_file",
    "read_records",
    "refuse_inputs",
    "removable",
    "targets",
    "write",
    "write_file",
    "write_records",
]


@dataclass(frozen=True, slots=True)
class Format:
    """One way to hold a conversation.

    Args:
        name: Its name in FORMATS, and in `Transcript.format`.
        read: Makes a Transcript of a source; raises InputError.
        write: Makes of a Transcript what it was read from.
        extensions: The endings of its files, with the dot; empty for what only exists in memory.
        doc: One line that says what it is.
    """

    name: str
    read: Callable[[Any], Transcript]
    write: Callable[[Transcript], Any]
    extensions: tuple[str, ...]
    doc: str


def read(source: Any, format: str | None = None) -> Transcript:
    """Read a conversation.

    Args:
        source: A string (plain text), a list of chat messages, an object with `messages`, a list of strings (a turn
            each), or a Transcript (returned as it is).
        format: A name in FORMATS. None: found by the type of the source; a string is plain text then, never JSON.
    Raises:
        InputError: The type, the format or a field of the source is not allowed; names the turn and the field.
    """
    if isinstance(source, (os.PathLike, bytes)):
        raise InputError(
            f"the source is {type(source).__name__}; allowed: a string, a list of chat messages, a Transcript, ... "
            "Read a file first: compressor.formats.read_file(path)."
        )
    return _format(detect(source) if format is None else format).read(source)


def read_batches(sources: Iterable[Any], size: int) -> Iterator[list[Transcript]]:
    """Read a stream of conversations, `size` at a time, each when its batch is asked for.

    Raises:
        InputError: `sources` is one source instead of several (at once), or a source cannot be read (names its number,
            from 0, after the batch of those that came before it).
    """
    if isinstance(sources, (str, bytes, Mapping, Transcript)) or not isinstance(sources, Iterable):
        kind = "None" if sources is None else type(sources).__name__
        raise InputError(f"the sources are {kind}; allowed: several sources, as a list or another iterable.")
    return _batches(sources, size)


def write(transcript: Transcript) -> Any:
    """Write a conversation in the shape it was read from; what was read is never changed itself."""
    return _format(transcript.format).write(transcript)


def detect(source: Any) -> str:
    """The name of the format that `read` takes for a source, or of the file at a Path, or of a file's bytes.

    Raises:
        InputError: The source has another type, its list is mixed, or its file cannot be opened.
    """
    if isinstance(source, Transcript):
        return "turns"
    if isinstance(source, str):
        return "text"
    if isinstance(source, dict):
        return "messages"
    if isinstance(source, list):
        return _detect_list(source)
    if isinstance(source, os.PathLike):
        try:
            return _by_extension(source) or load(source)[2]
        except OSError as error:
            raise InputError(
                f"{os.fspath(source)!s}: {error.strerror or error}; allowed: a file that exists."
            ) from error
    if isinstance(source, bytes):
        return sniff(decode(source)[0])
    raise InputError(
        f"the source is {'None' if source is None else type(source).__name__}; allowed: a string, a list of chat "
        'messages, a list of strings, an object with "messages", a Transcript.'
    )


def read_file(source: str | os.PathLike[str] | bytes, format: str | None = None) -> Transcript:
    """Read a file that holds one conversation, from its path or its bytes.

    Args:
        source: A path, or the content.
        format: A name in FORMATS. None: found by the ending of the path, else by the content.
    Raises:
        InputError: The encoding is not known, or the content cannot be read.
        OSError: The file cannot be opened.
    """
    content, encoding, name = load(source, format)
    transcript = _format(name).read(content)
    return replace(transcript, extra=MappingProxyType({**transcript.extra, "encoding": encoding}))


def load(source: str | os.PathLike[str] | bytes, format: str | None = None) -> tuple[str, str, str]:
    """The text, the encoding and the format of a file; see `read_file`."""
    if not isinstance(source, (str, os.PathLike, bytes)):
        raise InputError(f"the file is {type(source).__name__}; allowed: a path or bytes.")
    content, encoding = decode(source if isinstance(source, bytes) else Path(source).read_bytes())
    by_name = None if isinstance(source, bytes) else _by_extension(source)
    return content, encoding, format or by_name or sniff(content)


def write_file(transcript: Transcript) -> bytes:
    """The bytes of the file that was read, in its encoding; in UTF-8 what was not read from a file.

    Messages are written as a JSON document, turns as text.
    """
    written = write(transcript) if transcript.format != "turns" else text.write(transcript)
    if not isinstance(written, str):
        written = json.dumps(written, ensure_ascii=False, indent=2) + "\n"
    return encode(written, transcript.extra.get("encoding", "utf-8"))


def read_records(content: str, format: str) -> Iterator[tuple[int, Transcript | InputError]]:
    """Every conversation of a file's text with the number of its line, from 1, or the InputError of one that fails."""
    if format == "jsonl":
        yield from jsonl.read_records(content)
        return
    try:
        yield 1, _format(format).read(content)
    except InputError as error:
        yield 1, error


def write_records(content: str, transcripts: Iterable[Transcript]) -> str:
    """The file's text with the conversations that `read_records` found in it, some or all of them, after a change."""
    changed = list(transcripts)
    if any(transcript.format == "jsonl" for transcript in changed):
        return jsonl.write_records(content, changed)
    return str(write(changed[0])) if changed else content


def _batches(sources: Iterable[Any], size: int) -> Iterator[list[Transcript]]:
    batch: list[Transcript] = []
    try:
        for number, source in enumerate(sources):
            try:
                batch.append(read(source))
            except InputError as error:
                raise InputError(f"source {number}: {error}") from error
            if len(batch) == size:
                yield batch
                batch = []
    except Exception:
        if batch:  # what was read before the failure comes first
            yield batch
        raise
    if batch:
        yield batch


def _read_transcript(source: Any) -> Transcript:
    if not isinstance(source, Transcript):
        raise InputError(f"the source is {type(source).__name__}; allowed for turns: a Transcript.")
    return source


def _read_strings(source: Any) -> Transcript:
    if not isinstance(source, list) or not all(isinstance(item, str) for item in source):
        raise InputError(f"the source is {type(source).__name__}; allowed for strings: a list of strings.")
    return Transcript(tuple(Turn(text=item) for item in source), "strings")


def _write_strings(transcript: Transcript) -> list[str]:
    return [turn.text for turn in transcript.turns]


def _detect_list(source: list[Any]) -> str:
    kind: type = str if source and isinstance(source[0], str) else dict
    for index, item in enumerate(source):
        if not isinstance(item, kind):
            other = "the turns before are strings" if kind is str else "allowed: a message object with role and content"
            raise InputError(f"turn {index} is {'None' if item is None else type(item).__name__}; {other}.")
    return "strings" if kind is str else "messages"


def _format(name: str) -> Format:
    if not isinstance(name, str) or name not in FORMATS:
        raise InputError(f"unknown format {name!r}; allowed: {', '.join(FORMATS)}.")
    return FORMATS[name]


def _by_extension(path: str | os.PathLike[str]) -> str | None:
    ending = Path(path).suffix.lower()
    return next((name for name, format in FORMATS.items() if ending in format.extensions), None)


FORMATS: Mapping[str, Format] = MappingProxyType(
    {
        format.name: format
        for format in (
            Format(
                "text", text.read, text.write, (".txt", ".text", ".md"), "Plain text; `Name: text` lines become turns."
            ),
            Format(
                "json", jsonl.read_json, jsonl.write_json, (".json",), "A JSON list of messages, or an object with one."
            ),
            Format(
                "jsonl", jsonl.read, jsonl.write, (".jsonl", ".ndjson"), "JSON lines: a conversation or a message each."
            ),
            Format(
                "messages", messages.read, messages.write, (), "Chat messages in memory, of OpenAI or Anthropic shape."
            ),
            Format("strings", _read_strings, _write_strings, (), "A list of strings in memory, a turn each."),
            Format("turns", _read_transcript, lambda transcript: transcript, (), "A Transcript of your own."),
        )
    }
)
"""Every format by its name."""
