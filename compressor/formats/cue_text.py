"""The text of a caption's cue: tags, entities and line ends apart from what is said, and who says it."""

import html
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from compressor.formats.labels import Label, match_label
from compressor.formats.marked import Run, said

_TOKEN = re.compile(
    r"(?P<voice><v(?:\.[^\s<>]*)?(?:[ \t\r\n]+(?P<name>[^<>]*))?>|</v>)"
    r"|(?P<tag></?[A-Za-z.][^<>]*>|<\d[\d:.,]*>|</?>|\{\\[^{}\r\n]*\})"
    r"|(?P<entity>&(?:\#\d{1,7}|\#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});)"
    r"|(?P<end>\r\n|\r|\n)"
)
# Signs that the speaker changes: `>> ` in broadcast captions, a dash where two speak in one cue.
_ARROWS = re.compile(r">{2,3}\s*")
_DASH = re.compile(r"(?:[-‐‑](?=[^\W\d_]|\s|\Z)|[–—](?=\s|\Z))[ \t]*")


class Cue(NamedTuple):
    """A cue: characters `start` to `end` (excluded) of the file, said from second `begin` to second `finish`."""

    start: int
    end: int
    begin: float
    finish: float


@dataclass(frozen=True, slots=True)
class Speech:
    """What one speaker says in one cue.

    Args:
        start: The first character of its text in the file; what lies before, tags and a name included, stays.
        runs: The text.
        label: The name at its head, if it looks like one.
        voice: The name in its voice tag.
        opens: Whether a sign says that someone else begins to speak.
        cue: The cue.
    """

    start: int
    runs: tuple[Run, ...]
    label: Label | None
    voice: str | None
    opens: bool
    cue: Cue


def speeches(source: str, cues: Iterable[Cue]) -> Iterator[Speech]:
    """What each speaker says in each cue, in order; a cue without a word gives one empty speech."""
    for cue in cues:
        letters = _Letters(source, cue)
        for first, last, voice, start in letters.sections:
            if voice is not None:
                yield letters.speech(first, last, voice, False, start)
                continue
            for begin, end, opens in letters.speakers(first, last):
                yield letters.speech(begin, end, None, opens, start)


def behind(speech: Speech, label: Label) -> tuple[int, tuple[Run, ...]]:
    """Where the text behind a name begins in the file, and its runs."""
    text = said(speech.runs)
    left = len(text) - len(text[label.end :].lstrip())
    start = speech.start
    runs: list[Run] = []
    for whole, own in speech.runs:
        if runs:
            runs.append((whole, own))
        elif len(own) <= left:  # the name, or a tag behind it
            left -= len(own)
            start += len(whole)
        elif whole == own:
            runs.append((whole[left:], own[left:]))
            start += left
        else:
            runs.append((whole, own))
    return start, tuple(runs)


class _Letters:
    """The characters that a cue shows, and where each stands in the file.

    Args:
        source: The file.
        cue: The cue.
    """

    def __init__(self, source: str, cue: Cue) -> None:
        self.source, self.cue = source, cue
        # Stretches of text, entities and line ends: what each shows, where that begins, and where it stands in the file.
        self._shown: list[str] = []
        self._begins: list[int] = []
        self._places: list[tuple[int, int]] = []
        self._length = 0
        voices: list[str | None] = []
        edges: list[tuple[int, str | None, int]] = [(0, None, cue.start)]
        at = cue.start
        for token in _TOKEN.finditer(source, cue.start, cue.end):
            self._show(source[at : token.start()], at, token.start())
            at = token.end()
            if token["voice"]:
                if token["name"] is None and token["voice"] != "</v>":
                    continue  # a voice without a name is a tag like any other
                if token["name"] is not None:
                    voices.append(" ".join(html.unescape(token["name"]).split()) or None)
                elif voices:
                    voices.pop()
                edges.append((self._length, voices[-1] if voices else None, at))
            elif token["end"]:
                self._show("\n", token.start(), at)
            elif token["entity"]:
                text = html.unescape(token["entity"])
                self._show(token["entity"] if "\ufffd" in text else text, token.start(), at)
        self._show(source[at : cue.end], at, cue.end)
        self.text = "".join(self._shown)
        self.sections = list(self._sections(edges))

    def _show(self, text: str, start: int, end: int) -> None:
        if text:
            self._shown.append(text)
            self._begins.append(self._length)
            self._places.append((start, end))
            self._length += len(text)

    def _stretches(self, first: int, last: int) -> Iterator[tuple[int, int, str]]:
        """Where the characters `first` to `last` (excluded) stand in the file, stretch by stretch, and what they show."""
        for number in range(bisect_right(self._begins, first) - 1, len(self._begins)):
            begin, text = self._begins[number], self._shown[number]
            if begin >= last:
                return
            start, end = self._places[number]
            if end - start == len(text):
                cut, stop = max(first - begin, 0), min(last - begin, len(text))
                start, end, text = start + cut, start + stop, text[cut:stop]
            yield start, end, text

    def _sections(self, edges: Sequence[tuple[int, str | None, int]]) -> Iterator[tuple[int, int, str | None, int]]:
        """What each voice says: first and last character (excluded), its name, where it begins in the file."""
        ends = [*(edge[0] for edge in edges[1:]), len(self.text)]
        for (first, voice, start), last in zip(edges, ends, strict=True):
            if voice is not None or len(edges) == 1 or self.text[first:last].strip():
                yield first, last, voice, start

    def speakers(self, first: int, last: int) -> Iterator[tuple[int, int, bool]]:
        """Where each speaker's words begin and end in what no voice tag names, and whether a sign says so."""
        heads = [first, *(place + 1 for place in range(first, last) if self.text[place] == "\n")]
        dashes: list[tuple[int, int]] = []
        arrows: list[tuple[int, int]] = []
        for head in heads:
            while head < last and self.text[head] in " \t\u00a0":
                head += 1
            for sign, found in ((_DASH, dashes), (_ARROWS, arrows)):
                match = sign.match(self.text, head, last)
                if match:
                    found.append(match.span())
        if len(dashes) == 1 and not self.text[first : dashes[0][0]].strip():
            dashes = []  # one dash at the head of a cue: speech that goes on
        signs = sorted({*dashes, *arrows})
        if not signs or self.text[first : signs[0][0]].strip():
            yield first, signs[0][0] if signs else last, False
        for (_, begin), end in zip(signs, [*(sign[0] for sign in signs[1:]), last], strict=False):
            yield begin, end, True

    def speech(self, first: int, last: int, voice: str | None, opens: bool, start: int) -> Speech:
        """The characters `first` to `last` (excluded), without the white space around them."""
        shown = self.text[first:last]
        said = shown.strip()
        if not said:
            before = next(self._stretches(first - 1, first))[1] if first else start
            return Speech(max(before, start), (), None, voice, opens, self.cue)
        first += len(shown) - len(shown.lstrip())
        runs = tuple(self._runs(first, first + len(said)))
        start = next(self._stretches(first, first + 1))[0]
        label = None
        if voice is None:
            end = said.find("\n")
            label = match_label(self.text, first, first + (end if end >= 0 else len(said)))
            if label is not None:
                label = replace(label, start=start, end=label.end - first)
        return Speech(start, runs, label, voice, opens, self.cue)

    def _runs(self, first: int, last: int) -> Iterator[Run]:
        at: int | None = None
        for start, end, text in self._stretches(first, last):
            if at is not None and start > at:
                yield self.source[at:start], ""
            yield self.source[start:end], " " if text == "\n" else text
            at = end
