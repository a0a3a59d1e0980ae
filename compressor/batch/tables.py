"""Rows of Parquet and Arrow files on their way to a worker and back."""

import json
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from compressor.batch.errors import BatchError
from compressor.batch.tally import Tally
from compressor.pipeline import Compressor
from compressor.report import Report

if TYPE_CHECKING:  # pyarrow is only there with the extra `batch`
    from compressor.tabular.files import Part, TableFile

COLUMN = "messages"
"""The column that holds the conversations, unless an option says otherwise."""

PIECE_BYTES = 32_768
"""Memory of the rows that one piece holds, about; one row at least."""

_ENDS = b"compressor:ends_group"
_LENGTH = struct.Struct("<Q")


@dataclass(frozen=True, slots=True)
class TablePiece:
    """Some rows of a table that stand next to each other.

    Args:
        raw: The rows as they stand in an unfinished file: an Arrow stream, its length before it, that also says whether a
            row group or a record batch ends with them.
        line: The number of the first row, from 1.
        rows: How many there are.
        size: Bytes of their memory.
    """

    raw: bytes
    line: int
    rows: int
    size: int

    @property
    def lines(self) -> range:
        """The numbers of the rows."""
        return range(self.line, self.line + self.rows)


def table_pieces(table: "TableFile", start: int) -> Iterator[TablePiece]:
    """Cut a table into pieces behind its first `start` rows, without holding more than a part of it."""
    for part in table.parts(start):
        rows = part.batch.num_rows
        step = max(1, rows * PIECE_BYTES // max(1, part.batch.nbytes))
        for first in range(0, rows, step):
            own = part.batch.slice(first, step)
            last = first + step >= rows
            kept = {**((part.metadata if last else None) or {}), _ENDS: b"1" if last and part.ends_group else b""}
            yield TablePiece(_framed(own, kept), part.row + first + 1, own.num_rows, own.nbytes)


def compress_piece(
    piece: TablePiece, compressor: Compressor, column: str, format: str | None, tally: Tally
) -> tuple[bytes, list[tuple[int, Exception, str]]]:
    """Compress the rows of a piece.

    Args:
        column: The one that holds the conversations.
        format: How its strings are read; None finds out.
        tally: Counts the rows.
    Returns:
        The rows as they stand in the unfinished file, and for each one that failed: its number in the file, why, and what it
        holds.
    """
    from compressor.tables import compress_rows

    batch, metadata = _rows(piece.raw[_LENGTH.size :])
    tally.characters += piece.size
    rows = compress_rows(batch, column=column, compressor=compressor, format=format)
    problems: list[tuple[int, Exception, str]] = []
    for at, outcome in enumerate(rows.outcomes):
        if isinstance(outcome, Report):
            tally.count(outcome)
        elif outcome is not None:
            tally.bad += 1
            problems.append((piece.line + at, outcome, row_text(batch, column, at)))
    return _framed(rows.batch, metadata), problems


def row_text(batch: Any, column: str, row: int) -> str:
    """What a row holds, to be shown: text as it is, all else as JSON."""
    from compressor.tabular.columns import values

    try:
        value = values(batch.column(column).slice(row, 1))[0]
    except ValueError as error:  # text that is no UTF-8, a map with a key twice
        return f"(unreadable: {error})"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=repr)


def row_value(piece: TablePiece, column: str, row: int) -> Any:
    """The conversation in a row of a piece, as plain values.

    Raises:
        ValueError: It cannot be read.
    """
    from compressor.tabular.columns import values

    return values(_rows(piece.raw[_LENGTH.size :])[0].column(column).slice(row, 1))[0]


def assemble(part: BinaryIO, source: Path, target: BinaryIO, column: str) -> None:
    """Write a file like its source from the pieces in an unfinished one; memory is that of a row group.

    Raises:
        InputError: The source is damaged or no table any more.
        BatchError: The unfinished file is damaged.
    """
    from compressor.tabular.files import open_table

    with open_table(source) as table, table.writer(target, column) as writer:
        for piece in _parts(part):
            writer.write(piece)


def _parts(part: BinaryIO) -> "Iterator[Part]":
    import pyarrow as pa

    from compressor.tabular.files import Part

    row = 0
    while edge := part.read(_LENGTH.size):
        try:
            batch, metadata = _rows(part.read(_LENGTH.unpack(edge)[0]))
        except (struct.error, pa.ArrowException, StopIteration) as error:
            raise BatchError(
                f"the unfinished table is damaged behind row {row} ({error}); --restart begins anew."
            ) from error
        own = dict(metadata)
        ends = own.pop(_ENDS) == b"1"
        yield Part(batch, row, ends_group=ends, metadata=pa.KeyValueMetadata(own) if own else None)
        row += batch.num_rows


def _framed(batch: Any, metadata: Any) -> bytes:
    """Rows as an Arrow stream, its length before it."""
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema, options=pa.ipc.IpcWriteOptions(compression="lz4")) as writer:
        writer.write_batch(batch, custom_metadata=metadata)
    rows = sink.getvalue()
    return _LENGTH.pack(rows.size) + bytes(rows)


def _rows(stream: bytes) -> tuple[Any, Any]:
    import pyarrow as pa

    with pa.ipc.open_stream(stream) as reader:
        batch, metadata = reader.read_next_batch_with_custom_metadata()
    return batch, metadata
