"""WebVTT captions: voices and names become speakers; times, settings, ids, tags, notes and styles stay.

Source: https://www.w3.org/TR/webvtt1/ (file structure, cue text tokens).
"""

import re
from collections.abc import Iterator

from compressor.errors import InputError
from compressor.formats import captions
from compressor.formats.captions import lines, times
from compressor.formats.cue_text import Cue
from compressor.transcript import Transcript

HEAD = re.compile(r"\ufeff?WEBVTT(?=[ \t\r\n]|\Z)")
"""The head of every WebVTT file."""

# What lies between cues; a cue may have such an id, and then its times follow.
_BLOCK = re.compile(r"(?:NOTE|STYLE|REGION)(?=[ \t\r\n]|\Z)")
_CUE = re.compile(r"[ \t]*(?:\d+:)?\d{1,2}:\d{2}[.,]\d{1,3}[ \t]*-->")


def read(source: str) -> Transcript:
    """Read WebVTT captions: a turn for what one speaker says in consecutive cues.

    The speaker is the one of the voice tag (`<v Marta Quill>`); in a file without voice tags a name with a colon, which
    holds until the next one. A cue of several voices is as many turns. Turns without a name have the role `none`.

    Raises:
        InputError: The source is no string, or does not begin with WEBVTT.
    """
    if not isinstance(source, str):
        raise InputError(f"the captions are {type(source).__name__}; allowed: str.")
    if not HEAD.match(source):
        raise InputError(
            f"no WebVTT: the file begins with {source[:20]!r}; allowed: a first line that begins with WEBVTT."
        )
    return captions.read(source, _cues(source), "vtt")


def write(transcript: Transcript) -> str:
    """The captions that were read, with the texts of the turns.

    Raises:
        InputError: A turn holds what was not read.
    """
    return captions.write(transcript, read)


def _cues(source: str) -> Iterator[Cue]:
    cue: tuple[int, float, float] | None = None  # the open cue: where its text begins, and its times
    end = 0
    passed_over = False  # inside a note, a style sheet or a region
    after_blank = True
    for line in lines(source):
        start, stop, following = line
        found = times(source, line)
        if cue is not None and (stop == start or found):
            yield Cue(cue[0], end, *cue[1:])
            cue = None
        if found and not passed_over:
            cue = (following, *found)
            end = following
        elif cue is not None:
            end = stop
        if stop == start:
            passed_over, after_blank = False, True
            continue
        if after_blank and _BLOCK.match(source, start, stop):
            passed_over = not _CUE.match(source, following)
        after_blank = False
    if cue is not None:
        yield Cue(cue[0], end, *cue[1:])
