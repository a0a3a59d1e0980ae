"""Groups the steps of a run into chunks: what a worker gets at once, and what is committed together."""

from collections.abc import Iterator
from dataclasses import dataclass

from compressor.batch.sources import Cut, Step
from compressor.batch.tables import TablePiece
from compressor.batch.worker import Job

CHUNK = 32_768
"""Characters of the records in a chunk, about: a few seconds of scoring, which is what an interruption costs a worker."""

STEPS = 256
"""Most steps in a chunk, for files of many tiny records."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """Steps that stand next to each other, of one file or of several.

    Args:
        steps: In order.
        jobs: Their records, one for each `Cut` that holds one.
    """

    steps: tuple[Step, ...]
    jobs: tuple[Job, ...]


def is_record(step: Cut) -> bool:
    """Whether there is something to compress."""
    return isinstance(step.piece, TablePiece) or step.piece.is_record


def in_chunks(steps: Iterator[Step]) -> Iterator[Chunk]:
    """Group steps; a record larger than a chunk is one of its own, with what precedes it."""
    group: list[Step] = []
    jobs: list[Job] = []
    size = 0
    for step in steps:
        group.append(step)
        if isinstance(step, Cut):
            size += step.piece.size if isinstance(step.piece, TablePiece) else len(step.piece.raw)
            if is_record(step):
                jobs.append(Job(step.piece, step.format))
        if size >= CHUNK or len(group) >= STEPS:
            yield Chunk(tuple(group), tuple(jobs))
            group, jobs, size = [], [], 0
    if group:
        yield Chunk(tuple(group), tuple(jobs))
