"""JSON lines: files of one conversation a line, or of one message or event a line; written back line by line."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from types import MappingProxyType
from typing import Any, NamedTuple, TextIO

from compressor.errors import InputError
from compressor.formats import shapes
from compressor.formats.json_ import source_of
from compressor.formats.messages import edits, read_document
from compressor.formats.splice import Path, parse, splice
from compressor.formats.splitting import Piece, lines
from compressor.transcript import Transcript, Turn

_SPACE = "\ufeff \t\r\n"
_HEAD_LINES, _HEAD_CHARACTERS = 200, 1 << 20
"""So much of a file is looked at before it counts as one of conversations, not of messages."""
_ALLOWED = 'allowed: a list of messages, an object with "messages" or "turns", or a message with role and content'


class Fault(NamedTuple):
    """A line that cannot be read inside a conversation that can: its number from 1, what is wrong, and the line."""

    line: int
    error: InputError
    raw: str


def read(source: str, shape: str | None = None) -> Transcript:
    """Read a file of JSON lines that holds one conversation.

    Args:
        source: The lines.
        shape: A name in SHAPES. None: found by the content.
    Raises:
        InputError: A line cannot be read (names it), or the file holds several conversations: see `read_records`.
    """
    if not isinstance(source, str):
        raise InputError(f"the source is {type(source).__name__}; allowed for JSON lines: str.")
    records = [piece for piece in split([source], shape) if piece.is_record]
    if len(records) > 1:
        for piece in records:  # what is wrong with a line says more than the number of lines
            read_piece(piece, shape)
        raise InputError(f"the file holds {len(records)} conversations; read them one by one with read_records().")
    transcript = _read(source, 1, shape)
    for fault in faults(transcript):
        raise fault.error
    return transcript


def write(transcript: Transcript) -> str:
    """The lines that were read, with the texts of the turns; as many as before, the others unchanged."""
    by_line: defaultdict[int, dict[Path, str | None]] = defaultdict(dict)
    for (line, *path), text in edits(transcript):
        if not isinstance(line, int):
            raise InputError("the transcript was not read from lines; write it in the format that it was read from.")
        by_line[line][tuple(path)] = text
    source = source_of(transcript)
    if not by_line:
        return source
    own = list(lines([source]))
    for number, changes in by_line.items():
        own[number] = splice(own[number], changes)
    return "".join(own)


def split(stream: Iterable[str] | TextIO, shape: str | None = None) -> Iterator[Piece]:
    """Cut a file into its lines, or, if it is one of messages or events, take it as one piece.

    The first line that is a conversation or a message decides; a file whose first megabyte holds neither is cut.

    Args:
        stream: The file.
        shape: A name in SHAPES. None: found by the content.
    """
    source = lines(stream)
    head: list[str] = []
    characters = 0
    for line in source:
        head.append(line)
        characters += len(line)
        found = _class(line, shape)
        if found == "message":
            yield Piece("".join([*head, *source]), 1)
            return
        if found == "conversation" or len(head) == _HEAD_LINES or characters >= _HEAD_CHARACTERS:
            break
    for number, line in enumerate(chain(head, source), 1):
        yield Piece(line, number, bool(line.strip(_SPACE)))


def read_piece(piece: Piece, shape: str | None = None) -> Transcript:
    """Read one piece; see `Format.read_piece`. Of a file of messages a line that cannot be read is in `faults`."""
    return _read(piece.raw, piece.line, shape)


def faults(transcript: Transcript) -> tuple[Fault, ...]:
    """The lines that could not be read inside the conversation; they are written back as they are."""
    found: tuple[Fault, ...] = transcript.extra.get("faults", ())
    return found


def _class(line: str, shape: str | None) -> str:
    if not line.strip(_SPACE):
        return "other"
    try:
        return shapes.classify(parse(line), shape)
    except InputError:
        return "other"


class _Line(NamedTuple):
    """A line that is JSON: its place in the text from 0, its number in the file, its value."""

    place: int
    number: int
    value: Any
    raw: str


def _read(source: str, first: int, shape: str | None) -> Transcript:
    """The conversation in some lines: a line that holds one, or lines that are messages; others are passed over.

    Objects without a message are passed over among messages, unless they look like one that lost its role: `content` or
    `text` without a `type` that says what else they are.

    Raises:
        InputError: No line can be read; names the first.
    """
    turns: dict[int, tuple[Turn, ...]] = {}
    bad: list[Fault] = []
    messages: list[_Line] = []
    others: list[_Line] = []
    name = shape
    for place, raw in enumerate(lines([source])):
        if not raw.strip(_SPACE):
            continue
        where = f"line {first + place}: "
        try:
            line = _Line(place, first + place, parse(raw, where), raw)
            kind = shapes.classify(line.value, shape)
            if kind == "conversation":
                name, turns[place] = _conversation(line, shape, where)
            else:
                (messages if kind == "message" else others).append(line)
        except InputError as error:
            bad.append(Fault(first + place, error, raw))
    owners = [owner for line in messages if (owner := shapes.owner(line.value, shape)) is not None]
    name = owners[0].name if owners else name
    bad += _talk(messages, owners, turns)
    bad += (
        Fault(line.number, InputError(f"line {line.number}: {_complaint(line.value)}; {_ALLOWED}."), line.raw)
        for line in others
        if not messages or _lacks_role(line.value)
    )
    bad.sort(key=lambda fault: fault.line)
    if bad and not turns:
        raise bad[0].error
    read = tuple(turn for place in sorted(turns) for turn in turns[place])
    extra = {"source": source, "shape": name, "faults": tuple(bad)}
    return Transcript(tuple(shapes.warned(read)), "jsonl", MappingProxyType(extra))


def _talk(messages: Sequence[_Line], owners: Sequence[shapes.Shape], turns: dict[int, tuple[Turn, ...]]) -> list[Fault]:
    """Add the turns of lines that are messages; returns those that cannot be read."""
    bad: list[Fault] = []
    read = shapes.lines([line.value for line in messages], [(line.place,) for line in messages], owners)
    for line, turn in zip(messages, read, strict=True):
        if isinstance(turn, InputError):
            bad.append(Fault(line.number, InputError(f"line {line.number}: {turn}"), line.raw))
        else:
            turns[line.place] = () if turn is None else (turn,)
    return bad


def _conversation(line: _Line, shape: str | None, where: str) -> tuple[str, tuple[Turn, ...]]:
    try:
        return read_document(line.value, shape, (line.place,))
    except InputError as error:
        raise InputError(f"{where}{error}") from None


def _lacks_role(document: Any) -> bool:
    """Whether an object without a role looks like a message all the same."""
    if not isinstance(document, Mapping):
        return True
    inner = document.get("message")
    keys = {*document, *(inner if isinstance(inner, dict) else ())}
    return "type" not in keys and bool(keys & {"content", "text"})


def _complaint(document: Any) -> str:
    if not isinstance(document, Mapping):
        return f"the line is {'null' if document is None else type(document).__name__}"
    return '"role" is missing' if _lacks_role(document) else "the object holds no message"
