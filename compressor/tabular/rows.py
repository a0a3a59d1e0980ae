"""Compresses the rows of one Arrow column, each as if it were alone; a bad row ends nothing."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from compressor import formats
from compressor.errors import InputError, PolicyError
from compressor.formats.files import sniff
from compressor.formats.messages import edits
from compressor.formats.splice import Inside, Path, at, splice
from compressor.pipeline import Compressor
from compressor.report import Report
from compressor.result import CompressionResult
from compressor.tabular.columns import Edit, check_type, replace, values
from compressor.transcript import Transcript

COLUMN = "messages"
"""The column that holds the conversations, unless an option says otherwise."""

ROWS = 256
"""Rows that are held as Python values at a time."""

Outcome = Report | Exception | None
"""What became of a row: its report, why it could not be compressed, or None for a null."""


@dataclass(frozen=True, slots=True)
class Rows:
    """A batch after compression.

    Args:
        batch: The same rows; those that failed are as they were.
        outcomes: What became of each row.
    """

    batch: pa.RecordBatch
    outcomes: tuple[Outcome, ...]


def compress_rows(
    batch: pa.RecordBatch, *, column: str = COLUMN, compressor: Compressor, format: str | None = None
) -> Rows:
    """Compress the conversations of one column, with the report or the error of each row beside them.

    The schema stays as it is; see `compress_table` for what a row may hold.

    Raises:
        InputError: There is no such column, or its type holds no conversation.
        PolicyError: Messages are to be left out of lists of fixed length.
    """
    check_columns(batch.schema.names, column)
    check_format(format)
    array = batch.column(column)
    check_type(column, array.type)
    if compressor.policy.emptied == "drop" and "fixed_size_list" in str(array.type):
        raise PolicyError(
            f"emptied is 'drop', and the column {column!r} holds {array.type}, which cannot lose a message; "
            "allowed: 'auto', 'word', 'empty'."
        )
    changes: list[Edit] = []
    outcomes: list[Outcome] = []
    for start in range(0, len(array), ROWS):
        found = list(_values(array.slice(start, ROWS)))
        for row, (value, outcome) in enumerate(
            zip(found, compress_values(found, compressor, format), strict=True), start
        ):
            if isinstance(outcome, CompressionResult):
                changes += _changes(row, value, outcome)
                outcomes.append(outcome.report)
            else:
                outcomes.append(outcome)
    if changes:
        batch = batch.set_column(batch.schema.names.index(column), batch.schema.field(column), replace(array, changes))
    return Rows(batch, tuple(outcomes))


def compress_values(
    found: Sequence[Any], compressor: Compressor, format: str | None = None
) -> Iterator[CompressionResult | Exception | None]:
    """The result of each row's value, or its error; None for a None."""
    sources = [_source(value, format) for value in found]
    results = _results(compressor, [source for source in sources if isinstance(source, Transcript)])
    return (next(results) if isinstance(source, Transcript) else source for source in sources)


def check_format(format: str | None) -> None:
    """Make sure that a format exists.

    Raises:
        InputError: It does not; names those that do.
    """
    if format is not None and format not in formats.FORMATS:
        raise InputError(f"unknown format {format!r}; allowed: {', '.join(formats.FORMATS)}.")


def check_columns(names: Sequence[str], column: str, added: Sequence[str] = ()) -> None:
    """Make sure that a column is there once, and that those to be added are new.

    Raises:
        InputError: It is not so; names the columns that exist.
    """
    found = list(names).count(column)
    if found != 1:
        there = "is there twice" if found else "is not there"
        raise InputError(
            f"the column {column!r} {there}; the columns are: {', '.join(map(repr, names)) or 'none'}. "
            "Choose the one that holds the conversations."
        )
    taken = [name for index, name in enumerate(added) if name in names or name in added[:index]]
    if taken:
        raise InputError(f"the column {taken[0]!r}, which is to be added, is there already; choose another name.")


def _values(array: pa.Array) -> Iterator[Any]:
    """The value of each row, or the error of a row that has none."""
    try:
        yield from values(array)
    except (InputError, UnicodeDecodeError, pa.ArrowException):
        for row in range(len(array)):
            yield _value(array.slice(row, 1))


def _value(array: pa.Array) -> Any:
    try:
        return values(array)[0]
    except UnicodeDecodeError as error:
        return InputError(f"the text is no valid UTF-8: byte {error.start} ({error.object[error.start]:#04x}).")
    except (InputError, pa.ArrowException) as error:
        return error if isinstance(error, InputError) else InputError(f"the row cannot be read: {error}")


def _source(value: Any, format: str | None) -> Transcript | Exception | None:
    """The conversation in a row, or why there is none."""
    if value is None or isinstance(value, Exception):
        return value
    try:
        if isinstance(value, str):
            return formats.read(value, sniff(value) if format is None else format)
        if isinstance(value, bytes):
            raise InputError("the row holds bytes that are no UTF-8; allowed: text.")
        return formats.read(value, format)
    except InputError as error:
        return error


def _results(compressor: Compressor, transcripts: Sequence[Transcript]) -> Iterator[CompressionResult | Exception]:
    """The result of each transcript; after a failure the others go on one by one."""
    done = 0
    try:
        for result in compressor.compress_many(transcripts):
            done += 1
            yield result
    except Exception:  # a scorer or a rule of the caller's may raise anything; whose fault it was shows below
        for transcript in transcripts[done:]:
            yield _result(compressor, transcript)


def _result(compressor: Compressor, transcript: Transcript) -> CompressionResult | Exception:
    try:
        return compressor.compress(transcript)
    except Exception as error:  # one bad row must not end a job of millions: it keeps its data and its error is told
        return error


def _changes(row: int, value: Any, result: CompressionResult) -> Iterator[Edit]:
    """Which texts of a row are new, by their place in the column."""
    source, output = result.source, result.transcript
    if source.format == "strings":
        for index, (before, after) in enumerate(zip(source.turns, output.turns, strict=True)):
            if before.text != after.text:
                yield row, (index,), after.text
    elif source.format == "messages":
        inner: defaultdict[Path, dict[Path, str | None]] = defaultdict(dict)
        for path, text in edits(output):
            if Inside.JSON in path:  # a string of the row is JSON itself
                cut = path.index(Inside.JSON)
                inner[path[:cut]][path[cut + 1 :]] = text
            else:
                yield row, path, text
        for path, changes in inner.items():
            yield row, path, splice(at(value, path), changes)
    else:
        written = formats.write(output)
        if written != formats.write(source):
            yield row, (), written
