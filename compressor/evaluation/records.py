"""Reads case files: JSON lines whose every error names the file, the line and the case."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from compressor.evaluation.errors import CaseError
from compressor.transcript import Transcript, Turn


@dataclass(frozen=True, slots=True)
class Record:
    """One JSON object of a case file, and where it stands (lines count from 1)."""

    path: Path
    line: int
    fields: Mapping[str, Any]

    def fail(self, problem: str) -> NoReturn:
        """Raise a CaseError that names this record."""
        known = self.fields.get("id")
        raise CaseError(f"{self.path}:{self.line}: {f'case {known}' if known else 'a case without id'}: {problem}")

    def text(self, name: str, default: str | None = None) -> str:
        """A field that holds a string with something in it."""
        value = self.fields.get(name, default)
        if not isinstance(value, str) or (not value and default is None):
            self.fail(f"{name} is {value!r}; allowed: a string that is not empty.")
        return value

    def texts(self, name: str, within: Mapping[str, Any] | None = None) -> tuple[str, ...]:
        """A field that holds a list of strings; empty if it is missing."""
        value = (self.fields if within is None else within).get(name, [])
        if not isinstance(value, list) or not all(isinstance(item, str) and item for item in value):
            self.fail(f"{name} is {value!r}; allowed: a list of strings that are not empty.")
        return tuple(value)

    def objects(self, name: str) -> Sequence[Mapping[str, Any]]:
        """A field that holds a list of objects; empty if it is missing."""
        value = self.fields.get(name, [])
        if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
            self.fail(f"{name} is no list of objects.")
        return value

    def turns(self) -> Transcript:
        """The transcript of `turns`, each with `role`, `text` and, if it has one, a `speaker`."""
        turns = []
        for index, turn in enumerate(self.objects("turns")):
            role, speaker, text = turn.get("role"), turn.get("speaker"), turn.get("text")
            if not isinstance(role, str) or not isinstance(text, str) or not isinstance(speaker, (str, type(None))):
                self.fail(
                    f"turn {index} needs a role and a text, both strings, and a speaker that is a string or null."
                )
            turns.append(Turn(role, speaker, text))
        if not turns:
            self.fail("turns is empty or missing; allowed: a list of {role, speaker, text}.")
        return Transcript(tuple(turns))

    def probe(self, fields: Mapping[str, Any], n_turns: Transcript) -> tuple[int, tuple[str, ...]]:
        """The number of a turn in `turn`, and the strings in `needs`, each of which that turn holds."""
        turn, needs = fields.get("turn"), self.texts("needs", fields)
        if isinstance(turn, bool) or not isinstance(turn, int) or not 0 <= turn < len(n_turns):
            self.fail(f"turn is {turn!r}; allowed: 0 to {len(n_turns) - 1}.")
        if not needs:
            self.fail("needs is empty or missing; allowed: a list of strings of the turn.")
        for need in needs:
            if need not in n_turns.turns[turn].text:
                self.fail(f"needs holds {need!r}, which turn {turn} does not.")
        return turn, needs


def read_records(path: Path) -> Iterator[Record]:
    """Every object of a JSON-lines file; empty lines are skipped.

    Raises:
        CaseError: The file cannot be read, or a line is no JSON object.
    """
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise CaseError(f"{path}: cannot be read ({reason}).") from error
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            fields = json.loads(line)
        except ValueError as error:
            raise CaseError(f"{path}:{number}: no JSON ({error}); a case file holds one object a line.") from error
        if not isinstance(fields, dict):
            raise CaseError(f"{path}:{number}: {type(fields).__name__} instead of an object.")
        yield Record(path, number, fields)


def files_of(path: Path) -> list[Path]:
    """The file itself, or the .jsonl files of a folder by name.

    Raises:
        CaseError: There is nothing there.
    """
    if path.is_file():
        return [path]
    found = sorted(path.glob("*.jsonl"))
    if not found:
        raise CaseError(f"{path}: no such file, and no folder with .jsonl files.")
    return found
