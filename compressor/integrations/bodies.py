"""Conversations inside the bodies of requests: where their texts stand, and a copy of the body with other texts there."""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from compressor.integrations.conversations import Said, Shortened

Path = tuple[str | int, ...]

_LISTS = ("messages", "input", "content", "tool_calls", "output", "system")
"""The keys under which the clients take any iterable."""


@dataclass(frozen=True, slots=True)
class Reading:
    """One turn of a body.

    Args:
        said: The turn.
        texts: Where its texts stand, as keys and positions from the list of messages. As many as `said.texts`.
        owns: What goes when the turn is left out: messages, or blocks of one.
    """

    said: Said
    texts: tuple[Path, ...]
    owns: tuple[Path, ...]


def settled(value: Any) -> Any:
    """A body's part in which what may be any iterable is a list, so that it can be read twice; else the very object."""
    if isinstance(value, Mapping):
        new = {key: settled(_as_list(value[key])) for key in _LISTS if key in value}
        return value if all(new[key] is value[key] for key in new) else {**value, **new}
    if isinstance(value, list):
        items = [settled(item) for item in value]
        return value if all(new is old for new, old in zip(items, value, strict=True)) else items
    return value


def _as_list(value: Any) -> Any:
    known = isinstance(value, (str, bytes, Mapping, list)) or hasattr(value, "model_dump")
    return value if known or not isinstance(value, Iterable) else list(value)


def as_dict(value: Any) -> dict[str, Any]:
    """A message or block as a new dict: what a client would send of it. Empty if it is neither dict nor model."""
    if isinstance(value, Mapping):
        return dict(value)
    if hasattr(value, "model_dump"):
        excluded = getattr(value, "__api_exclude__", None)
        return dict(value.model_dump(mode="json", by_alias=True, exclude_unset=True, exclude=excluded))
    return {}


def text_parts(content: Any, types: Container[Any], at: Path) -> Iterator[tuple[Path, str]]:
    """The strings of a content that may be shortened: itself, or its text parts that no citation points into."""
    if isinstance(content, str):
        if content:
            yield at, content
        return
    for place, given in enumerate(content if isinstance(content, list) else ()):
        part = as_dict(given)
        cited = part.get("annotations") or part.get("citations")
        if part.get("type") in types and isinstance(part.get("text"), str) and not cited:
            yield (*at, place, "text"), part["text"]


def written(messages: Sequence[Any], readings: Sequence[Reading], shortened: Shortened) -> list[Any]:
    """The messages with what remains of their texts; what did not change is the very object that was read."""
    edits: dict[Path, str | None] = {}
    for reading, texts in zip(readings, shortened.texts, strict=True):
        if texts is None:
            edits.update(dict.fromkeys(reading.owns))
        else:
            changes = zip(reading.texts, reading.said.texts, texts, strict=True)
            edits.update((path, new) for path, old, new in changes if new != old)
    result: list[Any] = _edited(messages, edits)
    return result


def _edited(value: Any, edits: Mapping[Path, str | None]) -> Any:
    """A copy of a value in which some strings are replaced, and what is to be None is taken out of its list."""
    copy: Any = list(value) if isinstance(value, (list, tuple)) else as_dict(value)
    inner: dict[str | int, dict[Path, str | None]] = {}
    for path, new in edits.items():
        inner.setdefault(path[0], {})[path[1:]] = new
    gone = {key for key, own in inner.items() if own.get((), "") is None}
    for key, own in inner.items():
        if key not in gone:
            copy[key] = own[()] if () in own else _edited(copy[key], own)
    return [item for place, item in enumerate(copy) if place not in gone] if gone else copy
