"""How much to keep and what to protect: one frozen value, checked when it is built."""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from numbers import Integral
from typing import Any

from compressor.errors import PolicyError
from compressor.protection import RULES, Rule, View
from compressor.structure import Range
from compressor.transcript import Turn

POLICY_VERSION = "1"
"""Version of what the options below and the built-in rules do; part of every report."""

PRESETS = ("light", "tight")
FLOORS = ("sure", "masks")
EMPTIED = ("auto", "word", "empty", "drop")

Extra = str | re.Pattern[str] | Rule


@dataclass(frozen=True, kw_only=True)
class Policy:
    """What a compression may do.

    Args:
        preset: `light` keeps the words that a careful editor keeps, `tight` those of a telegram. Default `light`, unless
            a budget is given.
        keep_ratio: Share of the source's tokens to keep, 0 to 1.
        max_tokens: Most tokens of the result, 0 or more. At most one of preset, keep_ratio and max_tokens is given.
        keep_last: How many turns at the end stay verbatim. Default 4 in chats of a user and an assistant, else 0.
        also_protect: Further rules: a function from a `View` to ranges of characters, a compiled regular expression of
            which every match is kept, or the name of a built-in rule (those are always on).
        release_filler: Let modals, negations, quantifiers, conditions and what they govern go where their whole
            sentence is a pure pleasantry by the model's score. The report lists each as released.
        floor: Where a budget stops. `sure`: at the protected words and those that the scorer is sure a telegram needs,
            in user turns those that a careful edit keeps. `masks`: at the protected words alone.
        emptied: What becomes of a turn of which no word is left: `word` keeps its best one, `empty` leaves an empty
            text, `drop` takes the message out where that breaks no pair of tool call and result and no alternation of
            roles, and keeps a word elsewhere. Default `auto`: `word` in messages, `empty` in other transcripts.
    Raises:
        PolicyError: A value is not allowed, or two budgets are given.
    """

    preset: str | None = None
    keep_ratio: float | None = None
    max_tokens: int | None = None
    keep_last: int | None = None
    also_protect: Iterable[Extra] | Extra = ()
    release_filler: bool = False
    floor: str = "sure"
    emptied: str = "auto"

    def __post_init__(self) -> None:
        _one_of("preset", self.preset, (None, *PRESETS))
        _one_of("floor", self.floor, FLOORS)
        _one_of("emptied", self.emptied, EMPTIED)
        if self.keep_ratio is not None:
            _number("keep_ratio", self.keep_ratio, (int, float), "a number from 0 to 1")
            if not 0 <= self.keep_ratio <= 1:
                raise PolicyError(
                    f"keep_ratio is {_shown(self.keep_ratio)}; allowed: a number from 0 to 1 (0.5 keeps half of the tokens)."
                )
        for name, value in (("max_tokens", self.max_tokens), ("keep_last", self.keep_last)):
            if value is not None:
                _number(name, value, (int,), "a whole number, 0 or more")
                if value.bit_length() > 60:
                    raise PolicyError(f"{name} has more than 18 digits; allowed: a whole number from 0 to 10**18.")
                if value < 0:
                    raise PolicyError(f"{name} is {value!r}, which is negative; allowed: a whole number, 0 or more.")
        if not isinstance(self.release_filler, bool):
            raise PolicyError(f"release_filler is {_shown(self.release_filler)}; allowed: True or False.")
        given = [name for name in ("preset", "keep_ratio", "max_tokens") if getattr(self, name) is not None]
        if len(given) > 1:
            raise PolicyError(
                f"{' and '.join(given)} are given together; choose one of preset, keep_ratio and max_tokens."
            )
        extras = self.also_protect
        if isinstance(extras, (str, re.Pattern)) or callable(extras):
            extras = (extras,)
        if not isinstance(extras, Iterable):
            raise PolicyError(
                f"also_protect is {_shown(extras)}; allowed: a rule's name, a compiled pattern, a function, or several."
            )
        object.__setattr__(self, "also_protect", tuple(extras))
        self.rules()

    @classmethod
    def of(cls, **options: Any) -> "Policy":
        """A policy of keyword options; an unknown one is named together with those that exist."""
        known = [field.name for field in fields(cls)]
        unknown = sorted(set(options) - set(known))
        if unknown:
            raise PolicyError(f"unknown option {', '.join(map(repr, unknown))}; the options are {', '.join(known)}.")
        return cls(**options)

    @property
    def level(self) -> str | None:
        """The preset in force, or None under a budget."""
        return (self.preset or "light") if self.keep_ratio is None and self.max_tokens is None else None

    def rules(self, turns: Sequence[Turn] = ()) -> dict[str, Rule]:
        """The built-in rules and those that this policy adds, by name.

        Args:
            turns: The turns that the rules will see, so that an error can name the number of one.
        """
        rules = dict(RULES)
        for extra in self.also_protect:  # type: ignore[union-attr]
            if isinstance(extra, str):
                _one_of("also_protect", extra, tuple(RULES))
            elif isinstance(extra, re.Pattern):
                if not isinstance(extra.pattern, str):
                    raise PolicyError(f"also_protect holds {extra!r}, which matches bytes; allowed: a pattern of str.")
                rules[_free_name(f"pattern {extra.pattern}", rules)] = _pattern_rule(extra)
            elif callable(extra):
                name = _free_name(str(getattr(extra, "__name__", type(extra).__name__)), rules)
                rules[name] = _checked_rule(name, extra, turns)
            else:
                raise PolicyError(
                    f"also_protect holds {_shown(extra)}; allowed: a rule's name, a compiled pattern or a function."
                )
        return rules


