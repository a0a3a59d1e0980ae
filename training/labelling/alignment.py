"""Place a shorter text in its source, though somebody changed, added or moved words on the way.

What the source does not hold falls away. Of all ways to place the rest the one with the most words is taken (numbers
before words, words before marks), and of those the one in the fewest runs (`training.labels.align`). The result is a
choice of the source's own words.
"""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from compressor.words import has_unspaced, is_mark, segment_text
from training.labelling.errors import LabelError
from training.labelling.quality import Quality
from training.labelling.records import Mask, Range
from training.labels import AlignmentError, align

MOST_CELLS = 30_000_000
"""Words of the source times words of the shorter text; more would take minutes and gigabytes."""

WORD = 3
"""Marks that a common word weighs as much as; a number weighs one more."""

_QUOTES = str.maketrans("‘’‚“”„", "'''\"\"\"")


@dataclass(frozen=True, slots=True)
class Placement:
    """Which words of a source a shorter text keeps, and how well it fitted. Shape of `keep`: (n_words,)."""

    keep: Mask
    quality: Quality


def place(text: str, words: Sequence[Range], answer: str) -> Placement:
    """Find the words of a text that an edited version of it kept.

    Words are compared without case, width and the style of quotation marks; scripts without spaces by characters, of
    which a word needs half. A changed word that contains a word of the source, or is contained in one, at the same
    place (`cancel` for `cancelled`) keeps the source's.

    Raises:
        LabelError: The texts are too long to compare.
    """
    source, owner = _units(text, words)
    wanted, _ = _units(answer, segment_text(answer))
    if len(source) * len(wanted) > MOST_CELLS:
        raise LabelError(
            f"{len(source)} words against {len(wanted)} are too many to align; allowed: a product of "
            f"{MOST_CELLS:,}. Split the turn."
        )
    kept = list(range(len(wanted)))
    try:
        places = align(source, wanted)
    except AlignmentError:
        source, wanted = [list(map(_fold, units)) for units in (source, wanted)]
        kept = _common(source, wanted)
        places = align(source, [wanted[number] for number in kept])
    known = set(source)
    added = sum(unit not in known for unit in wanted)
    size = np.bincount(owner, minlength=len(words))
    hits = np.bincount([owner[at] for at in [*places, *_changed(source, wanted, kept, places)]], minlength=len(words))
    keep = np.asarray((hits * 2 >= size) & (hits > 0), np.bool_)
    return Placement(keep, Quality(len(source), len(wanted), added, len(places)))


def place_nested(text: str, words: Sequence[Range], light: str, tight: str) -> tuple[Mask, Mask, Quality]:
    """Place two edits of a text, the second inside the first wherever it fits there.

    Where `tight` holds a word of the source that `light` lost (a `not`, say), both keep it.

    Returns:
        What each keeps, `tight` never more than `light`, and the counts of both.
    """
    first = place(text, words, light)
    inner = np.flatnonzero(first.keep)
    second = place(text, [words[number] for number in inner.tolist()], tight)
    if second.quality.placed == second.quality.answer:
        keep = np.zeros(len(words), np.bool_)
        keep[inner[second.keep]] = True
        counts = Quality(first.quality.source, second.quality.answer, 0, second.quality.placed)
    else:
        outer = place(text, words, tight)
        keep, counts = outer.keep, outer.quality
    both = Quality(
        first.quality.source + counts.source,
        first.quality.answer + counts.answer,
        first.quality.added + counts.added,
        first.quality.placed + counts.placed,
    )
    return first.keep | keep, keep, both


def _units(text: str, words: Sequence[Range]) -> tuple[list[str], list[int]]:
    """What is compared, and the word that each belongs to: words, or characters of marks and of scripts without spaces.

    Two marks that come to stand next to each other may be one word in the shorter text.
    """
    units: list[str] = []
    owner: list[int] = []
    for number, (start, end) in enumerate(words):
        word = text[start:end]
        parts = list(word) if has_unspaced(word) or is_mark(word) else [word]
        units.extend(parts)
        owner.extend([number] * len(parts))
    return units, owner


def _fold(word: str) -> str:
    return unicodedata.normalize("NFKC", word.translate(_QUOTES)).casefold()


def _common(source: Sequence[str], wanted: Sequence[str]) -> list[int]:
    """The items of `wanted` in a longest common subsequence, where words count more than marks, and numbers most.

    Source: the row recurrence of Wagner and Fischer (1974); each row in one pass, as its values never fall.
    """
    ids: dict[str, int] = {}
    items = np.array([ids.setdefault(unit, len(ids)) for unit in source], np.int64)
    table = np.zeros((len(wanted) + 1, len(source) + 1), np.int32)
    for row, unit in enumerate(wanted, 1):
        gain = 1 if is_mark(unit) else WORD + any(map(str.isdigit, unit))
        diagonal = table[row - 1, :-1] + gain * (items == ids.get(unit, -1))
        table[row, 1:] = np.maximum.accumulate(np.maximum(table[row - 1, 1:], diagonal))
    found: list[int] = []
    row, column = len(wanted), len(source)
    while row and column:
        if table[row, column] == table[row - 1, column]:
            row -= 1
        elif table[row, column] == table[row, column - 1]:
            column -= 1
        else:
            row, column = row - 1, column - 1
            found.append(row)
    return found[::-1]


def _changed(source: Sequence[str], wanted: Sequence[str], kept: Sequence[int], places: Sequence[int]) -> list[int]:
    """The words of the source that a changed word stands for, between the same neighbours."""
    found: list[int] = []
    edges = zip([-1, *kept], [*kept, len(wanted)], [-1, *places], [*places, len(source)], strict=True)
    for before, after, left, right in edges:
        free = left + 1
        for number in range(before + 1, after):
            for at in range(free, right):
                if _alike(source[at], wanted[number]):
                    found.append(at)
                    free = at + 1
                    break
    return found


def _alike(one: str, other: str) -> bool:
    shorter, longer = sorted((one, other), key=len)
    return len(shorter) > 1 and any(char.isalnum() for char in shorter) and shorter in longer
