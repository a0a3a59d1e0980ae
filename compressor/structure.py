"""The shape of a text: its lines, sentences and clauses, as character ranges."""

import re
from collections.abc import Iterator
from functools import lru_cache

Range = tuple[int, int]

# A full stop after one of these ends no sentence.
ABBREVIATIONS = frozenset(
    "mr mrs ms dr prof sr jr st vs etc e.g i.e eg ie cf al approx dept est gen gov inc ltd co corp rev hon lt col sgt capt"
    " avg a.m p.m u.s u.k ph.d b.a m.a m.d mt ft resp incl excl".split()
)
# After one of these it ends none if a number follows: "No. 5", "fig. 2", "Jan. 14".
_NUMBERED = frozenset(
    "no nos vol pp pg p ed art sec ch fig para cl jan feb mar apr jun jul aug sep sept oct nov dec tel ext".split()
)
# Of those, the ones that often end a sentence all the same when a capital follows.
_MAY_END = frozenset("etc a.m p.m u.s u.k ph.d b.a m.a m.d inc ltd co corp jr sr al".split())

_LINE = re.compile(r"[^\r\n]+")
_END = re.compile(
    r"(?:[.!?…]+|[。！？｡]+)[\"'”’»›)\]」』）】》*_`]*(?=\s|$|[\u3000-\u9fff\uff00-\uffef])|[。！？]+[”’」』）】》\"']*"
)
_CLAUSE = re.compile(r"[,;:](?=\s|$)|[，、；：]|\s[-–—]+\s|—|[()（）\[\]【】]")
MARKER = re.compile(
    r"[ \t\u3000>]*(?:(?:[-*+•·◦▪–—]|\(?\d{1,3}[.)]|\(?[a-zA-Z][.)]|#{1,6}|[（(]?[一二三四五六七八九十]{1,3}[、)）])"
    r"(?=[ \t\u3000])[ \t\u3000]*(?:\[[ xX]\](?=\s)[ \t]*)?|\d{1,2}[、．](?!\d)|[一二三四五六七八九十]{1,3}、)"
)
"""A list marker or the sign of a heading at the start of a line, with the indent before it and the space after it."""


@lru_cache(maxsize=4096)
def sentences(text: str) -> tuple[Range, ...]:
    """Cut a text into sentences.

    A sentence ends at an end mark followed by space (or by Chinese text), and at the end of its line, unless the line is
    wrapped prose: long, without an end mark, and followed by a line that goes on in lower case.

    Returns:
        (start, end) of each sentence without the white space around it, in order; together they cover all other
        characters. A list marker belongs to the first sentence of its line.
    """
    return tuple(_sentences(text))


def _sentences(text: str) -> Iterator[Range]:
    for start, end in _paragraphs(text):
        at = start
        for mark in _END.finditer(text, start, end):
            if _ends(text, mark, at):
                yield from _trim(text, at, mark.end())
                at = mark.end()
        yield from _trim(text, at, end)


def lines(text: str) -> Iterator[Range]:
    """The lines that are not empty, without their line ends."""
    for line in _LINE.finditer(text):
        yield line.start(), line.end()


def clauses(text: str, start: int, end: int) -> tuple[Range, ...]:
    """Cut a sentence at its commas, colons, dashes and brackets.

    Returns:
        (start, end) of each clause without its mark and the white space around it.
    """
    found: list[Range] = []
    at = start
    for mark in _CLAUSE.finditer(text, start, end):
        found.extend(_trim(text, at, mark.start()))
        at = mark.end()
    found.extend(_trim(text, at, end))
    return tuple(found)


def _paragraphs(text: str) -> Iterator[Range]:
    """Lines, with the lines of wrapped prose joined."""
    current: Range | None = None
    for start, end in lines(text):
        if current is None:
            current = (start, end)
        elif _wrapped(text, current, start):
            current = (current[0], end)
        else:
            yield current
            current = (start, end)
    if current is not None:
        yield current


def _wrapped(text: str, line: Range, following: int) -> bool:
    first = max(line[0], text.rfind("\n", line[0], line[1]) + 1)
    between = text[line[1] : following]
    return (
        between in ("\n", "\r\n")
        and line[1] - first >= 60
        and text[following].islower()
        and text[line[1] - 1] not in ".!?:;。！？：；|"
        and MARKER.match(text, following) is None
    )


def _ends(text: str, mark: "re.Match[str]", start: int) -> bool:
    if mark.group()[0] != "." or mark.group().startswith(".."):
        return True
    head = text[max(start, mark.start() - 24) : mark.start()]
    word = head.split()[-1].lstrip("(\"'“‘[") if head.split() else ""
    if MARKER.fullmatch(text[start : mark.end()].lstrip() + " "):
        return False
    if len(word) == 1 and word.isupper() and word != "I":
        return False
    rest = text[mark.end() : mark.end() + 8].lstrip()
    if word.lower() in ABBREVIATIONS:
        return word.lower() in _MAY_END and (not rest or rest[0].isupper())
    return not (word.lower() in _NUMBERED and rest[:1].isdigit())


def _trim(text: str, start: int, end: int) -> Iterator[Range]:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    if start < end:
        yield start, end
