"""Spark: compresses a column of a DataFrame where its partitions are; the model is loaded once a Python worker.

```python
from compressor import Policy
from compressor.integrations.spark import compress_dataframe

calls = spark.read.parquet("calls/")
compress_dataframe(calls, column="messages", policy=Policy(keep_ratio=0.5)).write.parquet("short/")
```
"""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

try:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import DataType, LongType, StringType, StructField, StructType
except ImportError as error:
    raise ImportError("this module needs Spark: pip install 'compressor[spark]'") from error

from compressor.integrations.workers import Maker, compressor_maker
from compressor.policy import Policy
from compressor.tables import ERROR_COLUMN, added_fields, compress_table
from compressor.tabular.rows import COLUMN, check_columns, check_format
from compressor.tokens import TokenCounter


def compress_dataframe(
    df: DataFrame,
    *,
    column: str = COLUMN,
    model: str | Path = "default",
    policy: Policy | None = None,
    token_counter: TokenCounter | str | None = None,
    compressor: Maker | None = None,
    format: str | None = None,
    error_column: str | None = ERROR_COLUMN,
    token_columns: tuple[str, str] | None = None,
    threads: int = 1,
) -> DataFrame:
    """Compress the conversations of one column of a DataFrame; lazy, and nothing is brought to the driver.

    A row comes out as `compress_table` gives it on one machine; see there for what a row may hold. The schema is that of
    the input with the added columns behind it. Spark tries failed tasks again (`spark.task.maxFailures`).

    Args:
        df: The rows. Each is one conversation.
        column: The name of the column.
        model: A shipped model, `heuristic`, or a model folder that is at this path on every node.
        policy: How much to keep and what to protect. Functions in it travel to the workers.
        token_counter: How budgets and reports count; see `Compressor`.
        compressor: Makes the compressor on the worker, once a task, instead of model, policy and token_counter.
        format: How the strings of the column are read: a name in FORMATS. Default: found by each string's content.
        error_column: The name of a column that is added: why a row could not be compressed, null for all others. None: no
            column, and the first such row fails the job.
        token_columns: The names of two columns that are added: the row's tokens before and after. Default: none.
        threads: Threads that score in parallel in one worker. More than 1 only if `spark.task.cpus` reserves them.
    Raises:
        InputError: There is no such column, or an added one exists.
        PolicyError: An option is not allowed.
    """
    added = added_fields(error_column, token_columns)
    check_columns(df.columns, column, [field.name for field in added])
    check_format(format)
    make = compressor_maker(compressor, model, policy, token_counter, threads)

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        chosen = make()
        for batch in batches:
            yield compress_table(
                batch,
                column=column,
                compressor=chosen,
                format=format,
                error_column=error_column,
                token_columns=token_columns,
            )

    schema = StructType([*df.schema.fields, *(StructField(field.name, _type(field.type)) for field in added)])
    return df.mapInArrow(run, schema)


def _type(type: pa.DataType) -> DataType:
    return LongType() if pa.types.is_integer(type) else StringType()
