"""What a conversation can be read from and is written back to: the FORMATS table, read, write and detect."""

import codecs
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from compressor.errors import InputError
from compressor.formats import jsonl, messages, text
from compressor.formats.messages import as_messages, drop, removable
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
    "encode",
    "misread",
    "read",
    "read_file",
    "read_records",
    "removable",
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
    return _format(detect(source) if format is None else format).read(source)


def write(transcript: Transcript) -> Any:
    """Write a conversation in the shape it was read from; what was read is never changed itself."""
    return _format(transcript.format).write(transcript)


def detect(source: Any) -> str:
    """The name of the format that `read` takes for a source, or of the file at a Path, or of a file's bytes.

    Raises:
        InputError: The source has another type, or its list is mixed.
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
        return _by_extension(source) or _sniff(decode(Path(source).read_bytes())[0])
    if isinstance(source, bytes):
        return _sniff(decode(source)[0])
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
    content, encoding, name = _open(source, format)
    transcript = _format(name).read(content)
    return replace(transcript, extra=MappingProxyType({**transcript.extra, "encoding": encoding}))


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


def decode(content: bytes) -> tuple[str, str]:
    """The text of a file and its encoding: UTF-8, or UTF-16 with a byte order mark. The mark stays in the text.

    Raises:
        InputError: The bytes are in another encoding; names the offset of the first wrong byte.
    """
    encoding = "utf-8"
    for mark, name in ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be")):
        if content.startswith(mark):
            encoding = name
    try:
        return content.decode(encoding), encoding
    except UnicodeDecodeError as error:
        found = f" ({content[error.start]:#04x})" if error.start < len(content) else ""
        raise InputError(
            f"the file is not {encoding.upper()}: byte {error.start}{found} cannot be decoded; "
            "allowed encodings: UTF-8, or UTF-16 with a byte order mark. Convert the file first."
        ) from None


def encode(content: str, encoding: str = "utf-8") -> bytes:
    """The bytes of a text; half a surrogate pair goes through as it is."""
    return content.encode(encoding, "surrogatepass")


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
    if name not in FORMATS:
        raise InputError(f"unknown format {name!r}; allowed: {', '.join(FORMATS)}.")
    return FORMATS[name]


def _by_extension(path: str | os.PathLike[str]) -> str | None:
    ending = Path(path).suffix.lower()
    return next((name for name, format in FORMATS.items() if ending in format.extensions), None)


def _open(source: str | os.PathLike[str] | bytes, format: str | None) -> tuple[str, str, str]:
    """The text, the encoding and the format of a file."""
    if not isinstance(source, (str, os.PathLike, bytes)):
        raise InputError(f"the file is {type(source).__name__}; allowed: a path or bytes.")
    content, encoding = decode(source if isinstance(source, bytes) else Path(source).read_bytes())
    by_name = None if isinstance(source, bytes) else _by_extension(source)
    return content, encoding, format or by_name or _sniff(content)


def _sniff(content: str) -> str:
    """The format of a file's text: JSON lines if its first line is a whole value and more follow, JSON, else text."""
    first, _, rest = content.strip("\ufeff \t\r\n").partition("\n")
    if first[:1] not in ("{", "["):
        return "text"
    for name, part in (("jsonl" if rest else "json", first), ("json", content.removeprefix("\ufeff"))):
        try:
            json.loads(part)
        except (ValueError, RecursionError):
            continue
        return name
    return "text"


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
