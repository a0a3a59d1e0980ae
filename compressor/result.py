"""What comes back: the shorter transcript with its report, and ways to look into it."""

import html
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

from compressor import contract, formats
from compressor.errors import PolicyError
from compressor.memory import Memory
from compressor.remembering import recall, remember
from compressor.report import Report, Workings
from compressor.transcript import Transcript, Turn


@dataclass(frozen=True, slots=True)
class WordReport:
    """One word: where it stands, what the scorer says, which rules protect it, and whether it was kept."""

    turn: int
    start: int
    end: int
    text: str
    kept: bool
    score: float
    light: float
    tight: float
    entity: float
    pin: float
    rules: tuple[str, ...]
    released: bool


@dataclass(frozen=True, slots=True)
class CompressionResult:
    """A compressed transcript.

    Args:
        source: What was read.
        transcript: The same turns with words deleted. A dropped message is still here, with an empty text.
        report: What was kept and why, in numbers.
        workings: The arrays behind it.
    """

    source: Transcript
    transcript: Transcript
    report: Report
    workings: Workings = field(repr=False)

    @property
    def output(self) -> Any:
        """The compressed transcript in the shape of the input: text, messages, strings or a `Transcript`."""
        return formats.write(self.transcript)

    @property
    def text(self) -> str:
        """The compressed transcript as plain text; chat messages as `role: text` lines."""
        return formats.as_text(self.transcript)

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The compressed transcript as chat messages; other inputs as one message a turn."""
        return formats.as_messages(self.transcript)

    @property
    def memory(self) -> Memory:
        """What the source asks, allows, names, quotes and counts, as slices of its turns."""
        plain = (replace(view, verbatim="", _found={}) if view.verbatim else view for view in self.workings.views)
        return remember(recall(view, number) for number, view in enumerate(plain))

    def restore(self) -> Any:
        """The original back, in the shape of the input."""
        return formats.write(self.source)

    def explain(self) -> list[WordReport]:
        """Every word with its scores, the rules that asked for it, and what became of it."""
        return list(self._explain())

    def _explain(self) -> Iterator[WordReport]:
        work, scores = self.workings, self.workings.scores
        for index, word in enumerate(work.words):
            yield WordReport(
                turn=word.turn,
                start=word.start,
                end=word.end,
                text=self.source.turns[word.turn].text[word.start : word.end],
                kept=bool(work.keep[index]),
                score=float(scores.keep[index]),
                light=float(scores.light[index]),
                tight=float(scores.tight[index]),
                entity=float(scores.entity[index]),
                pin=float(scores.pin[index]),
                rules=work.protection.rules_of(index),
                released=bool(work.released[index]),
            )

    def diff(self, format: str = "ansi") -> str:
        """The source with its deleted words marked: struck out in red for a terminal (`ansi`), `<del>` for a page (`html`).

        Raises:
            PolicyError: Another format is asked for.
        """
        if format not in ("ansi", "html"):
            raise PolicyError(f"diff format is {format!r}; allowed: 'ansi', 'html'.")
        kept: list[list[tuple[int, int, bool]]] = [[] for _ in self.source.turns]
        for word, stays in zip(self.workings.words, self.workings.keep, strict=True):
            kept[word.turn].append((word.start, word.end, bool(stays)))
        turns = [_diff_turn(turn, own, format) for turn, own in zip(self.source.turns, kept, strict=True)]
        if format == "ansi":
            return "\n".join(turns)
        return '<div class="compression">\n' + "\n".join(turns) + "\n</div>\n"

    def verify(self) -> None:
        """Check the six promises on this result; the last two by choosing and compressing again.

        Raises:
            ContractError: A promise is broken; the message names it and the place.
        """
        work = self.workings
        contract.check_subsequence(self.source, self.transcript)
        contract.check_whole(self.source, self.transcript, work.words, work.keep)
        contract.check_protected(self.source, work.words, work.protection.mask, work.keep, work.released)
        contract.check_identity(self.source, self.transcript, work.keep)
        total = float(self.report.tokens_before)
        budgets = [work.at_budget(share * total) for share in (0.0, 0.25, 0.5, 0.75, 1.0)]
        for smaller, larger in pairwise(budgets):
            contract.check_nested(smaller, larger, work.words)
        contract.check_repeatable(self.transcript, work.again().transcript)


def _diff_turn(turn: Turn, words: Sequence[tuple[int, int, bool]], format: str) -> str:
    escape: Callable[[str], str] = html.escape if format == "html" else lambda text: text
    opening, closing = ("<del>", "</del>") if format == "html" else ("\x1b[9;31m", "\x1b[0m")
    pieces, at, deleting = [], 0, False
    for start, end, stays in words:
        if deleting and stays:
            pieces.append(closing)
        pieces.append(escape(turn.text[at:start]))
        if not deleting and not stays:
            pieces.append(opening)
        pieces.append(escape(turn.text[start:end]))
        at, deleting = end, not stays
    pieces.append((closing if deleting else "") + escape(turn.text[at:]))
    label, body = turn.speaker or turn.role, "".join(pieces)
    if format == "html":
        return f'<p><b>{escape(label)}</b> <span style="white-space:pre-wrap">{body}</span></p>'
    return f"\x1b[1m{label}:\x1b[0m {body}" if label != "none" else body
