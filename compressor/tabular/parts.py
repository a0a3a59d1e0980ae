"""Table files larger than memory: what a part is, and what a file and its writer offer, whatever their format."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import BinaryIO, Protocol

import pyarrow as pa

from compressor.errors import InputError

PART_BYTES = 4 * 2**20
"""Bytes of memory that a part takes, about; one row at least."""

PART_ROWS = 1024
"""Most rows of a part."""

GROUP_BYTES = 128 * 2**20
"""A row group (Parquet) or a record batch (Arrow) that takes more memory than this is written as several."""


@dataclass(frozen=True, slots=True)
class Part:
    """Some rows of a file that stand next to each other.

    Args:
        batch: The rows.
        row: The number of the first one in the file, from 0.
        ends_group: Whether a row group (Parquet) or a record batch (Arrow) ends with them.
        metadata: What the file says of the record batch that ends with them, if anything.
    """

    batch: pa.RecordBatch
    row: int
    ends_group: bool
    metadata: pa.KeyValueMetadata | None = None


class TableWriter(Protocol):
    """Takes the parts of a file in their order."""

    def write(self, part: Part) -> None:
        """Write the rows of a part. They reach the file when their group ends."""
        ...


class TableFile(Protocol):
    """An open table.

    Args:
        kind: `parquet`, `arrow` (the file format, also called Feather) or `arrow stream`.
        schema: Its columns, with all metadata.
        rows: How many rows there are; None if only reading tells.
    """

    kind: str
    schema: pa.Schema
    rows: int | None

    def parts(self, start: int = 0) -> Iterator[Part]:
        """The rows, a bounded number at a time. Groups without rows are passed over.

        Args:
            start: The first row, from 0: those before it are skipped.
        Raises:
            InputError: The file is damaged.
        """
        ...

    def writer(self, target: BinaryIO, column: str) -> AbstractContextManager[TableWriter]:
        """A writer of a file like this one: schema, metadata, compression and groups.

        Args:
            target: Takes the bytes. The file is whole when the context is left without an error.
            column: The one whose values differ from this file's.
        """
        ...


class Group:
    """The parts of a group until it ends."""

    def __init__(self) -> None:
        self._parts: list[Part] = []
        self._bytes = 0

    def add(self, part: Part) -> Iterator[tuple[pa.Table, pa.KeyValueMetadata | None]]:
        """Take a part; gives the rows of the group, if it ends with it or grows too large, and its metadata."""
        self._parts.append(part)
        self._bytes += part.batch.nbytes
        if part.ends_group or self._bytes > GROUP_BYTES:
            table = pa.Table.from_batches([each.batch for each in self._parts])
            self._parts, self._bytes = [], 0
            yield table, part.metadata


def rows_of_part(rows: int, size: int) -> int:
    """How many rows a part takes where so many rows take so many bytes."""
    return max(1, min(PART_ROWS, PART_BYTES * rows // max(1, size)))


@contextmanager
def damage_reported(path: str, kind: str) -> Iterator[None]:
    """Turns what pyarrow says of a broken file into an InputError; the file system's own errors stay."""
    try:
        yield
    except pa.ArrowException as error:
        raise InputError(f"{path}: the {kind} file cannot be read: {error}") from error
    except OSError as error:
        if error.errno is not None:
            raise
        raise InputError(f"{path}: the {kind} file is damaged: {error}") from error
