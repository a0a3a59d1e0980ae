"""Quotes: a quoted phrase stays whole, with its marks."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator

from compressor.protection.view import View
from compressor.structure import Range, lines
from compressor.words import UNSPACED

# What closes each opening mark. The first of „…“ and “…” closes the one and opens the other.
_CLOSES = {"”": "“„”", "“": "„“", "»": "«", "«": "»", "›": "‹", "」": "「", "』": "『", "》": "《", "〉": "〈", "﹂": "﹁", "''": "``", "〞": "〝"}
_OPENS = frozenset("“„«»‹「『《〈﹁〝”") | {"``"}
_STRAIGHT = frozenset({'"', "＂", "''"})
_MARK = re.compile(r"``(?!`)|''(?!')|[\"＂“”„«»‹›「」『』《》〈〉﹁﹂〝〞]")
_INCHES = re.compile(r"(?<=\d)[\"”](?=\W|$)")
_HEIGHT = re.compile(r"\d['’′] ?\d{1,2}$")

_WORD = f"(?:(?![{UNSPACED}])[^\\W_])"
_SINGLE_OPEN = re.compile(f"‘(?=\\S)|(?<![\\w'’])(?<!')['](?=[^\\s'])|(?<=[{UNSPACED}])'(?=[^\\s'])")
_SINGLE_CLOSE = re.compile(f"(?<=[^\\s'‘])['’](?!{_WORD})")
# An apostrophe that stands for the missing head of a word.
_ELISION = re.compile(r"['’‘](?:\d\ds?\b|(?:tis|twas|twere|til|till|em|cause|bout|round|n|nuff|kay|cos|coz|ere)\b)", re.IGNORECASE)
# `boys' boat`: the mark is more likely that of a possessive, if the line offers another.
_POSSESSIVE = re.compile(r"(?<=s)['’](?=[ \t][a-z])")
_FARTHEST = 160


def quotes(view: View) -> Iterable[Range]:
    """Quoted phrases with their marks, in every style and nesting.

    An apostrophe is no mark. A mark without its partner on the same line protects nothing.
    """
    text = view.text
    for start, end in lines(text):
        yield from _paired(text, start, end)
        yield from _single(text, start, end)


def _paired(text: str, start: int, end: int) -> Iterator[Range]:
    """All marks but single ones: each closing mark takes the latest mark that it closes, and drops what opened since."""
    opened: list[tuple[str, int, bool]] = []
    waiting: Counter[str] = Counter()
    for mark in _MARK.finditer(text, start, end):
        sign, at, after = mark.group(), mark.start(), mark.end()
        before, behind = text[at - 1] if at > start else " ", text[after] if after < end else " "
        if before == "\\":
            before = text[at - 2] if at - 1 > start else " "
        if sign in _STRAIGHT:
            partners = sign
            if sign == '"' and _is_measure(text, start, mark, waiting[sign] > 0):
                continue
            spaced = bool(opened) and opened[-1][0] == sign and opened[-1][2]
            closing = waiting[sign] > 0 and (not before.isspace() or (behind.isspace() and spaced) or not _wordlike(behind))
            opening = not (_attached(before) and not _wordlike(behind)) and (not before.isspace() or after < end)
            if sign == "''" and not waiting[sign] and waiting["``"]:
                partners, closing = "``", True
            partner = {partners}
        else:
            partner = set() if sign == "``" else set(_CLOSES.get(sign, "")) if sign != "''" else {"``"}
            closing = any(waiting[one] for one in partner)
            if sign == "“" and closing and not waiting["„"]:  # a second “ closes the first only where it cannot open
                closing = not before.isspace() and not _wordlike(behind)
            if sign == "”" and waiting["”"] and not (waiting["“"] or waiting["„"]):
                closing = not before.isspace()
            opening = sign in _OPENS and (sign != "”" or (not _attached(before) and _wordlike(behind)))
            if sign == "»":
                opening = not _attached(before) and not behind.isspace()
        if closing:
            while opened:
                one, begin, _ = opened.pop()
                waiting[one] -= 1
                if one in partner:
                    yield begin, after
                    break
        elif opening:
            opened.append((sign, at - (at > start and text[at - 1] == "\\"), behind.isspace()))
            waiting[sign] += 1


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
    closings = [(mark.start(), bool(_POSSESSIVE.match(text, mark.start()))) for mark in _SINGLE_CLOSE.finditer(text, start, end)]
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
    if text[at] == "‘" and before.isalnum() and not "\u2e80" <= before:
        return False
    return _ELISION.match(text, at) is None


def _attached(char: str) -> bool:
    """Whether a mark after this character hangs on it: on a letter, a digit or a closing mark, not on a space or bracket."""
    return not char.isspace() and char not in "([{<“‘«„「『《〈=:;,，：、。—–-/|*_>"


def _wordlike(char: str) -> bool:
    return char.isalnum() or char in "$€£¥#@<([{“‘«\\/~-.%+*_&¿¡…—'’`"
