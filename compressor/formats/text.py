"""Plain text: `Name: text` lines become turns, any other text is one turn."""

import re
from types import MappingProxyType

from compressor.errors import InputError
from compressor.formats.labels import Label, choose, match_label
from compressor.transcript import Transcript, Turn

# Only these end a line: a form feed, U+0085 or U+2028 is a character like any other.
_LINE = re.compile(r"[^\r\n]+")
_HEAD = re.compile(r"\ufeff?(?:[^\S\r\n]*[\r\n]+)*")


def read(source: str) -> Transcript:
    """Read plain text.

    A dialogue gives a turn for each label, with the lines below it that carry none; text before the first label is a
    turn of role `none`. All other text is one turn of role `none`. Labels, and white space between turns, belong to no
    turn's text.

    Raises:
        InputError: The source is no string.
    """
    if not isinstance(source, str):
        raise InputError(f"the text is {type(source).__name__}; allowed: str.")
    labels = _labels(source)
    first = labels[0].start if labels else len(source)
    head = _HEAD.match(source, 0, first)
    head_end = head.end() if head else 0
    turns = []
    if not labels or source[head_end:first].strip():
        turns.append(_turn(source, 0, head_end, first, None))
    at = first if turns else 0
    ends = [*(label.start for label in labels[1:]), len(source)]
    for label, end in zip(labels, ends, strict=False):
        turns.append(_turn(source, at, label.end, end, label))
        at = end
    return Transcript(tuple(turns), "text", MappingProxyType({"source": source}))


def write(transcript: Transcript) -> str:
    """Write the turns as text, with the labels and the white space that were read.

    A turn that lost its text keeps its label, without the space behind it.
    """
    return "".join(_written(turn) for turn in transcript.turns)


def as_text(transcript: Transcript) -> str:
    """Any transcript as text: as it was read if it was read from text, else `speaker: text` or `role: text` lines."""
    if transcript.format == "text":
        return write(transcript)
    return "\n".join(_line(turn) for turn in transcript.turns if not turn.extra.get("dropped"))


def misread(transcript: Transcript) -> tuple[int, ...]:
    """The turns that the written text would not give again.

    Deleting words may move a name to the head of a line (`I told Bob: wait` → `Bob: wait`), where it reads as a label.

    Returns:
        The numbers of the turns in whose text another turn would begin, or whose label would not be found, in order.
    """
    expected: dict[int, int] = {}
    owner: list[tuple[int, int]] = []
    at = 0
    for index, turn in enumerate(transcript.turns):
        owner.append((at, index))
        if "label" in turn.extra:
            expected[at + turn.extra["label"][0]] = index
        at += len(_written(turn))
    found = {label.start for label in _labels(write(transcript))}
    wrong = {index for start, index in expected.items() if start not in found}
    wrong.update(max(index for begin, index in owner if begin <= start) for start in found - expected.keys())
    return tuple(sorted(wrong))


def _labels(source: str) -> list[Label]:
    candidates = []
    n_lines = 0
    for line in _LINE.finditer(source):
        start, end = line.span()
        if start == 0 and source[0] == "\ufeff":
            start = 1
        label = match_label(source, start, end) if start < end else None
        if label is not None:
            candidates.append(label)
        if label is not None or source[start:end].strip():
            n_lines += 1
    return choose(candidates, n_lines)


def _turn(source: str, at: int, label_end: int, end: int, label: Label | None) -> Turn:
    """The turn that takes the characters `at` to `end`, its label ending at `label_end`."""
    said = source[label_end:end]
    text = said.rstrip() if label is None else said.strip()
    text_start = label_end if not text or label is None else label_end + len(said) - len(said.lstrip())
    extra = {
        "before": source[at:text_start],
        "bare": source[at:label_end],
        "source": text,
        "after": source[text_start + len(text) : end],
    }
    if label is None:
        return Turn("none", None, text, MappingProxyType(extra))
    place = (label.start - at, label.end - at)
    return Turn(label.role, label.speaker, text, MappingProxyType({**extra, "label": place}))


def _written(turn: Turn) -> str:
    extra = turn.extra
    if "before" not in extra:
        return _line(turn) + "\n"  # a turn made by hand
    before = extra["before"] if turn.text or turn.text == extra["source"] else extra["bare"]
    return f"{before}{turn.text}{extra['after']}"


def _line(turn: Turn) -> str:
    label = turn.speaker or (turn.role if turn.role != "none" else "")
    return f"{label}: {turn.text}" if label and turn.text else f"{label}:" if label else turn.text
