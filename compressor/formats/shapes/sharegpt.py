"""ShareGPT: `conversations` of `from` and `value` pairs."""

from typing import Any

from compressor.errors import InputError
from compressor.formats.shapes import chat
from compressor.formats.shapes.shape import Shape, find_items, kind, turn_of
from compressor.formats.splice import Path
from compressor.transcript import Turn

_ROLES = {
    "human": "user", "gpt": "assistant", "chatgpt": "assistant", "bard": "assistant", "bing": "assistant",
    "observation": "tool", "function_call": "function",
}  # fmt: skip


def _find(document: Any) -> tuple[Path, ...] | None:
    if not isinstance(document, dict):
        return find_items(document, _owns)
    if isinstance(document.get("messages"), list):
        return None
    if isinstance(document.get("conversation"), list):
        return (("conversation",),)
    if "conversations" not in document:
        return None
    if not isinstance(document["conversations"], list):
        raise InputError(f'"conversations" is {kind(document["conversations"])}; allowed: a list of messages.')
    return (("conversations",),)


def _owns(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("from"), str) and "value" in value and "role" not in value


def _read(message: Any, index: int, path: Path) -> Turn:
    role = chat.string(chat.checked(message, index), "from", index)
    text, fields, blocks = chat.content(message, "value", index)
    keys = ("from", "value", "name")
    return turn_of(_ROLES.get(role, role), message.get("name"), text, path, message, fields, blocks, keys)


SHAPE = Shape(
    "sharegpt", "ShareGPT: `conversations` of `from` and `value`; arrays of them.", _find, _owns, _read, removable=True
)
