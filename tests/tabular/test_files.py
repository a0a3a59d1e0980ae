"""Parquet and Arrow files: read in parts, and written back as they were."""

from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

pa = pytest.importorskip("pyarrow")

import pyarrow.feather as feather  # noqa: E402
import pyarrow.parquet as pq  # noqa: E402

from compressor import InputError  # noqa: E402
from compressor.tabular import parts  # noqa: E402
from compressor.tabular.files import Part, is_table, open_table  # noqa: E402

N = 100
MESSAGE = pa.struct(
    [pa.field("role", pa.dictionary(pa.int8(), pa.string())), pa.field("content", pa.string(), metadata={"x": "y"})]
)


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a hundred rows are several parts."""
    monkeypatch.setattr(parts, "PART_BYTES", 2_000)


def table() -> Any:
    """A table of many types, with metadata."""
    rows = [[{"role": "user", "content": f"line {number} " * 5}] if number % 9 else None for number in range(N)]
    columns = {
        "n": pa.array(range(N), pa.int32()),
        "label": pa.array(["x", "y", "z", None] * (N // 4)).dictionary_encode(),
        "at": pa.array(range(N), pa.timestamp("ns")),
        "messages": pa.array(rows, pa.list_(MESSAGE)),
        "m": pa.array([[("k", 1)]] * N, pa.map_(pa.string(), pa.int16())),
    }
    return pa.table(columns).replace_schema_metadata({"owner": "Graz", "huggingface": "{}"})


def parts_of(path: Path, start: int = 0) -> list[Part]:
    """All parts of a file."""
    with open_table(path) as opened:
        return list(opened.parts(start))


def rewritten(path: Path) -> bytes:
    """The file after a way through its parts."""
    target = BytesIO()
    with open_table(path) as opened, opened.writer(target, "messages") as writer:
        for part in parts_of(path):
            writer.write(part)
    return target.getvalue()


def write_arrow(path: Path, codec: str | None, *, stream: bool, rows: int = 40) -> None:
    """An Arrow file or stream with something said of each batch."""
    make = pa.ipc.new_stream if stream else pa.ipc.new_file
    options = pa.ipc.IpcWriteOptions(compression=codec)
    with pa.OSFile(str(path), "wb") as sink, make(sink, table().schema, options=options) as writer:
        for number, batch in enumerate(table().to_batches(max_chunksize=rows)):
            writer.write_batch(batch, custom_metadata={"number": str(number)})


def test_parts_are_small_and_can_begin_anywhere(tmp_path: Path) -> None:
    """A part never spans two row groups, and says where one ends."""
    path = tmp_path / "x.parquet"
    pq.write_table(table(), path, row_group_size=30)
    parts = parts_of(path)
    assert pa.Table.from_batches([part.batch for part in parts]).equals(table())
    assert len(parts) > 4
    assert [part.row + part.batch.num_rows for part in parts if part.ends_group] == [30, 60, 90, 100]
    for start in (0, 1, 29, 30, 31, 77, 99):
        later = parts_of(path, start)
        assert later[0].row == start
        assert pa.Table.from_batches([part.batch for part in later]).equals(table().slice(start))
        assert [p.row + p.batch.num_rows for p in later if p.ends_group] == [e for e in (30, 60, 90, 100) if e > start]
    assert parts_of(path, N) == []


def test_parquet_keeps_schema_metadata_codecs_and_row_groups(tmp_path: Path) -> None:
    """Column by column."""
    path = tmp_path / "x.parquet"
    pq.write_table(
        table(),
        path,
        row_group_size=30,
        compression={"n": "gzip", "messages.list.element.content": "zstd", "label": "none"},
        use_dictionary=["label"],
        write_statistics=["n"],
        sorting_columns=[pq.SortingColumn(0), pq.SortingColumn(3)],
        use_deprecated_int96_timestamps=True,
        write_page_index=True,
    )
    old, new = pq.ParquetFile(path), pq.ParquetFile(BytesIO(rewritten(path)))
    assert new.read().equals(old.read(), check_metadata=True)
    assert new.schema_arrow.equals(old.schema_arrow, check_metadata=True)
    assert new.schema.equals(old.schema)
    assert new.num_row_groups == old.num_row_groups == 4
    for number in range(4):
        before, after = old.metadata.row_group(number), new.metadata.row_group(number)
        assert after.num_rows == before.num_rows
        assert after.sorting_columns == before.sorting_columns[:1]  # the other one is the text that changed
        for at in range(before.num_columns):
            for name in (
                "path_in_schema",
                "physical_type",
                "compression",
                "encodings",
                "is_stats_set",
                "has_column_index",
            ):
                assert getattr(after.column(at), name) == getattr(before.column(at), name), name


def test_parquet_of_other_writers_is_read(tmp_path: Path) -> None:
    """Without pyarrow's schema in it, of the old version, with other names for the items of lists; and with no rows."""
    plain = table().drop_columns(["label", "at"])
    for rows in (N, 0):
        path = tmp_path / f"{rows}.parquet"
        pq.write_table(plain.slice(0, rows), path, store_schema=False, version="1.0", use_compliant_nested_type=False)
        old, new = pq.ParquetFile(path), pq.ParquetFile(BytesIO(rewritten(path)))
        assert b"ARROW:schema" not in (new.metadata.metadata or {})
        assert new.metadata.format_version == old.metadata.format_version
        assert new.read().to_pydict() == old.read().to_pydict()
        assert new.schema_arrow.names == old.schema_arrow.names


