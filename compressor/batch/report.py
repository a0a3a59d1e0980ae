"""The report of a run: what was saved, protected, missed and spent; as plain values and as a summary to read."""

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from compressor.batch.inputs import Input, Inputs
from compressor.batch.journal import FAILED, PUBLISHED, FileState, Journal
from compressor.batch.showing import shown
from compressor.batch.tally import PARTS, Tally
from compressor.batch.worker import Problem

SLOWEST = 5
"""Files that the report names as the slowest."""


EARLIER = "of a run before --restart"
"""The state of a result that the run in the folder has not made and not replaced."""


@dataclass(frozen=True, slots=True)
class FileFacts:
    """One file of a run, in short."""

    file: str
    format: str
    state: str
    bytes: int
    seconds: float
    bad: int
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class BatchReport:
    """A run in numbers; of a run that was resumed, from its first start on.

    Args:
        complete: Whether every file has its result, or failed, and no failure ended the run.
        out: The output folder.
        total: All that was counted.
        formats: The same by format.
        files, failed, unfinished: How many files were found, could not be read, and are still to be done.
        bad: Records that failed and stand unchanged in their results, and files that failed.
        slowest: The files that took longest.
        noted: Files with something to know, such as a guessed encoding.
        skipped: What was passed over, and why.
        unreadable: Folders and files that could not be listed, and why.
        others: Files of the run in the folder, or results of one before a restart, that are not among the inputs now, with
            what is known of each. No number here speaks of them.
        seconds: Of this start alone, on the wall clock.
        workers: Processes that compressed.
        resumed: Whether an earlier start was continued.
        made_with: Model, policy, versions and options.
        stopped_at: The failure that ended the run, under `fail_fast`.
    """

    complete: bool
    out: str
    total: Tally
    formats: dict[str, Tally]
    files: int
    failed: int
    unfinished: int
    slowest: tuple[FileFacts, ...]
    noted: tuple[FileFacts, ...]
    skipped: tuple[tuple[str, str], ...]
    unreadable: tuple[tuple[str, str], ...]
    seconds: float
    workers: int
    resumed: bool
    made_with: dict[str, Any]
    stopped_at: Problem | None = None
    others: tuple[tuple[str, str], ...] = ()

    @property
    def bad(self) -> int:
        """What failed: records, files, and what cannot be listed. Each has a line in errors.jsonl."""
        stopped = self.stopped_at is not None and self.stopped_at.line > 0  # a file that failed is counted as one
        return self.total.bad + self.failed + len(self.unreadable) + stopped

    def to_dict(self) -> dict[str, Any]:
        """The report as plain values, ready for JSON."""
        return {
            "complete": self.complete,
            "files": {
                "found": self.files,
                "failed": self.failed,
                "unfinished": self.unfinished,
                "skipped": [{"file": file, "reason": reason} for file, reason in self.skipped],
                "unreadable": [{"file": file, "reason": reason} for file, reason in self.unreadable],
                "others": [{"file": file, "state": state} for file, state in self.others],
            },
            **_numbers(self.total),
            "errors": self.bad,
            "by_format": {name: _numbers(tally) for name, tally in sorted(self.formats.items())},
            "slowest": [_facts(facts) for facts in self.slowest],
            "noted": [_facts(facts) for facts in self.noted],
            "wall_seconds": round(self.seconds, 3),
            "workers": self.workers,
            "resumed": self.resumed,
            "made_with": self.made_with,
        }

    def summary(self) -> str:
        """The report in a few lines for a terminal."""
        total = self.total
        lines = [
            f"{self.files - self.failed - self.unfinished} of {self.files} files done"
            + (f", {self.failed} failed" if self.failed else "")
            + (f", {self.unfinished} to go" if self.unfinished else "")
            + f"; {total.records} conversations, {total.turns} turns in {self.seconds:.1f} s"
            + (" since it was resumed" if self.resumed else "")
        ]
        if total.tokens_before:
            lines.append(f"tokens: {_saved(total.tokens_before, total.tokens_after)}")
        if len(self.formats) > 1:
            for name, tally in sorted(self.formats.items()):
                lines.append(
                    f"  {name}: {tally.records} conversations, {_saved(tally.tokens_before, tally.tokens_after)}"
                )
        for role, (turns, before, after) in sorted(total.roles.items()):
            lines.append(f"  {role}: {turns} turns, {_saved(before, after)}")
        rules = ", ".join(f"{rule} {words}" for rule, words in total.rules.items() if words)
        lines.append(f"protected words by rule: {rules or 'none'}")
        if total.over_budget:
            lines.append(f"budget not met: {total.over_budget} conversations, where what must stay needs more")
        scored = total.hits + total.misses
        if scored:
            lines.append(f"turns scored: {total.misses} of {scored}; the others were known from equal ones")
        spent = sum(total.seconds.values())
        if spent:
            shares = ", ".join(f"{part} {total.seconds.get(part, 0.0) / spent:.0%}" for part in PARTS)
            lines.append(f"processor time: {spent:.1f} s ({shares})")
        if len(self.slowest) > 1:
            lines.append(
                "slowest: " + ", ".join(f"{shown(facts.file)} ({facts.seconds:.1f} s)" for facts in self.slowest)
            )
        lines += [f"{shown(facts.file)}: {note}" for facts in self.noted[:SLOWEST] for note in facts.notes]
        if self.made_with.get("check"):
            lines.append("each result was checked")
        if self.others:
            names = ", ".join(shown(name) for name, _ in self.others[:SLOWEST])
            more = len(self.others) - SLOWEST
            lines.append(
                f"not among the inputs now: {len(self.others)} ({names}{f' and {more} more' if more > 0 else ''}); "
                "their results stay, and they are not counted here"
            )
        if self.skipped:
            kinds = sorted({reason for _, reason in self.skipped})
            counts = [f"{sum(why == kind for _, why in self.skipped)} × {kind}" for kind in kinds]
            lines.append(f"passed over: {', '.join(counts)}")
        if self.bad:
            lines.append(
                f"{self.bad} failed and are listed in {shown(self.out)}/errors.jsonl; records among them stand unchanged"
            )
        return "\n".join(lines)


