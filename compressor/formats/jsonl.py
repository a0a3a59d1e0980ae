"""JSON and JSON Lines files: the conversations in them, written back with nothing but their texts changed."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from compressor.errors import InputError
from compressor.formats.messages import CONTAINERS, edits, find, read_message, turns
from compressor.formats.splice import Path, parse, splice
from compressor.transcript import Transcript, Turn


def read_json(source: str) -> Transcript:
    """Read a JSON document: a list of messages, or an object that holds one.

    Raises:
        InputError: It is no JSON, no conversation, or a message of it cannot be read.
    """
    document = parse(source)
    return Transcript(tuple(turns(document, find(document))), "json", MappingProxyType({"source": source}))


def write_json(transcript: Transcript) -> str:
    """The document that was read, with the texts of the turns; the rest is the same to the last space."""
    return splice(_source(transcript), dict(edits(transcript)))


def read(source: str) -> Transcript:
    """Read a file of JSON lines that holds one conversation.

    Raises:
        InputError: A line cannot be read (names it), or the file holds several conversations: see `read_records`.
    """
    if not isinstance(source, str):
        raise InputError(f"the source is {type(source).__name__}; allowed for JSON lines: str.")
    found = list(read_records(source))
    for _, record in found:
        if isinstance(record, InputError):
            raise record
    if len(found) > 1:
        raise InputError(f"the file holds {len(found)} conversations; read them one by one with read_records().")
    transcripts = [record for _, record in found if isinstance(record, Transcript)]
    return transcripts[0] if transcripts else Transcript((), "jsonl", MappingProxyType({"source": source}))


def write(transcript: Transcript) -> str:
    """The whole file that the transcript was read from, with the texts of its turns."""
    return write_records(_source(transcript), [transcript])


def read_records(source: str) -> Iterator[tuple[int, Transcript | InputError]]:
    """Read every conversation of a file of JSON lines.

    A line is a list of messages, an object that holds one (`messages`, `conversations`, `turns`), or a message. Lines
    that are messages (`role` and `content`, or a `message` inside an object with other fields) are one conversation
    together; among them, objects without a message are passed over and stay as they are, unless they look like one
    that lost its role: `content` or `text` without a `type` that says what else they are.

    Yields:
        The number of the first line, from 1, and the conversation, or the error of a line that cannot be read, by line.
    """
    found: list[tuple[int, Transcript | InputError]] = []
    talk: list[Turn] = []
    talk_line = 0
    others: dict[int, bool] = {}
    warned: set[str] = set()
    for number, line in enumerate(_lines(source), 1):
        if not line.strip("\ufeff \t\r\n"):
            continue
        where = f"line {number}: "
        try:
            document = parse(line, where)
            place = _message_place(document)
            if place is not None:
                message = document["message"] if place else document
                talk.append(_read_line(message, len(talk), (number, *place), warned, where))
                talk_line = talk_line or number
            elif isinstance(document, dict) and not any(key in document for key in CONTAINERS):
                others[number] = _lacks_role(document)
            else:
                found.append((number, _read_record(document, number, source, where)))
        except InputError as error:
            found.append((number, error))
    allowed = 'allowed: a list of messages, an object with "messages" or "turns", or a message with role and content'
    if talk:
        found.append((talk_line, Transcript(tuple(talk), "jsonl", MappingProxyType({"source": source}))))
    for number, lacks_role in others.items():
        if lacks_role:
            found.append((number, InputError(f'line {number}: "role" is missing; {allowed}.')))
        elif not talk:
            found.append((number, InputError(f"line {number}: the object holds no message; {allowed}.")))
    yield from sorted(found, key=lambda record: record[0])


def write_records(source: str, transcripts: list[Transcript]) -> str:
    """The file with the texts of some of its conversations; it has as many lines as before, the others unchanged."""
    by_line: defaultdict[int, dict[Path, str | None]] = defaultdict(dict)
    for transcript in transcripts:
        for (line, *path), text in edits(transcript):
            by_line[int(line)][tuple(path)] = text
    if not by_line:
        return source
    lines = _lines(source)
    for number, changes in by_line.items():
        lines[number - 1] = splice(lines[number - 1], changes)
    return "\n".join(lines)


def _lines(source: str) -> list[str]:
    return source.split("\n")  # U+2028 and U+0085 may stand inside a JSON string: splitlines() would cut it


def _message_place(document: Any) -> Path | None:
    """Where the message is in a line that is one: itself, or its field `message`."""
    if not isinstance(document, dict) or any(key in document for key in CONTAINERS):
        return None
    if "role" in document:
        return ()
    inner = document.get("message")
    return ("message",) if isinstance(inner, dict) and "role" in inner else None


def _lacks_role(document: Mapping[str, Any]) -> bool:
    """Whether an object without a role looks like a message all the same."""
    inner = document.get("message")
    keys = {*document, *(inner if isinstance(inner, dict) else ())}
    return "type" not in keys and bool(keys & {"content", "text"})


def _read_line(message: Mapping[str, Any], index: int, path: Path, warned: set[str], where: str) -> Turn:
    container = "turns" if "text" in message and "content" not in message else "messages"
    try:
        return read_message(message, index, path, container, warned)
    except InputError as error:
        raise InputError(f"{where}{error}") from None


def _read_record(document: Any, number: int, source: str, where: str) -> Transcript:
    try:
        path = find(document)
        return Transcript(
            tuple(turns({number: document}, (number, *path))), "jsonl", MappingProxyType({"source": source})
        )
    except InputError as error:
        raise InputError(f"{where}{error}") from None


def _source(transcript: Transcript) -> str:
    source = transcript.extra.get("source")
    if not isinstance(source, str):
        raise InputError(f"the transcript was not read from {transcript.format}; write it as messages instead.")
    return source
