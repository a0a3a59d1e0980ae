"""Ray Data: compresses a column of a Dataset on a pool of actors, each of which loads the model once.

```python
import ray
from compressor import Policy
from compressor.integrations.ray import compress_dataset

calls = ray.data.read_parquet("calls/")
compress_dataset(calls, column="messages", policy=Policy(keep_ratio=0.5), concurrency=8).write_parquet("short/")
```
"""

from pathlib import Path
from typing import Any

import pyarrow as pa

try:
    from ray.data import ActorPoolStrategy, Dataset
    from ray.data.extensions import ArrowPythonObjectArray, ArrowPythonObjectType
except ImportError as error:
    raise ImportError("this module needs Ray Data: pip install 'compressor[ray]'") from error

from compressor.errors import PolicyError
from compressor.integrations.workers import Maker, compressor_maker
from compressor.pipeline import Compressor
from compressor.policy import Policy
from compressor.result import CompressionResult
from compressor.tables import ERROR_COLUMN, added_fields, extended, with_added
from compressor.tabular.rows import COLUMN, Outcome, Rows, check_columns, check_format, compress_rows, compress_values
from compressor.tokens import TokenCounter


def compress_dataset(
    ds: Dataset,
    *,
    column: str = COLUMN,
    model: str | Path = "default",
    policy: Policy | None = None,
    token_counter: TokenCounter | str | None = None,
    compressor: Maker | None = None,
    format: str | None = None,
    error_column: str | None = ERROR_COLUMN,
    token_columns: tuple[str, str] | None = None,
    concurrency: int | tuple[int, int] | None = None,
    batch_size: int | None = 256,
    threads: int = 1,
    keep_order: bool = True,
    **options: Any,
) -> Dataset:
    """Compress the conversations of one column of a Dataset; lazy, as all of Ray Data.

    A row comes out as `compress_table` gives it on one machine; see there for what a row may hold. An actor that dies is
    replaced, and the batch that it was at is done again: as often as Ray is told to, by default without end.

    Args:
        ds: The rows. Each is one conversation.
        column: The name of the column.
        model: A shipped model, `heuristic`, or a model folder that is at this path on every node.
        policy: How much to keep and what to protect. Functions in it travel to the actors.
        token_counter: How budgets and reports count; see `Compressor`.
        compressor: Makes the compressor on the actor, instead of model, policy and token_counter: for a scorer of your own
            or a GPU.
        format: How the strings of the column are read: a name in FORMATS. Default: found by each string's content.
        error_column: The name of a column that is added: why a row could not be compressed, null for all others. None: no
            column, and the first such row ends the job.
        token_columns: The names of two columns that are added: the row's tokens before and after. Default: none.
        concurrency: How many actors, or the fewest and the most. Default: one at first, more as the cluster has room.
        batch_size: Most rows that an actor takes at a time. None: a block.
        threads: Threads, and processors, of one actor.
        keep_order: Keep the rows in their order. It is a setting of all that is computed from the same source.
        options: What else `Dataset.map_batches` takes: `memory`, `num_gpus`, `runtime_env`, `max_task_retries`, ...
    Returns:
        The Dataset with the column compressed, and the added columns behind the others.
    Raises:
        InputError: There is no such column, or an added one exists, as far as that is known without reading.
        PolicyError: An option is not allowed.
    """
    added = added_fields(error_column, token_columns)
    check_format(format)
    make = compressor_maker(compressor, model, policy, token_counter, threads)
    known = ds.schema(fetch_if_missing=False)
    if known is not None and known.names:
        check_columns(known.names, column, [field.name for field in added])
    taken = {"fn_constructor_kwargs", "fn_constructor_args", "batch_format", "compute"} & options.keys()
    if taken:
        raise PolicyError(f"the option {sorted(taken)[0]!r} is set by compress_dataset; see its own options.")
    result = ds.map_batches(
        _Actor,
        fn_constructor_kwargs={"make": make, "column": column, "format": format, "added": added},
        batch_format="pyarrow",
        batch_size=batch_size,
        compute=_pool(concurrency),
        **{"num_cpus": threads, "udf_modifying_row_count": False, **options},
    )
    if keep_order:
        result.context.execution_options.preserve_order = True
    return result


class _Actor:
    """What runs on each actor. The model is loaded when the actor starts."""

    def __init__(self, make: Maker, column: str, format: str | None, added: list[pa.Field]) -> None:
        self._compressor = make()
        self._column, self._format, self._added = column, format, added

    def __call__(self, table: pa.Table) -> pa.Table:
        if not table.num_columns:  # a block of no rows knows no columns
            return table
        check_columns(table.schema.names, self._column, [field.name for field in self._added])
        compress = _compress_objects if _holds_objects(table, self._column) else compress_rows
        batches = [
            with_added(
                compress(batch, column=self._column, compressor=self._compressor, format=self._format),
                self._column,
                self._added,
            )
            for batch in table.to_batches()
        ]
        return pa.Table.from_batches(batches, extended(table.schema, self._added))


def _holds_objects(table: pa.Table, column: str) -> bool:
    """Whether Ray keeps a column as pickled objects, as it does where the messages of one list differ in their types."""
    return isinstance(table.schema.field(column).type, ArrowPythonObjectType)


def _compress_objects(batch: pa.RecordBatch, *, column: str, compressor: Compressor, format: str | None) -> Rows:
    """What `compress_rows` does, for a column of pickled objects."""
    array = batch.column(column)
    new: list[Any] = []
    outcomes: list[Outcome] = []
    for value in array.to_pylist():
        (result,) = compress_values([value], compressor, format)
        new.append(result.output if isinstance(result, CompressionResult) else value)
        outcomes.append(result.report if isinstance(result, CompressionResult) else result)
    place = batch.schema.names.index(column)
    changed = batch.set_column(place, batch.schema.field(column), ArrowPythonObjectArray.from_objects(new))
    return Rows(changed, tuple(outcomes))


def _pool(concurrency: int | tuple[int, int] | None) -> ActorPoolStrategy:
    if concurrency is None:
        return ActorPoolStrategy(min_size=1)
    given = concurrency if isinstance(concurrency, tuple) else (concurrency, concurrency)
    if len(given) != 2 or any(type(number) is not int for number in given) or not 1 <= given[0] <= given[1]:
        raise PolicyError(f"concurrency is {concurrency!r}; allowed: None, a whole number, or (fewest, most) actors.")
    return ActorPoolStrategy(min_size=given[0], max_size=given[1])
