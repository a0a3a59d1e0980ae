"""What a run says of itself: log.jsonl, the logger, and a progress bar where somebody watches."""

import json
import logging
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tqdm import tqdm

log = logging.getLogger("training")


class Journal:
    """Appends records to a file of JSON lines; a run that goes on after a kill cuts what it will write again.

    Args:
        path: The file.
        size: Bytes of it that stand; what is behind them is cut.
        step: Steps that are done already.
        total: Steps of the whole run.
    """

    def __init__(self, path: Path, size: int, step: int, total: int) -> None:
        self._file = path.open("ab")
        self._file.truncate(size)
        self._file.seek(0, 2)
        self._bar = tqdm(total=total, initial=step, unit="step", disable=not sys.stderr.isatty())

    @property
    def size(self) -> int:
        """Bytes written so far, all of them on disk."""
        self._file.flush()
        return self._file.tell()

    def note(self, **record: Any) -> None:
        """Write one record."""
        self._file.write((json.dumps(record) + "\n").encode())
        self._file.flush()
        if "loss" in record:
            self._bar.set_postfix(loss=record["loss"], refresh=False)
        else:
            log.info("%s", json.dumps(record))

    def advance(self) -> None:
        """One step is done."""
        self._bar.update()

    def close(self) -> None:
        """Close the file and the bar."""
        self._file.close()
        self._bar.close()


def records(path: Path) -> Iterator[dict[str, Any]]:
    """The records of a log.jsonl; a last line that a kill cut short is left out."""
    for line in path.read_bytes().splitlines(keepends=True):
        if line.endswith(b"\n"):
            yield json.loads(line)