def _pattern_rule(pattern: re.Pattern[str]) -> Rule:
    def rule(view: View) -> Iterable[Range]:
        return (match.span() for match in pattern.finditer(view.text) if match.end() > match.start())

    return rule


def _checked_rule(name: str, rule: Rule, turns: Sequence[Turn]) -> Rule:
    """A rule of the caller's, whose mistakes become errors that name it and the turn."""

    def number(view: View) -> int:
        return next((index for index, turn in enumerate(turns) if turn is view.turn), 0)

    def run(view: View) -> Iterable[Range]:
        allowed = "allowed: a function from a View to pairs (start, end) of characters"
        try:
            given: Any = rule(view)
            found = given if isinstance(given, (str, bytes, type(None))) else list(given)
        except Exception as error:  # it may raise anything
            raise PolicyError(
                f"also_protect: the rule {name} raised {type(error).__name__} for turn {number(view)}: {error}; {allowed}."
            ) from error
        if not isinstance(found, list):
            raise PolicyError(
                f"also_protect: the rule {name} returned {_shown(found)} for turn {number(view)}; {allowed}."
            )
        for pair in found:
            if not isinstance(pair, (tuple, list)) or len(pair) != 2 or not all(map(_is_whole, pair)):
                raise PolicyError(
                    f"also_protect: the rule {name} returned {_shown(pair)} in its list for turn {number(view)}; {allowed}."
                )
        return [(int(start), int(end)) for start, end in found]

    return run


def _is_whole(value: object) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool) and abs(int(value)) < 1 << 60


def _free_name(name: str, taken: dict[str, Rule]) -> str:
    number, free = 2, name
    while free in taken:
        free, number = f"{name} {number}", number + 1
    return free


def _one_of(name: str, value: object, allowed: tuple[object, ...]) -> None:
    if not isinstance(value, (str, type(None))) or value not in allowed:
        raise PolicyError(f"{name} is {_shown(value)}; allowed: {', '.join(map(repr, allowed))}.")


def _number(name: str, value: object, kinds: tuple[type, ...], allowed: str) -> None:
    if isinstance(value, bool) or not isinstance(value, kinds) or (isinstance(value, float) and math.isnan(value)):
        raise PolicyError(f"{name} is {_shown(value)}; allowed: {allowed}.")


def _shown(value: object) -> str:
    """A value for an error's text."""
    try:
        shown = repr(value)
    except Exception:  # an object of the caller's may raise anything; a whole number may be too long to print
        return f"of type {type(value).__name__}, which cannot be shown"
    return shown if len(shown) <= 200 else f"{shown[:200]}…"
