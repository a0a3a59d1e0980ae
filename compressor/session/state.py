"""The state of a session: its turns at their levels, and what adding messages does to it, all or nothing."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from compressor.errors import SessionError
from compressor.formats import as_messages, dump
from compressor.session.levels import Cuts, Level
from compressor.session.omission import Omission, note, ranges
from compressor.session.options import Rules
from compressor.session.protocol import Calls, Wire
from compressor.session.report import Outputs, StepReport, common
from compressor.session.steps import lower, settle
from compressor.transcript import Transcript

NOTE = -1
"""The number that stands for the system note in the keys of an output."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What adding messages does: the new levels, the turns that are left out, and the sums afterwards."""

    levels: dict[int, Level]
    gone: frozenset[int]
    total: int
    slack: int
    candidates: list[int]
    note: str
    note_tokens: int
    step: StepReport | None
    exhausted: bool


@dataclass(slots=True)
class State:
    """Every list has an entry for each turn, unless it says otherwise.

    Args:
        rules: How it shrinks.
        count: Counts the tokens of a text.
        cuts, wires, levels: The turns.
        sizes: Bytes of each message as JSON.
        present: The numbers of the turns that are not left out, in order.
        candidates: The numbers of the turns that may still be lowered, in order.
        total: Tokens of all present turns and of the note.
        slack: Tokens that lowering all candidates would save.
        calls: Tool calls so far.
        frozen: The first turns that may not change any more, under `append_only`: how many.
        exhausted: Whether a step found that what must stay exceeds the budget.
    """

    rules: Rules
    count: Callable[[str], int]
    cuts: list[Cuts] = field(default_factory=list)
    wires: list[Wire] = field(default_factory=list)
    levels: list[Level] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    present: list[int] = field(default_factory=list)
    candidates: list[int] = field(default_factory=list)
    total: int = 0
    tokens_before: int = 0
    slack: int = 0
    calls: Calls = field(default_factory=Calls)
    frozen: int = 0
    exhausted: bool = False
    note: str = ""
    note_tokens: int = 0
    steps: list[StepReport] = field(default_factory=list)
    outputs: Outputs = field(default_factory=Outputs)

    def add(self, cuts: Sequence[Cuts], wires: Sequence[Wire], calls: Calls) -> None:
        """Add turns, and take a step if the budget asks for one.

        Raises:
            SessionError: What must stay exceeds the budget, and the session is to refuse that.
        """
        first = len(self.cuts)
        self.cuts += cuts
        self.wires += wires
        self.levels += [Level.VERBATIM] * len(cuts)
        try:
            plan = self._plan(first)
        except BaseException:
            del self.cuts[first:], self.wires[first:], self.levels[first:]
            raise
        self.calls.merge(calls)
        self._commit(plan, first)

    def _plan(self, first: int) -> Plan:
        """What is to be done about the turns from `first` on, and what leaves the last turns because of them."""
        rules, policy = self.rules, self.rules.policy
        sent_tokens = self.note_tokens if self.note_tokens and self.noted else 0
        left, leaving = max(0, first - rules.keep_last), max(0, len(self.cuts) - rules.keep_last)
        movable = [
            number
            for number in range(max(left, self.frozen), leaving)
            if self.cuts[number].next_below(Level.VERBATIM) is not None
        ]
        total = self.total - self.note_tokens + sent_tokens + sum(cuts.tokens[0] for cuts in self.cuts[first:])
        if policy.max_tokens is None:
            levels = {
                number: settle(self.cuts[number], keep_ratio=policy.keep_ratio, preset=policy.preset)
                for number in movable
            }
            saved = sum(
                self.cuts[number].tokens[0] - self.cuts[number].tokens[level] for number, level in levels.items()
            )
            return Plan(levels, frozenset(), total - saved, 0, [], self.note, sent_tokens, None, False)
        candidates = self.candidates + movable
        slack = self.slack + sum(self.spare(number, Level.VERBATIM) for number in movable)
        waiting = Plan({}, frozenset(), total, slack, candidates, self.note, sent_tokens, None, self.exhausted)
        if total <= policy.max_tokens:
            return waiting
        if total - slack > policy.max_tokens:
            if rules.on_overflow == "raise":
                raise SessionError(self._overflow(total - slack))
            if rules.on_overflow == "report" and self.exhausted and slack < policy.max_tokens - rules.target:
                return waiting  # it cannot be met: earlier bytes are worth more than a few tokens
        return self._step(waiting, leaving)

    def _step(self, plan: Plan, leaving: int) -> Plan:
        """Lower turns, and omit some where that is not enough and allowed."""
        budget = self.rules.policy.max_tokens or 0
        saving = math.ceil(plan.total - self.rules.target)
        levels, saved = lower(plan.candidates, self.cuts, self.levels, saving)
        exhausted = plan.total - saved > budget
        gone: set[int] = set()
        text, tokens = plan.note, plan.note_tokens
        halfway = (self.rules.target + budget) / 2
        if plan.total - saved > halfway and self.rules.on_overflow == "omit":
            present = [*self.present, *range(len(self.sizes), len(self.cuts))]
            omission = Omission(present, self.cuts, self.wires, self.levels, range(self.frozen, leaving), levels, saved)
            for pins, limit in ((False, self.rules.target), (True, halfway)):
                if pins and plan.total - omission.saved + tokens - plan.note_tokens <= budget:
                    break  # a pinned turn is left out only for what nothing else can save
                before = -1
                while omission.saved > before and omission.saved < plan.total - limit + tokens - plan.note_tokens:
                    before = omission.saved
                    omission.run(plan.total - limit + tokens - plan.note_tokens, pins=pins)
                    text = note(self._omitted(levels))
                    tokens = self.count(text) if text and self.noted else 0
            saved, gone, exhausted = omission.saved, omission.gone, False
        candidates = [number for number in plan.candidates if self.spare(number, self._at(levels, number))]
        total = plan.total - saved + tokens - plan.note_tokens
        moved = [number for number, level in levels.items() if level > self.levels[number] or number in gone]
        step = StepReport(
            turns=len(self.cuts),
            lowered=sum(levels[number] < Level.OMITTED for number in moved),
            omitted=sum(levels[number] == Level.OMITTED > self.levels[number] for number in moved),
            first=min(moved, default=len(self.cuts)),
            tokens_before=plan.total,
            tokens_after=total,
        )
        return replace(
            plan,
            levels=levels,
            gone=frozenset(gone),
            total=total,
            slack=sum(self.spare(number, self._at(levels, number)) for number in candidates),
            candidates=candidates,
            note=text,
            note_tokens=tokens,
            step=step if moved else None,
            exhausted=exhausted,
        )

    def _commit(self, plan: Plan, first: int) -> None:
        for number, level in plan.levels.items():
            self.levels[number] = level
        self.present += range(first, len(self.cuts))
        if plan.gone:
            self.present = [number for number in self.present if number not in plan.gone]
        self.measure({*plan.levels, *range(first, len(self.cuts))} - plan.gone)
        self.tokens_before += sum(cuts.tokens[0] for cuts in self.cuts[first:])
        self.total, self.slack, self.candidates = plan.total, plan.slack, plan.candidates
        self.note, self.note_tokens, self.exhausted = plan.note, plan.note_tokens, plan.exhausted
        if plan.step is not None:
            self.steps.append(plan.step)

    def measure(self, numbers: Iterable[int]) -> None:
        """Count the bytes of some messages as they stand."""
        self.sizes += [0] * (len(self.cuts) - len(self.sizes))
        for number in numbers:
            self.sizes[number] = len(dump(self.message(number, self.levels[number])).encode())

    def message(self, number: int, level: Level) -> dict[str, Any]:
        """One message at one level, as a fresh dict."""
        return dict(as_messages(Transcript((self.cuts[number].turns[level],), "messages"))[0])

    def send(self) -> list[dict[str, Any]]:
        """The messages as they stand, noted as sent."""
        keys = [(number, int(self.levels[number])) for number in self.present]
        sizes = [self.sizes[number] for number in self.present]
        if self.note and self.noted:
            head = next((at for at, (number, _) in enumerate(keys) if self.wires[number].side != "system"), len(keys))
            keys.insert(head, (NOTE, sum(level == Level.OMITTED for level in self.levels)))
            sizes.insert(head, len(dump(_system(self.note)).encode()))
        last = self.outputs
        same = common(last.sent, keys)
        shared = 0
        if same < min(len(keys), len(last.sent)):
            old, new = self._json(last.sent[same], last.note), self._json(keys[same], self.note)
            shared = common(old, new)
        last.record(keys, sizes, self.total, same, shared)
        last.note = self.note
        if self.rules.append_only:
            self.frozen, self.candidates, self.slack = len(self.cuts), [], 0
        return [
            _system(self.note) if number == NOTE else self.message(number, self.levels[number]) for number, _ in keys
        ]

    @property
    def noted(self) -> bool:
        """Whether the messages carry the note: only if asked, and never where Anthropic's API would refuse it.

        That takes no system message among the messages, so one is added only to a conversation that has one already, or
        that holds no block of Anthropic's.
        """
        if not self.rules.note_missing:
            return False
        return any(wire.side == "system" for wire in self.wires) or not any(wire.blocks for wire in self.wires)

    def remarks(self) -> Iterator[str]:
        """What a reader of the report should know, a line each."""
        budget = self.rules.policy.max_tokens
        if budget is not None and self.total > budget:
            further = "; floor='masks' cuts further" if self.rules.policy.floor == "sure" else ""
            omit = "; on_overflow='omit' leaves turns out" if self.rules.on_overflow == "report" else ""
            yield f"budget not met: {self.total} tokens stay, max_tokens is {budget}{further}{omit}"
        if self.note:
            yield self.note

    def _json(self, key: tuple[int, int], text: str) -> bytes:
        """The bytes of a message by its key in an output; `text` is the note of that output."""
        number, level = key
        return dump(_system(text) if number == NOTE else self.message(number, Level(level))).encode()

    def _omitted(self, new: Mapping[int, Level]) -> dict[int, Cuts]:
        """The turns that are omitted already, and those of a plan."""
        return {
            number: cuts
            for number, (cuts, level) in enumerate(zip(self.cuts, self.levels, strict=True))
            if Level.OMITTED in (level, new.get(number))
        }

    def _overflow(self, needed: int) -> str:
        """Why the last turn cannot be added."""
        pinned = [number for number, cuts in enumerate(self.cuts) if cuts.pinned]
        tokens = sum(self.cuts[number].tokens[0] for number in pinned)
        whose = f", of which {tokens} are pinned turns of the user ({ranges(pinned)})" if pinned else ""
        return (
            f"turn {len(self.cuts) - 1} cannot be added: with it, what must stay needs {needed} tokens{whose}; max_tokens is "
            f"{self.rules.policy.max_tokens}. Allowed: a larger max_tokens, a smaller keep_last, or on_overflow 'report' or "
            "'omit'."
        )

    def spare(self, number: int, level: Level) -> int:
        """Tokens that lowering a turn to its floor would save."""
        cuts = self.cuts[number]
        return max(0, cuts.tokens[level] - cuts.tokens[cuts.floor]) if level < cuts.floor else 0

    def _at(self, levels: dict[int, Level], number: int) -> Level:
        return levels.get(number, self.levels[number])


def _system(text: str) -> dict[str, Any]:
    return {"role": "system", "content": text}
