"""Writes what a run makes: unfinished files, their lists of bad records, and, once whole, the results under their names."""

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import BinaryIO

from compressor.batch.errors import BatchError
from compressor.batch.identity import Stamp
from compressor.batch.inputs import Input
from compressor.batch.journal import COMPLETE, FAILED, OPEN, PUBLISHED, FileState, Journal, sync_folder
from compressor.batch.packing import packed
from compressor.batch.settled import Settled
from compressor.batch.sources import Begin, Cut, End, Failed
from compressor.batch.tables import COLUMN, TablePiece
from compressor.batch.tally import Tally
from compressor.batch.worker import Outcome, Problem, reason
from compressor.formats import dump, encode


@dataclass(slots=True)
class _Part:
    """The unfinished result of one file."""

    name: str
    content: BinaryIO
    errors: BinaryIO | None = None

    def sync(self) -> None:
        for file in (self.content, self.errors):
            if file:
                file.flush()
                os.fsync(file.fileno())

    def close(self) -> None:
        self.content.close()
        if self.errors:
            self.errors.close()


@dataclass(slots=True)
class Output:
    """The output folder of a run.

    Args:
        root: The folder.
        journal: What is written down of it.
        inputs: The files by the names of their results.
        column: The column of tables that holds the conversations.
    """

    root: Path
    journal: Journal
    inputs: Mapping[str, Input]
    column: str = COLUMN
    _part: _Part | None = None
    _changes: dict[str, tuple[FileState, Tally]] = field(default_factory=dict)
    _given_up: str = ""

    @property
    def parts(self) -> Path:
        """The folder of unfinished files."""
        return self.journal.folder / "parts"

    def prepare(self) -> None:
        """Make the folders, remove parts that belong to no file, and publish what was complete when the run ended."""
        with reported(self.parts):
            self.parts.mkdir(parents=True, exist_ok=True)
            known = {name for state in self.journal.files.values() for name in _names(state)}
            for path in self.parts.iterdir():
                if path.name not in known:
                    path.unlink()
        complete = [name for name, state in self.journal.files.items() if state.state == COMPLETE]
        self.publish([name for name in complete if name in self.inputs])

    def write(self, done: Sequence[Settled]) -> list[tuple[Input, Problem]]:
        """Append what became of some steps, write it down, and publish the files that end in them.

        Returns:
            The records that failed; a file that failed has a problem without a line.
        Raises:
            BatchError: Something cannot be written; the run can go on later.
        """
        start = time.thread_time()
        problems: list[tuple[Input, Problem]] = []
        for each in done:
            step = each.step
            if step.file.name == self._given_up:  # its other pieces were cut before that was known
                continue
            if isinstance(step, Begin):
                self._begin(step)
            elif isinstance(step, Cut):
                self._append(step, each.outcome or Outcome(b"", (), Tally()))
            elif isinstance(step, End):
                self._change(step.file.name, state=COMPLETE)
                self._close_part()
            else:
                self._fail(step)
            problems += [(step.file, problem) for problem in each.problems]
        self._commit(time.thread_time() - start)
        return problems

    def publish(self, names: Sequence[str]) -> None:
        """Give complete files their final names.

        Raises:
            BatchError: One cannot be written.
        """
        changes: dict[str, tuple[FileState, Tally]] = {}
        for name in names:
            state = self.journal.files[name]
            target, part = self.root / name, self.parts / f"{state.id}.part"
            try:
                with reported(target):
                    target.parent.mkdir(parents=True, exist_ok=True)
                    if part.exists():  # else it was renamed when the run ended, before that was written down
                        os.replace(packed(part, state, self.inputs[name].path, self.column), target)
                        sync_folder(target.parent)
                        part.unlink(missing_ok=True)
                    result = Stamp.of(target) if target.is_file() else None
                changes[name] = (replace(state, state=PUBLISHED, result=result), Tally())
            except BatchError:
                raise
            except Exception as error:  # a table whose source is no longer what it was: the other files go on
                changes[name] = (
                    replace(state, state=FAILED, reason=reason(error), bytes=0, error_bytes=0, bad=0),
                    Tally(),
                )
        if changes:
            with reported(self.journal.folder):
                self.journal.commit(changes)

    def close(self) -> None:
        """Let go of open files; what was not written down yet is done again."""
        if self._part:
            with suppress(OSError):  # what is left in the buffer goes to the full disk once more
                self._part.close()
            self._part = None

    def _begin(self, step: Begin) -> None:
        self._close_part()
        name = step.file.name
        self._changes[name] = (replace(step.state, id=self.journal.new_id()), Tally())
        self._spend(name, "read", step.seconds)
        with reported(self.root / name):
            self._part = _Part(name, (self.parts / f"{self._state(name).id}.part").open("wb"))

    def _append(self, step: Cut, outcome: Outcome) -> None:
        name = step.file.name
        part = self._open_part(name)
        state = self._state(name)
        content = outcome.content if isinstance(outcome.content, bytes) else outcome.content.encode()
        errors = b"".join(error_line(step.file, problem) for problem in outcome.problems)
        with reported(self.root / name):
            part.content.write(content)
            if errors:
                part.errors = part.errors or (self.parts / f"{state.id}.errors").open("wb")
                part.errors.write(errors)
        self._change(
            name,
            pieces=state.pieces + (step.piece.rows if isinstance(step.piece, TablePiece) else 1),
            bytes=state.bytes + len(content),
            error_bytes=state.error_bytes + len(errors),
            bad=state.bad + len(outcome.problems),
        )
        self._changes[name][1].add(outcome.tally)
        self._spend(name, "read", step.seconds)

    def _fail(self, step: Failed) -> None:
        name = self._given_up = step.file.name
        self._close_part()
        state = self._changes[name][0] if name in self._changes else self.journal.files.get(name)
        if state is None or state.state == FAILED:  # it was not even begun
            state = FileState(self.journal.new_id())
        state = replace(state, state=FAILED, reason=step.reason, bytes=0, error_bytes=0, bad=0)
        self._changes[name] = (state, Tally())

    def _commit(self, seconds: float) -> None:
        """Write down what was appended since the last time, and publish."""
        if not self._changes:
            return
        start = time.thread_time()
        name = next(reversed(self._changes))
        if self._part:
            with reported(self.root / self._part.name):
                self._part.sync()
        self._spend(name, "write", seconds + time.thread_time() - start)
        changes = {
            name: (replace(state, seconds=state.seconds + sum(tally.seconds.values())), tally)
            for name, (state, tally) in self._changes.items()
        }
        self._changes = {}
        with reported(self.journal.folder):
            self.journal.commit(changes)
        for state, _ in changes.values():
            if state.state == FAILED:
                for path in (self.parts / f"{state.id}.part", self.parts / f"{state.id}.errors"):
                    path.unlink(missing_ok=True)
        self.publish([name for name, (state, _) in changes.items() if state.state == COMPLETE])

    def _state(self, name: str) -> FileState:
        return self._changes[name][0] if name in self._changes else self.journal.files[name]

    def _change(self, name: str, **values: object) -> None:
        tally = self._changes[name][1] if name in self._changes else Tally()
        self._changes[name] = (replace(self._state(name), **values), tally)  # type: ignore[arg-type]

    def _spend(self, name: str, part: str, seconds: float) -> None:
        self._changes[name][1].spend(part, seconds)

    def _open_part(self, name: str) -> _Part:
        """The part that is written to; that of a run that goes on is cut back to what was written down."""
        if self._part is None or self._part.name != name:
            self._close_part()
            state = self._state(name)
            with reported(self.root / name):
                content = _cut_back(self.parts / f"{state.id}.part", state.bytes)
                errors = _cut_back(self.parts / f"{state.id}.errors", state.error_bytes) if state.error_bytes else None
            self._part = _Part(name, content, errors)
        return self._part

    def _close_part(self) -> None:
        if self._part:
            with reported(self.root / self._part.name):
                self._part.sync()
                self._part.close()
            self._part = None


