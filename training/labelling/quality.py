"""How well a rewritten text could be placed in its source, and which records are the worst of a set.

Source: variation rate, matching rate, hitting rate and alignment gap of Pan et al. (2024), "LLMLingua-2: Data
Distillation for Efficient and Faithful Task-Agnostic Prompt Compression".
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Quality:
    """Counts over the turns of one record and both levels; words, or characters in scripts without spaces.

    Args:
        source: Words of the source.
        answer: Words of the shorter text.
        added: Words of the shorter text that occur nowhere in the source of their turn.
        placed: Words of the source that a word of the shorter text was placed on.
    """

    source: int = 0
    answer: int = 0
    added: int = 0
    placed: int = 0

    @property
    def variation(self) -> float:
        """Share of the shorter text's words that its source does not have. 0 to 1."""
        return self.added / self.answer if self.answer else 0.0

    @property
    def gap(self) -> float:
        """Words that the source has but that found no place in it, as a share of the source: hitting less matching."""
        return max(0, self.answer - self.added - self.placed) / self.source if self.source else 0.0

    @property
    def lost(self) -> float:
        """Share of the shorter text's words that found no place in the source. 0 to 1."""
        return max(0, self.answer - self.placed) / self.answer if self.answer else 0.0

    def to_dict(self) -> dict[str, float]:
        """Both rates, rounded."""
        return {"variation": round(self.variation, 4), "gap": round(self.gap, 4)}


def total(parts: Iterable[Quality]) -> Quality:
    """The counts of several texts together."""
    every = list(parts)
    return Quality(
        sum(one.source for one in every),
        sum(one.answer for one in every),
        sum(one.added for one in every),
        sum(one.placed for one in every),
    )


def worst(qualities: Sequence[Quality], share: float) -> dict[int, str]:
    """The records to leave out: the worst `share` by variation rate, and the worst `share` by alignment gap.

    A record with nothing wrong is never among them. The share of a small set rounds down.

    Returns:
        Why, by the number of the record.
    """
    count = int(len(qualities) * share + 1e-9)
    reasons: dict[int, str] = {}
    for name, values in (
        ("variation rate", [one.variation for one in qualities]),
        ("alignment gap", [one.gap for one in qualities]),
    ):
        order = sorted(range(len(values)), key=lambda number: (-values[number], number))
        for number in order[:count]:
            if values[number] > 0:
                reasons.setdefault(number, f"{name} {values[number]:.3f}, among the worst {share:.0%}")
    return reasons
