"""Parquet and Arrow files in a run: row by row, restartable inside a file, with the shape they had."""

import json
from pathlib import Path

import pytest

from compressor import Compressor
from compressor.batch import Settings, Watcher, run_batch
from tests.batch.conftest import conversation, made

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few rows each."""
    monkeypatch.setattr("compressor.batch.chunks.CHUNK", 900)
    monkeypatch.setattr("compressor.batch.tables.PIECE_BYTES", 600)


@pytest.fixture
def table() -> "pa.Table":
    """Rows of messages with other columns, a null, an empty list and a row that is no conversation."""
    rows = [conversation(number)["messages"] for number in range(25)]
    rows[3], rows[4] = None, []  # type: ignore[call-overload]
    rows[7] = [{"role": None, "content": "um, well"}]
    schema = pa.schema(
        [("id", pa.int32()), ("messages", pa.list_(pa.struct([("role", pa.string()), ("content", pa.string())])))],
        metadata={"made by": "a test"},
    )
    return pa.table({"id": list(range(25)), "messages": rows}, schema=schema)


def write(table: "pa.Table", path: Path) -> Path:
    if path.suffix == ".parquet":
        pq.write_table(table, path, row_group_size=10, compression="zstd")
    else:
        make = pa.ipc.new_file if path.suffix == ".arrow" else pa.ipc.new_stream
        with make(str(path), table.schema) as writer:
            writer.write_table(table, max_chunksize=10)
    return path


def read(path: Path) -> "pa.Table":
    if path.suffix == ".parquet":
        return pq.read_table(path)
    return (pa.ipc.open_file if path.suffix == ".arrow" else pa.ipc.open_stream)(str(path)).read_all()


class StopAfterOne(Watcher):
    """Stops a run after each chunk."""

    def __init__(self) -> None:
        self.told = False

    def advance(self, done: int) -> None:
        self.told = True

    def stopping(self) -> bool:
        return self.told


@pytest.mark.parametrize("ending", ["parquet", "arrow", "arrows"])
def test_tables_are_compressed_row_by_row(tmp_path: Path, table: "pa.Table", settings: Settings, ending: str) -> None:
    """With schema, other columns and groups; bad rows stay and are listed by their number, from 1."""
    file = write(table, tmp_path / f"t.{ending}")
    report = run_batch([file], tmp_path / "out", settings, workers=1)
    result = read(tmp_path / "out" / file.name)
    assert result.schema.equals(read(file).schema, check_metadata=True)
    assert result.column("id").equals(table.column("id"))
    alone = Compressor.from_pretrained("heuristic", policy=settings.policy)
    for row, (before, after) in enumerate(
        zip(table.column("messages").to_pylist(), result.column("messages").to_pylist(), strict=True)
    ):
        if row in (3, 4, 7):
            assert after == before
        else:
            assert after == alone.compress(before).messages
    listed = [json.loads(line) for line in (tmp_path / "out" / "errors.jsonl").read_text().splitlines()]
    assert [entry["line"] for entry in listed] == [8]
    assert "um, well" in listed[0]["raw"]
    assert report.total.bad == 1
    if ending == "parquet":
        kept = pq.ParquetFile(tmp_path / "out" / file.name).metadata
        assert [kept.row_group(index).num_rows for index in range(kept.num_row_groups)] == [10, 10, 5]
        assert kept.row_group(0).column(0).compression == "ZSTD"


@pytest.mark.parametrize("ending", ["parquet", "arrow", "arrows"])
def test_a_run_goes_on_inside_a_table(tmp_path: Path, table: "pa.Table", settings: Settings, ending: str) -> None:
    """Stopped after every few rows it gives the same bytes."""
    file = write(table, tmp_path / f"t.{ending}")
    run_batch([file], tmp_path / "whole", settings, workers=1)
    starts = 1
    while not run_batch([file], tmp_path / "out", settings, workers=1, watcher=StopAfterOne()).complete:
        starts += 1
    assert starts > 3
    assert made(tmp_path / "out") == made(tmp_path / "whole")


def test_processes_give_the_same_tables(tmp_path: Path, table: "pa.Table", settings: Settings) -> None:
    """Byte for byte."""
    file = write(table, tmp_path / "t.parquet")
    run_batch([file], tmp_path / "one", settings, workers=1)
    run_batch([file], tmp_path / "two", settings, workers=2)
    assert made(tmp_path / "one") == made(tmp_path / "two")


def test_a_column_that_is_not_there_is_told_with_those_that_are(
    tmp_path: Path, table: "pa.Table", settings: Settings
) -> None:
    """The file fails alone."""
    write(table, tmp_path / "t.parquet")
    options = Settings(settings.policy, "heuristic", options={"column": "talk"})
    report = run_batch([tmp_path / "t.parquet"], tmp_path / "out", options, workers=1)
    assert report.failed == 1
    assert "'id', 'messages'" in json.loads((tmp_path / "out" / "errors.jsonl").read_text())["reason"]


def test_a_table_of_no_rows_comes_back(tmp_path: Path, table: "pa.Table", settings: Settings) -> None:
    """With its schema."""
    file = write(table.slice(0, 0), tmp_path / "t.parquet")
    assert run_batch([file], tmp_path / "out", settings, workers=1).complete
    assert read(tmp_path / "out" / "t.parquet").equals(table.slice(0, 0))


def test_a_damaged_table_fails_alone(tmp_path: Path, table: "pa.Table", settings: Settings) -> None:
    """Cut in the middle."""
    file = write(table, tmp_path / "t.parquet")
    file.write_bytes(file.read_bytes()[:200])
    assert run_batch([file], tmp_path / "out", settings, workers=1).failed == 1
    assert set(made(tmp_path / "out")) == {"errors.jsonl"}