@contextmanager
def reported(path: Path) -> Iterator[None]:
    """Turns the system's refusal to write into a message that says what to do.

    Raises:
        BatchError: Something inside raised an OSError.
    """
    try:
        yield
    except OSError as error:
        raise BatchError(
            f"{path}: cannot be written: {error.strerror or error}. What is finished is kept, and no unfinished file "
            "stands under its final name; mend this, and the same command goes on."
        ) from error


def _names(state: FileState) -> tuple[str, ...]:
    """The files that a state needs."""
    names = {OPEN: (".part", ".errors"), COMPLETE: (".part", ".errors"), PUBLISHED: (".errors",), FAILED: ()}
    return tuple(f"{state.id}{ending}" for ending in names[state.state])


def error_line(file: Input, problem: Problem) -> bytes:
    """The line of `errors.jsonl` for a record that failed."""
    entry = {"file": str(file.path), "line": problem.line, "reason": problem.reason, "raw": problem.raw}
    return encode(dump(entry) + "\n")


def _cut_back(path: Path, length: int) -> BinaryIO:
    """Open a file for appending, without what was written behind its known length."""
    file = path.open("r+b")
    there = file.seek(0, os.SEEK_END)
    if there < length:
        file.close()
        raise BatchError(f"{path} has {there} bytes, and {length} were written; --restart begins anew.")
    file.truncate(length)
    file.seek(length)
    return file
