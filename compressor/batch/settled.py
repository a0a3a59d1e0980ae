"""From what became of records to bytes that can be written: what cannot be encoded fails alone, as its record or its file."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from compressor.batch.chunks import Chunk, is_record
from compressor.batch.sources import Cut, Failed, Step
from compressor.batch.tally import Tally
from compressor.batch.worker import Outcome, Problem, reason


@dataclass(frozen=True, slots=True)
class Settled:
    """A step, and of a `Cut` what is written in its place, in bytes."""

    step: Step
    outcome: Outcome | None = None

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What failed in it; a file that failed has a problem without a line."""
        if isinstance(self.step, Failed):
            return (Problem(0, self.step.reason, ""),)
        return self.outcome.problems if self.outcome else ()


def settled(chunk: Chunk, outcomes: Sequence[Outcome]) -> list[Settled]:
    """The steps of a chunk with their outcomes in bytes.

    A result that its file's encoding does not take is a record that failed: it stays as it was. Where even that cannot be
    written back, the file fails.
    """
    results = iter(outcomes)
    found: list[Settled] = []
    for step in chunk.steps:
        if not isinstance(step, Cut):
            found.append(Settled(step))
            continue
        outcome = next(results) if is_record(step) else Outcome(step.piece.raw, (), Tally())
        try:
            found.append(Settled(step, _in_bytes(step, outcome)))
        except Exception as error:  # whatever an encoding does with one file, the others go on
            found.append(Settled(Failed(step.file, f"line {step.piece.line} cannot be written back: {reason(error)}")))
    return found


def _in_bytes(step: Cut, outcome: Outcome) -> Outcome:
    if isinstance(outcome.content, bytes):
        return outcome
    try:
        return replace(outcome, content=step.encode(outcome.content, step.piece.line))
    except Exception as error:
        raw = str(step.piece.raw)
        if outcome.content == raw:
            raise
        problem = Problem(step.piece.line, f"the result cannot be written: {reason(error)}", raw)
        spent = outcome.tally
        tally = Tally(bad=1, characters=spent.characters, hits=spent.hits, misses=spent.misses, seconds=spent.seconds)
        return Outcome(step.encode(raw, step.piece.line), (problem,), tally)
