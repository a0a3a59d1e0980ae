"""Traces by the GenAI conventions of OpenTelemetry: messages of `parts` in the attributes of a span."""

from collections.abc import Iterator
from typing import Any

from compressor.errors import InputError
from compressor.formats.shapes import chat
from compressor.formats.shapes.shape import Shape, deep, kind, paragraphs, turn_of
from compressor.formats.splice import Inside, Path, parse
from compressor.transcript import Turn

_KEYS = ("gen_ai.input.messages", "gen_ai.output.messages")
# A record with these may have the ids of a span beside a conversation of another shape.
_OTHERS = frozenset({"messages", "conversations", "conversation", "turns", "input", "output", "body"})
_SPAN = frozenset({"span_id", "spanId", "trace_id", "traceId"})


def _find(document: Any) -> tuple[Path, ...] | None:
    if isinstance(document, list):
        return ((),) if any(_owns(item) for item in document) else None
    if not isinstance(document, dict):
        return None
    exported = tuple(_exported(document))
    if exported:
        return tuple(place for path, span in exported for place in _places(span, path))
    found = tuple(_places(document, ()))
    is_span = "attributes" in document and bool(_SPAN & document.keys()) and not _OTHERS & document.keys()
    return found if found or is_span else None


def _exported(document: dict[str, Any]) -> Iterator[tuple[Path, dict[str, Any]]]:
    """The spans of an OTLP export."""
    for i, resource in _items(document, "resourceSpans"):
        for j, scope in _items(resource, "scopeSpans"):
            for k, span in _items(scope, "spans"):
                yield ("resourceSpans", i, "scopeSpans", j, "spans", k), span


def _items(value: Any, key: str) -> Iterator[tuple[int, Any]]:
    items = deep(value, key)
    return iter(enumerate(items) if isinstance(items, list) else ())


def _places(span: Any, path: Path) -> Iterator[Path]:
    """The lists of messages of one span: those of its input, then those of its output."""
    attributes = deep(span, "attributes")
    if isinstance(attributes, list):
        for key in _KEYS:
            for index, attribute in enumerate(attributes):
                if deep(attribute, "key") == key:
                    value = deep(attribute, "value", "stringValue")
                    yield from _list(value, (*path, "attributes", index, "value", "stringValue"), key)
        return
    for key in _KEYS:
        if isinstance(attributes, dict) and key in attributes:
            yield from _list(attributes[key], (*path, "attributes", key), key)
        elif isinstance(span, dict) and key in span:
            yield from _list(span[key], (*path, key), key)


def _list(value: Any, path: Path, key: str) -> Iterator[Path]:
    if value is None:
        return
    if isinstance(value, str):
        value, path = parse(value, f'"{key}" holds '), (*path, Inside.JSON)
    if not isinstance(value, list):
        raise InputError(f'"{key}" is {kind(value)}; allowed: a list of messages, or a string that holds one as JSON.')
    yield path


def _owns(value: Any) -> bool:
    return isinstance(value, dict) and "role" in value and "parts" in value


def _read(message: Any, index: int, path: Path) -> Turn:
    role = chat.string(chat.checked(message, index), "role", index)
    if not isinstance(message.get("parts"), list):
        found = kind(message["parts"]) if "parts" in message else "missing"
        raise InputError(f'turn {index}: "parts" is {found}; allowed: a list of parts.')
    texts: list[tuple[Path, str]] = []
    for number, part in enumerate(message["parts"]):
        if not isinstance(part, dict):
            raise InputError(f'turn {index}: "parts", part {number} is {kind(part)}; allowed: an object with a type.')
        if part.get("type") == "text":
            if not isinstance(part.get("content"), str):
                found = kind(part["content"]) if "content" in part else "missing"
                raise InputError(f'turn {index}: "parts", part {number}: "content" is {found}; allowed: a string.')
            texts.append((("parts", number, "content"), part["content"]))
    text, fields, blocks = paragraphs(texts)
    return turn_of(role, message.get("name"), text, path, message, fields, blocks)


SHAPE = Shape(
    "telemetry",
    "OpenTelemetry traces of model calls: `gen_ai.input.messages` and `gen_ai.output.messages`, also as JSON in a string.",
    _find,
    _owns,
    _read,
)
