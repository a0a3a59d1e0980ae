"""Which turns a step lowers, and how far: oldest and least valuable first, until a target is met."""

import heapq
from collections.abc import Iterable, Sequence

from compressor.session.levels import Cuts, Level

NEWEST = 5.0
"""A word of the newest turn weighs so many times one of the oldest."""

USER = 1.5
"""A word of a user weighs so many times one of anybody else."""


def lower(
    candidates: Iterable[int], cuts: Sequence[Cuts], levels: Sequence[Level], saving: int
) -> tuple[dict[int, Level], int]:
    """Choose the turns to lower.

    Each move takes a turn to its next level. The moves that lose the least come first: the score mass that goes for each
    token saved, times the age and the role of the turn. A turn's next level is looked at once its last move is made.

    Args:
        candidates: The numbers of the turns that may move.
        cuts, levels: Every turn, and where it stands.
        saving: Tokens to save.
    Returns:
        The new level of each turn that moves, and the tokens saved: less than asked if every turn reached its floor.
    """
    moves: list[tuple[float, int, Level]] = []
    new: dict[int, Level] = {}

    def offer(number: int, level: Level) -> None:
        below = cuts[number].next_below(level)
        if below is not None:
            heapq.heappush(moves, (_loss(cuts[number], level, below, (number + 1) / len(cuts)), number, below))

    for number in candidates:
        offer(number, levels[number])
    saved = 0
    while moves and saved < saving:
        _, number, level = heapq.heappop(moves)
        saved += cuts[number].tokens[new.get(number, levels[number])] - cuts[number].tokens[level]
        new[number] = level
        offer(number, level)
    return new, saved


def _loss(cuts: Cuts, level: Level, below: Level, place: float) -> float:
    """What a move loses, for each token that it saves; `place` is 0 for the oldest turn and 1 for the newest."""
    lost = (cuts.mass[level] - cuts.mass[below]) / (cuts.tokens[level] - cuts.tokens[below])
    age = 1 + (NEWEST - 1) * place
    return lost * age * (USER if cuts.turn.role == "user" else 1.0)


def settle(cuts: Cuts, *, keep_ratio: float | None, preset: str | None) -> Level:
    """The level of a turn for good, where there is no budget for the whole conversation."""
    if keep_ratio is not None:
        return cuts.within(keep_ratio)
    level = Level.TIGHT if preset == "tight" else Level.LIGHT
    return min(level, cuts.floor)
