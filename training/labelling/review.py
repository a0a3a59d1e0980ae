"""How good a set of labels looks: what is kept by role, which contract words are deleted, what a person should look at."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from compressor.protection import RULES, View
from compressor.protection.pleasantries import is_pleasantry
from compressor.structure import clauses
from compressor.transcript import VERBATIM_ROLES, Turn
from compressor.words import is_mark
from training.examples import Example
from training.labelling.opinion import Opinion
from training.labelling.records import Cut, Mask, Range

CONTRACT = ("numbers", "modals", "negation", "quantifiers", "conditions", "quotes", "code")
"""Rules whose words an edit keeps wherever they carry force; names, too, as they are annotated."""
GRADES = {"negation": 5.0, "numbers": 4.0, "names": 4.0, "quotes": 3.0, "conditions": 3.0}
"""How grave a deleted word of a kind is, for the order of the list; other kinds 2."""
PLUCKED = 4.0
"""What is added for a word that is deleted alone; for one of two in a row half of it, and so on."""
DOUBTED, FEW = 0.5, 5
"""Share and number of a turn's words on which a confident model disagrees, from which on the turn is listed."""
DOMAINS = 10
"""Domains that are named on a terminal; the report has all."""
REPEAT = 12
"""Words within which a word counts as said again."""
LONG, DENSE = 12, 60
"""Words of a turn from which nothing kept, and everything kept in `tight`, are worth a look."""

_NO_SCORES = MappingProxyType({"entity": 2.0, "pin": 2.0})


@dataclass(frozen=True, slots=True)
class Doubt:
    """Something that a person should look at: where, what, and the words around it with deleted ones in brackets."""

    record: str
    turn: int
    reason: str
    excerpt: str


@dataclass(slots=True)
class Review:
    """A set of labels in numbers.

    Args:
        records, words: By language.
        domains: Records by what they are about.
        turns: By role.
        intents: Sentences that ask, request or set a constraint, by the role of their turn.
        kept: Words by role: all, those that light keeps, those that tight keeps, as far as they are known.
        contract: Words by kind: all; those that light deletes; of them those that are not said again and stand in a
            clause that keeps other words; those that tight deletes.
        doubts: What to look at, the gravest first.
    """

    records: Counter[str] = field(default_factory=Counter)
    words: Counter[str] = field(default_factory=Counter)
    domains: Counter[str] = field(default_factory=Counter)
    turns: Counter[str] = field(default_factory=Counter)
    intents: Counter[str] = field(default_factory=Counter)
    kept: defaultdict[str, list[float]] = field(default_factory=lambda: defaultdict(lambda: [0, 0, 0, 0]))
    contract: defaultdict[str, list[int]] = field(default_factory=lambda: defaultdict(lambda: [0, 0, 0, 0]))
    doubts: list[Doubt] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """As plain values, ready for JSON."""
        doubts = [
            {"record": one.record, "turn": one.turn, "reason": one.reason, "excerpt": one.excerpt}
            for one in self.doubts
        ]
        return {
            "records": dict(self.records),
            "words": dict(self.words),
            "domains": dict(self.domains.most_common()),
            "turns": dict(self.turns.most_common()),
            "intents": dict(self.intents.most_common()),
            "kept": {role: _shares(counts) for role, counts in self.kept.items()},
            "contract": {
                kind: dict(zip(("words", "light_deletes", "light_deletes_alone", "tight_deletes"), counts, strict=True))
                for kind, counts in self.contract.items()
            },
            "doubts": doubts,
        }

    def lines(self, most: int) -> Iterator[str]:
        """For a terminal; at most so many doubts."""
        total = ", ".join(f"{self.records[lang]} {lang} ({self.words[lang]} words)" for lang in sorted(self.records))
        yield f"{sum(self.records.values())} records: {total}"
        shown = ", ".join(f"{count} {name}" for name, count in self.domains.most_common(DOMAINS))
        others = len(self.domains) - DOMAINS
        yield f"domains: {shown}" + (f", {others} others" if others > 0 else "")
        yield "by role: turns, intents; kept by light / tight:"
        for role, counts in sorted(self.kept.items()):
            share = _shares(counts)
            yield (
                f"  {role:<12} {self.turns[role]}, {self.intents[role]}; {_percent(share['light'])} / "
                f"{_percent(share['tight'])} of {int(counts[0])} words"
            )
        yield "contract words deleted (by light; of them alone: not said again, in a clause that keeps other words; by tight):"
        for kind, (words, light, alone, tight) in self.contract.items():
            yield f"  {kind:<12} {light} ({alone}), {tight} of {words}"
        yield f"to review: {len(self.doubts)}" + (f", the first {most}:" if len(self.doubts) > most else "")
        for doubt in self.doubts[:most]:
            yield f"  {doubt.record}, turn {doubt.turn}: {doubt.reason}: {doubt.excerpt}"


def review(examples: Sequence[Example], domains: Sequence[str], opinions: Mapping[str, Opinion]) -> Review:
    """Look at every label.

    Args:
        domains: What each example is about.
        opinions: What a model says, by record id; may be empty.
    """
    found = Review()
    found.domains.update(domains)
    graded: list[tuple[float, Doubt]] = []
    for example in examples:
        found.records[example.lang] += 1
        found.words[example.lang] += example.n_words
        opinion = opinions.get(example.id)
        for number, turn in enumerate(example.transcript):
            labels = example.labels[number]
            found.turns[turn.role] += 1
            found.intents[turn.role] += sum(at == number for at, _, _ in example.intents)
            _count(found.kept[turn.role], labels)
            if turn.role in VERBATIM_ROLES or not len(labels):
                continue
            view = _view(turn, example.words[number])
            one = _Turn(
                example.id, number, view, labels, *(np.nan_to_num(labels[:, n], nan=1.0) >= 0.5 for n in (0, 1))
            )
            graded.extend(_contract(found, one))
            graded.extend(_shape(one))
            if opinion is not None:
                graded.extend(_disagreement(one, opinion.cuts[number]))
    graded.sort(key=lambda item: (-item[0], item[1].record, item[1].turn))
    found.doubts = [doubt for _, doubt in graded]
    return found


