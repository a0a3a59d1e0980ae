"""Answers that were paid for: kept in a SQLite file, so that a run that was stopped goes on where it was."""

import hashlib
import json
import sqlite3
import threading
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from training.labelling.errors import LabelError
from training.labelling.prompt import PROMPT, Messages


def key_of(messages: Messages, options: Mapping[str, Any]) -> str:
    """The key of a request: the version of the prompt, the model and its options, and the text."""
    content = json.dumps([PROMPT, options, messages], ensure_ascii=True, sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()


class Cache:
    """A file of answers by key, as JSON strings. Each is on disk before `put` returns; may be used from several threads.

    Raises:
        LabelError: The file is no such cache, or cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = sqlite3.connect(path, check_same_thread=False, timeout=30)
            self._file.execute("CREATE TABLE IF NOT EXISTS answers (key TEXT PRIMARY KEY, text TEXT NOT NULL)")
            self._file.commit()
        except (sqlite3.Error, OSError) as error:
            raise LabelError(f"{path}: not a cache of answers ({error}); give another file with --cache.") from error

    def __enter__(self) -> "Cache":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        with self._lock:
            self._file.close()

    def get(self, key: str) -> str | None:
        """The answer, or None."""
        with self._lock:
            row = self._file.execute("SELECT text FROM answers WHERE key = ?", (key,)).fetchone()
        return None if row is None else str(json.loads(row[0]))

    def put(self, key: str, text: str) -> None:
        """Keep an answer.

        Raises:
            LabelError: The disk is full, or the file cannot be written.
        """
        try:
            with self._lock, self._file:
                self._file.execute("INSERT OR REPLACE INTO answers VALUES (?, ?)", (key, json.dumps(text)))
        except sqlite3.Error as error:
            raise LabelError(f"{self.path}: the answer cannot be kept ({error}).") from error
