"""The report of a session: its size, its levels, and how much of each output a provider's cache has seen before."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class CallReport:
    """One call of `messages()`, in bytes of `json.dumps(messages, ensure_ascii=False)` as UTF-8.

    Args:
        turns: Messages that were returned.
        tokens: Their tokens.
        bytes: Their bytes.
        prefix_stable_bytes: How many of them stand unchanged at the head of the call before; 0 for the first.
    """

    turns: int
    tokens: int
    bytes: int
    prefix_stable_bytes: int


@dataclass(frozen=True, slots=True)
class StepReport:
    """One step: when it was taken, how many turns moved, and what it saved.

    Args:
        turns: How many turns the session had.
        lowered, omitted: Turns that moved to a lower level that still holds their text; turns that were omitted.
        first: The first turn that moved: all bytes before it stayed.
        tokens_before, tokens_after: Tokens of all messages.
    """

    turns: int
    lowered: int
    omitted: int
    first: int
    tokens_before: int
    tokens_after: int


@dataclass(frozen=True, slots=True)
class SessionReport:
    """A session in numbers.

    Args:
        turns, pinned: Messages that were appended; user turns among them that ask, request or set a constraint.
        levels: How many turns stand at each level.
        tokens_before, tokens_after: Tokens of the originals, and of what `messages()` returns now; text alone.
        budget: `max_tokens`, or None.
        budget_met: Whether `tokens_after` is within the budget; True without one.
        over_budget_by: Tokens by which what must stay exceeds the budget, else 0.
        steps: Every step so far.
        calls: Every call of `messages()` so far.
        cached_turns: Turns whose scores were known from an equal turn.
        notes: What a reader should know, a line each.
        token_counter, scorer, policy_version, segmentation: What the numbers were made with.
    """

    turns: int
    pinned: int
    levels: dict[str, int]
    tokens_before: int
    tokens_after: int
    budget: int | None
    budget_met: bool
    over_budget_by: int
    steps: tuple[StepReport, ...]
    calls: tuple[CallReport, ...]
    cached_turns: int
    notes: tuple[str, ...]
    token_counter: str
    scorer: str
    policy_version: str
    segmentation: str

    @property
    def prefix_stable_bytes(self) -> int:
        """Of the last call of `messages()`; 0 before the first."""
        return self.calls[-1].prefix_stable_bytes if self.calls else 0

    @property
    def stable_share(self) -> float:
        """Share of all bytes that `messages()` returned which stood at the head of the call before, 0 to 1."""
        total = sum(call.bytes for call in self.calls)
        return sum(call.prefix_stable_bytes for call in self.calls) / total if total else 0.0

    def to_dict(self) -> dict[str, Any]:
        """The report as plain values, ready for JSON."""
        return {**asdict(self), "prefix_stable_bytes": self.prefix_stable_bytes, "stable_share": self.stable_share}


@dataclass(slots=True)
class Outputs:
    """What `messages()` returned, as far as the next call has to be compared with it.

    Args:
        sent: The output of the last call: for each message a key that tells its content.
        calls: Every call.
        note: The system note of the last call.
    """

    sent: list[tuple[int, int]] = field(default_factory=list)
    calls: list[CallReport] = field(default_factory=list)
    note: str = ""

    def record(
        self, keys: Sequence[tuple[int, int]], sizes: Sequence[int], tokens: int, same: int, shared: int
    ) -> None:
        """Note one call.

        Args:
            keys, sizes: The key and the bytes of each message.
            same: How many messages at the head are those of the last call.
            shared: Bytes that the first one that differs has in common with what stood in its place.
        """
        total = 2 + sum(sizes) + 2 * max(0, len(sizes) - 1)  # brackets, and a comma with a space between two
        if not self.calls:
            stable = 0
        elif same == len(keys) == len(self.sent):
            stable = total
        elif same == min(len(keys), len(self.sent)):  # one goes on where the other ends
            stable = 1 + sum(sizes[:same]) + 2 * max(0, same - 1)
        else:
            stable = 1 + sum(sizes[:same]) + 2 * same + shared
        self.calls.append(CallReport(len(keys), tokens, total, stable))
        self.sent = list(keys)


def common(one: Sequence[object], other: Sequence[object]) -> int:
    """How many items two sequences share at their heads."""
    count = min(len(one), len(other))
    return next((place for place in range(count) if one[place] != other[place]), count)
