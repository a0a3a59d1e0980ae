"""Compresses a column of an Arrow table: the one function that every engine calls, on one machine or on many."""

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

try:
    import pyarrow as pa
except ImportError as error:
    raise ImportError("tables need the package pyarrow: pip install 'compressor[batch]'") from error

from compressor.errors import CompressorError, PolicyError
from compressor.pipeline import Compressor, load_scorer
from compressor.policy import Policy
from compressor.report import Report
from compressor.scoring import Scorer
from compressor.scoring.cache import CachedScorer
from compressor.tabular.columns import check_type
from compressor.tabular.rows import COLUMN, Outcome, Rows, check_columns, check_format, compress_rows
from compressor.tokens import TokenCounter, as_counter

__all__ = [
    "COLUMN", "ERROR_COLUMN", "Outcome", "Rows", "added_fields", "check_columns", "check_format", "compress_rows",
    "compress_table", "extended", "load_compressor", "with_added",
]  # fmt: skip

ERROR_COLUMN = "compressor_error"

AnyTable = TypeVar("AnyTable", pa.RecordBatch, pa.Table)


def compress_table(
    table: AnyTable,
    *,
    column: str = COLUMN,
    compressor: Compressor | None = None,
    model: str | Path = "default",
    policy: Policy | None = None,
    token_counter: TokenCounter | str | None = None,
    threads: int | None = None,
    format: str | None = None,
    error_column: str | None = ERROR_COLUMN,
    token_columns: tuple[str, str] | None = None,
) -> AnyTable:
    """Compress the conversations of one column; a row is a conversation.

    A row may hold a list of messages (structs or maps with `role` and `content`, or `from` and `value`; the content a
    string or a list of parts), a struct with such a list inside, JSON text of any of these, or plain text. A null stays
    null. Each row comes out as if it were compressed alone. All other columns, the other fields of messages, the order of
    rows, the schema and its metadata come back as they are.

    Args:
        table: A RecordBatch or a Table.
        column: The name of the column.
        compressor: Compresses the rows, and has its own model, policy, counter and threads: those below are not read
            then. Default: one is made of them; the model is loaded once a process.
        model: A shipped model, a model folder, or `heuristic`.
        policy: How much to keep and what to protect.
        token_counter: How budgets and reports count; see `Compressor`.
        threads: Threads that score in parallel. Default: as many as there are cores.
        format: How the strings of the column are read: a name in FORMATS. Default: found by each string's content.
        error_column: The name of a column that is added: why a row could not be compressed, null for all others. Such a
            row keeps its data. None: no column, and the first such row raises.
        token_columns: The names of two columns that are added: the row's tokens before and after, null where nothing was
            compressed. Default: none.
    Raises:
        InputError: There is no such column (names those that exist), its type holds no conversation, or an added column
            exists already. With `error_column=None` also: a row cannot be compressed (names the row, from 0).
        PolicyError: An option is not allowed.
        ModelError: The model cannot be used.

    >>> import pyarrow as pa
    >>> batch = pa.record_batch({"id": [7], "messages": ["Ann: um, so, the fee is not refundable."]})
    >>> compress_table(batch, model="heuristic").to_pylist()
    [{'id': 7, 'messages': 'Ann: the fee is not refundable.', 'compressor_error': None}]
    """
    added = added_fields(error_column, token_columns)
    check_columns(table.schema.names, column, [field.name for field in added])
    check_format(format)
    check_type(column, table.schema.field(column).type)
    chosen = compressor or load_compressor(model, policy=policy, token_counter=token_counter, threads=threads)
    if isinstance(table, pa.RecordBatch):
        return with_added(compress_rows(table, column=column, compressor=chosen, format=format), column, added)
    schema = extended(table.schema, added)
    batches = [
        with_added(compress_rows(batch, column=column, compressor=chosen, format=format), column, added)
        for batch in table.to_batches()
    ]
    return pa.Table.from_batches(batches, schema)


def load_compressor(
    model: str | Path = "default",
    *,
    policy: Policy | None = None,
    token_counter: TokenCounter | str | None = None,
    threads: int | None = None,
) -> Compressor:
    """A compressor that remembers the scores of turns, and whose model is loaded once a process.

    Raises:
        PolicyError: An option is not allowed.
        ModelError: The model cannot be used.
    """
    is_name = token_counter is None or isinstance(token_counter, str)
    counter = _counter(token_counter) if is_name else token_counter  # type: ignore[arg-type]
    return Compressor(_scorer(model, threads), policy=policy, token_counter=counter)


def added_fields(error_column: str | None, token_columns: tuple[str, str] | None) -> list[pa.Field]:
    """The columns that options add: tokens before and after, then the error.

    Raises:
        PolicyError: A name is no string, or there are not two names for the tokens.
    """
    names: list[tuple[str, Any, pa.DataType]] = []
    if token_columns is not None:
        if isinstance(token_columns, str) or not isinstance(token_columns, Sequence) or len(token_columns) != 2:
            raise PolicyError(f"token_columns is {token_columns!r}; allowed: None or two names of columns.")
        names += [("token_columns", name, pa.int64()) for name in token_columns]
    if error_column is not None:
        names.append(("error_column", error_column, pa.string()))
    for option, name, _ in names:
        if not isinstance(name, str) or not name:
            raise PolicyError(f"{option} holds {name!r}; allowed: the name of a column.")
    return [pa.field(name, type) for _, name, type in names]


def with_added(rows: Rows, column: str, added: Sequence[pa.Field]) -> pa.RecordBatch:
    """The batch with the columns that were asked for; without one for errors the first error is raised."""
    texts = [_reason(outcome) if isinstance(outcome, Exception) else None for outcome in rows.outcomes]
    if not any(pa.types.is_string(field.type) for field in added):
        for number, outcome in enumerate(rows.outcomes):
            if isinstance(outcome, Exception):
                kind = type(outcome) if isinstance(outcome, CompressorError) else CompressorError
                raise kind(f"column {column!r}, row {number}: {texts[number]}") from outcome
    reports = [outcome if isinstance(outcome, Report) else None for outcome in rows.outcomes]
    before = [report and report.tokens_before for report in reports]
    after = [report and report.tokens_after for report in reports]
    counts = iter((before, after))
    arrays = [pa.array(texts if pa.types.is_string(field.type) else next(counts), field.type) for field in added]
    return pa.RecordBatch.from_arrays([*rows.batch.columns, *arrays], schema=extended(rows.batch.schema, added))


def extended(schema: pa.Schema, added: Sequence[pa.Field]) -> pa.Schema:
    """A schema with further columns behind the others."""
    for field in added:
        schema = schema.append(field)
    return schema


def _reason(error: Exception) -> str:
    return str(error) if isinstance(error, CompressorError) else f"{type(error).__name__}: {error}"


@lru_cache(maxsize=4)
def _scorer(model: str | Path, threads: int | None) -> Scorer:
    return CachedScorer(load_scorer(model, threads=threads))


@lru_cache(maxsize=4)
def _counter(name: str | None) -> TokenCounter:
    return as_counter(name)
