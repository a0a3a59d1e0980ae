"""Pleasantries: sentences that greet, thank, apologise or say goodbye, and carry nothing else."""

import re
from collections.abc import Sequence
from functools import lru_cache

from compressor.protection.lexicons import LANGUAGES, expression, fold, lexicon

LONGEST = 200
"""A sentence of more characters than this says something."""

_MARKS = re.compile(r"(?:[^\w]|_)*")


def is_pleasantry(sentence: str, *, acknowledgements: bool = True) -> bool:
    """Whether a sentence, or a turn, is nothing but pleasantries.

    Args:
        sentence: The text, end marks and emoji included.
        acknowledgements: Whether `okay`, `great` and 收到 count. They may be the answer to a question.

    >>> is_pleasantry("Thank you so much, have a lovely day!")
    True
    >>> is_pleasantry("Thank you, but not today.")
    False
    """
    names = ("hits", "acknowledgements") if acknowledgements else ("hits",)
    return _consists_of(sentence, names)


def is_tag(sentence: str) -> bool:
    """Whether a sentence is a tag or a filler in the form of a question: `right?`, `you know?`, 对吧？"""
    return _consists_of(sentence, ("tags",), most=1)


def _consists_of(sentence: str, names: Sequence[str], most: int = LONGEST) -> bool:
    if len(sentence) > LONGEST:
        return False
    sentence = fold(sentence)
    phrases = _phrases(tuple(names))
    at = found = 0
    while True:
        marks = _MARKS.match(sentence, at)
        at = marks.end() if marks else at
        if at == len(sentence):
            return 0 < found <= most
        phrase = phrases.match(sentence, at)
        if phrase is None or phrase.end() == at:
            return False
        at, found = phrase.end(), found + 1


@lru_cache(maxsize=8)
def _phrases(names: tuple[str, ...]) -> "re.Pattern[str]":
    parts = [
        expression(lang, [entry for name in names for entry in lexicon(lang)["pleasantries"][name]])
        for lang in LANGUAGES
    ]
    return re.compile("|".join(parts))
