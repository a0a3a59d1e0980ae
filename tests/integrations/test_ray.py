"""Ray Data on a real cluster of this machine: same rows as on one process, whatever happens to an actor."""

import os
import re
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
os.environ["RAY_AUTH_MODE"] = "disabled"  # the cluster is reached from this machine alone, and nothing is left at home

ray = pytest.importorskip("ray")
pytest.importorskip("ray.data")

import pyarrow as pa  # noqa: E402

from compressor import Compressor, InputError, Policy, PolicyError, compress  # noqa: E402
from compressor.integrations.ray import compress_dataset  # noqa: E402
from compressor.tables import compress_table  # noqa: E402

CHAT = [
    {"role": "user", "content": "um, so, I would really like to know, you know, whether the fee is refundable."},
    {"role": "assistant", "content": "Sure, I would be happy to help you with that! The fee is not refundable."},
]
BAD = [{"role": None, "content": "who said this?"}]


@pytest.fixture(scope="module", autouse=True)
def _cluster() -> Iterator[None]:
    """Two processors, a small store, no page, reached from this machine alone."""
    ray.init(
        num_cpus=2,
        include_dashboard=False,
        object_store_memory=80 * 2**20,
        log_to_driver=False,
        logging_level="ERROR",
        _node_ip_address="127.0.0.1",
    )
    ray.data.DataContext.get_current().enable_progress_bars = False
    yield
    ray.shutdown()


def table() -> Any:
    """Forty rows, among them nulls and one that is no conversation."""
    rows = [None if number % 7 == 3 else CHAT[: 1 + number % 2] for number in range(40)]
    rows[5] = BAD
    return pa.table({"id": pa.array(range(40), pa.int32()), "messages": rows})


def dataset() -> Any:
    """The same rows in blocks of different sizes."""
    return ray.data.from_arrow([table().slice(0, 11), table().slice(11, 20), table().slice(31)])


def collected(ds: Any) -> Any:
    """All rows of a Dataset as one table, in its order."""
    return pa.concat_tables(ray.get(ds.to_arrow_refs())).combine_chunks()


def killer(mark: Path) -> Callable[[Any], list[Any]]:
    """A rule that kills the process in which it first runs."""

    def kill_once(view: Any) -> list[Any]:
        if not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return []

    return kill_once


def test_rows_and_order_equal_those_of_one_process() -> None:
    """With the shipped model, a pattern that protects, nulls and a bad row."""
    options = {
        "policy": Policy(keep_ratio=0.6, keep_last=0, also_protect=re.compile("really")),
        "token_columns": ("before", "after"),
    }
    done = collected(compress_dataset(dataset(), concurrency=2, batch_size=4, **options))
    wanted = compress_table(table(), **options).combine_chunks()
    assert done.equals(wanted)
    errors = done["compressor_error"].to_pylist()
    assert [number for number, error in enumerate(errors) if error] == [5]
    assert done["messages"][5].as_py() == BAD
    assert sum(done["after"].to_pylist()[:3]) < sum(done["before"].to_pylist()[:3])


def test_a_killed_actor_is_replaced_and_its_rows_are_done_again(tmp_path: Path) -> None:
    """No row is lost, and none comes twice."""
    policy = Policy(keep_last=0, also_protect=killer(tmp_path / "killed"))
    done = collected(compress_dataset(dataset(), model="heuristic", policy=policy, concurrency=1, batch_size=4))
    assert (tmp_path / "killed").exists()
    assert done.equals(compress_table(table(), model="heuristic", policy=policy).combine_chunks())


def test_mixed_messages_are_compressed_and_an_actor_loads_once(tmp_path: Path) -> None:
    """Ray keeps lists whose messages differ in type as objects; a function makes the compressor on each actor."""
    loads = tmp_path / "loads"

    def make() -> Compressor:
        with loads.open("a") as file:
            file.write(f"{os.getpid()}\n")
        return Compressor.from_pretrained("heuristic", policy=Policy(keep_last=0), threads=1)

    parts = [{"type": "text", "text": CHAT[0]["content"]}, {"type": "image_url", "image_url": {"url": "https://x"}}]
    rows = [[CHAT[1], {"role": "user", "content": parts}], BAD, [CHAT[0], {"role": "user", "content": parts}]] * 4
    ds = ray.data.from_items([{"messages": row} for row in rows])
    done = compress_dataset(ds, compressor=make, concurrency=1, batch_size=2).take_all()
    for row, new in zip(rows, done, strict=True):
        if row is BAD:
            assert new["messages"] == BAD
            assert "role" in new["compressor_error"]
        else:
            assert new["messages"] == compress(row, model="heuristic", keep_last=0).messages
            assert new["compressor_error"] is None
    assert len(loads.read_text().split()) == 1


def test_blocks_without_rows_go_through() -> None:
    """An empty Dataset stays one."""
    assert compress_dataset(ray.data.from_arrow(table().slice(0, 0)), model="heuristic").take_all() == []


def test_without_an_error_column_a_bad_row_ends_the_job() -> None:
    """And the message of the failure names it."""
    with pytest.raises(Exception, match=r"column 'messages', row 5: turn 0"):
        compress_dataset(dataset(), model="heuristic", error_column=None).take_all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"column": "mesages"}, "'mesages' is not there; the columns are: 'id', 'messages'"),
        ({"error_column": "id"}, "'id', which is to be added, is there already"),
        ({"format": "xml"}, "unknown format 'xml'"),
        ({"threads": 0}, "threads is 0"),
        ({"concurrency": 0}, "concurrency is 0"),
        ({"concurrency": (3, 1)}, r"concurrency is \(3, 1\)"),
        ({"policy": {"keep_ratio": 0.5}}, "allowed: None or a Policy"),
        ({"token_counter": "words"}, "token_counter is 'words'"),
        ({"compressor": Compressor.from_pretrained("heuristic")}, "a function that makes a Compressor"),
        ({"compressor": lambda: None, "policy": Policy()}, "compressor and policy are given together"),
        ({"batch_format": "pandas"}, "'batch_format' is set by compress_dataset"),
    ],
)
def test_wrong_options_are_named_at_once(options: dict[str, Any], message: str) -> None:
    """Before an actor starts."""
    with pytest.raises((InputError, PolicyError), match=message):
        compress_dataset(dataset(), **options)
