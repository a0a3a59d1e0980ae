"""LangChain messages as they are serialised: in the constructor envelope, with `data`, or dumped flat with a `type`."""

from typing import Any

from compressor.errors import InputError
from compressor.formats.shapes import chat
from compressor.formats.shapes.shape import Shape, deep, find_items, keys_of, kind, turn_of, within
from compressor.formats.splice import Path
from compressor.transcript import Turn

_ROLES = {
    "human": "user", "ai": "assistant", "system": "system", "tool": "tool", "function": "function", "chat": "",
    "humanmessage": "user", "aimessage": "assistant", "systemmessage": "system", "toolmessage": "tool",
    "functionmessage": "function", "chatmessage": "", "removemessage": "none", "remove": "none", "developer": "developer",
}  # fmt: skip
# The fields of a message that was dumped flat; an object with others is an event that merely has a type.
_FLAT = frozenset(
    "type content additional_kwargs response_metadata name id example tool_calls invalid_tool_calls usage_metadata status"
    " tool_call_id tool_call_chunks artifact chunk_position".split()
)
_ALLOWED = "a constructor with kwargs, an object with a type and data, or one with a type and content"
_CONTAINERS = ("messages", "chat_history", "history")


def _find(document: Any) -> tuple[Path, ...] | None:
    kwargs = deep(document, "kwargs")
    if (
        isinstance(deep(kwargs, "messages"), list) and "lc" in document
    ):  # a prompt value, or a state that was serialised
        return (("kwargs", "messages"),)
    for key in _CONTAINERS:
        batches = deep(document, key)
        if isinstance(batches, list) and any(isinstance(batch, list) and find_items(batch, _owns) for batch in batches):
            return tuple((key, index) for index in range(len(batches)))
    return find_items(document, _owns, *_CONTAINERS)


def _owns(value: Any) -> bool:
    if not isinstance(value, dict) or "role" in value:
        return False
    if "lc" in value:
        return isinstance(value.get("kwargs"), dict) and _name(value) in _ROLES
    if _name(value) not in _ROLES:
        return False
    return isinstance(value.get("data"), dict) if "data" in value else "content" in value and value.keys() <= _FLAT


def _name(value: dict[str, Any]) -> str:
    """The class of a message in lower case, without `Chunk`: `aimessage`, or `ai` where only its type is written."""
    ids = value.get("id")
    name = ids[-1] if "lc" in value and isinstance(ids, list) and ids else value.get("type")
    return name.lower().removesuffix("chunk") if isinstance(name, str) else ""


def _read(message: Any, index: int, path: Path) -> Turn:
    chat.checked(message, index)
    if not _owns(message):
        raise InputError(f"turn {index} is no message (keys: {keys_of(message)}); allowed: {_ALLOWED}.")
    place: Path = ("kwargs",) if "lc" in message else ("data",) if isinstance(message.get("data"), dict) else ()
    inner = message[place[0]] if place else message
    role = _ROLES[_name(message)] or chat.string(inner, "role", index)
    text, fields, blocks = chat.content(inner, "content", index, optional=role == "none", strings=True)
    turn = turn_of(role, inner.get("name"), text, place, inner, fields, blocks, ("type", "content", "name"))
    if inner.get("tool_calls") is not None and not isinstance(inner["tool_calls"], list):
        raise InputError(f'turn {index}: "tool_calls" is {kind(inner["tool_calls"])}; allowed: a list.')
    return within(turn, path)


SHAPE = Shape(
    "langchain",
    "LangChain messages, serialised: constructor envelopes (`lc`), `type` and `data`, or flat with a `type`.",
    _find,
    _owns,
    _read,
)