@dataclass(frozen=True, slots=True)
class _Turn:
    """One turn, its labels, and what light and tight keep; a word without a label counts as kept."""

    record: str
    number: int
    view: View
    labels: NDArray[np.float32]
    light: Mask
    tight: Mask

    def doubt(self, grade: float, reason: str, around: int) -> tuple[float, Doubt]:
        """A doubt with the words around one word, the deleted ones in brackets."""
        words = range(max(0, around - 8), min(len(self.light), around + 9))
        pieces = [
            self.view.text[a:b] if self.light[n] else f"[{self.view.text[a:b]}]"
            for n, (a, b) in ((n, self.view.words[n]) for n in words)
        ]
        return grade, Doubt(self.record, self.number, reason, " ".join(pieces))


def _view(turn: Turn, words: Sequence[Range]) -> View:
    nothing = np.zeros(len(words), np.float32)
    return View(turn, tuple(words), nothing, nothing, _NO_SCORES)


def _count(counts: list[float], labels: NDArray[np.float32]) -> None:
    for column in (0, 1):
        known = labels[~np.isnan(labels[:, column]), column]
        counts[2 * column] += len(known)
        counts[2 * column + 1] += float((known >= 0.5).sum())


def _contract(found: Review, turn: _Turn) -> Iterator[tuple[float, Doubt]]:
    """Count the contract words of a turn; doubt those that light deletes while their clause keeps other words."""
    beside = np.zeros(len(turn.light), np.bool_)
    marks = np.array([is_mark(turn.view.text[a:b]) for a, b in turn.view.words], np.bool_)
    for sentence in turn.view.sentences:
        for start, end in clauses(turn.view.text, *sentence):
            inside = turn.view.inside(start, end)
            here = slice(inside.start, inside.stop)
            beside[here] = bool((turn.light[here] & ~marks[here]).any())
    said = _said_again(turn)
    for kind in (*CONTRACT, "names"):
        asked = np.zeros(len(turn.light), np.bool_)
        if kind == "names":
            asked = np.nan_to_num(turn.labels[:, 2]) >= 0.5
        else:
            for start, end in turn.view.run(RULES[kind]):
                words = turn.view.inside(start, end)
                asked[words.start : words.stop] = True
        asked &= ~marks
        gone = asked & ~turn.light & beside & ~said
        for place, mask in enumerate((asked, asked & ~turn.light, gone, asked & ~turn.tight)):
            found.contract[kind][place] += int(mask.sum())
        if gone.any():
            lost = np.flatnonzero(gone).tolist()
            first = min(lost, key=lambda number: (_run(turn.light, number), number))
            grade = GRADES.get(kind, 2.0) + PLUCKED / _run(turn.light, first)
            few = " ".join(turn.view.text[a:b] for a, b in (turn.view.words[n] for n in lost[:5]))
            yield turn.doubt(grade, f"light deletes {kind} ({few})", first)


def _run(light: Mask, number: int) -> int:
    """How many words are deleted in a row around a deleted one."""
    start = end = number
    while start and not light[start - 1]:
        start -= 1
    while end + 1 < len(light) and not light[end + 1]:
        end += 1
    return end - start + 1


def _said_again(turn: _Turn) -> Mask:
    """True for a deleted word of which light keeps another close by: speakers start a sentence twice."""
    tokens = [turn.view.text[a:b].casefold() for a, b in turn.view.words]
    said = np.zeros(len(tokens), np.bool_)
    for number in np.flatnonzero(~turn.light).tolist():
        around = range(max(0, number - REPEAT), min(len(tokens), number + REPEAT + 1))
        said[number] = any(turn.light[other] and tokens[other] == tokens[number] for other in around)
    return said


def _shape(turn: _Turn) -> Iterator[tuple[float, Doubt]]:
    """Turns of which everything or nothing is kept, without a reason that shows."""
    size = len(turn.light)
    if size >= LONG and not turn.light.any() and not is_pleasantry(turn.view.text):
        yield turn.doubt(2.5, f"all {size} words are deleted", 0)
    if size >= DENSE and turn.tight.all() and not np.isnan(turn.labels[:, 1]).any():
        yield turn.doubt(1.5, f"none of {size} words is deleted, not even in tight", 0)


def _disagreement(turn: _Turn, cut: Cut) -> Iterator[tuple[float, Doubt]]:
    """Turns in which a confident model would cut otherwise."""
    sure = cut.known_light & ~np.isnan(turn.labels[:, 0])
    wrong = sure & (cut.light != turn.light)
    if int(wrong.sum()) >= FEW and wrong.sum() >= DOUBTED * sure.sum():
        share = wrong.sum() / sure.sum()
        yield turn.doubt(
            1.0 + float(share), f"the model disagrees on {share:.0%} of its sure words", int(wrong.argmax())
        )


def _shares(counts: Sequence[float]) -> dict[str, float | int | None]:
    light, tight = (counts[n + 1] / counts[n] if counts[n] else None for n in (0, 2))
    return {
        "words": int(counts[0]),
        "light": None if light is None else round(light, 4),
        "tight": None if tight is None else round(tight, 4),
    }


def _percent(share: float | int | None) -> str:
    return "–" if share is None else f"{share:.1%}"
