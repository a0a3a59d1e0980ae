"""From the kept words to a shorter transcript, by slices of the source.

What stands between two kept words is taken from the source: all of it where nothing was deleted between them, else the
strongest break (the most line ends, then the indent of the new line), else one space, else nothing.
"""

import re
from collections.abc import Sequence
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from compressor.transcript import Transcript, Turn
from compressor.words import OPENING, Word, by_turn, closes, is_mark, is_narrow

_SPACE = re.compile(r"\s+")
_NEWLINES = "\n\r\x0b\x0c\x85\u2028\u2029"
_LAST_NEWLINE = re.compile(rf"[{_NEWLINES}](?=[^{_NEWLINES}]*\Z)")


def render(transcript: Transcript, words: Sequence[Word], keep: NDArray[np.bool_]) -> Transcript:
    """Write the kept words of each turn.

    Args:
        words: All words of the transcript.
        keep: True where a word stays. Shape: (n_words,).
    Returns:
        A transcript of as many turns, each text a subsequence of its source.
    """
    stays = iter(keep.tolist())
    return transcript.with_turns(
        _render_turn(turn, own, list(islice(stays, len(own))))
        for turn, own in zip(transcript.turns, by_turn(transcript, words), strict=True)
    )


def _render_turn(turn: Turn, words: Sequence[Word], keep: Sequence[bool]) -> Turn:
    if all(keep):
        return turn
    if not turn.blocks:
        return turn.with_text(_render_block(turn.text, 0, len(turn.text), words, keep))
    pieces: list[str] = []
    blocks: list[tuple[int, int]] = []
    length = at = 0
    for start, end in turn.blocks:
        between = turn.text[at:start]
        inside = [index for index, word in enumerate(words) if start <= word.start < end]
        piece = _render_block(turn.text, start, end, [words[i] for i in inside], [keep[i] for i in inside])
        pieces += [between, piece]
        length += len(between)
        blocks.append((length, length + len(piece)))
        length += len(piece)
        at = end
    pieces.append(turn.text[at:])
    return turn.with_text("".join(pieces), tuple(blocks))


def _render_block(text: str, start: int, end: int, words: Sequence[Word], keep: Sequence[bool]) -> str:
    if all(keep):
        return text[start:end]
    kept = [index for index, stays in enumerate(keep) if stays]
    if not kept:
        return ""
    pieces: list[str] = [text[start : words[0].start]] if kept[0] == 0 else []
    for previous, index in zip([None, *kept], kept, strict=False):
        if previous is not None:
            pieces.append(_gap(text, words, previous, index))
        pieces.append(text[words[index].start : words[index].end])
    tail = text[words[-1].end : end]
    if kept[-1] == len(words) - 1 or any(char in _NEWLINES for char in tail):
        pieces.append(tail)
    return "".join(pieces)


def _gap(text: str, words: Sequence[Word], left: int, right: int) -> str:
    """What stays between two kept words of a block."""
    between = text[words[left].end : words[right].start]
    if right == left + 1:
        return between
    runs: list[str] = _SPACE.findall(between)
    if not runs:
        return ""
    broken = [run for run in runs if _LAST_NEWLINE.search(run)]
    if broken:
        widest = max(broken, key=lambda run: sum(char == "\n" for char in run) or 1)
        return widest[: _after_newline(widest)] + broken[-1][_after_newline(broken[-1]) :]
    equal = text[words[left].end - 1] == text[words[right].start]  # two marks of one sign would be one
    if not equal and (_hugs_left(text, words, right) or _hugs_right(text, words, left)):
        return ""
    return runs[0][0]


def _after_newline(run: str) -> int:
    found = _LAST_NEWLINE.search(run)
    return found.end() if found else 0


def _hugs_left(text: str, words: Sequence[Word], index: int) -> bool:
    """Whether a word is a mark that has no space before it in the source, and does not open what follows."""
    word = words[index]
    mark = is_mark(text[word.start : word.end]) and closes(text[word.start])
    return mark and words[index - 1].end == word.start and not _opens(text, words, index)


def _hugs_right(text: str, words: Sequence[Word], index: int) -> bool:
    """Whether a word is a mark that opens what follows it without a space, and can be told from any word there."""
    word = text[words[index].start : words[index].end]
    return is_mark(word) and (word[0] in OPENING or not is_narrow(word)) and _opens(text, words, index)


def _opens(text: str, words: Sequence[Word], index: int) -> bool:
    word = words[index]
    joined = index + 1 < len(words) and words[index + 1].start == word.end
    return joined and (
        text[word.start] in "([{“‘«‹„‚（【「『《〈\u2066\u2067\u2068" or index == 0 or words[index - 1].end < word.start
    )
