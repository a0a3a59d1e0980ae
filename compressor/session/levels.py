"""The levels of one turn, from verbatim down to one word, each cut from the original and a subsequence of the one before."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from compressor.contract import check_whole, is_subsequence
from compressor.errors import ContractError, PolicyError
from compressor.policy import Policy
from compressor.protection import View
from compressor.remembering import revises
from compressor.rendering import render
from compressor.scoring import Array, Scores
from compressor.selection import Mask, best_of_each
from compressor.session.protocol import result_texts
from compressor.tokens import Ledger, TokenCounter
from compressor.transcript import VERBATIM_ROLES, Transcript, Turn
from compressor.weighing import Weighed, weigh
from compressor.words import Word, has_unspaced, is_mark, segment

Groups = NDArray[np.int64]


class Level(IntEnum):
    """How much of a turn is left; a turn only ever moves to a higher number."""

    VERBATIM = 0
    LIGHT = 1
    TIGHT = 2
    PROTECTED = 3
    OMITTED = 4


_TURNING = ("negation", "modals", "conditions", "quantifiers")
"""Rules whose words say something else when they stand alone."""

LEVELS = tuple(level.name.lower() for level in Level)
"""The names of the levels, in order."""


@dataclass(frozen=True, slots=True)
class Cuts:
    """One turn at every level.

    Args:
        view: The turn as the rules see it, as if it stood outside the last turns.
        scores: What the scorer says of its words.
        masks: The words kept at each level; at `omitted` one word a text block, for where a message cannot be left out.
            Length: 5, shape of each: (n_words,).
        turns: The turn at each level. Length: 5.
        tokens: What each costs, tool_result blocks included. Length: 5.
        mass: The sum of the scores of the words kept at each level. Length: 5.
        pinned: Whether it is a user turn that asks, requests or sets a constraint.
        carried: The tokens of its tool_result blocks, which it costs at every level.
    """

    view: View
    scores: Scores
    masks: tuple[Mask, ...]
    turns: tuple[Turn, ...]
    tokens: tuple[int, ...]
    mass: tuple[float, ...]
    pinned: bool
    carried: int = 0

    @property
    def turn(self) -> Turn:
        """The original."""
        return self.turns[0]

    @property
    def fixed(self) -> bool:
        """Whether its text is never shortened: system turns, tool results."""
        return self.turn.role in VERBATIM_ROLES

    @property
    def floor(self) -> Level:
        """The lowest level that its text may reach without being left out."""
        return Level.VERBATIM if self.pinned or self.fixed else Level.PROTECTED

    def next_below(self, level: Level) -> Level | None:
        """The next level that costs fewer tokens, down to the floor; None where there is none."""
        lower = (Level(number) for number in range(level + 1, self.floor + 1))
        return next((one for one in lower if self.tokens[one] < self.tokens[level]), None)

    def within(self, share: float) -> Level:
        """The loosest level within a share of the tokens of its text; the floor where none is."""
        allowed = (Level(number) for number in range(self.floor + 1))
        limit = self.carried + share * (self.tokens[0] - self.carried) + 1e-6
        return next((one for one in allowed if self.tokens[one] <= limit), self.floor)


def cut(
    view: View,
    words: Sequence[Word],
    scores: Scores,
    policy: Policy,
    counter: TokenCounter,
    *,
    number: int = 0,
    limit: Mask | None = None,
) -> Cuts:
    """Cut a turn at every level.

    Args:
        view: The turn, with the one before it, and `verbatim` empty.
        words: Its words.
        number: The number of the turn, for errors.
        limit: True for words that were not deleted already: nothing else is kept below verbatim. Shape: (n_words,).
    Raises:
        PolicyError: A rule of the caller's or the token counter fails.
    """
    transcript = Transcript((view.turn,), "messages")
    everything = np.ones(len(words), np.bool_)
    carried = _carried(view.turn, counter)
    if view.turn.role in VERBATIM_ROLES or not words:
        tokens, mass = carried + Ledger.of(transcript, words, counter).total, float(scores.keep.sum())
        return Cuts(view, scores, (everything,) * 5, (view.turn,) * 5, (tokens,) * 5, (mass,) * 5, False, carried)
    try:
        weighed = weigh(transcript, words, [view], [scores], policy, counter)
    except PolicyError as error:  # the rules were shown this turn alone
        raise PolicyError(str(error).replace("for turn 0", f"for turn {number}")) from error
    # White space is chosen anew at each level; where that would break a promise, the level cuts no further.
    mask, shorter = (everything, view.turn) if limit is None else (limit, render(transcript, words, limit).turns[0])
    masks, turns = [everything], [view.turn]
    for new in _masks(view, words, scores, weighed, limit):
        rendered = render(transcript, words, new).turns[0]
        if _nested(rendered, shorter) and _whole(transcript, rendered, words, new):
            mask, shorter = new, rendered
        masks.append(mask)
        turns.append(shorter)
    protection = weighed.protection
    return Cuts(
        view=view,
        scores=scores,
        masks=tuple(masks),
        turns=tuple(turns),
        tokens=tuple(carried + tokens for tokens in _count(turns, weighed.ledger)),
        mass=tuple(float(scores.keep[mask].sum()) for mask in masks),
        pinned=view.turn.role == "user"
        and (bool(protection.asked[protection.names.index("turns")].any()) or revises(view)),
        carried=carried,
    )


def _carried(turn: Turn, counter: TokenCounter) -> int:
    """The tokens of the tool_result blocks of a turn's message."""
    message = turn.extra.get("message")
    texts = result_texts(message) if isinstance(message, Mapping) else []
    if not texts:
        return 0
    results = Transcript(tuple(Turn(role="tool", text=text) for text in texts), "messages")
    return Ledger.of(results, segment(results), counter).total


