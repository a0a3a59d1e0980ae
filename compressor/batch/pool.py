"""Runs chunks on several processes, and hands the results on in the order of the chunks.

Not a `ProcessPoolExecutor`: that one cannot say which task killed a worker, and gives up all others with it. Here each worker
has one chunk at a time. When a worker dies, the records of its chunk are run again one by one, and one that kills a second
worker fails alone.
"""

import multiprocessing
import pickle
from collections import deque
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Generic, Protocol, TypeVar

from compressor.batch.errors import BatchError
from compressor.batch.identity import Settings
from compressor.batch.sharing import Exchange
from compressor.batch.tables import TablePiece
from compressor.batch.tally import Tally
from compressor.batch.worker import Job, Outcome, Problem, Worker, serve

AHEAD = 4
"""Chunks a worker that may be under way or wait for their turn to be written; bounds the memory."""

POLL = 0.5
"""Seconds after which a signal is noticed at the latest."""

STARTS = 3
"""Workers in a row that may die while they start before the run gives up."""

DEATHS = 2
"""Workers that a record may kill before it counts as failed."""


class Chunk(Protocol):
    """Something with records to compress."""

    @property
    def jobs(self) -> tuple[Job, ...]: ...


C = TypeVar("C", bound=Chunk)


def run_here(chunks: Iterator[C], settings: Settings) -> Generator[tuple[C, list[Outcome]], None, None]:
    """Compress chunk by chunk in this process."""
    worker: Worker | None = None
    for chunk in chunks:
        if chunk.jobs and worker is None:
            worker = Worker(settings)
        yield chunk, worker.run(chunk.jobs) if worker else []


def run_in_processes(
    chunks: Iterator[C], settings: Settings, workers: int, poll: Callable[[], None]
) -> Generator[tuple[C, list[Outcome]], None, None]:
    """Compress chunks side by side; a worker process is started when there is a chunk for it.

    Args:
        workers: Most processes.
        poll: Called now and then while all are at work; may raise to end it.
    Raises:
        BatchError: Workers cannot start.
    """
    pool: _Pool[C] = _Pool(chunks, settings, workers, poll)
    try:
        yield from pool.results()
    finally:
        pool.close()


@dataclass(eq=False)
class _Task:
    """Jobs that one worker runs together, and where their outcomes go."""

    jobs: tuple[Job, ...]
    into: list[Outcome | None]
    first: int
    deaths: int = 0


@dataclass(eq=False)
class _Entry(Generic[C]):
    """A chunk on its way."""

    chunk: C
    outcomes: list[Outcome | None]

    @property
    def done(self) -> bool:
        return None not in self.outcomes


@dataclass(eq=False)
class _Process:
    """A worker process."""

    process: BaseProcess
    connection: Connection
    ready: bool = False
    task: _Task | None = None


