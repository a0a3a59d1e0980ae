"""Negation: the words that turn a statement around."""

from collections.abc import Iterable

from compressor.protection.lexicons import find
from compressor.protection.view import View
from compressor.structure import Range


def negation(view: View) -> Iterable[Range]:
    """Negating words and contractions in English and Chinese, and verbs that deny (`refuse`, `fail to`, 拒绝).

    Characters such as 不 and 非 count only where they negate: not in 非常, 特别 or 没问题 said by itself. English
    pleasantries (`no problem`) count, because the word that is lost with a wrong guess turns the sentence around.
    """
    return find(view.text, "negation")
