"""Conditions and hinges: what holds only if, unless, because, although, or instead of something else."""

from collections.abc import Iterable

from compressor.protection.lexicons import find
from compressor.protection.view import View
from compressor.structure import Range


def conditions(view: View) -> Iterable[Range]:
    """Words that open a condition, a reason, a contrast or a choice, in English and Chinese.

    `when` and `once` count only where they open a clause outside a question; `since`, `as` and `while` mean too many
    other things and never count by themselves.
    """
    return find(view.text, "conditions")
