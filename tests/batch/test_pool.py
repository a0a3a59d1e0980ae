"""Chunks on several processes: in order, bounded, and not at the mercy of one record."""

import json
from pathlib import Path

import pytest

from compressor import Compressor, Policy
from compressor.batch import BatchError, Settings, Watcher, run_batch
from compressor.batch.pool import AHEAD, run_in_processes
from compressor.batch.worker import Job
from compressor.formats.splitting import Piece
from tests.batch import hazards
from tests.batch.conftest import conversation, lines, made, report_of


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some records each, so that workers get several."""
    monkeypatch.setattr("compressor.batch.chunks.CHUNK", 1500)


def test_processes_give_what_one_gives(archive: Path, tmp_path: Path, settings: Settings) -> None:
    """Byte for byte, the report too."""
    run_batch([archive], tmp_path / "one", settings, workers=1)
    run_batch([archive], tmp_path / "two", settings, workers=3)
    assert made(tmp_path / "one") == made(tmp_path / "two")
    assert report_of(tmp_path / "one") == report_of(tmp_path / "two")


@pytest.mark.slow
def test_the_shipped_model_gives_the_same_in_workers_and_with_all_threads(tmp_path: Path, shipped: Compressor) -> None:
    """Byte for byte what compressing each conversation here gives."""
    (tmp_path / "a.jsonl").write_text(lines(6))
    settings = Settings(Policy(keep_last=0, keep_ratio=0.5))
    report = run_batch([tmp_path / "a.jsonl"], tmp_path / "out", settings, workers=2)
    written = (tmp_path / "out" / "a.jsonl").read_text().splitlines()
    for before, after in zip(lines(6).splitlines(), written, strict=True):
        alone = shipped.compress(json.loads(before)["messages"], keep_last=0, keep_ratio=0.5)
        assert json.loads(after)["messages"] == alone.messages
    assert report.total.seconds["model"] > 0


def test_a_record_that_kills_its_worker_twice_fails_alone(tmp_path: Path) -> None:
    """The others of its chunk, and of the run, are compressed; it stands unchanged and is listed."""
    records = [conversation(number) for number in range(12)]
    records[5]["messages"][1]["content"] = "the poison, um, well"  # type: ignore[index]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    settings = Settings(Policy(keep_last=0, also_protect=hazards.kill_the_worker), "heuristic")
    report = run_batch([tmp_path / "a.jsonl"], tmp_path / "out", settings, workers=2)
    assert (report.total.records, report.total.bad) == (11, 1)
    listed = json.loads((tmp_path / "out" / "errors.jsonl").read_text())
    assert listed["line"] == 6
    assert "the worker process died on this record twice (exit code -9" in listed["reason"]
    written = (tmp_path / "out" / "a.jsonl").read_text().splitlines()
    assert json.loads(written[5]) == records[5]
    assert all(
        len(new) < len(json.dumps(old)) for at, (old, new) in enumerate(zip(records, written, strict=True)) if at != 5
    )


def test_a_worker_that_is_killed_once_costs_nothing(tmp_path: Path) -> None:
    """Its records are run again."""
    records = [conversation(number) for number in range(12)]
    records[5]["messages"][1]["content"] = f"poison:{tmp_path / 'mark'} , um"  # type: ignore[index]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    settings = Settings(Policy(keep_last=0, also_protect=hazards.kill_the_worker_once), "heuristic")
    report = run_batch([tmp_path / "a.jsonl"], tmp_path / "out", settings, workers=2)
    assert (tmp_path / "mark").exists()
    assert (report.total.records, report.total.bad) == (12, 0)


class _Chunk:
    def __init__(self, number: int) -> None:
        self.jobs = (Job(Piece(f"Ann: um, number {number}\n", 1), "text"),) if number % 7 else ()


def test_chunks_are_cut_as_they_are_needed(settings: Settings) -> None:
    """No more of them are held than the bound allows, and they come back in order; some hold no record."""
    held = [0, 0]

    def chunks():  # type: ignore[no-untyped-def]
        for number in range(60):
            held[0] += 1
            held[1] = max(held)
            yield _Chunk(number)

    for number, (chunk, outcomes) in enumerate(run_in_processes(chunks(), settings, 2, lambda: None)):
        held[0] -= 1
        assert [outcome.content for outcome in outcomes] == ([f"Ann: number {number}\n"] if chunk.jobs else [])
    assert held[1] <= AHEAD * 2


def test_workers_that_cannot_start_end_the_run(archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the reason."""
    settings = Settings(Policy(), "heuristic", tokens="nonsense")
    with pytest.raises(BatchError, match=r"a worker cannot start: token_counter is 'nonsense'"):
        run_batch([archive], tmp_path / "out", settings, workers=2)


def test_a_policy_that_cannot_be_sent_is_told(archive: Path, tmp_path: Path) -> None:
    """With what can."""
    settings = Settings(Policy(also_protect=lambda view: ()), "heuristic")
    with pytest.raises(BatchError, match=r"cannot be sent to worker processes .* workers=1"):
        run_batch([archive], tmp_path / "out", settings, workers=2)
    assert run_batch([archive], tmp_path / "out", settings, workers=1).complete


def test_a_stop_is_noticed_while_all_workers_are_busy(tmp_path: Path) -> None:
    """Not only when the next chunk is done."""
    import time

    class Impatient(Watcher):
        def __init__(self) -> None:
            self.begun = time.monotonic()

        def stopping(self) -> bool:
            return time.monotonic() - self.begun > 1

    (tmp_path / "a.txt").write_text("Ann: um, well\nBob: yeah, right\n" * 1000)
    settings = Settings(Policy(also_protect=hazards.take_time), "heuristic")
    begun = time.monotonic()
    report = run_batch([tmp_path / "a.txt"], tmp_path / "out", settings, workers=2, watcher=Impatient())
    assert not report.complete
    assert time.monotonic() - begun < 20  # 2000 turns take 40 s
    assert made(tmp_path / "out") == {}


def test_lines_are_enough_for_many_workers(tmp_path: Path, settings: Settings) -> None:
    """More workers than chunks are never started, and the result is the same."""
    (tmp_path / "a.jsonl").write_text(lines(3))
    assert run_batch([tmp_path / "a.jsonl"], tmp_path / "out", settings, workers=64).total.records == 3
