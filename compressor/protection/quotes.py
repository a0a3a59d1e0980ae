"""Quotes: a quoted phrase stays whole, with its marks, and what is reported keeps its source."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from compressor.protection.reports import reports
from compressor.protection.view import View
from compressor.structure import Range, lines
from compressor.words import UNSPACED

# The opening marks that each closing mark closes. “ closes „…“ and opens “…”.
_PARTNERS = {
    "”": "“„”",
    "“": "„“",
    "»": "«",
    "«": "»",
    "›": "‹",
    "」": "「",
    "』": "『",
    "》": "《",
    "〉": "〈",
    "﹂": "﹁",
}
_CLOSES = {sign: frozenset(opening) for sign, opening in (*_PARTNERS.items(), ("〞", "〝"))}
_TEX, _NOTHING = frozenset(("``",)), frozenset[str]()
_OPENS = frozenset("“„«»‹「『《〈﹁〝”") | {"``"}
_STRAIGHT = frozenset({'"', "＂", "''"})
_MARK = re.compile(r"``(?!`)|''(?!')|[\"＂“”„«»‹›「」『』《》〈〉﹁﹂〝〞]")
_INCHES = re.compile(r"(?<=\d)[\"”](?=\W|$)")
_HEIGHT = re.compile(r"\d['’′] ?\d{1,2}$")

_WORD = f"(?:(?![{UNSPACED}])[^\\W_])"
_SINGLE_OPEN = re.compile(f"‘(?=\\S)|(?<![\\w'’])(?<!')['](?=[^\\s'])|(?<=[{UNSPACED}])'(?=[^\\s'])")
_SINGLE_CLOSE = re.compile(f"(?<=[^\\s'‘])['’](?!{_WORD})")
# An apostrophe that stands for the missing head of a word.
_ELISION = re.compile(
    r"['’‘](?:\d\ds?\b|(?:tis|twas|twere|til|till|em|cause|bout|round|nuff|kay|cos|coz|ere)\b(?!['’])|n\b)",
    re.IGNORECASE,
)
# `boys' boat`: the mark is more likely that of a possessive, if the line offers another.
_POSSESSIVE = re.compile(r"(?<=s)['’](?=[ \t][a-z])")
_FARTHEST = 160


class _Open(NamedTuple):
    """An opening mark that waits for its partner."""

    sign: str
    start: int
    spaced: bool


def quotes(view: View) -> Iterable[Range]:
    """Quoted phrases with their marks, in every style and nesting; the source of what is reported (`Marta said`).

    An apostrophe is no mark. A mark without its partner on the same line protects nothing.
    """
    text = view.text
    yield from reports(view)
    for start, end in lines(text):
        yield from _paired(text, start, end)
        yield from _single(text, start, end)


def _paired(text: str, start: int, end: int) -> Iterator[Range]:
    """All marks but single ones: each that closes takes the latest mark that it closes, and drops what opened since."""
    opened: list[_Open] = []
    waiting: Counter[str] = Counter()
    for mark in _MARK.finditer(text, start, end):
        sign, begin, after = mark.group(), mark.start(), mark.end()
        begin -= text.startswith("\\", begin - 1, begin) and begin > start
        before, behind = text[begin - 1] if begin > start else " ", text[after] if after < end else " "
        if sign == '"' and _is_measure(text, start, mark, waiting[sign] > 0):
            continue
        if sign in _STRAIGHT:
            partner = _TEX if sign == "''" and waiting["``"] else frozenset((sign,))
        else:
            partner = _CLOSES.get(sign, _NOTHING)
        spaced = bool(opened) and opened[-1].sign == sign and opened[-1].spaced
        if not partner.isdisjoint(waiting) and _can_close(sign, before, behind, spaced, waiting):
            while opened:
                last = opened.pop()
                waiting[last.sign] -= 1
                if not waiting[last.sign]:
                    del waiting[last.sign]
                if last.sign in partner:
                    yield last.start, after
                    break
        elif _can_open(sign, before, behind):
            opened.append(_Open(sign, begin, behind.isspace()))
            waiting[sign] += 1


def _can_close(sign: str, before: str, behind: str, spaced: bool, waiting: Counter[str]) -> bool:
    """Whether a mark whose partner waits closes it, rather than opens a quote inside it."""
    if sign in _STRAIGHT:
        return not before.isspace() or not _wordlike(behind) or (behind.isspace() and spaced)
    if sign == "“" and not waiting["„"]:
        return not before.isspace() and not _wordlike(behind)
    if sign == "”" and not (waiting["“"] or waiting["„"]):
        return not before.isspace()
    return True


def _can_open(sign: str, before: str, behind: str) -> bool:
    if sign in _STRAIGHT:
        return not _attached(before) or _wordlike(behind)
    if sign == "”":
        return not _attached(before) and _wordlike(behind)
    if sign == "»":
        return not _attached(before) and not behind.isspace()
    return sign in _OPENS


def _is_measure(text: str, start: int, mark: "re.Match[str]", inside: bool) -> bool:
    """Whether a straight double mark says inches: in 5'10" always, after another digit if no quote is open."""
    if not _INCHES.match(text, mark.start()):
        return False
    return not inside or _HEIGHT.search(text, max(start, mark.start() - 8), mark.start()) is not None


def _single(text: str, start: int, end: int) -> Iterator[Range]:
    """Single marks: a phrase opens at the start of a word and closes at the end of one."""
    openings = [mark.start() for mark in _SINGLE_OPEN.finditer(text, start, end) if _opens(text, mark.start(), start)]
    if not openings:
        return
    marks = [mark.start() for mark in _SINGLE_CLOSE.finditer(text, start, end)]
    closings = [(mark, _POSSESSIVE.match(text, mark) is not None) for mark in marks]
    first, done = 0, start
    for number, opening in enumerate(openings):
        if opening < done:
            continue
        while first < len(closings) and closings[first][0] <= opening:
            first += 1
        if first == len(closings):
            return
        closing, weak = closings[first]
        following = openings[number + 1] if number + 1 < len(openings) else end
        look = first + 1
        while weak and look < len(closings) and closings[look][0] < min(following, closings[first][0] + _FARTHEST):
            closing, weak = closings[look]
            look += 1
        if weak:
            closing = closings[first][0]
        yield opening, closing + 1
        done = closing + 1


def _opens(text: str, at: int, start: int) -> bool:
    before = text[at - 1] if at > start else " "
    if text[at] == "‘" and before.isalnum() and not before >= "\u2e80":
        return False
    return _ELISION.match(text, at) is None


def _attached(char: str) -> bool:
    """Whether a mark after this character hangs on it: on a letter, figure or closing mark, not on a space."""
    return not char.isspace() and char not in "([{<“‘«„「『《〈=:;,，：、。—–-/|*_>"


def _wordlike(char: str) -> bool:
    return char.isalnum() or char in "$€£¥#@<([{“‘«\\/~-.%+*_&¿¡…—'’`"
