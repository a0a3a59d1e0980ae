"""Modals: what must, may, can, should or will be done."""

import re
from collections.abc import Iterable
from functools import lru_cache

from compressor.protection.lexicons import find, lexicon
from compressor.protection.view import View
from compressor.structure import Range

_MONTH = re.compile("May(?![A-Za-z])")
_NAMED = re.compile(r"Will(?= (?!I |You |We |He |She |They |It |The |My |Your |There |This |That )[A-Z][a-z])")
_QUESTION = re.compile(r"[^.?!\n]{0,200}[?]")


def modals(view: View) -> Iterable[Range]:
    """Modal verbs, their contractions and negations, and phrases of duty and permission, in English and Chinese.

    The month May, a can of paint, her will, 机会 and 功能 are none.
    """
    return [span for span in find(view.text, "modals") if not _is_name(view.text, *span)]


def _is_name(text: str, start: int, end: int) -> bool:
    """Whether a capitalised May is the month, or Will a first name."""
    if _MONTH.match(text, start):
        before = text[max(0, start - 16) : start].split()
        return bool(before) and (before[-1].lower() in _before_month() or before[-1][0].isdigit())
    return _NAMED.match(text, start) is not None and _QUESTION.match(text, start) is None


@lru_cache(maxsize=1)
def _before_month() -> frozenset[str]:
    return frozenset(lexicon("en")["modals"]["before_month"].split())
