"""Runs a batch: cuts the inputs, compresses the pieces on all cores, writes them in order, and goes on where it stopped."""

import os
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from compressor.batch.chunks import Chunk, in_chunks
from compressor.batch.errors import ChangedError, FirstFailure
from compressor.batch.identity import Settings, Stamp, identity
from compressor.batch.inputs import ERRORS, REPORT, STATE, Input, Inputs, Selection, find_inputs
from compressor.batch.journal import FAILED, OPEN, PUBLISHED, Journal, write_atomically
from compressor.batch.lock import locked
from compressor.batch.output import Output, error_line, reported
from compressor.batch.pool import run_here, run_in_processes
from compressor.batch.problems import publish_problems
from compressor.batch.report import BatchReport, as_json, build
from compressor.batch.settled import Settled, settled
from compressor.batch.sources import Cut, End, Failed, Step, steps
from compressor.batch.tables import COLUMN
from compressor.batch.worker import Outcome, Problem
from compressor.errors import PolicyError
from compressor.scoring.classifier import default_threads

NAMED = 3
"""Files that a message names before it counts the others."""


class Watcher:
    """What a run tells while it goes on, and how it is stopped; this one stays silent."""

    def begin(self, inputs: Inputs, done: int) -> None:
        """The run starts; `done` bytes of the inputs were done before."""

    def advance(self, done: int) -> None:
        """So many bytes of the inputs are done."""

    def problem(self, file: Input, problem: Problem) -> None:
        """A record failed, or, with line 0, a file."""

    def stopping(self) -> bool:
        """Whether the run should stop in order."""
        return False


class _Stopped(Exception):
    """The watcher asked for an end."""


class _Failure(Exception):
    """The first failure, where a run ends with it."""

    def __init__(self, file: Input, problem: Problem) -> None:
        super().__init__(file, problem)
        self.file, self.problem = file, problem


def run_batch(
    inputs: Sequence[str | Path],
    out: str | Path,
    settings: Settings,
    *,
    workers: int | None = None,
    restart: bool = False,
    fail_fast: bool = False,
    selection: Selection | None = None,
    watcher: Watcher | None = None,
) -> BatchReport:
    """Compress files of conversations into a folder; a run that was interrupted goes on where it stopped.

    Every input has a result of the same name and shape. A record that fails stands unchanged in it and is listed in
    `errors.jsonl`; `report.json` sums up. Results are written beside and renamed once they are whole. Report, list and
    numbers are about these inputs; what the folder holds of others stays there and is named in the report.

    Args:
        inputs: Files and folders.
        out: The folder for results; made if it does not exist.
        settings: How records are compressed.
        workers: Processes, each with one thread and the model of its own; 1 compresses in this one. Default: as many as
            there are cores.
        restart: Begin anew; results of an earlier run are replaced file by file, when the new ones are whole.
        fail_fast: Stop at the first record or file that fails.
        selection: Which files of the folders are meant. Default: all.
        watcher: Is told how far the run is.
    Returns:
        The report; `complete` is false where the watcher stopped the run.
    Raises:
        PolicyError: An input or an option is not allowed.
        ModelError: The model cannot be used.
        ChangedError: Inputs, model, policy or options differ from those that the run in the folder began with.
        BusyError: Another run is at work in the folder.
        FirstFailure: Something failed, under `fail_fast`.
        BatchError: The run cannot go on, for instance because the disk is full.
    """
    if workers is not None and (isinstance(workers, bool) or not isinstance(workers, int) or workers < 1):
        raise PolicyError(f"workers is {workers!r}; allowed: None or a whole number, 1 or more.")
    found = find_inputs(inputs, out, selection)
    made_with = identity(settings)
    root = Path(out)
    with reported(root):
        (root / STATE).mkdir(parents=True, exist_ok=True)
    with locked(root / STATE / "lock"):
        run = _Run(root, found, settings, made_with, workers or default_threads(), fail_fast, watcher or Watcher())
        return run.run(restart)


