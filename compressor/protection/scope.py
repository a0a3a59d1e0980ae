"""Scope: what negations, modals, quantifiers, conditions and numbers govern, so that no fragment flips its meaning."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from functools import lru_cache

from compressor.protection.conditions import conditions
from compressor.protection.lexicons import expression, fold, lexicon
from compressor.protection.modals import modals
from compressor.protection.negation import negation
from compressor.protection.numbers import numbers
from compressor.protection.pleasantries import LONGEST, is_pleasantry
from compressor.protection.quantifiers import quantifiers
from compressor.protection.view import View
from compressor.structure import Range, clauses
from compressor.words import has_unspaced, is_mark

REACH = 8
"""How many words the search for what is governed looks at."""
BETWEEN, PLEASANTRY = -1, -2
"""In place of a clause: of marks between clauses, and of sentences that say nothing, where only negations and modals govern."""

_MARK, _FILLER, _CHAIN, _CONTENT = range(4)
_TRIGGERS = {
    "negation": negation,
    "modals": modals,
    "quantifiers": quantifiers,
    "conditions": conditions,
    "numbers": numbers,
}


def scope(view: View) -> Iterable[Range]:
    """What the words of the other rules govern; those words themselves are left to their own rules.

    In English the next content word of the clause and the function words up to it, fillers left out; of negations and
    modals also the auxiliary and the subject directly before. Where nothing follows in the clause, what stands before.
    Of a number the counted noun, and the preposition that makes it a limit. In Chinese all pieces up to the next
    content piece, as a gap there would make another word. Nothing is looked for across a clause mark, save past an
    aside such as `, you know,`.
    """
    if not view.words:
        return ()
    text = _Text(view)
    kept: set[int] = set()
    for kind, rule in _TRIGGERS.items():
        for start, end in view.run(rule):
            first, last = bisect_right(text.ends, start), bisect_left(text.starts, end) - 1
            # A bare `no` left of `no worries` would read as a refusal, a bare `can` as a riddle; all else says nothing there.
            if first <= last and (kind in ("negation", "modals") or text.clause[first] != PLEASANTRY):
                trigger = " ".join(text.folded[start:end].split())
                governed = text.unspaced if has_unspaced(trigger) else text.spaced
                kept.update(governed(first, last, kind, trigger))
    return [view.words[index] for index in sorted(kept)]


class _Text:
    """The words of a turn with their kinds and clauses, and what a trigger from word `first` to word `last` keeps."""

    def __init__(self, view: View) -> None:
        self.folded = fold(view.text)
        self.starts = [start for start, _ in view.words]
        self.ends = [end for _, end in view.words]
        self.words = [self.folded[start:end] for start, end in view.words]
        self.kinds = [_kind(word) if len(word) < 40 else _CONTENT for word in self.words]
        self.clause = self._clauses(view)

    def spaced(self, first: int, last: int, kind: str, trigger: str) -> Iterator[int]:
        """What a trigger in English governs."""
        if kind == "numbers":
            yield from self._counted(last, trigger)
            if first and self.words[first - 1] in _set("en", "limits") and self._joined(first - 1, first):
                yield first - 1
            return
        if trigger in _set("en", "alone") or trigger in _set("en", "joining") or trigger.endswith(" else"):
            return
        if kind == "negation" and trigger.endswith(("-free", " free")):
            yield from self._before(first)
            return
        after = list(self._after(last, noun=kind == "quantifiers" or trigger == "no"))
        plain = kind in ("quantifiers", "conditions")  # the `you` of `if you cancel` goes without saying
        yield from (index for index in after if not (plain and self.words[index] in _set("en", "obvious")))
        if trigger in _set("en", "pairs"):
            yield from self._before(first)
        elif kind in ("negation", "modals") and self._has_subject(first, kind, trigger):
            yield from self._subject(first)
        if not after and kind != "conditions":
            yield from self._before(first)

    def unspaced(self, first: int, last: int, kind: str, trigger: str) -> Iterator[int]:
        """What a trigger in Chinese governs."""
        if kind == "numbers":
            yield from self._measured(first, last)
            return
        if kind in ("quantifiers", "conditions"):
            if trigger in _set("zh", "postposed"):
                yield from self._back(first)
                return
            if trigger in _set("zh", "joining") or trigger in _set("zh", "alone"):
                return
        after = list(self._pieces(last))
        yield from after
        if trigger in _set("zh", "pairs") or (kind == "quantifiers" and trigger[0] == "比") or not after:
            yield from self._back(first)
        elif kind in ("negation", "modals") and first and self.words[first - 1] in _set("zh", "pronouns"):
            yield first - 1
        if trigger.startswith("不") and self._is_verb_before(first):
            yield from self._whole_back(first - 1)

    def _is_verb_before(self, first: int) -> bool:
        """Whether a single character stands directly before: the verb of 睡不好, 看不到."""
        if not self._joined(first - 1, first) or self.ends[first - 1] != self.starts[first]:
            return False
        return len(self.words[first - 1]) == 1 and self.kinds[first - 1] == _CONTENT

    def _joined(self, one: int, other: int) -> bool:
        """Whether two words exist and stand in the same clause."""
        return one >= 0 and other < len(self.words) and self.clause[one] == self.clause[other]

    def _after(self, last: int, noun: bool) -> Iterator[int]:
        """The next content word of the clause with the function words before it; of a noun phrase its noun too."""
        chain: list[int] = []
        light = False
        for index in range(last + 1, min(last + 1 + REACH, len(self.words))):
            if self.clause[index] == BETWEEN:
                continue
            if self.clause[index] != self.clause[last] or self._stops(index, last):
                break
            if self.kinds[index] == _CHAIN:
                chain.append(index)
            elif self.kinds[index] == _CONTENT:
                yield from chain
                yield index
                if not light and not noun and self.words[index] in _set("en", "light"):
                    light, chain = True, []
                    continue
                if noun and self._followed(index) and _adjective(self.words[index]):
                    yield index + 1
                return
        yield from chain[:3]

    def _stops(self, index: int, last: int) -> bool:
        """Whether a mark in the clause ends the search: the rule of a table, or an end mark behind the trigger."""
        mark = self.words[index][0]
        return self.kinds[index] == _MARK and (mark == "|" or (index == last + 1 and mark in ".!?"))

    def _followed(self, index: int) -> bool:
        """Whether a content word of the same clause stands directly after this word."""
        return self._joined(index, index + 1) and self.kinds[index + 1] == _CONTENT

    def _before(self, first: int) -> Iterator[int]:
        """The content word before, with the function words up to it."""
        chain: list[int] = []
        for index in range(first - 1, max(first - 1 - REACH, -1), -1):
            if not self._joined(index, first):
                break
            if self.kinds[index] != _FILLER:
                chain.append(index)
            if self.kinds[index] == _CONTENT:
                yield from chain
                return
        yield from chain[:2]

    def _has_subject(self, first: int, kind: str, trigger: str) -> bool:
        """Whether who does it must stay: not of `no refund` and `without`, nor the `you` of `you can see`."""
        before = self.words[first - 1] if first else ""
        if kind == "modals":
            return trigger not in _set("en", "weak") or before not in _set("en", "obvious")
        return self.words[first] not in _set("en", "nominal") or (
            trigger == "no" and before in _set("en", "auxiliaries")
        )

    def _subject(self, first: int) -> Iterator[int]:
        """The auxiliaries directly before, and the one who does it."""
        for index in range(first - 1, max(first - 5, -1), -1):
            if not self._joined(index, first):
                return
            if self.words[index] in _set("en", "auxiliaries"):
                yield index
            elif self.words[index] in _set("en", "expletives"):
                return
            elif self.words[index] in _set("en", "pronouns") or self.kinds[index] == _CONTENT:
                yield index
                return
            elif self.kinds[index] != _FILLER:
                return

    def _counted(self, last: int, number: str) -> Iterator[int]:
        """What a number counts: the word after it, or after `of`."""
        after = last + 1
        if not self._joined(last, after) or (number in _set("en", "ones") and self.words[after] in _set("en", "vague")):
            return
        if self.words[after] == "of":
            yield from self._after(last, noun=True)
        elif self.kinds[after] == _CONTENT:
            yield after
            if self._followed(after) and _adjective(self.words[after]):
                yield after + 1

    def _pieces(self, last: int) -> Iterator[int]:
        """All pieces up to the next content piece of the clause, and a second one where they are single characters."""
        chain: list[int] = []
        for index in range(last + 1, min(last + 1 + REACH, len(self.words))):
            if not self._joined(last, index):
                break
            chain.append(index)
            if self.kinds[index] == _CONTENT:
                yield from chain
                if self._is_split(index, index + 1):
                    yield index + 1
                return
        yield from (index for index in chain[:1] if self.kinds[index] != _MARK)

    def _back(self, first: int) -> Iterator[int]:
        """The pieces back to the content piece before."""
        for index in range(first - 1, max(first - 5, -1), -1):
            if not self._joined(index, first):
                return
            if self.kinds[index] == _CONTENT:
                yield from self._whole_back(index)
                return
            yield index

    def _whole_back(self, index: int) -> Iterator[int]:
        """A piece, and the one before where both may be halves of one word: 房|东, 签|字."""
        yield index
        if self._is_split(index - 1, index):
            yield index - 1

    def _is_split(self, one: int, other: int) -> bool:
        """Whether two neighbours are single characters of content, as where a word was cut in two."""
        return (
            self._joined(one, other)
            and self.ends[one] == self.starts[other]
            and all(self.kinds[index] == _CONTENT and len(self.words[index]) == 1 for index in (one, other))
        )

    def _measured(self, first: int, last: int) -> Iterator[int]:
        """The measure word and the noun after a number, and the preposition before it."""
        for index in range(last + 1, min(last + 3, len(self.words))):
            if not self._joined(last, index) or self.kinds[index] == _MARK:
                break
            measure = self.words[index] in _set("zh", "classifiers")
            if measure or self.kinds[index] == _CONTENT:
                yield index
            if not measure:
                if self._is_split(index, index + 1):
                    yield index + 1
                break
        if first and self.words[first - 1] in _set("zh", "before_numbers") and self._joined(first - 1, first):
            yield first - 1

    def _clauses(self, view: View) -> list[int]:
        """The number of the clause of each word; an aside between commas does not part the clause around it."""
        numbered = [BETWEEN] * len(self.words)
        number = index = 0
        for start, end in view.sentences:
            if end - start < LONGEST and is_pleasantry(view.text[start:end]):
                while index < len(self.words) and self.starts[index] < end:
                    numbered[index] = PLEASANTRY
                    index += 1
                continue
            unfinished, aside = BETWEEN, False  # the clause before, where it ends in a function word
            for clause_start, clause_end in clauses(view.text, start, end):
                if unfinished != BETWEEN and self._is_aside(clause_start, clause_end):
                    aside = True
                    continue
                number += 1
                own = unfinished if aside else number
                while index < len(self.words) and self.ends[index] <= clause_start:
                    index += 1
                first, aside = index, False
                while index < len(self.words) and self.starts[index] < clause_end:
                    numbered[index] = own
                    index += 1
                ends_open = index - first > 1 and self.kinds[index - 1] == _CHAIN
                unfinished = own if ends_open else BETWEEN
        return numbered

    def _is_aside(self, start: int, end: int) -> bool:
        return end - start < 30 and _asides().fullmatch(self.folded, start, end) is not None


@lru_cache(maxsize=4096)
def _kind(word: str) -> int:
    if is_mark(word):
        return _MARK
    if has_unspaced(word):
        characters = lexicon("zh")["scope"]["chain_characters"]
        return _CHAIN if word in _set("zh", "adverbs") or all(char in characters for char in word) else _CONTENT
    if word in _set("en", "fillers"):
        return _FILLER
    return _CHAIN if word in _set("en", "chain") else _CONTENT


@lru_cache(maxsize=64)
def _set(lang: str, name: str) -> frozenset[str]:
    return frozenset(lexicon(lang)["scope"][name].split())


@lru_cache(maxsize=1)
def _asides() -> "re.Pattern[str]":
    return re.compile(expression("en", lexicon("en")["scope"]["asides"]))


@lru_cache(maxsize=2048)
def _adjective(word: str) -> bool:
    return re.fullmatch(lexicon("en")["scope"]["adjectives"], word) is not None
