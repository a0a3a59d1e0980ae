"""Puts together the list of what failed, from what was noted of each file."""

import os
from collections.abc import Iterator
from pathlib import Path

from compressor.batch.inputs import ERRORS, Inputs
from compressor.batch.journal import FAILED, Journal, sync_folder
from compressor.formats import dump, encode

_BLOCK = 1 << 20


def publish_problems(root: Path, inputs: Inputs, journal: Journal, last: bytes = b"") -> None:
    """Write `errors.jsonl`, whole or not at all; without an error there is no such file.

    A line each, by file: `file`, `line` (of a table: the row; null where the whole file failed), `reason`, and `raw`, the
    record as it stands there.

    Args:
        last: A line for the failure that a run ended with, which the journal does not know.
    Raises:
        OSError: It cannot be written.
    """
    part = journal.folder / ERRORS
    with open(part, "wb") as target:
        for block in _blocks(inputs, journal):
            target.write(block)
        target.write(last)
        target.flush()
        os.fsync(target.fileno())
        empty = not target.tell()
    if empty:
        part.unlink()
        (root / ERRORS).unlink(missing_ok=True)
    else:
        os.replace(part, root / ERRORS)
    sync_folder(root)


def _blocks(inputs: Inputs, journal: Journal) -> Iterator[bytes]:
    for folder, reason in inputs.unreadable:
        yield _whole(folder, reason)
    for file in inputs.files:
        state = journal.files.get(file.name)
        if state is None:
            continue
        if state.state == FAILED:
            yield _whole(str(file.path), state.reason)
        elif state.error_bytes:
            with open(journal.folder / "parts" / f"{state.id}.errors", "rb") as noted:
                left = state.error_bytes
                while left and (block := noted.read(min(left, _BLOCK))):
                    left -= len(block)
                    yield block


def _whole(name: str, reason: str) -> bytes:
    return encode(dump({"file": name, "line": None, "reason": reason, "raw": None}) + "\n")
