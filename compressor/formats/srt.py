"""SubRip captions (SRT): names become speakers; counters, times, positions and tags stay."""

from collections.abc import Iterator

from compressor.errors import InputError
from compressor.formats import captions
from compressor.formats.captions import Line, lines, times
from compressor.formats.cue_text import Cue
from compressor.transcript import Transcript


def read(source: str) -> Transcript:
    """Read SubRip captions: a turn for what one speaker says in consecutive cues.

    A name with a colon holds until the next one, or until a dash or `>>` says that someone else speaks. Turns without a
    name have the role `none`.

    Raises:
        InputError: The source is no string, or has no line with the times of a cue.
    """
    if not isinstance(source, str):
        raise InputError(f"the captions are {type(source).__name__}; allowed: str.")
    cues = list(_cues(source))
    if not cues and source.strip("\ufeff \t\r\n"):
        raise InputError("no SRT: no line with the times of a cue, such as 00:00:01,200 --> 00:00:04,900.")
    return captions.read(source, cues, "srt")


def write(transcript: Transcript) -> str:
    """The captions that were read, with the texts of the turns.

    Raises:
        InputError: A turn holds what was not read.
    """
    return captions.write(transcript, read)


def _cues(source: str) -> Iterator[Cue]:
    """The cues; an empty line inside a text ends none."""
    seen: list[Line] = []
    counter = 0
    cue: tuple[int, float, float] | None = None
    first = 0  # the first line that belongs to the open cue
    for line in lines(source):
        found = times(source, line)
        if found:
            number = _counter(source, seen[first:], counter)
            if cue is not None:
                last = len(seen) - (number is not None)
                yield Cue(cue[0], seen[last - 1][1] if last > first else cue[0], *cue[1:])
            counter = number if number is not None else counter + 1
            cue = (line[2], *found)
            first = len(seen) + 1
        seen.append(line)
    if cue is not None:
        yield Cue(cue[0], seen[-1][1] if len(seen) > first else cue[0], *cue[1:])


def _counter(source: str, before: list[Line], last: int) -> int | None:
    """The number of a cue, if the line before its times is one: behind an empty line, or the next in the count."""
    if not before:
        return None
    start, end, _ = before[-1]
    text = source[start:end].strip("\ufeff \t")
    if not text.isdecimal() or len(text) > 9:
        return None
    alone = len(before) == 1 or not source[before[-2][0] : before[-2][1]].strip()
    return int(text) if alone or int(text) == last + 1 else None
