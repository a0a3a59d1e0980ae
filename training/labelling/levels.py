"""Labels from texts or marks that give one level: what the other must be, and what of it nobody said."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Literal

from training.labelling.alignment import Placement, place, place_nested
from training.labelling.answers import MOST_LOST
from training.labelling.errors import LabelError
from training.labelling.opinion import Opinion
from training.labelling.quality import Quality, total
from training.labelling.records import Cut, Labelled, Mask, Range, Raw, is_fixed, whole

Level = Literal["light", "tight"]
LEVELS: tuple[Level, Level] = ("light", "tight")


def one_level(keep: Mask, level: Level, guess: Cut) -> Cut:
    """The cut of a turn of which one level is known.

    What `light` deletes, `tight` deletes too, and what `tight` keeps, `light` keeps; of the rest the model's guess is
    taken and listed as unsure.
    """
    if level == "light":
        return Cut.of(keep, keep & guess.tight, known_tight=~keep)
    return Cut.of(keep | guess.light, keep, known_light=keep)


def labelled(raw: Raw, cuts: Sequence[Cut], opinion: Opinion, origin: str, quality: Quality | None = None) -> Labelled:
    """A record from cuts that somebody made; names, quotes and intents are those of the model and the rules."""
    fixed = (whole(turn) if is_fixed(turn) else cut for turn, cut in zip(raw.transcript, cuts, strict=True))
    return Labelled(raw, tuple(fixed), opinion.entities, opinion.quotes, opinion.intents, origin, quality)


def from_texts(raw: Raw, texts: Sequence[Sequence[str]], level: Level, opinion: Opinion, origin: str) -> Labelled:
    """A record from shortened texts.

    Args:
        texts: The turns of one shortened version, of the given level; or of two, `light` and `tight`. A version with
            another number of turns is aligned over the whole conversation.
    Raises:
        LabelError: The texts were rewritten rather than shortened, or are too long to align; names the record.
    """
    try:
        cuts, quality = _cuts(raw, texts, level, opinion)
    except LabelError as error:
        raise LabelError(f"{raw.id} ({raw.where}): {error}") from error
    if quality.lost > MOST_LOST:
        raise LabelError(
            f"{raw.id} ({raw.where}): {quality.lost:.0%} of the shortened text's words cannot be placed in the original; "
            f"allowed: {MOST_LOST:.0%}. It was rewritten, or belongs to another original."
        )
    return labelled(raw, cuts, opinion, origin, quality)


def _cuts(raw: Raw, texts: Sequence[Sequence[str]], level: Level, opinion: Opinion) -> tuple[list[Cut], Quality]:
    count = len(raw.transcript)
    if len(texts) == 2 and all(len(text) == count for text in texts):
        found = [
            place_nested(turn.text, raw.words(number), texts[0][number], texts[1][number])
            for number, turn in enumerate(raw.transcript)
        ]
        return [Cut.of(light, tight) for light, tight, _ in found], total(quality for _, _, quality in found)
    placed = [_placed(raw, text) for text in texts]
    quality = total(one.quality for turns in placed for one in turns)
    if len(placed) == 2:
        return [Cut.of(light.keep, tight.keep) for light, tight in zip(*placed, strict=True)], quality
    return [one_level(one.keep, level, guess) for one, guess in zip(placed[0], opinion.cuts, strict=True)], quality


def _placed(raw: Raw, texts: Sequence[str]) -> list[Placement]:
    if len(texts) == len(raw.transcript):
        return [
            place(turn.text, raw.words(n), text)
            for n, (turn, text) in enumerate(zip(raw.transcript, texts, strict=True))
        ]
    text, edges = "", [0]
    words: list[Range] = []
    for number, turn in enumerate(raw.transcript):
        words.extend((len(text) + start, len(text) + end) for start, end in raw.words(number))
        edges.append(len(words))
        text += turn.text + "\n"
    whole_text = place(text, words, "\n".join(texts))
    parts = [whole_text.keep[start:end] for start, end in pairwise(edges)]
    return [Placement(keep, whole_text.quality if not number else Quality()) for number, keep in enumerate(parts)]
