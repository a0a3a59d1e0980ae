"""Which messages are left out when even the lowest levels exceed a hard limit, so that the rest stays a valid conversation.

Messages go in units: one message, or an assistant's tool calls with all their results. A unit goes where its absence
breaks no alternation of roles that was there before, and leaves a user's message first. Elsewhere one word of it stays.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from compressor.session.levels import Cuts, Level
from compressor.session.protocol import Wire

Unit = tuple[int, ...]
"""The numbers of the messages that go together, in order."""


@dataclass(slots=True)
class Omission:
    """A plan in the making, over the messages that are still sent.

    Args:
        present: Their numbers, in order.
        cuts, wires, levels: Every turn, by number.
        free: The numbers of the turns that may be touched.
        new: The new level of each turn that moves; added to.
        saved: The tokens that these moves save.
        gone: The turns that are left out altogether.
    """

    present: Sequence[int]
    cuts: Sequence[Cuts]
    wires: Sequence[Wire]
    levels: Sequence[Level]
    free: range
    new: dict[int, Level]
    saved: int
    gone: set[int] = field(default_factory=set)
    _units: list[Unit] = field(default_factory=list)
    _before: list[int] = field(default_factory=list)
    _after: list[int] = field(default_factory=list)
    _wanted: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._units = list(units(self.present, self.wires))
        count = len(self._units)
        self._before, self._after = list(range(-1, count - 1)), list(range(1, count + 1))
        self._wanted = {place for place, unit in enumerate(self._units) if self._level(unit[0]) == Level.OMITTED}

    def run(self, saving: float, *, pins: bool) -> None:
        """Omit units, the oldest first, until so many tokens are saved.

        Args:
            saving: Tokens, those included that were saved before.
            pins: Whether units that hold a pinned turn go, or those that hold none.
        """
        for place, unit in enumerate(self._units):
            if self.saved >= saving:
                return
            if place in self._wanted or not all(number in self.free for number in unit):
                continue
            held = [self.cuts[number].pinned for number in unit]
            if self.wires[unit[0]].side != "system" and any(held) == pins:
                self._omit(place)

    def _omit(self, place: int) -> None:
        unit = self._units[place]
        if len(unit) == 1 and not self.cuts[unit[0]].fixed:
            if not self.cuts[unit[0]].turn.text.strip():
                return  # nothing to save
            self._lower(unit[0])
        self._wanted.add(place)
        self._collapse(place)

    def _lower(self, number: int) -> None:
        """One word stays of a message, if that saves anything."""
        tokens = self.cuts[number].tokens
        self.saved += tokens[self._level(number)] - tokens[Level.OMITTED]
        self.new[number] = Level.OMITTED

    def _remove(self, place: int) -> None:
        before, after = self._before[place], self._after[place]
        if before >= 0:
            self._after[before] = after
        if after < len(self._units):
            self._before[after] = before
        for number in self._units[place]:
            self.saved += self.cuts[number].tokens[self._level(number)]
            self.new[number] = Level.OMITTED
            self.gone.add(number)

    def _collapse(self, place: int) -> None:
        """Leave out the run of omitted units around one of them, or all of the run but one message that must part others."""
        run = [place]
        while (before := self._before[run[0]]) >= 0 and self._removable(before):
            run.insert(0, before)
        while (after := self._after[run[-1]]) < len(self._units) and self._removable(after):
            run.append(after)
        if not self._removable(place):
            return
        left, right = self._before[run[0]], self._after[run[-1]]
        if self._joins(left, run[0], run[-1], right):
            kept = len(run)
        else:
            kept = next((at for at, one in enumerate(run) if self._parts(left, run, at, one, right)), -1)
        if kept >= 0:
            for at, one in enumerate(run):
                if at != kept:
                    self._remove(one)

    def _parts(self, left: int, run: Sequence[int], at: int, one: int, right: int) -> bool:
        """Whether the rest of a run may go if one message of it stays."""
        if len(self._units[one]) > 1 or len(run) < 2 or self.cuts[self._units[one][0]].fixed:
            return False
        return (at == 0 or self._joins(left, run[0], run[at - 1], one)) and (
            at == len(run) - 1 or self._joins(one, run[at + 1], run[-1], right)
        )

    def _removable(self, place: int) -> bool:
        unit = self._units[place]
        if place not in self._wanted or not all(self.wires[number].bare for number in unit):
            return False
        return len(unit) > 1 or self.wires[unit[0]].plain

    def _joins(self, left: int, first: int, last: int, right: int) -> bool:
        """Whether units `first` to `last` may go from between `left` and `right` without breaking what was in order."""
        before, after = self._side(left, self._before, -1), self._side(right, self._after, 0)
        begins = self.wires[self._units[first][0]].side
        if after is None:
            return False  # what is said next would meet what was said before
        if before is None:
            return after in ("user", begins)
        ends = self.wires[self._units[last][-1]].side
        return before != after or before == begins == ends

    def _side(self, place: int, step: Sequence[int], edge: int) -> str | None:
        """The side of the nearest unit that is no system message, from one place on in one direction."""
        while 0 <= place < len(self._units):
            side = self.wires[self._units[place][edge]].side
            if side != "system":
                return side
            place = step[place]
        return None

    def _level(self, number: int) -> Level:
        return self.new.get(number, self.levels[number])


def units(present: Iterable[int], wires: Sequence[Wire]) -> Iterator[Unit]:
    """The messages in units: tool calls with their results, every other message alone."""
    unit: list[int] = []
    for number in present:
        if unit and not (wires[number].answers and wires[unit[0]].calls):
            yield tuple(unit)
            unit = []
        unit.append(number)
    if unit:
        yield tuple(unit)


def ranges(numbers: Iterable[int]) -> str:
    """Numbers in order as `2-5, 9`."""
    found: list[list[int]] = []
    for number in numbers:
        if found and number == found[-1][1] + 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in found)


def note(omitted: Mapping[int, Cuts]) -> str:
    """One line that lists the omitted turns; empty where there are none. Turns count from 0."""
    if not omitted:
        return ""
    pinned = sum(cuts.pinned for cuts in omitted.values())
    asked = f"; {pinned} of them are requests, questions or constraints of the user" if pinned else ""
    return f"[Left out of this conversation for its length, counted from 0: turns {ranges(sorted(omitted))}{asked}.]"