def _count(turns: Sequence[Turn], ledger: Ledger) -> tuple[int, ...]:
    known = {id(turns[0]): ledger.before[0]}
    for turn in turns:
        if id(turn) not in known:
            known[id(turn)] = ledger.after(Transcript((turn,), "messages"))[0]
    return tuple(known[id(turn)] for turn in turns)


def _masks(
    view: View, words: Sequence[Word], scores: Scores, weighed: Weighed, limit: Mask | None
) -> tuple[Mask, Mask, Mask, Mask]:
    """The words of the levels below verbatim, each within the one before."""
    choice, thresholds = weighed.choice, view.thresholds
    tight = scores.tight >= thresholds["tight"]
    light = tight | (scores.light >= thresholds["light"])
    levels = [choice.where(light), choice.where(tight), choice.where(np.zeros(len(words), np.bool_))]
    groups = blocks_of(view.turn, words)
    marks = np.array([is_mark(view.text[word.start : word.end]) for word in words], np.bool_)
    ranked = np.where(weighed.released, np.float32(0), scores.keep)
    if limit is not None:
        # Both are closed under what marks and separators need, so what they share is, too.
        levels = [mask & limit for mask in levels]
        empty = np.ones(int(groups[-1]) + 1, np.bool_)
        empty[groups[levels[-1]]] = False
        kept = _one_a_block(groups, empty, ranked, limit, marks)
        levels = [mask | kept for mask in levels]
    light, tight, last = levels
    turning = np.isin(weighed.protection.names, _TURNING)
    lone = np.where(weighed.protection.asked[turning].any(axis=0), np.float32(0), ranked)
    one = _one_a_block(groups, np.ones(int(groups[-1]) + 1, np.bool_), lone, last, marks)
    return light, tight, last, choice.close(one) & last


def _one_a_block(groups: Groups, needy: Mask, ranked: Array, allowed: Mask, marks: Mask) -> Mask:
    """The best allowed word of each needy text block, a mark only where there is nothing else."""
    chosen = best_of_each(groups, needy, ranked, allowed & ~marks)
    left = needy.copy()
    left[groups[chosen]] = False
    return chosen | best_of_each(groups, left, ranked, allowed)


def blocks_of(turn: Turn, words: Sequence[Word]) -> Groups:
    """The number of the text block of each word."""
    starts = np.array([start for start, end in turn.blocks if end > start] or [0], np.int64)
    return np.searchsorted(starts, np.array([word.start for word in words], np.int64), "right") - 1


def _nested(shorter: Turn, longer: Turn) -> bool:
    """Whether every text block is a subsequence of the same block at the level before, and none became empty."""
    pairs = zip(_texts(shorter), _texts(longer), strict=True)
    return all(is_subsequence(one, other) and bool(one.strip()) == bool(other.strip()) for one, other in pairs)


def _whole(source: Transcript, shorter: Turn, words: Sequence[Word], mask: Mask) -> bool:
    """Whether no two words were fused, where scripts with and without spaces meet."""
    if not has_unspaced(source.turns[0].text):
        return True
    try:
        check_whole(source, source.with_turns([shorter]), words, mask)
    except ContractError:
        return False
    return True


def _texts(turn: Turn) -> list[str]:
    return [turn.text[start:end] for start, end in turn.blocks] or [turn.text]


def view_of(
    turn: Turn, words: Sequence[Word], scores: Scores, thresholds: Mapping[str, float], previous: Turn | None
) -> View:
    """A turn as the rules see it outside the last turns."""
    places = tuple((word.start, word.end) for word in words)
    return View(turn, places, scores.entity, scores.pin, thresholds, previous)
