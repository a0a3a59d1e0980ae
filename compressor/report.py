"""The report of one compression: what was kept and why, in numbers."""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from compressor.policy import POLICY_VERSION, Policy
from compressor.protection import Protection, View, with_slices
from compressor.scoring import Scores
from compressor.selection import Mask
from compressor.tokens import Ledger, counter_name
from compressor.transcript import Transcript
from compressor.words import SEGMENTATION, Word


@dataclass(frozen=True, slots=True)
class TurnReport:
    """One turn in numbers; `verbatim` says why the whole turn was kept, if it was protected whole."""

    role: str
    speaker: str | None
    words_before: int
    words_after: int
    tokens_before: int
    tokens_after: int
    verbatim: str


@dataclass(frozen=True, slots=True)
class Report:
    """A compression in numbers.

    Args:
        tokens_before, tokens_after: Tokens of all turns, by the token counter; text alone, without tool calls and images.
        words_before, words_after: Words, punctuation marks included.
        kept_by_rule: How many words each rule protected. A word may be counted under several rules.
        kept_by_score: How many words stayed by their score, or with the words around them.
        budget: Most tokens allowed, or None under a preset.
        budget_met: Whether `tokens_after` is within the budget; True under a preset.
        over_budget_by: Tokens by which the words that must stay exceed the budget, else 0.
        released: The protected words that `release_filler` let go, as (turn, text).
        turns: One report a turn.
        notes: What a reader should know, a line each; among them why nothing was deleted, if nothing was.
        token_counter, scorer, policy_version, segmentation: What the numbers were made with.
    """

    tokens_before: int
    tokens_after: int
    words_before: int
    words_after: int
    kept_by_rule: dict[str, int]
    kept_by_score: int
    budget: float | None
    budget_met: bool
    over_budget_by: int
    released: tuple[tuple[int, str], ...]
    turns: tuple[TurnReport, ...]
    notes: tuple[str, ...]
    token_counter: str
    scorer: str
    policy_version: str
    segmentation: str

    @property
    def kept_ratio(self) -> float:
        """Kept ÷ source tokens; 1 for an empty source."""
        return self.tokens_after / self.tokens_before if self.tokens_before else 1.0

    def to_dict(self) -> dict[str, Any]:
        """The report as plain values, ready for JSON."""
        return {**asdict(self), "kept_ratio": self.kept_ratio}

    def summary(self) -> str:
        """The report in a few lines for a terminal."""
        lines = [
            f"{self.tokens_before} → {self.tokens_after} tokens ({self.kept_ratio:.0%} kept; {self.token_counter}),"
            f" {self.words_before} → {self.words_after} words"
        ]
        rules = ", ".join(f"{name} {count}" for name, count in self.kept_by_rule.items() if count)
        lines.append(f"protected words by rule: {rules or 'none'}; kept by score: {self.kept_by_score}")
        if self.released:
            lines.append("released: " + " ".join(text for _, text in self.released))
        return "\n".join([*lines, *self.notes])


@dataclass(frozen=True, slots=True)
class Workings:
    """All arrays of one compression; each indexes `words`.

    Args:
        words: The words of the source.
        views: Its turns as the rules saw them.
        scores: What the scorer says of them.
        protection: Which rules asked for which word.
        released: True for protected words that were let go. Shape: (n_words,).
        keep: True where the word stays. Shape: (n_words,).
        policy: The options in force.
        budget: The limit in tokens, or None under a preset.
        at_budget: The choice under another limit, in tokens.
        again: The whole compression once more, from the source.
    """

    words: Sequence[Word]
    views: Sequence[View]
    scores: Scores
    protection: Protection
    released: Mask
    keep: Mask
    policy: Policy
    budget: float | None
    at_budget: Callable[[float], Mask]
    again: Callable[[], Any]


def build_report(ledger: Ledger, output: Transcript, work: Workings, scorer: str) -> Report:
    """Count what was kept."""
    views = work.views
    after = ledger.after(output)
    over = 0 if work.budget is None else max(0, math.ceil(sum(after) - work.budget - 1e-6))
    return Report(
        tokens_before=ledger.total,
        tokens_after=sum(after),
        words_before=len(work.keep),
        words_after=int(work.keep.sum()),
        kept_by_rule={
            name: int(row.sum()) for name, row in zip(work.protection.names, work.protection.asked, strict=True)
        },
        kept_by_score=int((work.keep & ~work.protection.mask).sum()),
        budget=work.budget,
        budget_met=over == 0,
        over_budget_by=over,
        released=tuple(_texts(views, work.released)),
        turns=tuple(
            TurnReport(
                role=view.turn.role,
                speaker=view.turn.speaker,
                words_before=len(view.words),
                words_after=int(work.keep[own].sum()),
                tokens_before=ledger.before[index],
                tokens_after=after[index],
                verbatim=view.verbatim,
            )
            for index, (view, own) in enumerate(with_slices(views))
        ),
        notes=tuple(_notes(work, ledger, over)),
        token_counter=counter_name(ledger.counter),
        scorer=scorer,
        policy_version=POLICY_VERSION,
        segmentation=SEGMENTATION,
    )


def _texts(views: Sequence[View], chosen: Mask) -> Iterator[tuple[int, str]]:
    for turn, (view, own) in enumerate(with_slices(views)):
        for index in np.flatnonzero(chosen[own]):
            start, end = view.words[index]
            yield turn, view.text[start:end]


def _notes(work: Workings, ledger: Ledger, over: int) -> Iterator[str]:
    if over:
        further = "; floor='masks' cuts further" if work.policy.floor == "sure" else ""
        yield f"budget not met: what must stay needs {over} tokens more than the {work.budget:g} allowed{further}"
    if len(work.keep) and work.keep.all():
        whole = Counter(view.verbatim for view in work.views if view.verbatim)
        if work.budget is not None and work.budget >= ledger.total:
            yield f"nothing was deleted: the source has {ledger.total} tokens, the budget is {work.budget:g}"
        elif sum(whole.values()) == len(work.views):
            yield "nothing was deleted: " + ", ".join(f"{count} × {reason}" for reason, count in whole.items())
        else:
            free = int((~work.protection.mask).sum())
            rest = "all words are protected" if not free else f"the other {free} score above the threshold"
            yield f"nothing was deleted: {len(work.keep) - free} of {len(work.keep)} words are protected, {rest}"
