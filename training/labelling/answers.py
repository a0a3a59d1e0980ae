"""A teacher's answer: read as JSON, checked against what was asked, placed in the source."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from training.labelling.alignment import place_nested
from training.labelling.chunks import Chunk
from training.labelling.errors import AnswerError
from training.labelling.quality import Quality, total
from training.labelling.records import KINDS, Intent, Mask

MOST_LOST = 0.25
"""Share of an answer's words that may find no place in the source; beyond, it was rewritten."""
MOST_LOST_TURN, LONG_TURN = 0.5, 16
"""The same for a single turn, whose two versions have so many words together."""
MOST_OBJECTS = 50
"""Places at which an answer's object is looked for."""
SOME_WORDS = 40
"""A chunk of so many words cannot be courtesy alone."""

_DECODER = json.JSONDecoder(strict=False)


@dataclass(frozen=True, slots=True)
class Answer:
    """What a teacher says of one chunk.

    Args:
        cuts: For each piece, the words that light and tight keep.
        entities: Names that occur in the texts, as they are written.
        intents: Sentences that occur in their turn; `turn` counts in the transcript.
        quality: Of all pieces together.
        dropped: Names and sentences that occur nowhere, and were left out.
    """

    cuts: tuple[tuple[Mask, Mask], ...]
    entities: tuple[str, ...]
    intents: tuple[Intent, ...]
    quality: Quality
    dropped: int


def read_answer(content: str, chunk: Chunk) -> Answer:
    """Read an answer.

    Raises:
        AnswerError: It is prose, holds other turns than asked, deletes everything, or rewrites instead of deleting.
    """
    found = _json(content)
    edits = _edits(found, len(chunk.pieces))
    cuts: list[tuple[Mask, Mask]] = []
    qualities: list[Quality] = []
    for number, (piece, (light, tight)) in enumerate(zip(chunk.pieces, edits, strict=True)):
        keep_light, keep_tight, quality = place_nested(chunk.text(piece), _words(chunk, number), light, tight)
        if quality.answer >= LONG_TURN and quality.lost > MOST_LOST_TURN:
            raise AnswerError(
                f"turn {number} is rewritten: {quality.lost:.0%} of its words cannot be placed in the text."
            )
        cuts.append((keep_light, keep_tight))
        qualities.append(quality)
    quality = total(qualities)
    if quality.lost > MOST_LOST:
        raise AnswerError(f"the turns are rewritten: {quality.lost:.0%} of the words cannot be placed in the texts.")
    if not quality.placed and quality.source >= 2 * SOME_WORDS:
        raise AnswerError("every word of every turn is deleted; light keeps whatever a later question could depend on.")
    entities, lost_names = _entities(found.get("entities"), chunk)
    intents, lost_sentences = _intents(found.get("intents"), chunk)
    return Answer(tuple(cuts), entities, intents, quality, lost_names + lost_sentences)


def _words(chunk: Chunk, number: int) -> list[tuple[int, int]]:
    """The words of a piece, as the whole turn is cut, counted from the start of the piece."""
    piece = chunk.pieces[number]
    return [
        (start - piece.start, end - piece.start)
        for start, end in chunk.raw.words(piece.turn)
        if piece.start <= start and end <= piece.end
    ]


def _json(content: str) -> Mapping[str, Any]:
    """The object in an answer; a code fence, or what a model thinks aloud around it, does no harm."""
    excerpt = " ".join(content.split())[:80]
    reason = "it is no JSON object but prose"
    for start in islice((place for place, char in enumerate(content) if char == "{"), MOST_OBJECTS):
        try:
            found, _ = _DECODER.raw_decode(content, start)
        except (ValueError, RecursionError) as error:
            reason = f"it is no JSON object ({error})"
            continue
        if isinstance(found, dict) and isinstance(found.get("turns"), list):
            return found
        if isinstance(found, dict):
            reason = 'the object has no list "turns"'
    raise AnswerError(f"{reason}: {excerpt!r}.")


def _edits(found: Mapping[str, Any], count: int) -> list[tuple[str, str]]:
    edits: dict[int, tuple[str, str]] = {}
    for item in found["turns"]:
        if not isinstance(item, dict):
            raise AnswerError('an item of "turns" is no object.')
        number, light, tight = item.get("n"), item.get("light"), item.get("tight")
        if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number < count:
            raise AnswerError(f'a turn has the number {number!r}; allowed: 0 to {count - 1}, as "n".')
        if number in edits:
            raise AnswerError(f"turn {number} is given twice.")
        if not isinstance(light, str) or not isinstance(tight, str):
            raise AnswerError(f'turn {number} lacks "light" or "tight" as a string.')
        edits[number] = light, tight
    missing = [number for number in range(count) if number not in edits]
    if missing:
        raise AnswerError(f"{len(missing)} of {count} turns are missing, the first is {missing[0]}.")
    return [edits[number] for number in range(count)]


def _entities(found: Any, chunk: Chunk) -> tuple[tuple[str, ...], int]:
    items = found if isinstance(found, list) else []
    texts = [chunk.text(piece) for piece in chunk.pieces]
    names = dict.fromkeys(item.strip() for item in items if isinstance(item, str) and item.strip())
    real = tuple(name for name in names if any(name in text for text in texts))
    return real, len(names) - len(real)


def _intents(found: Any, chunk: Chunk) -> tuple[tuple[Intent, ...], int]:
    """The sentences that occur in their turn and do not overlap; the longer of two comes first."""
    items = [item for item in found if isinstance(item, dict)] if isinstance(found, list) else []
    real: list[Intent] = []
    taken: list[tuple[int, int, int]] = []
    for item in sorted(items, key=lambda item: -len(str(item.get("text", "")))):
        number, text, kind = item.get("n"), item.get("text"), item.get("kind")
        if type(number) is not int or not 0 <= number < len(chunk.pieces) or not isinstance(text, str):
            continue
        piece, text = chunk.pieces[number], text.strip()
        at = chunk.text(piece).find(text) if text else -1
        if at < 0 or any(turn == number and a < at + len(text) and b > at for turn, a, b in taken):
            continue
        taken.append((number, at, at + len(text)))
        real.append(Intent(piece.turn, text, kind if kind in KINDS else "request"))
    return tuple(sorted(real, key=lambda one: one.turn)), len(items) - len(real)
