"""What was written has to be read as the same turns again: a text that would not keeps all its words."""

import logging
from collections.abc import Callable

from compressor.transcript import Transcript

log = logging.getLogger(__name__)

_ATTEMPTS = 20
"""Turns that get their words back one by one before all of them do."""


def write_readable(
    transcript: Transcript,
    write: Callable[[Transcript], str],
    read: Callable[[str], Transcript],
    original: Callable[[Transcript, int], Transcript],
) -> str:
    """Write a transcript so that reading it gives the same speakers with the same texts.

    Deleting words may move a name, a dash or a date to the head of a line, where it would begin a turn of its own. Such a
    turn is written with all its words.

    Args:
        transcript: The turns after a change.
        write: Writes them.
        read: Reads what was written.
        original: The transcript with one of its turns as it was read.
    """
    changed = {index for index, turn in enumerate(transcript) if turn.text != turn.extra.get("source", turn.text)}
    for _ in range(_ATTEMPTS):
        written = write(transcript)
        wrong = _first_difference(transcript, read(written))
        if wrong is None:
            return written
        near = min(changed, key=lambda index: (abs(index - wrong), index), default=None)
        if near is None:
            return written
        log.warning("turn %d keeps all its words: without some of them another turn would begin in it", near)
        transcript = original(transcript, near)
        changed.remove(near)
    for index in changed:
        transcript = original(transcript, index)
    return write(transcript)


def _first_difference(expected: Transcript, found: Transcript) -> int | None:
    """The number of the first turn that is not found again; None if all are."""
    for index, (one, other) in enumerate(zip(expected, found, strict=False)):
        if (one.role, one.speaker, one.text.split()) != (other.role, other.speaker, other.text.split()):
            return index
    return None if len(expected) == len(found) else max(min(len(expected), len(found)), 1) - 1
