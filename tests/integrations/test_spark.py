"""Spark in local mode with real Python workers: same rows as on one process, whatever happens to a task."""

import os
import re
import signal
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark")
pa = pytest.importorskip("pyarrow")

from pyspark.sql import DataFrame, SparkSession  # noqa: E402

from compressor import Compressor, InputError, Policy, PolicyError, compress  # noqa: E402
from compressor.integrations.spark import compress_dataframe  # noqa: E402
from compressor.tables import compress_table, load_compressor  # noqa: E402

CHAT = [
    {"role": "user", "content": "um, so, I would really like to know, you know, whether the fee is refundable."},
    {"role": "assistant", "content": "Sure, I would be happy to help you with that! The fee is not refundable."},
]
BAD = [{"role": None, "content": "who said this?"}]

pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    """Two tasks at a time, each tried three times; reached from this machine alone."""
    before = os.environ.get("PYSPARK_PYTHON")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    session = (
        SparkSession.builder.master("local[2,3]")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.memory", "1g")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.execution.arrow.maxRecordsPerBatch", "3")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()
    os.environ.pop("PYSPARK_PYTHON")
    if before is not None:
        os.environ["PYSPARK_PYTHON"] = before


def table() -> Any:
    """Twenty rows, among them nulls and one that is no conversation."""
    rows = [None if number % 7 == 3 else CHAT[: 1 + number % 2] for number in range(20)]
    rows[5] = BAD
    fields = [pa.field("id", pa.int32(), nullable=False), pa.field("messages", pa.array(rows).type)]
    return pa.table([pa.array(range(20), pa.int32()), pa.array(rows)], schema=pa.schema(fields))


def collected(df: DataFrame) -> Any:
    """All rows of a DataFrame as one table, by their id."""
    return df.toArrow().sort_by("id").combine_chunks()


def killer(mark: Path) -> Callable[[Any], list[Any]]:
    """A rule that kills the process in which it first runs."""

    def kill_once(view: Any) -> list[Any]:
        if not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return []

    return kill_once


def test_rows_equal_those_of_one_process(spark: SparkSession) -> None:
    """With the shipped model, a pattern that protects, nulls and a bad row; the schema grows by what was asked for."""
    options = {
        "policy": Policy(keep_ratio=0.6, keep_last=0, also_protect=re.compile("really")),
        "token_columns": ("before", "after"),
    }
    df = spark.createDataFrame(table())
    short = compress_dataframe(df, **options)
    assert short.schema.fields[:2] == df.schema.fields
    assert not short.schema["id"].nullable
    assert [field.simpleString() for field in short.schema.fields[2:]] == [
        "before:bigint",
        "after:bigint",
        "compressor_error:string",
    ]
    done = collected(short)
    assert done.equals(compress_table(table(), **options).combine_chunks())
    errors = done["compressor_error"].to_pylist()
    assert [number for number, error in enumerate(errors) if error] == [5]
    assert done["messages"][5].as_py() == BAD
    assert sum(done["after"].to_pylist()[:3]) < sum(done["before"].to_pylist()[:3])


def test_a_killed_task_is_tried_again(spark: SparkSession, tmp_path: Path) -> None:
    """No row is lost, and none comes twice. The messages are maps, as Spark makes them of Python's dicts."""
    policy = Policy(keep_last=0, also_protect=killer(tmp_path / "killed"))
    df = spark.createDataFrame([{"id": number, "messages": CHAT} for number in range(8)])
    assert "map<string,string>" in df.schema["messages"].simpleString()
    done = collected(compress_dataframe(df, model="heuristic", policy=policy))
    assert (tmp_path / "killed").exists()
    assert done["id"].to_pylist() == list(range(8))
    wanted = compress(CHAT, model="heuristic", keep_last=0).messages
    assert [[dict(message) for message in row] for row in done["messages"].to_pylist()] == [wanted] * 8


def test_a_worker_loads_the_model_once(spark: SparkSession, tmp_path: Path) -> None:
    """However many tasks it does."""
    loads = tmp_path / "loads"

    def make() -> Compressor:
        machine = load_compressor("heuristic", threads=1)
        with loads.open("a") as file:
            file.write(f"{os.getpid()} {id(machine.scorer)}\n")
        return machine

    assert compress_dataframe(spark.createDataFrame(table()).repartition(6), compressor=make).count() == 20
    scorers = defaultdict(list)
    for line in loads.read_text().splitlines():
        worker, scorer = line.split()
        scorers[worker].append(scorer)
    assert max(map(len, scorers.values())) > 1
    assert all(len(set(found)) == 1 for found in scorers.values())


def test_without_an_error_column_a_bad_row_fails_the_job(spark: SparkSession) -> None:
    """And the message of the failure names it."""
    with pytest.raises(Exception, match=r"column 'messages', row [0-9]+: turn 0"):
        compress_dataframe(spark.createDataFrame(table()), model="heuristic", error_column=None).collect()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"column": "mesages"}, "'mesages' is not there; the columns are: 'id', 'messages'"),
        ({"error_column": "id"}, "'id', which is to be added, is there already"),
        ({"format": "xml"}, "unknown format 'xml'"),
        ({"threads": True}, "threads is True"),
        ({"model": 7}, "model is int"),
    ],
)
def test_wrong_options_are_named_at_once(spark: SparkSession, options: dict[str, Any], message: str) -> None:
    """Before a task starts."""
    with pytest.raises((InputError, PolicyError), match=message):
        compress_dataframe(spark.createDataFrame(table()), **options)
