"""Which punctuation stays: marks are never chosen for themselves, they follow the words around them.

A sentence that keeps a word keeps its end mark; a comma needs the clause before it and something after it; brackets,
quotes and emphasis need a word between them; a list marker or heading sign needs a word on its line. Each mark is kept
when two ranges of words both keep a word, so that keeping more words never loses a mark.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from compressor.selection import Mask
from compressor.structure import MARKER, lines, sentences
from compressor.transcript import Transcript, Turn
from compressor.words import BRACKETS, CLOSING, OPENING, Word, by_turn, is_mark, is_narrow

Indices = NDArray[np.int64]

_END = frozenset(".!?…。！？｡।؟")
_CLAUSE = frozenset(",;:，、；：،؛…—–-")
_WIDE_BRACKETS = {
    "）": "（",
    "】": "【",
    "」": "「",
    "』": "『",
    "》": "《",
    "〉": "〈",
    "］": "［",
    "｝": "｛",
    "”": "“",
    "’": "‘",
    "»": "«",
    "›": "‹",
}
_CLOSERS = {**BRACKETS, **_WIDE_BRACKETS, "\u2069": "\u2066\u2067\u2068", "\u202c": "\u202a\u202b\u202d\u202e"}
_OPENERS = frozenset("".join(_CLOSERS.values()))
_HINGES = frozenset("and but so or well then oh because that 那 那么 所以 但 但是 而且 然后".split())
_CONTRACTION = re.compile(r"['’](?:s|re|ll|ve|m|d|t)|n['’]t|n['’]", re.IGNORECASE)
_SAME = frozenset("\"'*_`")
_EDGES = frozenset(OPENING + CLOSING)


@dataclass(frozen=True, slots=True)
class Marks:
    """The dependencies of one transcript's marks, ready to be applied to any choice of words.

    Args:
        follows: True for words that are never ranked because they follow others. Shape: (n_words,).
        content: True for words that are no marks. Shape: (n_words,).
        rows: A row a mark: its word, then the two ranges (start, end, start, end) of which both must keep a word.
            Shape: (n_marks, 5).
        hosts: A row a contraction that was written apart (`that 's`, `do n't`): it, and the word it belongs to. Shape:
            (n_hosts, 2).
        separators: A row a word without which others would be fused, as no space stands between them: it, a word before
            it, and the range (start, end) of `others`. Where the one before and any of the others stay, it stays. Shape:
            (n_separators, 4).
        others: The words behind to which the ranges of `separators` point. Shape: (n_others,).
    """

    follows: Mask
    content: Mask
    rows: Indices
    hosts: Indices
    separators: Indices
    others: Indices

    def close(self, keep: Mask) -> Mask:
        """Add the marks and separators that the kept words ask for.

        Args:
            keep: True where a word stays. Shape: (n_words,).
        Returns:
            A new mask, a superset of `keep`; it grows with `keep`. Shape: (n_words,).
        """
        while True:  # a separator may ask for a mark, and a mark for a separator
            closed = self._step(keep)
            if np.array_equal(closed, keep):
                return closed
            keep = closed

    def _step(self, keep: Mask) -> Mask:
        keep = keep.copy()
        if len(self.hosts):
            contraction, host = self.hosts.T
            keep[host[keep[contraction]]] = True
        if len(self.rows):
            word, left, left_end, right, right_end = self.rows.T
            count = _counts(keep & self.content)
            keep[word[(count[left_end] > count[left]) & (count[right_end] > count[right])]] = True
        if len(self.separators):
            word, before, start, end = self.separators.T
            count = _counts(keep[self.others])
            keep[word[keep[before] & (count[end] > count[start])]] = True
        return keep


def find_marks(transcript: Transcript, words: Sequence[Word], protected: Mask) -> Marks:
    """Find what each mark of a transcript depends on.

    Args:
        words: All words of the transcript.
        protected: True for words that stay in any case. Shape: (n_words,).
    """
    n = len(words)
    content = np.zeros(n, np.bool_)
    rows: list[tuple[int, int, int, int, int]] = []
    hosts: list[tuple[int, int]] = []
    separators: list[tuple[int, int, int, int]] = []
    others: list[int] = []
    first = 0
    for turn, own in zip(transcript.turns, by_turn(transcript, words), strict=True):
        stop = first + len(own)
        reader = _TurnReader(turn, own, protected[first:stop].tolist())
        content[first:stop] = reader.content
        rows.extend((i + first, a + first, b + first, c + first, d + first) for i, (a, b, c, d) in reader.needs.items())
        hosts.extend((index + first, index + first - 1) for index in reader.contractions())
        found, behind = reader.separators()
        at = len(others)
        separators.extend((i + first, before + first, a + at, b + at) for i, before, a, b in found)
        others.extend(index + first for index in behind)
        first = stop
    follows = np.zeros(n, np.bool_)
    follows[[row[0] for row in rows]] = True
    return Marks(
        follows,
        content,
        np.array(rows, np.int64).reshape(-1, 5),
        np.array(hosts, np.int64).reshape(-1, 2),
        np.array(separators, np.int64).reshape(-1, 4),
        np.array(others, np.int64),
    )


def _counts(mask: Mask) -> Indices:
    return np.concatenate(([0], np.cumsum(mask, dtype=np.int64)))


class _Sentence(NamedTuple):
    """The words of a sentence, where the marks at its end begin, and the pairs of marks of its turn."""

    start: int
    end: int
    tail: int
    pairs: dict[int, tuple[int, int]]


def _nearest(content: Mask) -> tuple[list[int], list[int]]:
    """The last content word before each word (-1: none), and the first one behind (n_words: none)."""
    n = len(content)
    places = np.arange(n)
    last = np.maximum.accumulate(np.where(content, places, -1)) if n else places
    first = np.minimum.accumulate(np.where(content, places, n)[::-1])[::-1] if n else places
    return [-1, *last[:-1].tolist()][:n], [*first[1:].tolist(), n][:n]


class _TurnReader:
    """Reads the marks of one turn; every index is that of a word within the turn."""

    def __init__(self, turn: Turn, words: Sequence[Word], protected: Sequence[bool]) -> None:
        self.words = words
        self.protected = protected
        self.text = turn.text
        self.texts = [turn.text[word.start : word.end] for word in words]
        self.starts = np.array([word.start for word in words], np.int64)
        self.mark = [is_mark(text) for text in self.texts]
        self.content = np.array([not mark for mark in self.mark], np.bool_)
        mixed = not turn.text.isascii()
        self.narrow = np.array([not mixed or is_narrow(text) for text in self.texts], np.bool_)
        self.markers = self._markers()
        for index in self.markers:
            self.content[index] = False
        self.count = _counts(self.content).tolist()
        self.before, self.after = _nearest(self.content)
        self.needs = self._marks()

    def _marks(self) -> dict[int, tuple[int, int, int, int]]:
        """The two ranges of words that each mark needs. A mark for which there are none is left to be ranked."""
        found = dict(self.markers)
        pairs = self._pairs()
        for start, end in self._sentences():
            tail = end
            while tail > start and self.mark[tail - 1]:
                tail -= 1
            clause = start
            held: dict[str, int] = {}
            sentence = _Sentence(start, end, tail, pairs)
            for index in range(start, end):
                if not self.mark[index]:
                    continue
                if index not in found:
                    need = self._need(index, sentence, clause, held)
                    if need is not None:
                        found[index] = need
                if self.protected[index]:
                    held[self.texts[index][0]] = index
                if self.texts[index][0] in _CLAUSE:
                    clause = index + 1
        return found

    def _need(
        self, index: int, sentence: _Sentence, clause: int, held: dict[str, int]
    ) -> tuple[int, int, int, int] | None:
        """What one mark depends on: `clause` is where its clause begins, `held` the last protected mark of each sign."""
        start, end, tail, pairs = sentence
        char = self.texts[index][0]
        if index in pairs:
            return self._both(pairs[index], pairs[index])
        if index >= tail and char in _END:
            # Behind the last equal mark that stays in any case: two in a row would be fused.
            equal = held.get(char, start - 1) + 1
            needed = (equal if self._has(equal, index) else start, end)
            return self._both(needed, needed)
        left, right = self._attached(index)
        if char in _CLAUSE and (left or not right):
            first = self._past_hinges(clause, index)
            before = (first, index) if self._has(first, index) else (start, index)
            return self._both(before, (index + 1, end))
        if left and char in _END:  # of an abbreviation: where nothing follows, the end mark of the sentence serves
            return self._both((index - 1, index), (index + 1, end))
        if left:
            return self._both((index - 1, index), (index - 1, index)) or self._both(
                *self._neighbours(index, start, end)
            )
        if right:
            return self._both((index + 1, index + 2), (index + 1, index + 2)) or self._both(
                *self._neighbours(index, start, end)
            )
        return self._both(*self._neighbours(index, start, end))

    def _past_hinges(self, start: int, end: int) -> int:
        """Behind the words that only join a clause to the one before: a comma after nothing but `and` is an orphan."""
        first = start
        while first < end and (self.mark[first] or self.texts[first].casefold() in _HINGES):
            first += 1
        return first if self._has(first, end) else start

    def _both(self, left: tuple[int, int], right: tuple[int, int]) -> tuple[int, int, int, int] | None:
        """Both ranges, or the one that holds any word twice; None where neither does."""
        if not self._has(*left):
            left = right
        if not self._has(*right):
            right = left
        return (*left, *right) if self._has(*left) else None

    def _has(self, start: int, end: int) -> bool:
        return end > start and self.count[end] > self.count[start]

    def _attached(self, index: int) -> tuple[bool, bool]:
        left = index > 0 and self.words[index - 1].end == self.words[index].start
        right = index + 1 < len(self.words) and self.words[index + 1].start == self.words[index].end
        return left, right

    def _neighbours(self, index: int, start: int, end: int) -> tuple[tuple[int, int], tuple[int, int]]:
        """The nearest words of the sentence before and after a mark that stands alone."""
        before, after = self.before[index], self.after[index]
        return (before, before + 1) if before >= start else (start, start), (after, after + 1) if after < end else (
            end,
            end,
        )

    def _range(self, start: int, end: int) -> tuple[int, int]:
        """The words that begin inside a range of characters."""
        first, last = np.searchsorted(self.starts, (start, end)).tolist()
        return first, last

    def _sentences(self) -> list[tuple[int, int]]:
        return [self._range(start, end) for start, end in sentences(self.text)]

    def _markers(self) -> dict[int, tuple[int, int, int, int]]:
        """The words of list markers and heading signs, each with the rest of its line."""
        found: dict[int, tuple[int, int, int, int]] = {}
        for start, end in lines(self.text):
            marker = MARKER.match(self.text, start, end)
            if marker is None:
                continue
            first, body = self._range(start, marker.end())
            _, stop = self._range(start, end)
            if any(not mark for mark in self.mark[body:stop]):
                found.update((index, (body, stop, body, stop)) for index in range(first, body))
        return found

    def _pairs(self) -> dict[int, tuple[int, int]]:
        """The words between each pair of brackets, quotation marks or signs of emphasis, for both of its marks."""
        found: dict[int, tuple[int, int]] = {}
        open_marks: list[int] = []
        for index, text in enumerate(self.texts):
            if not self.mark[index]:
                continue
            partner = next(
                (
                    at
                    for at in range(len(open_marks) - 1, max(-1, len(open_marks) - 9), -1)
                    if self._closes(open_marks[at], index)
                ),
                None,
            )
            if partner is not None:
                opener = open_marks[partner]
                del open_marks[partner:]
                if self._has(opener + 1, index):
                    found[opener] = found[index] = (opener + 1, index)
            elif text[0] in _OPENERS or text[0] in _SAME:
                open_marks.append(index)
        return found

    def _closes(self, opener: int, index: int) -> bool:
        first, text = self.texts[opener], self.texts[index]
        if text[0] in _CLOSERS:
            return first[0] in _CLOSERS[text[0]]
        # Equal signs on both sides: the first must open a word and the second must not, on one line.
        return (
            text[0] in _SAME
            and first == text
            and not self._opens(index)
            and "\n" not in self.text[self.words[opener].end : self.words[index].start]
        )

    def _opens(self, index: int) -> bool:
        left, right = self._attached(index)
        return right and not left

    def contractions(self) -> list[int]:
        """Contractions that were written apart from the word before them, as tokenized corpora do."""
        return [
            index
            for index, text in enumerate(self.texts)
            if index and _CONTRACTION.fullmatch(text) and not self.mark[index - 1]
        ]

    def separators(self) -> tuple[list[tuple[int, int, int, int]], list[int]]:
        """Words that keep others from being fused where no space stands between them, and those others."""
        found: list[tuple[int, int, int, int]] = []
        others: list[int] = []
        for chain in self._chains():
            groups = [range(*group) for group in self._groups(*chain)]  # narrow and other words take turns
            at, signs = len(others), self._signs(*chain)
            narrow = [index for index in range(*chain) if self.narrow[index]] if len(groups) > 1 else []
            others += narrow

            def behind(start: int, end: int, at: int = at, narrow: list[int] = narrow) -> tuple[int, int]:
                return at + bisect_left(narrow, start), at + bisect_left(narrow, end)

            for place, group in enumerate(groups):
                if len(groups) == 1 or not self.narrow[group[0]]:
                    continue
                # Behind other text a mark at the edge of a word is told from it, and only there.
                loose = place > 0 and all(self.mark[index] and self.texts[index][0] in _EDGES for index in group)
                if place:
                    end = chain[1] if loose else group.stop
                    found += ((group[0] - 1, index, *behind(index + 1, end)) for index in group if self.mark[index])
                if place + 2 < len(groups) and not loose:
                    between = groups[place + 1]
                    apart = next((index for index in between if self.content[index]), between[0])
                    found += ((apart, index, *behind(between.stop, chain[1])) for index in group)
            for indices in signs:  # two marks of one sign would be one
                at = len(others)
                others += indices
                for place, mark in enumerate(indices):
                    for before in range(place - 1, -1, -1):
                        index = indices[before]
                        if self._waits(mark, index):  # then it waits for a word behind all earlier ones too
                            break
                        if index + 1 < mark:
                            apart = next((word for word in range(index + 1, mark) if self.content[word]), index + 1)
                            found.append((apart, index, at + place, at + place + 1))
        return found, others

    def _waits(self, mark: int, index: int) -> bool:
        """Whether a mark stays only with a word between it and the word before, or a mark, at `index`."""
        left, left_end, right, right_end = self.needs.get(mark, (0, 0, 0, 0))
        return any(
            start > index and self._has(start, end) and self.count[end] <= self.count[mark]
            for start, end in ((left, left_end), (right, right_end))
        )

    def _signs(self, start: int, end: int) -> list[list[int]]:
        """The marks of a chain by their sign, where there are several of one."""
        signs: dict[str, list[int]] = {}
        for index in range(start, end):
            if self.mark[index]:
                signs.setdefault(self.texts[index][0], []).append(index)
        return [indices for indices in signs.values() if len(indices) > 1]

    def _chains(self) -> Iterator[tuple[int, int]]:
        """Words between which there is no space, as ranges."""
        start, n = 0, len(self.words)
        for index in range(1, n + 1):
            if index == n or self.words[index - 1].end != self.words[index].start:
                if index - start > 1:
                    yield start, index
                start = index

    def _groups(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        """The stretches of a chain that are narrow, and those that are not."""
        for index in range(start + 1, end + 1):
            if index == end or self.narrow[index] != self.narrow[index - 1]:
                yield start, index
                start = index
