"""Conditions and hinges: what holds only if, unless, because, although, or instead of something else."""

import re
from collections.abc import Iterable
from functools import lru_cache

from compressor.protection.lexicons import expression, find, fold, lexicon
from compressor.protection.view import View
from compressor.structure import Range

_ENDS_ASKING = re.compile(r"[^.!?\n]{0,400}[?]")


def conditions(view: View) -> Iterable[Range]:
    """Words that open a condition, a reason, a contrast or a choice, in English and Chinese.

    `when` and `once` count only where they open a clause outside a question; `since`, `as` and `while` mean too many
    other things and never count by themselves.
    """
    yield from find(view.text, "conditions")
    for match in _openers().finditer(fold(view.text)):
        if _ENDS_ASKING.match(view.text, match.end()) is None:
            yield match.span()


@lru_cache(maxsize=1)
def _openers() -> "re.Pattern[str]":
    return re.compile(expression("en", lexicon("en")["conditions"]["openers"]))
