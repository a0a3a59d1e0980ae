"""A run that dies at any moment: nothing is lost, nothing is there twice, no half file stands under a final name."""

import io
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from compressor import Policy
from compressor.batch import BatchError, Settings, run_batch
from tests.batch.conftest import lines, made, report_of

ROOT = Path(__file__).resolve().parents[2]


class Crash(BaseException):
    """The process ends here; no handler of the program runs for it."""


@contextmanager
def crashing_after(
    steps: int, monkeypatch: pytest.MonkeyPatch, torn: random.Random, safe: dict[str, int]
) -> Iterator[None]:
    """The process dies at step number `steps`, a step being whatever changes the disk; a write may be half done then.

    `safe` is told how many bytes of each file were forced to disk.
    """
    count = [0]
    dead = [False]

    def step(before_crash: Callable[[], object] | None = None) -> None:
        if dead[0]:  # what runs while the exception travels must not reach the disk any more
            raise Crash
        count[0] += 1
        if count[0] > steps:
            dead[0] = True
            if before_crash:
                before_crash()
            raise Crash

    def wrapped(function: Callable[..., object]) -> Callable[..., object]:
        def call(*args: object, **kwargs: object) -> object:
            step()
            return function(*args, **kwargs)

        return call

    opened = io.open
    to_disk, rename = os.fsync, os.replace

    def fsync(handle: int) -> None:
        step()
        to_disk(handle)
        safe[os.readlink(f"/proc/self/fd/{handle}")] = os.fstat(handle).st_size

    def replace(old: Path, new: Path) -> None:
        step()
        rename(old, new)
        safe[str(new)] = safe.pop(str(old), 0)

    class Raw(io.FileIO):
        def write(self, data: bytes) -> int:  # type: ignore[override]
            half = bytes(data)[: torn.randrange(len(data) + 1)]
            step(lambda: super(Raw, self).write(half))
            return super().write(data)

    def open_(path, mode="r", *args, **kwargs):  # type: ignore[no-untyped-def]
        if "b" not in mode or not any(letter in mode for letter in "wa+"):
            return opened(path, mode, *args, **kwargs)
        step()
        # Small buffers, so that much reaches the disk before it is asked for, as it may.
        raw = Raw(path, mode.replace("b", ""))
        return io.BufferedRandom(raw, 64) if "+" in mode else io.BufferedWriter(raw, 64)

    with monkeypatch.context() as patch:
        for name in ("unlink", "truncate"):
            patch.setattr(os, name, wrapped(getattr(os, name)))
        patch.setattr(os, "fsync", fsync)
        patch.setattr(os, "replace", replace)
        patch.setattr(io, "open", open_)
        patch.setattr("builtins.open", open_)
        try:
            yield
        finally:
            dead[0] = True


def cut_power(folder: Path, torn: random.Random, safe: dict[str, int]) -> None:
    """What was not forced to disk may be gone, all of it or its end."""
    for path in folder.rglob("*"):
        if path.is_file() and path.name != "lock":
            kept = safe.get(str(path), 0)
            os.truncate(path, torn.randint(kept, max(kept, path.stat().st_size)))


