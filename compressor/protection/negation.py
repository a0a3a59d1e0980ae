"""Negation: the words that turn a statement around."""

from collections.abc import Iterable

from compressor.protection.lexicons import find
from compressor.protection.view import View
from compressor.structure import Range


def negation(view: View) -> Iterable[Range]:
    """Negating words and contractions in English and Chinese, and what makes a statement unreal.

    Verbs that deny (`refuse`, `fail to`, `rule out`, 拒绝), near misses (`came close to`, 差点), and beliefs, hearsay and
    falsity (`I thought`, `supposedly`, `myth`, 以为, 据说) count too. Characters such as 不 and 非 count only where they
    negate: not in 非常, 特别 or 没问题 said by itself. English pleasantries (`no problem`) count, because the word that is
    lost with a wrong guess turns the sentence around.
    """
    yield from find(view.text, "negation")
    yield from find(view.text, "attitudes")
