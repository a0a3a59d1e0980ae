"""Protection: which words may never be deleted, and which rules say so.

A rule is a plain function from a `View` of one turn to the ranges of characters that it protects; every word that such
a range touches is kept. The table `RULES` names them all. A policy can add rules, never drop one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from compressor.protection.code import code
from compressor.protection.conditions import conditions
from compressor.protection.entities import entities
from compressor.protection.language import language
from compressor.protection.modals import modals
from compressor.protection.negation import negation
from compressor.protection.numbers import numbers
from compressor.protection.quantifiers import quantifiers
from compressor.protection.quotes import quotes
from compressor.protection.scope import scope
from compressor.protection.turns import turns
from compressor.protection.view import Rule, View, views_of, with_slices

RULES: Mapping[str, Rule] = MappingProxyType(
    {
        "entities": entities,
        "numbers": numbers,
        "modals": modals,
        "negation": negation,
        "quantifiers": quantifiers,
        "conditions": conditions,
        "quotes": quotes,
        "code": code,
        "scope": scope,
        "turns": turns,
        "language": language,
    }
)
"""Every rule by its name: the name in reports, in the documentation and in `Policy(also_protect=...)`."""


@dataclass(frozen=True, slots=True)
class Protection:
    """Which rules asked for which word.

    Args:
        names: The names of the rules that were run.
        asked: True where the rule asked for the word. Shape: (n_rules, n_words).
    """

    names: tuple[str, ...]
    asked: NDArray[np.bool_]

    @property
    def mask(self) -> NDArray[np.bool_]:
        """True where any rule asked. Shape: (n_words,)."""
        return np.asarray(self.asked.any(axis=0), np.bool_)

    def rules_of(self, word: int) -> tuple[str, ...]:
        """The names of the rules that asked for a word."""
        return tuple(name for name, asked in zip(self.names, self.asked[:, word], strict=True) if asked)


def protect(views: Sequence[View], rules: Mapping[str, Rule]) -> Protection:
    """Run every rule over every turn.

    Args:
        views: The turns of one transcript, in order.
        rules: The rules by name; `RULES` and what the policy adds.
    """
    names = tuple(rules)
    asked = np.zeros((len(names), sum(len(view.words) for view in views)), dtype=np.bool_)
    for view, own in with_slices(views):
        if view.words:
            for row, name in enumerate(names):
                for start, end in view.run(rules[name]):
                    found = view.inside(start, end)
                    asked[row, own][found.start : found.stop] = True
    return Protection(names, asked)


__all__ = ["RULES", "Protection", "Rule", "View", "protect", "views_of", "with_slices"]
