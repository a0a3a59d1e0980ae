"""Looks at the inputs first: what would be read, about how long it would take, and what compressing some records gives."""

import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from compressor.batch.chunks import is_record
from compressor.batch.identity import Settings
from compressor.batch.inputs import Input, Inputs, Selection, find_inputs
from compressor.batch.sources import Begin, Cut, Failed, steps
from compressor.batch.tables import COLUMN, TablePiece, row_value
from compressor.batch.tally import Tally
from compressor.batch.worker import Job, Worker, reason
from compressor.errors import PolicyError
from compressor.result import CompressionResult
from compressor.scoring.classifier import default_threads

PROBE, PROBE_SECONDS = 24, 6.0
"""Records that are compressed to estimate the time, and after how many seconds enough were."""


@dataclass(frozen=True, slots=True)
class Found:
    """One file that would be read.

    Args:
        file: The file.
        format, encoding, compression, notes: As it would be read.
        records, characters: Conversations in it, and their length (of tables: bytes in memory).
        failure: Why it cannot be read, or an empty string.
    """

    file: Input
    format: str = ""
    encoding: str = ""
    compression: str = ""
    notes: tuple[str, ...] = ()
    records: int = 0
    characters: int = 0
    failure: str = ""


@dataclass(frozen=True, slots=True)
class Sampled:
    """One record that was drawn: where it stands, and its result or why it failed."""

    file: Input
    line: int
    result: CompressionResult | None
    failure: str = ""


@dataclass(frozen=True, slots=True)
class Survey:
    """What would be read.

    Args:
        inputs: The files, and what is passed over.
        files: What is in each.
        seconds: How long a run would take, about; None if nothing could be compressed.
        workers: On so many cores.
    """

    inputs: Inputs
    files: tuple[Found, ...]
    seconds: float | None
    workers: int

    @property
    def failed(self) -> int:
        """Files and folders that cannot be read."""
        return sum(bool(found.failure) for found in self.files) + len(self.inputs.unreadable)


@dataclass(frozen=True, slots=True)
class _Drawn:
    """A record that was drawn; `row` is its place in a piece of a table."""

    file: Input
    job: Job
    row: int = 0


def survey(
    inputs: Sequence[str | Path],
    out: str | Path,
    settings: Settings,
    *,
    workers: int | None = None,
    selection: Selection | None = None,
) -> Survey:
    """Read all inputs, compress some records drawn from all over them, and write nothing.

    Raises:
        PolicyError: An input is not allowed, or there is none.
        ModelError: The model cannot be used.
    """
    found = find_inputs(inputs, out, selection)
    files, drawn = _read_all(found, settings, PROBE)
    worker = Worker(settings)
    characters, spent = 0, 0.0
    for each in drawn:
        start = time.perf_counter()
        worker.run([each.job])
        spent += time.perf_counter() - start
        characters += _size(each.job)
        if spent > PROBE_SECONDS:
            break
    cores = workers or default_threads()
    total = sum(file.characters for file in files)
    return Survey(found, tuple(files), total / characters * spent / cores if characters else None, cores)


def sample(
    inputs: Sequence[str | Path],
    out: str | Path,
    settings: Settings,
    size: int,
    *,
    selection: Selection | None = None,
) -> tuple[list[Sampled], Tally, Inputs]:
    """Compress some records drawn from all over the inputs, the same ones each time, and write nothing.

    Returns:
        The records in the order in which they stand, the sums over them, and what was found.
    Raises:
        PolicyError: The size or an input is not allowed, or there is none.
        ModelError: The model cannot be used.
    """
    if isinstance(size, bool) or not isinstance(size, int) or size < 1:
        raise PolicyError(f"sample is {size!r}; allowed: a whole number of records, 1 or more.")
    found = find_inputs(inputs, out, selection)
    files, drawn = _read_all(found, settings, size)
    worker = Worker(settings)
    tally = Tally()
    results = [Sampled(each.file, 0, None, each.failure) for each in files if each.failure]
    column = (settings.options or {}).get("column", COLUMN)
    for each in drawn:
        piece = each.job.piece
        line = piece.line + each.row
        try:
            if isinstance(piece, TablePiece):
                result = worker.compress_value(row_value(piece, column, each.row))
            else:
                result = worker.compress(piece, each.job.format)
        except Exception as error:  # as in a run, where it would be listed and the rest go on
            tally.bad += 1
            results.append(Sampled(each.file, line, None, reason(error)))
            continue
        tally.count(result.report)
        results.append(Sampled(each.file, line, result))
    return results, tally, found


def _read_all(inputs: Inputs, settings: Settings, size: int) -> tuple[list[Found], list[_Drawn]]:
    """Cut every file, and draw records so that each is as likely as any other (reservoir sampling, algorithm R).

    Source: J. S. Vitter, Random sampling with a reservoir, ACM TOMS 11 (1985).
    """
    chance = random.Random(0)
    files: list[Found] = []
    drawn: list[tuple[int, _Drawn]] = []
    seen = 0
    for file in inputs.files:
        found = Found(file)
        for step in steps(file, settings, None):
            if isinstance(step, Begin):
                state = step.state
                found = replace(
                    found,
                    format=state.format,
                    encoding=state.encoding,
                    compression=state.compression,
                    notes=state.notes,
                )
            elif isinstance(step, Failed):
                found = replace(found, failure=step.reason)
            elif isinstance(step, Cut) and is_record(step):
                count = 0
                for one in _records(step):
                    count += 1
                    place = seen if seen < size else chance.randrange(seen + 1)
                    if place < size:
                        drawn[place : place + 1] = [(seen, one)]
                    seen += 1
                found = replace(
                    found, records=found.records + count, characters=found.characters + _size(Job(step.piece, ""))
                )
        files.append(found)
    return files, [one for _, one in sorted(drawn, key=lambda pair: pair[0])]


def _records(step: Cut) -> Iterator[_Drawn]:
    rows = step.piece.rows if isinstance(step.piece, TablePiece) else 1
    for row in range(rows):
        yield _Drawn(step.file, Job(step.piece, step.format), row)


def _size(job: Job) -> int:
    return job.piece.size if isinstance(job.piece, TablePiece) else len(job.piece.raw)