def build(
    inputs: Inputs,
    journal: Journal,
    *,
    out: str,
    seconds: float,
    workers: int,
    made_with: dict[str, Any],
    stopped_at: Problem | None = None,
) -> BatchReport:
    """Sum up what a journal says of the files that were found."""
    total = Tally()
    formats = journal.tallies()
    for tally in formats.values():
        total.add(tally)
    known = [(file, journal.files[file.name]) for file in inputs.files if file.name in journal.files]
    done = sum(state.state == PUBLISHED for _, state in known)
    failed = sum(state.state == FAILED for _, state in known)
    unfinished = len(inputs.files) - done - failed
    by_time = sorted(known, key=lambda pair: -pair[1].seconds)[:SLOWEST]
    return BatchReport(
        complete=unfinished == 0 and stopped_at is None,
        out=out,
        total=total,
        formats=formats,
        files=len(inputs.files),
        failed=failed,
        unfinished=unfinished,
        slowest=tuple(_file_facts(file, state) for file, state in by_time),
        noted=tuple(_file_facts(file, state) for file, state in known if state.notes),
        skipped=inputs.skipped,
        unreadable=inputs.unreadable,
        seconds=seconds,
        workers=workers,
        resumed=journal.resumed,
        made_with=made_with,
        stopped_at=stopped_at,
        others=_others(inputs, journal, Path(out)),
    )


def _others(inputs: Inputs, journal: Journal, out: Path) -> tuple[tuple[str, str], ...]:
    """What was made or begun in the folder for files that are not among the inputs, by name."""
    own = {file.name for file in inputs.files}
    known = {name: state.state for name, state in journal.files.items()}
    known |= {name: EARLIER for name in journal.left if name not in known and os.path.lexists(out / name)}
    return tuple(sorted((name, state) for name, state in known.items() if name not in own))


def as_json(report: BatchReport) -> bytes:
    """The report as a file."""
    return json.dumps(report.to_dict(), indent=1).encode() + b"\n"


def _file_facts(file: Input, state: FileState) -> FileFacts:
    return FileFacts(file.name, state.format, state.state, file.size, round(state.seconds, 3), state.bad, state.notes)


def _facts(facts: FileFacts) -> dict[str, Any]:
    return {**asdict(facts), "notes": list(facts.notes)}


def _numbers(tally: Tally) -> dict[str, Any]:
    """A tally with its ratios, as the report shows it."""
    spent = sum(tally.seconds.values())
    return {
        "conversations": tally.records,
        "bad": tally.bad,
        "turns": tally.turns,
        "characters": tally.characters,
        "words": {"before": tally.words_before, "after": tally.words_after},
        "tokens": _change(tally.tokens_before, tally.tokens_after),
        "over_budget": tally.over_budget,
        "by_role": {
            role: {"turns": turns, "tokens": _change(before, after)}
            for role, (turns, before, after) in sorted(tally.roles.items())
        },
        "protected_words": {rule: words for rule, words in tally.rules.items() if words},
        "cache": {"hits": tally.hits, "misses": tally.misses},
        "processor_seconds": {part: round(tally.seconds.get(part, 0.0), 3) for part in PARTS},
        "model_share": round(tally.seconds.get("model", 0.0) / spent, 4) if spent else None,
    }


def _change(before: int, after: int) -> dict[str, Any]:
    ratio = round(after / before, 4) if before else None
    return {"before": before, "after": after, "saved": before - after, "kept_ratio": ratio}


def _saved(before: int, after: int) -> str:
    return f"{before} → {after} tokens ({after / before:.0%} kept)" if before else "no tokens"
