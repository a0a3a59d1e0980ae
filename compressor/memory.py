"""Memory: what a conversation asks, allows, names, quotes and counts, as slices of its turns beside the transcript."""

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any


@dataclass(frozen=True, slots=True)
class Slot:
    """One thing to remember: the characters `start` to `end` (excluded) of turn number `turn`, exactly.

    Args:
        kind: `question`, `request`, `constraint`, `entity`, `quote`, `number`; of what is missing `turn`, `pinned`,
            `tool_call`, `tool_result`.
        text: The slice. Of what is missing the whole text of the message, with that of its tool_result blocks in order,
            a blank line between two; `end` is its length.
        turn, start, end: Where it stands in the source.
        role: Who said it.
        current: False for a constraint that a later one replaces altogether. One of which a later one replaces a part,
            and which says more, stays current: `replaced_by` tells which one.
        replaces, replaced_by: The older and the newer constraint of such a pair, by their places in `Memory.constraints`.
        mentions: How often a name occurs; its first mention is the slot.
        detail: What a missing message held besides its text, such as the names and arguments of tool calls.
    """

    kind: str
    text: str
    turn: int
    start: int
    end: int
    role: str = ""
    current: bool = True
    replaces: int | None = None
    replaced_by: int | None = None
    mentions: int = 1
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Memory:
    """What is worth remembering of a conversation; every text is a slice of a turn, in the order of the source.

    Args:
        intents: The questions and requests of users (in meetings, of everybody).
        constraints: The sentences of users that set a limit or a condition, newest wording marked as current.
        entities: Names, each once.
        quotes: Quoted phrases with their marks.
        numbers: Numbers with their unit or what they count.
        missing: The messages that a session left out, verbatim.
    """

    intents: tuple[Slot, ...] = ()
    constraints: tuple[Slot, ...] = ()
    entities: tuple[Slot, ...] = ()
    quotes: tuple[Slot, ...] = ()
    numbers: tuple[Slot, ...] = ()
    missing: tuple[Slot, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The slots as plain values, ready for JSON; see `json_schema`."""
        return asdict(self)

    def to_markdown(self) -> str:
        """The slots as lists under headings; texts are escaped, so that none ends its line or begins markup."""
        lines: list[str] = []
        for heading, slots in zip(_HEADINGS, self._lists(), strict=True):
            if slots:
                lines += [f"## {heading}", "", *(_item(slot, slots) for slot in slots), ""]
        return "\n".join(lines)

    @staticmethod
    def json_schema() -> dict[str, Any]:
        """A JSON Schema (draft 2020-12) of `to_dict()`."""
        whole: dict[str, Any] = {"type": "integer", "minimum": 0}
        place: dict[str, Any] = {"type": ["integer", "null"], "minimum": 0}
        slot: dict[str, Any] = {
            "type": "object",
            "properties": {
                "kind": {"enum": [kind for kinds in _KINDS.values() for kind in kinds]},
                "text": {"type": "string"},
                "turn": whole,
                "start": whole,
                "end": whole,
                "role": {"type": "string"},
                "current": {"type": "boolean"},
                "replaces": place,
                "replaced_by": place,
                "mentions": {"type": "integer", "minimum": 1},
                "detail": {"type": "string"},
            },
            "required": [field.name for field in fields(Slot)],
            "additionalProperties": False,
        }
        lists = {
            name: {
                "type": "array",
                "items": {"allOf": [{"$ref": "#/$defs/slot"}, {"properties": {"kind": {"enum": list(kinds)}}}]},
            }
            for name, kinds in _KINDS.items()
        }
        return {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "title": "Memory",
            "type": "object",
            "properties": lists,
            "required": list(_KINDS),
            "additionalProperties": False,
            "$defs": {"slot": slot},
        }

    def _lists(self) -> tuple[tuple[Slot, ...], ...]:
        return self.intents, self.constraints, self.entities, self.quotes, self.numbers, self.missing


_KINDS = {
    "intents": ("question", "request"),
    "constraints": ("constraint",),
    "entities": ("entity",),
    "quotes": ("quote",),
    "numbers": ("number",),
    "missing": ("turn", "pinned", "tool_call", "tool_result"),
}
_HEADINGS = ("Questions and requests", "Constraints", "Names", "Quotes", "Numbers", "Left out")
# What Markdown may read as markup, and every character that ends a line for some reader.
_MARKUP = re.compile(r"[\\`*_{}\[\]()#+\-.!|~:@]")
_ENTITY = re.compile("[&<>\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_NAMED = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}


def _item(slot: Slot, slots: Sequence[Slot]) -> str:
    """One line of a list."""
    notes = [f"turn {slot.turn}", *([slot.role] if slot.role else []), *([slot.kind] if slot.kind in _SAID else [])]
    if slot.replaced_by is not None:
        notes.append(f"{'partly ' if slot.current else ''}replaced in turn {slots[slot.replaced_by].turn}")
    if slot.replaces is not None:
        notes.append(f"replaces turn {slots[slot.replaces].turn}")
    if slot.mentions > 1:
        notes.append(f"{slot.mentions} mentions")
    text = f"~~{_escaped(slot.text)}~~" if not slot.current and slot.text else _escaped(slot.text)
    more = f" {_escaped(slot.detail)}" if slot.detail else ""
    return f"- ({_escaped(', '.join(notes))}) {text}{more}".rstrip()


_SAID = frozenset({"question", "request", "pinned", "tool_call", "tool_result"})


def _escaped(text: str) -> str:
    """A text that Markdown shows as it is, on one line."""
    held = _MARKUP.sub(r"\\\g<0>", text)
    return _ENTITY.sub(lambda char: _NAMED.get(char[0], f"&#{ord(char[0])};"), held)