@dataclass
class _Pool(Generic[C]):
    chunks: Iterator[C]
    settings: Settings
    workers: int
    poll: Callable[[], None]
    entries: "deque[_Entry[C]]" = field(default_factory=deque)
    waiting: deque[_Task] = field(default_factory=deque)
    processes: list[_Process] = field(default_factory=list)
    exchange: Exchange = field(default_factory=Exchange)
    failed_starts: int = 0

    def results(self) -> Iterator[tuple[C, list[Outcome]]]:
        more = True
        while True:
            while more and len(self.entries) < AHEAD * self.workers and len(self.waiting) < self.workers:
                more = self._admit()
            if self.entries and self.entries[0].done:
                entry = self.entries.popleft()
                yield entry.chunk, [outcome for outcome in entry.outcomes if outcome is not None]
                self._receive(0)  # while that was written, workers may have finished
            elif self.entries:
                self._receive(POLL)
                self.poll()
            elif not more:
                return

    def close(self) -> None:
        for worker in self.processes:
            worker.process.kill()  # it owns nothing: what is not written yet is done again
        for worker in self.processes:
            worker.process.join()
            worker.connection.close()
        self.processes.clear()

    def _admit(self) -> bool:
        """Take the next chunk; says whether there was one."""
        chunk = next(self.chunks, None)
        if chunk is None:
            return False
        entry = _Entry(chunk, [None] * len(chunk.jobs))
        self.entries.append(entry)
        if chunk.jobs:
            self.waiting.append(_Task(chunk.jobs, entry.outcomes, 0))
            self._hand_out()
        return True

    def _hand_out(self) -> None:
        for worker in [worker for worker in self.processes if worker.ready and worker.task is None]:
            if self.waiting:
                self._give(worker, self.waiting.popleft())
        starting = sum(not worker.ready for worker in self.processes)
        for _ in range(min(len(self.waiting) - starting, self.workers - len(self.processes))):
            self._start()

    def _give(self, worker: _Process, task: _Task) -> None:
        worker.task = task
        try:
            worker.connection.send((task.jobs, self.exchange.hear(worker.process.pid or 0)))
        except OSError:  # it died while it had nothing to do: its end is noticed below, and the task is not to blame
            worker.task = None
            self.waiting.appendleft(task)
            worker.ready = False

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")  # a fork would copy threads' locks, and differs between systems
        ours, theirs = context.Pipe()
        process = context.Process(target=serve, args=(theirs, self.settings), daemon=True)
        try:
            process.start()
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise BatchError(
                f"the policy cannot be sent to worker processes ({error}); allowed in also_protect: patterns, and functions "
                "that a module defines by name. Or give workers=1."
            ) from error
        theirs.close()
        self.processes.append(_Process(process, ours))

    def _receive(self, timeout: float) -> None:
        """Take what workers have sent, or wait so many seconds for it, and give out what waits for a worker."""
        ready = wait([worker.connection for worker in self.processes], timeout)
        for worker in [worker for worker in self.processes if worker.connection in ready]:
            try:
                message = worker.connection.recv()
            except (EOFError, OSError):
                self._bury(worker)
                continue
            if worker.task is None:
                self._started(worker, message)
            else:
                task, worker.task = worker.task, None
                outcomes, found = message
                task.into[task.first : task.first + len(task.jobs)] = outcomes
                self.exchange.tell(worker.process.pid or 0, found)
        self._hand_out()

    def _started(self, worker: _Process, failure: str | None) -> None:
        if failure is not None:
            raise BatchError(f"a worker cannot start: {failure}")
        worker.ready = True
        self.failed_starts = 0

    def _bury(self, worker: _Process) -> None:
        """A worker died: its records are run again one by one, unless they did it twice."""
        self.processes.remove(worker)
        worker.process.join()
        worker.connection.close()
        cause = f"exit code {worker.process.exitcode}"
        if worker.task is None:
            self.failed_starts += not worker.ready
            if self.failed_starts >= STARTS:
                raise BatchError(
                    f"{STARTS} workers in a row died while they started ({cause}); is there memory for so many? "
                    "Give fewer --workers."
                )
            return
        task = worker.task
        if len(task.jobs) == 1 and task.deaths + 1 >= DEATHS:
            task.into[task.first] = _lethal(task.jobs[0], cause)
            return
        again = [_Task((job,), task.into, task.first + at, task.deaths + 1) for at, job in enumerate(task.jobs)]
        self.waiting.extendleft(reversed(again))


def _lethal(job: Job, cause: str) -> Outcome:
    piece = job.piece
    why = f"the worker process died on this record twice ({cause}; -9 is often a lack of memory)"
    if isinstance(piece, TablePiece):
        problems = tuple(Problem(line, why, "") for line in piece.lines)
        return Outcome(piece.raw, problems, Tally(bad=piece.rows, characters=piece.size))
    return Outcome(piece.raw, (Problem(piece.line, why, piece.raw),), Tally(bad=1, characters=len(piece.raw)))