@pytest.mark.parametrize("codec", [None, "lz4", "zstd"])
@pytest.mark.parametrize("stream", [False, True], ids=["file", "stream"])
def test_arrow_keeps_batches_metadata_and_codec(tmp_path: Path, codec: str | None, stream: bool) -> None:
    """Of files and of streams."""
    path = tmp_path / "x.arrow"
    write_arrow(path, codec, stream=stream)
    opening = pa.ipc.open_stream if stream else pa.ipc.open_file
    content = rewritten(path)
    with opening(path.read_bytes()) as old, opening(content) as new:
        assert new.schema.equals(old.schema, check_metadata=True)
        assert new.read_all().equals(old.read_all(), check_metadata=True)
        assert new.stats.num_record_batches == old.stats.num_record_batches == 3
    with opening(content) as new:
        batches = (
            list(new.iter_batches_with_custom_metadata())
            if stream
            else [new.get_batch_with_custom_metadata(at) for at in range(3)]
        )
        assert [(batch.num_rows, dict(said)) for batch, said in batches] == [
            (rows, {b"number": number}) for rows, number in ((40, b"0"), (40, b"1"), (20, b"2"))
        ]
    assert abs(len(content) - path.stat().st_size) < 0.05 * path.stat().st_size
    assert (b"\x28\xb5\x2f\xfd" in content) == (codec == "zstd")
    assert (b"\x04\x22\x4d\x18" in content) == (codec == "lz4")


def test_arrow_files_take_new_dictionaries(tmp_path: Path) -> None:
    """A file may hold one dictionary that grows; texts that differ from batch to batch make it grow."""
    path = tmp_path / "x.arrow"
    column = pa.array([f"text {number % 7}" for number in range(N)]).dictionary_encode()
    feather.write_feather(pa.table({"messages": column}), str(path), chunksize=40)
    target = BytesIO()
    with open_table(path) as opened, opened.writer(target, "messages") as writer:
        for part in parts_of(path):
            own = part.batch.column(0).dictionary_decode().to_pylist()
            new = pa.array([f"new {text}" for text in own[::-1]]).dictionary_encode()
            writer.write(Part(pa.record_batch([new], schema=part.batch.schema), part.row, part.ends_group))
    with pa.ipc.open_file(target.getvalue()) as done:
        assert done.stats.num_record_batches == 0
        assert sorted(done.read_all()["messages"].to_pylist()) == sorted(
            f"new text {number % 7}" for number in range(N)
        )


def test_groups_that_are_too_large_are_written_as_several(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory is worth more than the number of row groups."""
    path = tmp_path / "x.parquet"
    pq.write_table(table(), path)
    monkeypatch.setattr(parts, "GROUP_BYTES", 5_000)
    new = pq.ParquetFile(BytesIO(rewritten(path)))
    assert new.num_row_groups > 1
    assert new.read().equals(table())


def test_tables_are_known_by_their_content(tmp_path: Path) -> None:
    """Not by their name."""
    pq.write_table(table(), tmp_path / "parquet")
    write_arrow(tmp_path / "arrow", None, stream=False)
    write_arrow(tmp_path / "arrow stream", None, stream=True)
    for path in tmp_path.iterdir():
        assert is_table(path.read_bytes())
        with open_table(path) as opened:
            assert opened.kind == path.name
            assert opened.rows in (N, None)
    assert not is_table(b"Ann: PAR1")
    (tmp_path / "text").write_text("PAR")
    with pytest.raises(InputError, match="no table; allowed: Parquet"), open_table(tmp_path / "text"):
        pass


def rows_or_error(path: Path) -> int | str:
    """How many rows a file gives, or why it gives none."""
    try:
        return sum(part.batch.num_rows for part in parts_of(path))
    except InputError as error:
        return str(error)


@pytest.mark.parametrize("kind", ["parquet", "arrow", "arrow stream"])
def test_damaged_files_are_told(tmp_path: Path, kind: str) -> None:
    """Cut short or overwritten: an error that names the file. A stream that is cut behind a batch looks whole."""
    path = tmp_path / "x"
    if kind == "parquet":
        pq.write_table(table(), path, row_group_size=30)
    else:
        write_arrow(path, "lz4", stream=kind != "arrow")
    content = path.read_bytes()
    for size in range(6, len(content) - 8, 331):
        path.write_bytes(content[:size])
        found = rows_or_error(path)
        assert found in (0, 40, 80) if isinstance(found, int) and kind == "arrow stream" else str(path) in str(found)
    path.write_bytes(content[:200] + b"\xff" * 300 + content[500:])
    found = rows_or_error(path)
    assert found == N or str(path) in str(found)


def test_old_feather_files_are_refused(tmp_path: Path) -> None:
    """With what to do."""
    (tmp_path / "x").write_bytes(b"FEA1....")
    with pytest.raises(InputError, match="version 1 are not read"), open_table(tmp_path / "x"):
        pass
