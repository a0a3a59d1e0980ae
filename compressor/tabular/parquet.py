"""Parquet files, read part by part and written back with the schema, metadata, codecs and row groups that they had.

What the format's metadata does not tell a reader is written as pyarrow does it: page sizes, encodings other than a
dictionary's, bloom filters (there are none then).
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from compressor.tabular.parts import Group, Part, damage_reported, rows_of_part

BUFFER = 2**20
"""Bytes of a column that are read at once."""

_DICTIONARIES = frozenset({"PLAIN_DICTIONARY", "RLE_DICTIONARY"})
_VERSIONS = ("1.0", "2.4", "2.6")


class ParquetTable:
    """See `TableFile`.

    Args:
        path: The file.
    Raises:
        InputError: It is damaged, or encrypted.
    """

    kind = "parquet"

    def __init__(self, path: str) -> None:
        self._path = path
        with damage_reported(path, "Parquet"):
            # Without these, whole columns of a row group are held in memory.
            self._file = pq.ParquetFile(path, pre_buffer=False, buffer_size=BUFFER)
            self.schema: pa.Schema = self._file.schema_arrow
        self.rows: int | None = self._file.metadata.num_rows

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def parts(self, start: int = 0) -> Iterator[Part]:
        """See `TableFile.parts`."""
        known = self._file.metadata
        end = 0
        for index in range(known.num_row_groups):
            group = known.row_group(index)
            row, end = end, end + group.num_rows
            if end <= start:
                continue
            size = rows_of_part(group.num_rows, group.total_byte_size)
            batches = self._file.iter_batches(size, row_groups=[index])
            while (batch := self._next(batches)) is not None:
                skipped = max(0, start - row)
                row += batch.num_rows
                if skipped < batch.num_rows:
                    batch = batch.slice(skipped)
                    yield Part(batch, row - batch.num_rows, ends_group=row == end)

    def _next(self, batches: Iterator[pa.RecordBatch]) -> pa.RecordBatch | None:
        with damage_reported(self._path, "Parquet"):
            return next(batches, None)

    @contextmanager
    def writer(self, target: BinaryIO, column: str) -> Iterator["ParquetWriter"]:
        """See `TableFile.writer`."""
        with pq.ParquetWriter(target, self.schema, **_options(self._file, self.schema, column)) as written:
            yield ParquetWriter(written)


class ParquetWriter:
    """See `TableWriter`."""

    def __init__(self, written: pq.ParquetWriter) -> None:
        self._written = written
        self._group = Group()

    def write(self, part: Part) -> None:
        """See `TableWriter.write`."""
        for table, _ in self._group.add(part):
            self._written.write_table(table, row_group_size=table.num_rows)


def _options(file: pq.ParquetFile, schema: pa.Schema, column: str) -> dict[str, Any]:
    """What makes pyarrow write a file like this one."""
    known = file.metadata
    options: dict[str, Any] = {
        "version": known.format_version if known.format_version in _VERSIONS else _VERSIONS[-1],
        "store_schema": b"ARROW:schema" in (known.metadata or {}),
    }
    if not known.num_row_groups:
        return options
    group = known.row_group(0)
    chunks = dict(zip(_paths(schema), map(group.column, range(group.num_columns)), strict=True))
    times = [chunk for chunk in chunks.values() if chunk.physical_type == "INT96"]
    return {
        **options,
        "compression": {path: _codec(chunk.compression) for path, chunk in chunks.items()},
        "use_dictionary": [path for path, chunk in chunks.items() if _DICTIONARIES & set(chunk.encodings)],
        "write_statistics": [path for path, chunk in chunks.items() if chunk.is_stats_set],
        "write_page_index": any(chunk.has_column_index for chunk in chunks.values()),
        "use_deprecated_int96_timestamps": bool(times),
        "sorting_columns": _sorting(group.sorting_columns, list(chunks), column) or None,
    }


def _paths(schema: pa.Schema) -> list[str]:
    """What pyarrow calls the columns, nested ones one by one; other writers name the items of lists otherwise."""
    empty = BytesIO()
    pq.write_table(schema.empty_table(), empty)
    found = pq.read_metadata(empty).schema
    return [found.column(index).path for index in range(len(found))]


def _codec(name: str) -> str:
    return "none" if name == "UNCOMPRESSED" else name.lower()


def _sorting(order: Sequence[pq.SortingColumn], paths: Sequence[str], column: str) -> list[pq.SortingColumn]:
    """By what the rows are still sorted: what comes before the column whose values change."""
    kept: list[pq.SortingColumn] = []
    for each in order:
        if paths[each.column_index].partition(".")[0] == column:
            break
        kept.append(each)
    return kept
