"""From labelled records and errors to files: the worst are left out, and nothing is lost without a line about it."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from training.labelling.errors import LabelError
from training.labelling.quality import worst
from training.labelling.records import Labelled, write_lines


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run wrote.

    Args:
        labelled: Records in the output.
        failed: Records that could not be labelled.
        dropped: Records that were, but are among the worst.
        messages: Why, a line each, for failed and dropped ones.
    """

    labelled: int
    failed: int
    dropped: int
    messages: tuple[str, ...]


def write_run(
    found: Iterable[Labelled | LabelError], out: Path, rejects: Path, *, source: str, domain: str, drop_worst: float
) -> Outcome:
    """Write the records, and beside them the rejects: `reason`, and `record` where there is one.

    Both files appear whole or not at all; without rejects that file is removed. Without a single good record the output
    is not written.

    Args:
        drop_worst: Share of the records to leave out, 0 to 1: those whose shortened text fits its source worst.
    """
    good: list[Labelled] = []
    lines: list[Mapping[str, Any]] = []
    for one in found:
        if isinstance(one, Labelled):
            good.append(one)
        else:
            lines.append({"reason": str(one)})
    failed = len(lines)
    graded = [one for one in good if one.quality is not None]
    bad = {
        graded[n].raw.id: why for n, why in worst([one.quality for one in graded if one.quality], drop_worst).items()
    }
    lines.extend(
        {"reason": f"{one.raw.id} ({one.raw.where}): {bad[one.raw.id]}", "record": one.to_record(source, domain)}
        for one in good
        if one.raw.id in bad
    )
    kept = [one.to_record(source, domain) for one in good if one.raw.id not in bad]
    if lines:
        write_lines(rejects, lines)
    else:
        rejects.unlink(missing_ok=True)
    if kept:
        write_lines(out, kept)
    return Outcome(len(kept), failed, len(bad), tuple(str(line["reason"]) for line in lines))


def write_report(path: Path, content: Mapping[str, Any]) -> None:
    """Write one JSON document."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
