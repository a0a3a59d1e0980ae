"""What WebVTT and SRT share: cues with times, the turns of those who speak in them, and the file again.

A turn is what one speaker says in consecutive cues: sentences run on from cue to cue, and a scorer that sees one cue at
a time loses words that it keeps where it sees the sentence. Each cue is a text block of its turn, so that no word moves
from one cue to another.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import MappingProxyType

from compressor.errors import InputError
from compressor.formats.cue_text import Cue, Speech, behind, speeches
from compressor.formats.labels import Label, choose
from compressor.formats.marked import Run, raw, rewrite, said
from compressor.formats.rereading import write_readable
from compressor.transcript import Transcript, Turn

PAUSE = 2.0
"""Seconds of silence that end a turn."""
CUES = 50
"""Most cues of one turn."""

Line = tuple[int, int, int]
"""Where a line begins, where its text ends, and where the next line begins."""

_Part = tuple[str, tuple[Run, ...]]
"""What a turn says in one cue, after all that stands before it in the file."""

_LINE = re.compile(r"([^\r\n]*)(\r\n|\r|\n|\Z)")
_CLOCK = r"(?:(\d{1,4}):)?(\d{1,2}):(\d{1,2})(?:[.,:](\d{1,3}))?"
_TIMES = re.compile(rf"[ \t]*{_CLOCK}[ \t]*-->[ \t]*{_CLOCK}(?:[ \t][^\r\n]*)?")


def lines(source: str) -> Iterator[Line]:
    """The lines of a file; CR, LF and CR LF end one."""
    for line in _LINE.finditer(source):
        if line.start() < len(source):
            yield line.start(), line.end(1), line.end()


def times(source: str, line: Line) -> tuple[float, float] | None:
    """The seconds at which a cue begins and ends, if the line is the line of its times."""
    if source.find("-->", line[0], line[1]) < 0:
        return None
    found = _TIMES.fullmatch(source, line[0], line[1])
    if found is None:
        return None
    begin, finish = (
        int(h or 0) * 3600 + int(m) * 60 + int(s) + int((ms or "0").ljust(3, "0")) / 1000
        for h, m, s, ms in (found.groups()[:4], found.groups()[4:])
    )
    return begin, finish


def read(source: str, cues: Iterable[Cue], format: str) -> Transcript:
    """The turns of a file whose cues are known."""
    found = list(speeches(source, cues))
    turns: list[Turn] = []
    parts: list[_Part] = []
    at = 0  # the file is read up to here
    finish = 0.0
    role, speaker = "none", None
    for speech, who, label in _attributed(found):
        start, runs = (speech.start, speech.runs) if label is None else behind(speech, label)
        ends = who != (role, speaker) or speech.opens or speech.cue.begin - finish >= PAUSE or len(parts) == CUES
        if parts and ends:
            turns.append(_turn(role, speaker, parts))
            parts = []
        role, speaker = who
        parts.append((source[at:start], runs))
        at, finish = start + len(raw(runs)), speech.cue.finish
    if parts:
        turns.append(_turn(role, speaker, parts))
    return Transcript(tuple(turns), format, MappingProxyType({"tail": source[at:]}))


def write(transcript: Transcript, reader: Callable[[str], Transcript]) -> str:
    """The file with the texts of the turns; a cue that lost all its words keeps its place, its times and its tags."""
    if all(turn.text == turn.extra.get("source") for turn in transcript):
        return _written(transcript)
    return write_readable(transcript, _written, reader, _original)


def _attributed(found: Sequence[Speech]) -> Iterator[tuple[Speech, tuple[str, str | None], Label | None]]:
    """Each speech with the role and the name of its speaker, and the label that names it."""
    voiced = any(speech.voice is not None for speech in found)
    labels = [speech.label for speech in found if speech.label is not None]
    chosen = set() if voiced else {label.start for label in choose(labels, len(found))}
    who: tuple[str, str | None] = ("none", None)
    for speech in found:
        label = speech.label if speech.label is not None and speech.label.start in chosen else None
        if label is not None:
            who = (label.role, label.speaker)
        elif speech.voice is not None:
            who = ("speaker", speech.voice)
        elif voiced or speech.opens:  # a name holds for the cues behind it, a voice for its tag alone
            who = ("none", None)
        yield speech, who, label


def _turn(role: str, speaker: str | None, parts: Sequence[_Part]) -> Turn:
    texts = [said(runs) for _, runs in parts]
    blocks: list[tuple[int, int]] = []
    at = 0
    for text in texts:
        blocks.append((at, at + len(text)))
        at += len(text) + 1
    text = " ".join(texts)
    edges = tuple(blocks) if len(blocks) > 1 else ()
    extra = {"source": text, "blocks": edges, "parts": tuple(parts)}
    return Turn(role, speaker, text, MappingProxyType(extra), edges)


def _original(transcript: Transcript, index: int) -> Transcript:
    turns = list(transcript)
    turn = turns[index]
    turns[index] = turn.with_text(turn.extra["source"], turn.extra["blocks"])
    return transcript.with_turns(turns)


def _written(transcript: Transcript) -> str:
    pieces: list[str] = []
    for index, turn in enumerate(transcript):
        if "parts" not in turn.extra:
            raise InputError(
                f"turn {index} was not read from {transcript.format}; make it with with_text() from one that was."
            )
        for (before, runs), text in zip(turn.extra["parts"], _texts(turn, index), strict=True):
            part = rewrite(runs, text)
            if part is None:
                raise InputError(
                    f"turn {index} says what its cue does not: {text[:60]!r}; allowed: its text with words deleted."
                )
            pieces += (before, part)
    return "".join([*pieces, transcript.extra.get("tail", "")])


def _texts(turn: Turn, index: int) -> list[str]:
    """The text of each cue of a turn."""
    n_parts = len(turn.extra["parts"])
    blocks = turn.blocks
    if not blocks:  # with_text() without blocks: the text it had, nothing, or the text of the only cue
        if turn.text == turn.extra["source"] and turn.extra["blocks"]:
            blocks = turn.extra["blocks"]
        else:
            blocks = ((0, len(turn.text)),) if turn.text or n_parts == 1 else ((0, 0),) * n_parts
    if len(blocks) != n_parts:
        raise InputError(f"turn {index} has {len(blocks)} text blocks; it was said in {n_parts} cues.")
    return [turn.text[start:end] for start, end in blocks]