@pytest.mark.parametrize("power", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_a_run_that_dies_at_every_step_comes_to_the_same_end(
    archive: Path, tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch, seed: int, power: bool
) -> None:
    """Each start dies at another step, alone or with the whole machine, until one gets through."""
    monkeypatch.setattr("compressor.batch.chunks.CHUNK", 700)
    run_batch([archive], tmp_path / "whole", settings, workers=1)
    whole = made(tmp_path / "whole")
    torn = random.Random(seed)
    safe: dict[str, int] = {}
    complete, deaths = False, 0
    while not complete:
        with crashing_after(torn.randrange(1, 16 + deaths), monkeypatch, torn, safe):
            try:
                complete = run_batch([archive], tmp_path / "out", settings, workers=1).complete
            except Crash:
                deaths += 1
        if power and not complete:
            cut_power(tmp_path / "out", torn, safe)
        found = made(tmp_path / "out")
        for name, content in found.items():
            if not name.startswith(("errors.jsonl", "report.json")):  # these two may be unfinished under another name
                assert content == whole[name], name
        assert deaths < 400
    assert deaths > 8
    assert made(tmp_path / "out") == whole
    assert report_of(tmp_path / "out") == report_of(tmp_path / "whole")


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Some seconds of work, and beside it what an undisturbed run makes of it."""
    folder = tmp_path_factory.mktemp("large") / "logs"
    folder.mkdir()
    (folder / "a.jsonl").write_text(lines(70) + "{broken\n" + lines(60, 70))
    for number in range(12):
        (folder / f"b{number:02}.txt").write_text(f"Ann: um, the fee is {number} euros, okay?\nBob: yeah, right.\n")
    (folder / "c.jsonl").write_text(lines(40, 500))
    run_batch([folder], folder.parent / "whole", Settings(Policy(keep_last=0), "heuristic"), workers=1)
    return folder


def command(folder: Path, out: Path, workers: int) -> list[str]:
    return [
        # Chunks of a few records, so that there are many moments between two of them.
        *(
            sys.executable,
            "-c",
            "import compressor.batch.chunks as chunks; chunks.CHUNK = 1500; from compressor.cli import main; main()",
        ),
        *("batch", str(folder), "-o", str(out)),
        *("--model", "heuristic", "--keep-last", "0", "--workers", str(workers), "--quiet"),
    ]


@pytest.mark.parametrize(("workers", "kills"), [(1, 4), (2, 3)])
def test_kill_9_at_random_moments_loses_nothing(large: Path, tmp_path: Path, workers: int, kills: int) -> None:
    """The real signal to the real command, again and again; its workers end with it."""
    chance = random.Random(workers)
    journal = tmp_path / "out" / ".compressor-batch" / "journal.jsonl"
    killed_at_work = 0
    for _ in range(kills):
        before = journal.stat().st_size if journal.exists() else 0
        running = subprocess.Popen(command(large, tmp_path / "out", workers), cwd=ROOT, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 30
        while running.poll() is None and time.monotonic() < deadline:
            if journal.exists() and journal.stat().st_size > before:
                time.sleep(chance.random() * 0.06)  # it is at work: now, at any moment
                break
            time.sleep(0.002)
        running.send_signal(signal.SIGKILL)
        killed_at_work += running.wait() == -signal.SIGKILL
    assert killed_at_work >= 2
    done = subprocess.run(command(large, tmp_path / "out", workers), cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 1, done.stderr  # of the broken line
    assert made(tmp_path / "out") == made(large.parent / "whole")
    assert report_of(tmp_path / "out") == report_of(large.parent / "whole")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_the_run_in_order(
    large: Path, tmp_path: Path, settings: Settings, number: signal.Signals
) -> None:
    """It says how to go on, and the exit status tells the signal; the report tells what is to go."""
    # A session of its own: a signal of a terminal reaches the whole group, and not this test.
    arguments = [part for part in command(large, tmp_path / "out", 2) if part != "--quiet"]
    running = subprocess.Popen(arguments, cwd=ROOT, stderr=subprocess.PIPE, text=True, start_new_session=True)
    journal = tmp_path / "out" / ".compressor-batch" / "journal.jsonl"
    deadline = time.monotonic() + 30
    while not (journal.exists() and journal.stat().st_size) and time.monotonic() < deadline:
        time.sleep(0.005)
    os.killpg(running.pid, number) if number == signal.SIGINT else running.send_signal(number)
    _, told = running.communicate(timeout=30)
    assert running.returncode == 128 + number, told
    assert "goes on where it stopped" in told
    assert report_of(tmp_path / "out")["complete"] is False
    run_batch([large], tmp_path / "out", settings, workers=1)
    assert made(tmp_path / "out") == made(large.parent / "whole")


def test_a_full_disk_is_told_and_the_run_goes_on_when_there_is_room(tmp_path: Path, settings: Settings) -> None:
    """Under a limit to the size of files; no half file stands under the final name."""
    (tmp_path / "a.jsonl").write_text(lines(60))
    program = (
        "import resource, sys\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (6000, 6000))\n"
        "from compressor.cli import main\n"
        "main(sys.argv[1:])\n"
    )
    arguments = command(tmp_path / "a.jsonl", tmp_path / "out", 1)[3:]
    done = subprocess.run([sys.executable, "-c", program, *arguments], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 1
    assert "cannot be written" in done.stderr
    assert "the same command goes on" in done.stderr
    assert "Traceback" not in done.stderr
    assert made(tmp_path / "out") == {}
    run_batch([tmp_path / "a.jsonl"], tmp_path / "out", settings, workers=1)
    run_batch([tmp_path / "a.jsonl"], tmp_path / "whole", settings, workers=1)
    assert made(tmp_path / "out") == made(tmp_path / "whole")


def test_an_output_that_cannot_be_written_is_told(tmp_path: Path, settings: Settings) -> None:
    """A file stands where a folder of results has to be."""
    (tmp_path / "in" / "sub").mkdir(parents=True)
    (tmp_path / "in" / "sub" / "a.jsonl").write_text(lines(1))
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "sub").write_text("in the way")
    with pytest.raises(BatchError, match="cannot be written"):
        run_batch([tmp_path / "in"], tmp_path / "out", settings, workers=1)
