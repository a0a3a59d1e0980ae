"""Numbers of a run that add up: over records, files and formats."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Self

from compressor.report import Report

PARTS = ("read", "parse", "model", "compress", "write")
"""Where the time goes: opening and cutting files; making transcripts of records; scoring; rules, selection and rendering;
making records again and writing them."""


@dataclass(slots=True)
class Tally:
    """What was done.

    Args:
        records, bad, turns: Conversations compressed, records that failed, turns of the former.
        characters: Of all records, as they stand in the file.
        words_before, words_after, tokens_before, tokens_after: Sums over the reports.
        over_budget: Conversations whose budget was not met.
        hits, misses: Turns whose scores were known, and those that were scored.
        seconds: Processor time by `PARTS`.
        roles: By role: turns, tokens before, tokens after.
        rules: Words that each rule protected.
    """

    records: int = 0
    bad: int = 0
    turns: int = 0
    characters: int = 0
    words_before: int = 0
    words_after: int = 0
    tokens_before: int = 0
    tokens_after: int = 0
    over_budget: int = 0
    hits: int = 0
    misses: int = 0
    seconds: dict[str, float] = field(default_factory=dict)
    roles: dict[str, list[int]] = field(default_factory=dict)
    rules: dict[str, int] = field(default_factory=dict)

    def count(self, report: Report) -> None:
        """Add one conversation."""
        self.records += 1
        self.turns += len(report.turns)
        for name in ("words_before", "words_after", "tokens_before", "tokens_after"):
            setattr(self, name, getattr(self, name) + getattr(report, name))
        self.over_budget += not report.budget_met
        for turn in report.turns:
            _add_list(self.roles, turn.role, [1, turn.tokens_before, turn.tokens_after])
        for rule, words in report.kept_by_rule.items():
            self.rules[rule] = self.rules.get(rule, 0) + words

    def spend(self, part: str, seconds: float) -> None:
        """Add processor time to one of `PARTS`."""
        self.seconds[part] = self.seconds.get(part, 0.0) + seconds

    def add(self, other: "Tally") -> None:
        """Add all of another tally."""
        for own in fields(self):
            value = getattr(other, own.name)
            if isinstance(value, int):
                setattr(self, own.name, getattr(self, own.name) + value)
        for part, seconds in other.seconds.items():
            self.spend(part, seconds)
        for role, numbers in other.roles.items():
            _add_list(self.roles, role, numbers)
        for rule, words in other.rules.items():
            self.rules[rule] = self.rules.get(rule, 0) + words

    def to_dict(self) -> dict[str, Any]:
        """What is not zero, ready for JSON."""
        values = {own.name: getattr(self, own.name) for own in fields(self)}
        values["seconds"] = {part: round(seconds, 6) for part, seconds in self.seconds.items()}
        values["rules"] = {rule: words for rule, words in self.rules.items() if words}
        return {name: value for name, value in values.items() if value}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """What `to_dict` gave."""
        return cls(**values)


def _add_list(table: dict[str, list[int]], key: str, numbers: list[int]) -> None:
    table[key] = [a + b for a, b in zip(table.get(key, [0] * len(numbers)), numbers, strict=True)]
