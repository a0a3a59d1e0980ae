"""Text between markup: what was said without tags and entities, and the markup again around what is left of it."""

from collections.abc import Iterable, Sequence

from compressor.words import segment_text

Run = tuple[str, str]
"""A stretch as it stands in the file, and what it says: equal for plain text, nothing for a tag, `&` for `&amp;`."""


def said(runs: Iterable[Run]) -> str:
    """What the runs say."""
    return "".join(text for _, text in runs)


def raw(runs: Iterable[Run]) -> str:
    """The runs as they stand in the file."""
    return "".join(raw for raw, _ in runs)


def rewrite(runs: Sequence[Run], shorter: str) -> str | None:
    """The runs as they stand in the file, without what the shorter text lacks; tags stay, in their order.

    Args:
        runs: What was read.
        shorter: `said(runs)` with words deleted.
    Returns:
        None if the text is not what the runs say with something deleted.
    """
    source = said(runs)
    if shorter == source:
        return raw(runs)
    if all(whole == text for whole, text in runs):
        return shorter if _characters(source, shorter, 0) is not None else None
    kept = align(source, shorter)
    if kept is None:
        return None
    stays = bytearray(len(source))
    for start, end in kept:
        stays[start:end] = b"\x01" * (end - start)
    pieces: list[str] = []
    at = 0
    for whole, text in runs:
        end = at + len(text)
        if not text or (whole != text and any(stays[at:end])):
            pieces.append(whole)
        elif whole == text:
            pieces.append("".join(char for char, stay in zip(text, stays[at:end], strict=True) if stay))
        at = end
    return "".join(pieces)


def align(source: str, shorter: str) -> list[tuple[int, int]] | None:
    """Where the characters of a shortened text come from: (start, end) in its source, in order.

    Words are matched as wholes where that is possible, so that a kept word is never pieced together from two.

    Returns:
        None if the text is not the source with something deleted.
    """
    for words in (_first_words, _last_words, _unspaced):
        found = words(source, shorter)
        if found is not None:
            spans = _with_gaps(source, shorter, found)
            if spans is not None:
                return spans
    return _characters(source, shorter, 0)


_Match = tuple[int, int, int]  # of one word: its start in the source, its start in the shorter text, its length


def _first_words(source: str, shorter: str) -> list[_Match] | None:
    """The words of the shorter text at their first possible place."""
    there = iter(segment_text(source))
    found: list[_Match] = []
    for start, end in segment_text(shorter):
        word = shorter[start:end]
        place = next((a for a, b in there if source[a:b] == word), None)
        if place is None:
            return None
        found.append((place, start, end - start))
    return found


def _last_words(source: str, shorter: str) -> list[_Match] | None:
    """The words of the shorter text at their last possible place."""
    there = iter(reversed(segment_text(source)))
    found: list[_Match] = []
    for start, end in reversed(segment_text(shorter)):
        word = shorter[start:end]
        place = next((a for a, b in there if source[a:b] == word), None)
        if place is None:
            return None
        found.append((place, start, end - start))
    return found[::-1]


def _unspaced(source: str, shorter: str) -> list[_Match] | None:
    """The words of the source that follow each other in the shorter text, where it would be cut into others."""
    found: list[_Match] = []
    at = 0
    for start, end in segment_text(source):
        while at < len(shorter) and shorter[at].isspace():
            at += 1
        if shorter.startswith(source[start:end], at):
            found.append((start, at, end - start))
            at += end - start
    return found if not shorter[at:].strip() else None


def _with_gaps(source: str, shorter: str, words: Sequence[_Match]) -> list[tuple[int, int]] | None:
    """The matched words and the white space between them; None if the source does not have that there."""
    spans: list[tuple[int, int]] = []
    here = there = 0
    for start, place, length in (*words, (len(source), len(shorter), 0)):
        gap = _characters(source[there:start], shorter[here:place], there)
        if gap is None:
            return None
        spans += gap
        if length:
            spans.append((start, start + length))
        here, there = place + length, start + length
    return spans


def _characters(source: str, shorter: str, offset: int) -> list[tuple[int, int]] | None:
    """Each character at its first possible place, moved by the offset."""
    found: list[tuple[int, int]] = []
    at = 0
    for char in shorter:
        at = source.find(char, at) + 1
        if at == 0:
            return None
        found.append((offset + at - 1, offset + at))
    return found
