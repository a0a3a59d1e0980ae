"""Arrow files and streams (Feather among them), read part by part and written back batch for batch."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.types as kinds

from compressor.errors import InputError
from compressor.tabular.parts import Group, Part, damage_reported, rows_of_part

FILE_MARK = b"ARROW1"
_FILE_HEAD = 8
"""Bytes before the messages of a file: its mark and two of padding."""

_CODECS = {0: "lz4", 1: "zstd"}
_HEADER, _COMPRESSION, _CODEC = 2, 3, 0
"""Numbers of the fields that lead to the codec."""


class ArrowTable:
    """See `TableFile`. One record batch is held in memory at a time.

    Args:
        path: The file.
        is_file: Whether it is in the file format; else it is a stream.
    Raises:
        InputError: It is damaged.
    """

    def __init__(self, path: str, *, is_file: bool) -> None:
        self._path = path
        self._is_file = is_file
        self.kind = "arrow" if is_file else "arrow stream"
        self._source = pa.OSFile(path)
        with damage_reported(path, "Arrow"):
            self._reader = pa.ipc.open_file(self._source) if is_file else pa.ipc.open_stream(self._source)
            self.schema: pa.Schema = self._reader.schema
        self.rows: int | None = None
        self._begun = False

    def close(self) -> None:
        """Close the file."""
        self._source.close()

    def parts(self, start: int = 0) -> Iterator[Part]:
        """See `TableFile.parts`."""
        row = 0
        for batch, metadata in self._batches():
            first, row = row, row + batch.num_rows
            if row <= start:
                continue
            _check(batch, self._path)
            size = rows_of_part(batch.num_rows, batch.nbytes)
            for at in range(max(0, start - first), batch.num_rows, size):
                ends = at + size >= batch.num_rows
                yield Part(batch.slice(at, size), first + at, ends_group=ends, metadata=metadata if ends else None)

    def _batches(self) -> Iterator[tuple[pa.RecordBatch, pa.KeyValueMetadata | None]]:
        if self._is_file:
            for index in range(self._reader.num_record_batches):
                with damage_reported(self._path, "Arrow"):
                    found = self._reader.get_batch_with_custom_metadata(index)
                yield found
            return
        if self._begun:  # a stream is read from its beginning
            self._source.seek(0)
            self._reader = pa.ipc.open_stream(self._source)
        self._begun = True
        while True:
            try:
                with damage_reported(self._path, "Arrow"):
                    found = self._reader.read_next_batch_with_custom_metadata()
            except StopIteration:
                return
            yield found

    @contextmanager
    def writer(self, target: BinaryIO, column: str) -> Iterator["ArrowWriter"]:
        """See `TableFile.writer`."""
        options = pa.ipc.IpcWriteOptions(
            compression=_compression(self._path, self._is_file), emit_dictionary_deltas=True
        )
        make: Callable[..., Any] = pa.ipc.new_file if self._is_file else pa.ipc.new_stream
        footer = getattr(self._reader, "metadata", None) if self._is_file else None
        more = {"metadata": footer} if footer else {}
        with make(target, self.schema, options=options, **more) as written:
            yield ArrowWriter(written, one_dictionary=self._is_file and any(map(_has_dictionary, self.schema.types)))


class ArrowWriter:
    """See `TableWriter`.

    Args:
        written: Pyarrow's writer.
        one_dictionary: Whether the dictionaries of a batch have to begin with those of the batch before it, as a file
            in the file format demands.
    """

    def __init__(self, written: Any, *, one_dictionary: bool) -> None:
        self._written = written
        self._group = Group()
        self._one_dictionary = one_dictionary
        self._before: list[pa.RecordBatch] = []

    def write(self, part: Part) -> None:
        """See `TableWriter.write`."""
        for table, metadata in self._group.add(part):
            for batch in table.combine_chunks().to_batches():
                self._written.write_batch(self._continued(batch), custom_metadata=metadata)

    def _continued(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        if self._one_dictionary:
            # A batch without rows carries the dictionaries so far.
            batch = pa.Table.from_batches([*self._before, batch]).unify_dictionaries().to_batches()[-1]
            self._before = [batch.slice(0, 0)]
        return batch


def _check(batch: pa.RecordBatch, path: str) -> None:
    """Make sure that nothing points outside the batch; whether strings are UTF-8 shows row by row.

    Raises:
        InputError: It does.
    """
    for name, array in zip(batch.schema.names, batch.columns, strict=True):
        try:
            array.validate(full=True)
        except pa.ArrowException as error:
            if "UTF8" not in str(error).upper().replace("-", ""):
                raise InputError(f"{path}: the Arrow file is damaged: column {name!r}: {error}") from error


def _has_dictionary(type: pa.DataType) -> bool:
    if isinstance(type, pa.BaseExtensionType):
        return _has_dictionary(type.storage_type)
    inner = [type.field(index).type for index in range(type.num_fields)]
    return bool(kinds.is_dictionary(type)) or any(map(_has_dictionary, inner))


def _compression(path: str, is_file: bool) -> str | None:
    """The codec of the first record batch: `lz4`, `zstd` or None. Pyarrow reads it, but does not tell."""
    with pa.OSFile(path) as source:
        source.seek(_FILE_HEAD if is_file else 0)
        for message in pa.ipc.MessageReader.open_stream(source):
            if message.type == "record batch":
                return _codec(message.metadata.to_pybytes())
    return None


def _codec(message: bytes) -> str | None:
    """The codec that the flatbuffer of a message names.

    Source: format/Message.fbs of the Arrow specification (Message.header, RecordBatch.compression, BodyCompression.codec).
    """
    header = _field(message, _target(message, 0), _HEADER)
    compression = header and _field(message, _target(message, header), _COMPRESSION)
    if not compression:
        return None
    codec = _field(message, _target(message, compression), _CODEC)
    return _CODECS.get(message[codec] if codec else 0)


def _field(buffer: bytes, table: int, number: int) -> int | None:
    """Where the value of a field of a flatbuffer's table stands; None if it has its default."""
    names = table - int.from_bytes(buffer[table : table + 4], "little", signed=True)
    at = 4 + 2 * number
    if at >= int.from_bytes(buffer[names : names + 2], "little"):
        return None
    offset = int.from_bytes(buffer[names + at : names + at + 2], "little")
    return table + offset if offset else None


def _target(buffer: bytes, at: int) -> int:
    """What the offset at a place of a flatbuffer leads to."""
    return at + int.from_bytes(buffer[at : at + 4], "little")
