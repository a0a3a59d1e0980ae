"""Whether words survive: found exactly, in order, and not inside a longer word."""

import re
from collections.abc import Iterator, Sequence

from compressor.words import has_unspaced

_SPACE = re.compile(r"\s+")


def flat(text: str) -> str:
    """The text with each stretch of white space as one space: a deletion may join two lines, and changes no word."""
    return _SPACE.sub(" ", text).strip()


def occurrences(text: str, needle: str, whole: bool = True) -> Iterator[int]:
    """Where a string stands in a text, from left to right, none overlapping the one before.

    Args:
        text, needle: Both made `flat`.
        whole: Only where neither end lies inside a word: `can` is not in `can't`, `5` not in `3.5`.
    """
    at = text.find(needle) if needle else -1
    while at >= 0:
        end = at + len(needle)
        if whole and (inside_word(text, at) or inside_word(text, end)):
            at = text.find(needle, at + 1)
        else:
            yield at
            at = text.find(needle, end)


def count(text: str, needle: str, whole: bool = True) -> int:
    """How often a string stands in a text; see `occurrences`."""
    return sum(1 for _ in occurrences(text, needle, whole))


def survives(need: str, source: str, output: str) -> bool:
    """Whether a string of a source turn is in an output, word for word.

    Where even the source holds it only inside longer words (`n't`), it may be so in the output as well.
    """
    need = flat(need)
    whole = any(True for _ in occurrences(flat(source), need))
    return any(True for _ in occurrences(flat(output), need, whole))


def lost_in_order(runs: Sequence[str], output: str) -> int:
    """How many strings are not found in an output, each sought behind the one found before. All are `flat`."""
    at, lost = 0, 0
    for run in runs:
        found = next((place for place in occurrences(output, run) if place >= at), None)
        if found is None:
            lost += 1
        else:
            at = found + len(run)
    return lost


def inside_word(text: str, cut: int) -> bool:
    """Whether a cut falls inside a word, or a number, that is written with spaces around it."""
    if not 0 < cut < len(text):
        return False
    left, right = text[cut - 1], text[cut]
    if left.isalnum() and right.isalnum():
        return not (has_unspaced(left) or has_unspaced(right))
    if right in "'’":  # `can` in `can't`, but not `Ann` in `Ann's`
        return text[cut + 1 : cut + 2].lower() == "t" and not text[cut + 2 : cut + 3].isalnum() and left in "nN"
    if right in ".,:" and left.isdigit():
        return text[cut + 1 : cut + 2].isdigit()
    return left in ".,:" and right.isdigit() and text[max(cut - 2, 0) : cut - 1].isdigit()
