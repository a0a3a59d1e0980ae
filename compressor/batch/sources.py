"""Opens the inputs one after the other and cuts them into steps: a file begins, pieces of it, it ends or fails."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from compressor.batch.identity import Settings, Stamp
from compressor.batch.inputs import Input
from compressor.batch.journal import FileState
from compressor.batch.tables import COLUMN, TablePiece, table_pieces
from compressor.batch.worker import reason
from compressor.errors import InputError
from compressor.formats import FORMATS
from compressor.formats.compressed import ENDINGS
from compressor.formats.opening import open_text
from compressor.formats.pieces import pieces
from compressor.formats.sniffing import sniff
from compressor.formats.splitting import Piece, chunks

HEAD = 1 << 20
"""Characters at the beginning of a file by which its format is found."""

BLANK = "\ufeff \t\r\n"
"""A file that holds nothing else is empty."""


@dataclass(frozen=True, slots=True)
class Begin:
    """A file is open; `state` says what it is, without an id."""

    file: Input
    state: FileState
    seconds: float


@dataclass(frozen=True, slots=True)
class Cut:
    """The next piece of the file that began last.

    Args:
        encode: The bytes of a text that takes the piece's place, and of the line where it begins.
        position: The byte of the file up to which it reaches, about.
        seconds: Processor time that cutting it took.
    """

    file: Input
    format: str
    piece: Piece | TablePiece
    encode: Callable[[str, int], bytes]
    position: int
    seconds: float


@dataclass(frozen=True, slots=True)
class End:
    """All pieces of a file were cut."""

    file: Input


@dataclass(frozen=True, slots=True)
class Failed:
    """A file cannot be read, or not to its end."""

    file: Input
    reason: str


Step = Begin | Cut | End | Failed


@dataclass(frozen=True, slots=True)
class Opened:
    """An open file.

    Args:
        format: A name in FORMATS, or `parquet`, `arrow`, `arrow stream`.
        encoding, compression: Of text; empty for tables.
        notes: What a reader of the report should know.
        encode: The bytes of a text of this file, given the line where it begins.
        pieces: Cuts the file; may be called once, with the number of pieces (of a table: rows) to leave out.
        position: The byte of the file up to which it was read.
    """

    format: str
    encoding: str
    compression: str
    notes: tuple[str, ...]
    encode: Callable[[str, int], bytes]
    pieces: Callable[[int], Iterator[Piece | TablePiece]]
    position: Callable[[], int]


def steps(file: Input, settings: Settings, begun: FileState | None) -> Iterator[Step]:
    """Cut one file.

    Args:
        begun: Where an earlier run has come to in this file; that much of it is left out.
    """
    try:
        start = time.thread_time()
        stamp = begun.stamp if begun and begun.stamp else Stamp.of(file.path)
        with opened(file, settings) as source:
            if begun is None:
                state = FileState(0, stamp, source.format, source.encoding, source.compression, source.notes)
                yield Begin(file, state, time.thread_time() - start)
            else:
                _check_same(begun, source)
            start = time.thread_time()
            for piece in source.pieces(begun.pieces if begun else 0):
                seconds = time.thread_time() - start
                yield Cut(file, source.format, piece, source.encode, source.position(), seconds)
                start = time.thread_time()
        if not stamp.matches(file.path):
            raise InputError("the file was changed while it was read; compress it again when it rests.")
    except Exception as error:  # a broken archive, a file that vanished, one that nobody foresaw: the others go on
        yield Failed(file, reason(error))
    else:
        yield End(file)


def _check_same(begun: FileState, source: Opened) -> None:
    """Make sure that a file which is gone on with is cut as it was; a guess of its encoding may have become another one."""
    then = (begun.format, begun.encoding, begun.compression)
    now = (source.format, source.encoding, source.compression)
    if then != now:
        raise InputError(
            f"the file was read as {', '.join(filter(None, then))} and is {', '.join(filter(None, now))} now."
        )


@contextmanager
def opened(file: Input, settings: Settings) -> Iterator[Opened]:
    """Open a file and find out what it is.

    Raises:
        InputError: It cannot be read as text or as a table, or a column is missing.
        OSError: It cannot be opened.
    """
    with open(file.path, "rb") as handle:
        head = handle.read(16)
    if is_table(head):
        with _table(file, settings) as source:
            yield source
    else:
        with _text(file, settings) as source:
            yield source


def is_table(head: bytes) -> bool:
    """Whether a file that begins so is a Parquet or an Arrow file; answered without pyarrow."""
    return head.startswith((b"PAR1", b"PARE", b"ARROW1", b"FEA1", b"\xff\xff\xff\xff"))


@contextmanager
def _table(file: Input, settings: Settings) -> Iterator[Opened]:
    try:
        from compressor.tables import check_columns
        from compressor.tabular.columns import check_type
        from compressor.tabular.files import open_table
    except ImportError as error:
        raise InputError("Parquet and Arrow files need pyarrow: pip install 'compressor[batch]'") from error
    column = (settings.options or {}).get("column", COLUMN)
    with open_table(file.path) as table:
        check_columns(table.schema.names, column)
        check_type(column, table.schema.field(column).type)
        rows_read = 0

        def pieces(start: int) -> Iterator[TablePiece]:
            nonlocal rows_read
            for piece in table_pieces(table, start):
                rows_read = piece.line + piece.rows - 1
                yield piece

        def encode(text: str, line: int) -> bytes:
            raise TypeError("rows of a table are bytes already")

        def position() -> int:
            return file.size * rows_read // table.rows if table.rows else 0

        yield Opened(table.kind, "", "", (), encode, pieces, position)


@contextmanager
def _text(file: Input, settings: Settings) -> Iterator[Opened]:
    with open(file.path, "rb") as handle, open_text(handle) as text:
        head = text.stream.read(HEAD)
        name = settings.format or format_of(head, file.path)

        def characters() -> Iterator[str]:
            yield head
            yield from chunks(text.stream)

        def cut(start: int) -> Iterator[Piece]:
            if len(head) < HEAD and not head.strip(BLANK):  # of any format: there is nothing to do, and nothing wrong
                return islice([Piece(head, 1, is_record=False)] if head else [], start, None)
            return islice(pieces(characters(), name, **(settings.options or {})), start, None)

        yield Opened(name, text.encoding, text.compression, text.notes, text.encode, cut, handle.tell)


def format_of(head: str, path: Path) -> str:
    """The format of a file by the first of its characters; by its ending where they look like plain text."""
    found = sniff(head)
    if found != "text":
        return found
    ending = path.with_suffix("").suffix if path.suffix.lower() in ENDINGS else path.suffix
    return next((name for name, format in FORMATS.items() if ending.lower() in format.extensions), found)
