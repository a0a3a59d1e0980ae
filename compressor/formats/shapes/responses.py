"""OpenAI Responses: `input` and `output` items; messages may change, all other items are carried."""

from collections.abc import Iterator
from typing import Any

from compressor.errors import InputError
from compressor.formats.shapes import chat
from compressor.formats.shapes.shape import Shape, deep, kind, one_text, turn_of
from compressor.formats.splice import Path
from compressor.transcript import Turn

_ITEMS = frozenset(
    "reasoning item_reference mcp_list_tools mcp_approval_request mcp_approval_response compaction".split()
)
_ENDINGS = ("_call", "_call_output")
_REQUESTS: tuple[Path, ...] = ((), ("body",))
_RESPONSES: tuple[tuple[str, ...], ...] = ((), ("response", "body"), ("response",))


def find(document: Any) -> tuple[Path, ...] | None:
    """Where the items are; see `Shape.find`."""
    if isinstance(document, list):
        return ((),) if any(_is_item(item) for item in document) else None
    return tuple(_places(document)) or None


def _places(document: Any) -> Iterator[Path]:
    for path in _REQUESTS:
        request = deep(document, *map(str, path))
        if isinstance(request, dict) and "messages" not in request and _takes_input(document, request):
            yield (*path, "input")
    for path in _RESPONSES:
        items = deep(document, *path, "output")
        if isinstance(items, list) and any(owns(item) for item in items):
            yield (*path, "output")


def _takes_input(document: dict[str, Any], request: dict[str, Any]) -> bool:
    """Whether the input of a request is a conversation, and not what is to be embedded or classified."""
    given, url = request.get("input"), document.get("url")
    if isinstance(url, str):
        return url.rstrip("/").endswith("/responses") and isinstance(given, (str, list))
    if isinstance(given, list):
        return any(owns(item) or chat.owns(item) for item in given)
    model = request.get("model")
    asks = "instructions" in request or "max_output_tokens" in request or "previous_response_id" in request
    return isinstance(given, str) and (
        asks or (isinstance(model, str) and not any(x in model for x in ("embed", "moderation")))
    )


def owns(value: Any) -> bool:
    """Whether a value is an item on its own."""
    return _is_item(value) or (isinstance(value, dict) and value.get("type") == "message" and chat.owns(value))


def _is_item(value: Any) -> bool:
    type_ = value.get("type") if isinstance(value, dict) and "role" not in value and "lc" not in value else None
    return isinstance(type_, str) and (type_ in _ITEMS or type_.endswith(_ENDINGS))


def read(item: Any, index: int, path: Path) -> Turn:
    """The turn of one item: of a message its text, of a call's output its text, which is never altered, of others none.

    Raises:
        InputError: A field of a message has a wrong type; names the turn and the field.
    """
    if isinstance(item, str) and path[-1] == "input":
        text, _, blocks = one_text((), item)
        return turn_of("user", None, text, path, item, _WHOLE, blocks)
    chat.checked(item, index)
    if "role" in item or item.get("type") == "message":
        return chat.read(item, index, path)
    if not isinstance(item.get("type"), str):
        found = kind(item["type"]) if "type" in item else "missing"
        raise InputError(
            f'turn {index}: "role" and "type": {found}; allowed: a message with a role, or an item with a type.'
        )
    if not item["type"].endswith("_output"):
        return turn_of("assistant", None, "", path, item)
    output = item.get("output")
    text = output if isinstance(output, str) else "\n\n".join(_texts(output))
    return turn_of("tool", None, text, path, item)


def _texts(output: Any) -> Iterator[str]:
    for part in output if isinstance(output, list) else ():
        text = deep(part, "text")
        if isinstance(text, str):
            yield text


_WHOLE = one_text((), "")[1]

SHAPE = Shape(
    "responses",
    "OpenAI Responses: `input` items (or a string) and `output` items, also in batches; calls and reasoning untouched.",
    find,
    owns,
    read,
)
