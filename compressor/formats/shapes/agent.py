"""Sessions of coding agents: one event a line, with a message inside (`message` or `payload`); the others pass."""

from collections.abc import Sequence
from typing import Any

from compressor.formats.shapes import chat, responses
from compressor.formats.shapes.shape import Shape, deep, find_items
from compressor.formats.splice import Path
from compressor.transcript import Turn


def _find(document: Any) -> tuple[Path, ...] | None:
    return find_items(document, _owns)


def _owns(value: Any) -> bool:
    return _place(value) is not None


def _place(value: Any) -> str | None:
    """The key of the message in an event that holds one."""
    if chat.owns(deep(value, "message")):
        return "message"
    return "payload" if deep(value, "type") == "response_item" and responses.owns(deep(value, "payload")) else None


def _read(event: Any, index: int, path: Path) -> Turn | None:
    place = _place(chat.checked(event, index))
    if place is None:
        return None
    return (chat.read if place == "message" else responses.read)(event[place], index, (*path, place))


def _passes(events: Sequence[Any]) -> frozenset[int]:
    """Side conversations beside a main one, and events that are there a second time."""
    side = {index for index, event in enumerate(events) if deep(event, "isSidechain") is True}
    owned = [index for index, event in enumerate(events) if _owns(event)]
    passed = set(side) if any(index not in side for index in owned) else set()
    seen: dict[str, int] = {}
    for index in owned:
        name = deep(events[index], "uuid")
        first = seen.setdefault(name, index) if isinstance(name, str) else index
        if first != index and deep(events[first], "message") == deep(events[index], "message"):
            passed.add(index)
    return frozenset(passed)


SHAPE = Shape(
    "agent",
    "Sessions of coding agents: an event a line with a `message` or `payload`; summaries, boundaries, repeats and side "
    "conversations pass.",
    _find,
    _owns,
    _read,
    _passes,
)
