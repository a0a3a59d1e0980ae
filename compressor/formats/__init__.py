"""What a conversation can be read from and is written back to: the FORMATS table, read, write and detect."""

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

from compressor.errors import InputError
from compressor.formats import csv_, json_, jsonl, messages, shaped, srt, text, vtt, whatsapp
from compressor.formats.compressed import ENDINGS
from compressor.formats.files import decode, encode, refuse_inputs, sniff, targets
from compressor.formats.jsonl import Fault, faults
from compressor.formats.messages import as_messages, drop, removable
from compressor.formats.shapes import SHAPES
from compressor.formats.splice import dump
from compressor.formats.splitting import Piece, whole
from compressor.formats.text import as_text, misread
from compressor.transcript import Transcript, Turn

__all__ = [
    "FORMATS",
    "SHAPES",
    "Fault",
    "Format",
    "Piece",
    "as_messages",
    "as_text",
    "decode",
    "detect",
    "drop",
    "dump",
    "encode",
    "faults",
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
        split: Cuts a file into its conversations while it is read. Default: the file is one.
        read_piece: Reads one such piece; raises InputError that names the line within the file. None: `read` takes the
            header and the characters of the piece.
        options: Names of the keyword options that `read`, `split` and `read_piece` take.
        files: Whether a file can be of this format; the others exist in memory alone.
    """

    name: str
    read: Callable[..., Transcript]
    write: Callable[[Transcript], Any]
    extensions: tuple[str, ...]
    doc: str
    split: Callable[..., Iterator[Piece]] = whole
    read_piece: Callable[..., Transcript] | None = None
    options: tuple[str, ...] = ()
    files: bool = True

    def read_one(self, piece: Piece, **options: Any) -> Transcript:
        """Read one piece of a file.

        Raises:
            InputError: It cannot be read; names the line within the file.
        """
        if self.read_piece is not None:
            return self.read_piece(piece, **options)
        try:
            return self.read(piece.header + piece.raw, **options)
        except InputError as error:
            if piece.line == 1:
                raise
            raise InputError(f"line {piece.line}: {error}") from error

    @property
    def where(self) -> str:
        """The endings of its files, or what stands for them."""
        return " ".join(self.extensions) or ("(by content)" if self.files else "(in memory)")


def read(source: Any, format: str | None = None) -> Transcript:
    """Read a conversation.

    Args:
        source: A string (plain text), a list of chat messages, an object with `messages`, a list of strings (a turn
            each), or a Transcript (returned as it is). Lists and objects may have any of the SHAPES.
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
            return load(source)[2]
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
        format: A name in FORMATS. None: found by the content, and by the ending of the path where that looks like
            plain text.
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
    if isinstance(source, bytes):
        content, encoding = decode(source)
        return content, encoding, format or sniff(content)
    content, encoding = decode(Path(source).read_bytes(), os.fspath(source))
    return content, encoding, format or _by_content(content, source)


def write_file(transcript: Transcript) -> bytes:
    """The bytes of the file that was read, in its encoding; in UTF-8 what was not read from a file.

    Messages are written as a JSON document, turns as text.
    """
    written = write(transcript) if transcript.format != "turns" else text.write(transcript)
    if not isinstance(written, str):
        written = json.dumps(written, ensure_ascii=False, indent=2) + "\n"
    return encode(written, transcript.extra.get("encoding", "utf-8"))


def read_records(content: str, format: str, **options: Any) -> Iterator[tuple[int, Transcript | InputError]]:
    """Every conversation of a file's text with the number of its line, from 1, or the InputError of one that fails.

    The lines that cannot be read inside a conversation that can come behind it.

    Args:
        content: The text.
        format: A name in FORMATS.
        options: Those that the format takes.
    """
    found = _format(format)
    at = 0
    for piece in found.split([content], **options):
        start, at = at, at + len(piece.raw)
        if not piece.is_record:
            continue
        try:
            transcript = found.read_one(piece, **options)
        except InputError as error:
            yield piece.line, error
            continue
        extra = MappingProxyType({**transcript.extra, "characters": (start, at)})
        yield piece.line, replace(transcript, extra=extra)
        yield from ((fault.line, fault.error) for fault in faults(transcript))


def write_records(content: str, transcripts: Iterable[Transcript]) -> str:
    """The file's text with the conversations that `read_records` found in it, some or all of them, after a change."""
    parts: list[str] = []
    at = 0
    everything = (0, len(content))  # of a transcript that was read from the text as a whole
    for transcript in sorted(transcripts, key=lambda one: one.extra.get("characters", everything)):
        start, end = transcript.extra.get("characters", everything)
        parts += (content[at:start], str(write(transcript)))
        at = end
    return "".join([*parts, content[at:]])


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


def _by_content(content: str, path: str | os.PathLike[str]) -> str:
    found = sniff(content)  # captions, chat exports and JSON come as .txt too
    name = Path(path)
    ending = (name.with_suffix("") if name.suffix.lower() in ENDINGS else name).suffix.lower()
    by_name = next((name for name, format in FORMATS.items() if ending in format.extensions), "text")
    is_line = "\n" not in content.strip("\ufeff \t\r\n")
    if found == "text" or (is_line and (found, by_name) == ("json", "jsonl")):  # a single line is both
        return by_name
    return found


FORMATS: Mapping[str, Format] = MappingProxyType(
    {
        format.name: format
        for format in (
            Format(
                "text", text.read, text.write, (".txt", ".text", ".md"), "Plain text; `Name: text` lines become turns."
            ),
            Format(
                "json",
                json_.read,
                json_.write,
                (".json",),
                "A JSON conversation of any shape below, or a list of such conversations.",
                split=json_.split,
                read_piece=json_.read_piece,
            ),
            Format(
                "jsonl",
                jsonl.read,
                jsonl.write,
                (".jsonl", ".ndjson"),
                "JSON lines: a conversation of any shape below each, or one message or event each.",
                split=jsonl.split,
                read_piece=jsonl.read_piece,
            ),
            Format(
                "vtt", vtt.read, vtt.write, (".vtt",), "WebVTT captions; voice tags and names, times and settings stay."
            ),
            Format("srt", srt.read, srt.write, (".srt",), "SubRip captions; counters, times and positions stay."),
            Format(
                "whatsapp",
                whatsapp.read,
                whatsapp.write,
                (),
                "WhatsApp chat exports of any phone and language; what the app wrote itself stays.",
            ),
            Format(
                "csv",
                csv_.read,
                csv_.write,
                (".csv", ".tsv", ".tab"),
                "Tables with columns for speaker and text, or for whole conversations; other cells stay.",
                split=csv_.split,
                read_piece=csv_.read_piece,
                options=csv_.OPTIONS,
            ),
            Format(
                "messages",
                messages.read,
                messages.write,
                (),
                "Conversations in memory: lists and objects of any shape below.",
                files=False,
            ),
            Format(
                "strings", _read_strings, _write_strings, (), "A list of strings in memory, a turn each.", files=False
            ),
            Format(
                "turns",
                _read_transcript,
                lambda transcript: transcript,
                (),
                "A Transcript of your own.",
                files=False,
            ),
            *(
                Format(
                    shape.name,
                    partial(shaped.read, shape=shape.name),
                    shaped.write,
                    (),
                    shape.doc,
                    split=partial(shaped.split, shape=shape.name),
                    read_piece=partial(shaped.read_piece, shape=shape.name),
                )
                for shape in SHAPES.values()
            ),
        )
    }
)
"""Every format by its name."""
