"""New messages on their way into a session: copied, and cut at every level."""

import json
from collections.abc import Sequence
from typing import Any

from compressor.errors import InputError
from compressor.formats import dump
from compressor.policy import Policy
from compressor.scoring import Scorer, checked
from compressor.session.levels import Cuts, cut, view_of
from compressor.tokens import TokenCounter
from compressor.transcript import Transcript, Turn
from compressor.words import Word, segment


def cut_all(
    turns: Sequence[Turn], before: Turn | None, first: int, scorer: Scorer, policy: Policy, counter: TokenCounter
) -> list[Cuts]:
    """Turns at every level, from one call of the scorer.

    Args:
        turns: The new turns.
        before: The turn before them.
        first: The number of the first.
    Raises:
        ScorerError: The scorer breaks its protocol.
        PolicyError: A rule of the caller's or the token counter fails; names the turn.
    """
    words = [segment(Transcript((turn,), "messages")) for turn in turns]
    own: list[Sequence[Word]] = list(words)
    scores = checked(scorer.name, scorer.score(turns, own), own)
    previous = [before, *turns]
    return [
        cut(
            view_of(turn, places, scored, scorer.thresholds(turn), earlier),
            places,
            scored,
            policy,
            counter,
            number=number,
        )
        for number, (turn, places, scored, earlier) in enumerate(
            zip(turns, words, scores, previous, strict=False), first
        )
    ]


def copied(message: Any, number: int) -> dict[str, Any]:
    """A message as JSON has it, all new.

    Raises:
        InputError: It is no dict, or holds what JSON cannot.
    """
    if not isinstance(message, dict):
        kind = "None" if message is None else type(message).__name__
        raise InputError(f"turn {number} is {kind}; allowed: a message object with role and content.")
    try:
        value: dict[str, Any] = json.loads(dump(message))
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(f"turn {number} holds what JSON cannot: {error}; allowed: plain values.") from error
    return value