@dataclass
class _Run:
    root: Path
    inputs: Inputs
    settings: Settings
    made_with: dict[str, Any]
    workers: int
    fail_fast: bool
    watcher: Watcher

    def run(self, restart: bool) -> BatchReport:
        began = time.perf_counter()
        with reported(self.root / STATE):
            names = {file.name for file in self.inputs.files}
            journal = Journal.open(self.root / STATE, self.made_with, restart=restart, counted=names)
        with closing(journal):
            self._refuse_strangers(journal)
            self._refuse_changes(journal)
            column = (self.settings.options or {}).get("column", COLUMN)
            output = Output(self.root, journal, {file.name: file for file in self.inputs.files}, column)
            failure: _Failure | None = None
            try:
                output.prepare()
                self._refuse_gone(journal)
                self._compress(journal, output)
            except _Stopped:
                pass
            except _Failure as error:
                failure = error
            finally:
                output.close()
            report = build(
                self.inputs,
                journal,
                out=str(self.root),
                seconds=time.perf_counter() - began,
                workers=self.workers,
                made_with=self.made_with,
                stopped_at=failure.problem if failure else None,
            )
            with reported(self.root):
                last = error_line(failure.file, failure.problem) if failure and failure.problem.line else b""
                publish_problems(self.root, self.inputs, journal, last)
                write_atomically(self.root / REPORT, as_json(report))
        if failure:
            line = f":{failure.problem.line}" if failure.problem.line else ""
            raise FirstFailure(f"{failure.file.path}{line}: {failure.problem.reason}")
        return report

    def _compress(self, journal: Journal, output: Output) -> None:
        left = [file for file in self.inputs.files if _is_left(journal, file)]
        done = self.inputs.size - sum(file.size for file in left)
        self.watcher.begin(self.inputs, done)
        chunks = in_chunks(self._steps(left, journal))
        with closing(self._results(chunks)) as results:  # which ends the workers
            for chunk, outcomes in results:
                steps_done = settled(chunk, outcomes)
                if self.fail_fast:
                    _end_with_first(steps_done, output)
                for file, problem in output.write(steps_done):
                    self.watcher.problem(file, problem)
                done += sum(step.file.size for step in chunk.steps if isinstance(step, (End, Failed)))
                last = chunk.steps[-1]
                self.watcher.advance(done + (last.position if isinstance(last, Cut) else 0))
                self._poll()

    def _results(self, chunks: Iterator[Chunk]) -> Generator[tuple[Chunk, list[Outcome]], None, None]:
        if self.workers == 1:
            return run_here(chunks, self.settings)
        return run_in_processes(chunks, self.settings, self.workers, self._poll)

    def _steps(self, files: Sequence[Input], journal: Journal) -> Iterator[Step]:
        for file in files:
            state = journal.files.get(file.name)
            yield from steps(file, self.settings, state if state and state.state == OPEN else None)

    def _poll(self) -> None:
        if self.watcher.stopping():
            raise _Stopped

    def _refuse_strangers(self, journal: Journal) -> None:
        """Make sure that no file is replaced that this run has not made."""
        if journal.replaces:
            return
        names = [file.name for file in self.inputs.files if file.name not in journal.files]
        names += [] if journal.resumed else [ERRORS, REPORT]
        strange = [str(self.root / name) for name in names if os.path.lexists(self.root / name)]
        if strange:
            raise ChangedError(
                f"{_some(strange)}: there is such a file already, and no run here has made it. Move it away, choose another "
                "output, or replace it with --restart."
            )

    def _refuse_changes(self, journal: Journal) -> None:
        """Make sure that what was read before is the same still."""
        changed = []
        for file in self.inputs.files:
            state = journal.files.get(file.name)
            if state and state.state != FAILED and state.stamp and not _matches(state.stamp, file.path):
                changed.append(str(file.path))
        if changed:
            raise ChangedError(
                f"{_some(changed)}: changed since the run in {self.root} read it. Put it back, choose another output, or "
                "begin anew with --restart."
            )

    def _refuse_gone(self, journal: Journal) -> None:
        """Make sure that the results of this run are where they were put, and what they were."""
        published = [
            (self.root / file.name, journal.files[file.name])
            for file in self.inputs.files
            if file.name in journal.files and journal.files[file.name].state == PUBLISHED
        ]
        gone = [str(path) for path, _ in published if not path.exists()]
        if gone:
            raise ChangedError(
                f"{_some(gone)}: made by the run here and gone since. Put it back, or begin anew with --restart."
            )
        damaged = [str(path) for path, state in published if state.result and not _matches(state.result, path)]
        if damaged:
            raise ChangedError(
                f"{_some(damaged)}: made by the run here and changed since. Put it back as it was, or begin anew with "
                "--restart."
            )


def _is_left(journal: Journal, file: Input) -> bool:
    """Whether there is something to do for a file; one that failed is tried again."""
    state = journal.files.get(file.name)
    return state is None or state.state in (OPEN, FAILED)


def _matches(stamp: Stamp, path: Path) -> bool:
    try:
        return stamp.matches(path)
    except OSError:  # vanished or unreadable: that is told when it is its turn
        return True


def _end_with_first(done: Sequence[Settled], output: Output) -> None:
    """Write what stands before the first failure, and stop there.

    A file that failed is written down, as it is tried again in any case; a record is not, so that the next start meets it.
    """
    for at, each in enumerate(done):
        for problem in each.problems:
            output.write(done[: at + isinstance(each.step, Failed)])
            raise _Failure(each.step.file, problem)


def _some(names: Sequence[str]) -> str:
    more = len(names) - NAMED
    return ", ".join(names[:NAMED]) + (f" and {more} more" if more > 0 else "")
