"""Chat messages with a role and content, as OpenAI, Anthropic and what follows them write them."""

from collections.abc import Mapping
from typing import Any

from compressor.errors import InputError
from compressor.formats.shapes.shape import Field, keys_of, kind, one_text, paragraphs, turn_of
from compressor.formats.splice import Path
from compressor.transcript import Turn

TEXT_PARTS = frozenset({"text", "input_text", "output_text"})
KEYS = ("role", "content", "name")


def owns(value: Any) -> bool:
    """Whether a value is a message with a role and content, or with calls in its place."""
    return isinstance(value, dict) and "role" in value and "parts" not in value


def read(message: Any, index: int, path: Path) -> Turn:
    """The turn of one message; content parts that are no text stay untouched.

    Raises:
        InputError: It is no object, or a field is missing or has a wrong type; names the turn and the field.
    """
    checked(message, index)
    role = string(message, "role", index)
    if message.get("tool_calls") is not None and not isinstance(message["tool_calls"], list):
        raise InputError(f'turn {index}: "tool_calls" is {kind(message["tool_calls"])}; allowed: a list.')
    text, fields, blocks = content(message, "content", index, optional=role == "assistant")
    return turn_of(role, message.get("name"), text, path, message, fields, blocks, KEYS)


def checked(message: Any, index: int) -> Mapping[str, Any]:
    """A message that is an object.

    Raises:
        InputError: It is none.
    """
    if not isinstance(message, dict):
        raise InputError(f"turn {index} is {kind(message)}; allowed: a message object with role and content.")
    return message


def string(message: Mapping[str, Any], key: str, index: int) -> str:
    """A field that has to be a string.

    Raises:
        InputError: It is missing or something else.
    """
    if key not in message:
        raise InputError(f'turn {index}: "{key}" is missing (keys: {keys_of(message)}).')
    value = message[key]
    if not isinstance(value, str):
        raise InputError(f'turn {index}: "{key}" is {kind(value)}; allowed: a string such as "user" or "assistant".')
    return value


def content(
    message: Mapping[str, Any], key: str, index: int, *, optional: bool = False, strings: bool = False
) -> tuple[str, tuple[Field, ...], tuple[tuple[int, int], ...]]:
    """Text, fields and blocks of a content: a string, a list of parts, or null.

    Args:
        message: The message that holds it.
        key: Its key there.
        index: The number of the turn, for errors.
        optional: Whether the key may be missing.
        strings: Whether a part may be a bare string.
    """
    value = message.get(key)
    if value is None:
        if key not in message and not optional:
            raise InputError(f'turn {index}: "{key}" is missing; allowed: a string, a list of parts, or null.')
        return "", (), ()
    if isinstance(value, str):
        return one_text((key,), value)
    if not isinstance(value, list):
        raise InputError(f'turn {index}: "{key}" is {kind(value)}; allowed: a string, a list of parts, or null.')
    texts: list[tuple[Path, str]] = []
    for number, part in enumerate(value):
        if strings and isinstance(part, str):
            texts.append(((key, number), part))
        elif _is_text(part, f'turn {index}: "{key}", part {number}'):
            texts.append(((key, number, "text"), part["text"]))
    return paragraphs(texts)


def _is_text(part: Any, where: str) -> bool:
    if not isinstance(part, dict):
        raise InputError(f"{where} is {kind(part)}; allowed: an object with a type.")
    if not isinstance(part.get("type"), str):
        found = kind(part["type"]) if "type" in part else "missing"
        raise InputError(f'{where}: "type" is {found}; allowed: a string such as "text".')
    if part["type"] not in TEXT_PARTS:
        return False
    if not isinstance(part.get("text"), str):
        found = kind(part["text"]) if "text" in part else "missing"
        raise InputError(f'{where}: "text" is {found}; allowed: a string.')
    return True
