"""Quantifiers and qualifiers: how much, how many, how often, how sure, by when."""

from collections.abc import Iterable

from compressor.protection.lexicons import find
from compressor.protection.view import View
from compressor.structure import Range


def quantifiers(view: View) -> Iterable[Range]:
    """Quantifiers, bounds, comparatives, hedges of degree and adverbs of time, in English and Chinese.

    A phrase such as `no more than` is one range. `about`, `over` and `just` count only before an amount.
    """
    return find(view.text, "quantifiers")
