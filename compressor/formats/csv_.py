"""CSV and TSV files: a message a row or a conversation a row; only the cells whose text changed are written anew."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain, islice
from types import MappingProxyType
from typing import TextIO

from compressor.errors import InputError
from compressor.formats import json_, text
from compressor.formats.csv_rows import Row, checked, like, lines, rows, unquoted
from compressor.formats.labels import CHAT_ROLES
from compressor.formats.splitting import Piece, chunks
from compressor.transcript import Transcript, Turn

OPTIONS = ("role_column", "text_column", "conversation_column", "column")

_TEXT = (
    "text content message body utterance message_text message_content message_body msg comment sentence line value "
    "内容 文本 消息 对话内容"
).split()
_ROLE = (
    "role speaker author from sender participant speaker_name speaker_role author_name sender_name from_name name "
    "username user_name user who 角色 说话人 发言人 发送者 发送人"
).split()
_CONVERSATION = (
    "conversation_id conversation conv_id dialogue_id dialog_id dialogue dialog thread_id session_id chat_id call_id "
    "transcript_id ticket_id 会话id 对话id 会话编号 对话编号"
).split()
_NAME = _ROLE[1:]
_WHOLE = ("messages", "conversations")  # a column that holds a conversation a cell
_DELIMITERS = ",;\t|"
_HEAD = 1 << 16
"""Characters that the header is looked for in."""
_ABOVE = re.compile(r"\ufeff?(?:[ \t]*(?:\r\n|\n|\r))*")  # empty lines above the header
_SEPARATOR = re.compile(r"sep=(.)(?:\r\n|\n|\r)")  # written by spreadsheets for each other


@dataclass(frozen=True, slots=True)
class Columns:
    """Which column of a table holds what, by number.

    Args:
        delimiter: What stands between two cells.
        count: How many columns there are.
        text: What was said, or a conversation a cell if `is_whole`.
        role, name: Who said it; None if no column says so.
        conversation: Tells the conversations of a file apart; None if it is one.
        is_whole: Whether a cell holds a conversation.
    """

    delimiter: str
    count: int
    text: int
    role: int | None = None
    name: int | None = None
    conversation: int | None = None
    is_whole: bool = False


def read(source: str, **options: str | None) -> Transcript:
    """Read a table that holds one conversation: a turn for each row below the header.

    Args:
        source: The file. The first row names the columns.
        options: `role_column`, `text_column`, `conversation_column`: names of columns, where they are not found by
            themselves. `column`: the name of a column whose cells hold a conversation each, as JSON or plain text.
    Raises:
        InputError: A column is missing, a row has another number of cells than the header (names the line), or the file
            holds several conversations: see `read_records`.
    """
    if not isinstance(source, str):
        raise InputError(f"the table is {type(source).__name__}; allowed: str.")
    pieces = list(split([source], **options))
    found = [(index, read_piece(piece, **options)) for index, piece in enumerate(pieces) if piece.is_record]
    if len(found) > 1:
        raise InputError(f"the file holds {len(found)} conversations; read them one by one with read_records().")
    if not found:
        return Transcript((), "csv", MappingProxyType({"head": source, "tail": ""}))
    at, transcript = found[0]
    head, tail = ("".join(piece.raw for piece in some) for some in (pieces[:at], pieces[at + 1 :]))
    extra = {**transcript.extra, "head": head, "tail": transcript.extra["tail"] + tail}
    return replace(transcript, extra=MappingProxyType(extra))


def write(transcript: Transcript) -> str:
    """The rows that were read, with the texts of the turns.

    Raises:
        InputError: A turn was not read from a table.
    """
    extra = transcript.extra
    if "cell" in extra:  # a conversation in a cell
        inner = replace(transcript, format=extra["inner"].format, extra=extra["inner"].extra)
        said = json_.write(inner) if inner.format == "json" else text.write(inner)
        cell = extra["cell"] if said == unquoted(extra["cell"]) else like(extra["cell"], said, extra["delimiter"])
        return f"{extra['head']}{extra['before']}{cell}{extra['tail']}"
    pieces: list[str] = [extra.get("head", "")]
    for index, turn in enumerate(transcript):
        if "cell" not in turn.extra:
            raise InputError(f"turn {index} was not read from a table; make it with with_text() from one that was.")
        cell = turn.extra["cell"]
        same = turn.text == unquoted(cell)
        pieces += (turn.extra["before"], cell if same else like(cell, turn.text, turn.extra["delimiter"]))
    return "".join([*pieces, extra.get("tail", "")])


def split(stream: Iterable[str] | TextIO, **options: str | None) -> Iterator[Piece]:
    """Cut a table into its conversations while it is read: rows one after the other with the same id, or single rows.

    Without a column of ids, all rows are one conversation. A row that cannot be read is a piece of its own, so that the
    rest can be. See `read` for the options.

    Raises:
        InputError: The first row names no column with text, or not one that an option names.
    """
    source = _Table(stream, options)
    yield Piece(source.header, 1, is_record=False)
    group: list[Row] = []
    group_id: str | None = None
    for row in source.rows:
        own = group_id if row.is_blank else _id(row, source.columns)
        if group and own != group_id and group_id is not None:
            yield _piece(group, source.header)
            group = []
        group_id = own
        group.append(row)
    if group:
        yield _piece(group, source.header)


def read_piece(piece: Piece, **options: str | None) -> Transcript:
    """Read the rows of one conversation; see `Format.read_piece`."""
    columns, _ = _columns(piece.header, options)
    turns: list[Turn] = []
    before: list[str] = []
    for row in rows([piece.raw], columns.delimiter, piece.line):
        if row.is_blank:
            before.append(row.raw)
            continue
        checked(row, columns.count)
        if columns.is_whole:
            return _read_cell(piece, row, columns)
        start, end = row.cells[columns.text]
        cell = row.raw[start:end]
        before.append(row.raw[:start])
        role, speaker = _who(row, columns)
        extra = {"before": "".join(before), "cell": cell, "delimiter": columns.delimiter}
        turns.append(Turn(role, speaker, unquoted(cell), MappingProxyType(extra)))
        before = [row.raw[end:]]
    return Transcript(tuple(turns), "csv", MappingProxyType({"tail": "".join(before)}))


def looks_like(head: str) -> bool:
    """Whether the beginning of a file is that of a table: columns with text and speaker, and rows of the same width."""
    try:
        source = _Table([head], {})
    except InputError:
        return False
    columns = source.columns
    if columns.role is None and not columns.is_whole:
        return False
    below = [row for row in islice(source.rows, 3) if not row.is_blank]
    return bool(below) and not below[0].error and len(below[0].cells) == columns.count


class _Table:
    """A table whose header has been read: its columns, the characters of its header, and its rows as they come."""

    def __init__(self, stream: Iterable[str] | TextIO, options: Mapping[str, str | None]) -> None:
        source = chunks(stream)
        begun: list[str] = []
        for chunk in source:
            begun.append(chunk)
            if sum(map(len, begun)) >= _HEAD:
                break
        head = "".join(begun)
        self.columns, self.header = _columns(head, options)
        n_lines = sum(1 for _ in lines([self.header]))
        self.rows = rows(chain([head[len(self.header) :]], source), self.columns.delimiter, 1 + n_lines)


def _columns(head: str, options: Mapping[str, str | None]) -> tuple[Columns, str]:
    """The columns of a table, and its characters up to the end of its header.

    Raises:
        InputError: The first row names no column with text, or not one that an option names.
    """
    for name, value in options.items():
        if name not in OPTIONS:
            raise InputError(f"unknown option {name!r}; allowed: {', '.join(OPTIONS)}.")
        if value is not None and not isinstance(value, str):
            raise InputError(f"{name} is {value!r}; allowed: the name of a column.")
    return _found(head[:_HEAD], tuple(sorted(options.items())))


@lru_cache(maxsize=16)  # a piece is read with the header of the piece before
def _found(head: str, options: tuple[tuple[str, str | None], ...]) -> tuple[Columns, str]:
    above = _ABOVE.match(head)
    start = above.end() if above else 0
    hint = _SEPARATOR.match(head, start)
    start = hint.end() if hint else start
    found: list[tuple[int, Columns, int]] = []
    failed: list[tuple[int, InputError]] = []
    for delimiter in (hint[1],) if hint else _DELIMITERS:
        row = next(rows([head[start:]], delimiter), None)
        if row is None:
            raise InputError("the table is empty; allowed: a first row that names the columns.")
        names = [row.value(number) for number in range(len(row.cells))]
        try:
            found.append((len(names), _named(names, delimiter, dict(options)), start + len(row.raw)))
        except InputError as error:
            wrong = f"line {row.line + head[:start].count(chr(10))}: {row.error}."
            failed.append((len(names), InputError(wrong) if row.error else error))
    if not found:
        raise max(failed, key=lambda item: item[0])[1]
    _, columns, end = max(found, key=lambda item: item[0])
    return columns, head[:end]


def _named(names: Sequence[str], delimiter: str, options: Mapping[str, str | None]) -> Columns:
    known = {_plain(name): number for number, name in reversed(list(enumerate(names)))}

    def asked(option: str) -> int | None:
        name = options.get(option)
        if name is not None and _plain(name) not in known:
            raise InputError(f"{option} is {name!r}; the columns are {_listed(names)}.")
        return None if name is None else known[_plain(name)]

    def usual(usual_names: Iterable[str]) -> int | None:
        return next((known[name] for name in usual_names if name in known), None)

    whole, said = asked("column"), asked("text_column")
    if whole is None and said is None:
        said = usual(_TEXT)
        whole = usual(_WHOLE) if said is None else None
    if whole is not None:
        return Columns(delimiter, len(names), whole, is_whole=True)
    if said is None:
        raise InputError(
            f"the first row names no column with text: {_listed(names)}; allowed: text, content, message, body, ..., or "
            "the name that `compressor batch --text-column NAME` gives (text_column in Python), or `--column NAME` "
            "(column) for cells that hold a conversation each."
        )
    role, conversation = asked("role_column"), asked("conversation_column")
    if role is None:
        role = usual(name for name in _ROLE if known.get(name) != said)
    name = usual(_NAME) if role is not None and _plain(names[role]) == "role" else None
    if conversation is None:
        conversation = usual(name for name in _CONVERSATION if known.get(name) not in (said, role))
    return Columns(delimiter, len(names), said, role, name, conversation)


def _plain(name: str) -> str:
    return re.sub(r"[\s-]+", "_", name.strip("\ufeff \t\r\n").lower())


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name[:40]) for name in names[:12])
    return f"{shown}, ..." if len(names) > 12 else shown


def _id(row: Row, columns: Columns) -> str:
    """What tells the conversation of a row from the one before; a row that cannot be read stands alone."""
    if row.error or len(row.cells) != columns.count or columns.is_whole:
        return f"line {row.line}"
    return "" if columns.conversation is None else f"id {row.value(columns.conversation)}"


def _piece(group: Sequence[Row], header: str) -> Piece:
    return Piece("".join(row.raw for row in group), group[0].line, any(not row.is_blank for row in group), header)


def _who(row: Row, columns: Columns) -> tuple[str, str | None]:
    """The role and the name of who speaks in a row."""
    said = row.value(columns.role).strip() if columns.role is not None else ""
    name = row.value(columns.name).strip() if columns.name is not None else ""
    if not said and not name:
        return "none", None
    return CHAT_ROLES.get(said.lower(), "speaker"), name or said


def _read_cell(piece: Piece, row: Row, columns: Columns) -> Transcript:
    """The conversation in a cell."""
    start, end = row.cells[columns.text]
    cell = row.raw[start:end]
    content = unquoted(cell)
    try:
        inner = json_.read(content) if content.lstrip()[:1] in ("[", "{") else text.read(content)
    except InputError as error:
        raise InputError(f"line {row.line}: {error}") from error
    at = piece.raw.index(row.raw) + start
    extra = {
        "inner": inner,
        "cell": cell,
        "delimiter": columns.delimiter,
        "head": "",
        "before": piece.raw[:at],
        "tail": piece.raw[at + len(cell) :],
    }
    return Transcript(inner.turns, "csv", MappingProxyType(extra))
