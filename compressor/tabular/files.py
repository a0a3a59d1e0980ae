"""Parquet and Arrow files, opened by what they hold.

A job that may be stopped at any moment keeps the compressed parts beside the file that it makes and writes them with
`TableFile.writer` when all are there: neither format can be continued once its writer is gone.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

try:
    import pyarrow  # noqa: F401
except ImportError as error:
    raise ImportError("tables need the package pyarrow: pip install 'compressor[batch]'") from error

from compressor.errors import InputError
from compressor.tabular.ipc import FILE_MARK, ArrowTable
from compressor.tabular.parquet import ParquetTable
from compressor.tabular.parts import Part, TableFile, TableWriter

__all__ = ["Part", "TableFile", "TableWriter", "is_table", "open_table"]

_PARQUET_MARKS = (b"PAR1", b"PARE")
_STREAM_MARK = b"\xff\xff\xff\xff"
_FEATHER_1 = b"FEA1"
HEAD = 6
"""Bytes at the beginning that tell the format."""


def is_table(head: bytes) -> bool:
    """Whether a file that begins so (`HEAD` bytes or more) is a table, readable or not."""
    return head.startswith((*_PARQUET_MARKS, FILE_MARK, _STREAM_MARK, _FEATHER_1))


@contextmanager
def open_table(path: str | os.PathLike[str]) -> Iterator[TableFile]:
    """Open a Parquet file, an Arrow file (Feather) or an Arrow stream, whatever its name.

    Raises:
        InputError: It is none of these, encrypted, or damaged.
        OSError: It cannot be opened.
    """
    name = os.fspath(path)
    with Path(name).open("rb") as stream:
        head = stream.read(HEAD)
    if head.startswith(_FEATHER_1):
        raise InputError(f"{name}: Feather files of version 1 are not read; write it as Parquet or Feather version 2.")
    if head.startswith(_PARQUET_MARKS):
        table: ParquetTable | ArrowTable = ParquetTable(name)
    elif head.startswith((FILE_MARK, _STREAM_MARK)):
        table = ArrowTable(name, is_file=head.startswith(FILE_MARK))
    else:
        raise InputError(f"{name}: no table; allowed: Parquet, Arrow file (Feather), Arrow stream.")
    try:
        yield table
    finally:
        table.close()
