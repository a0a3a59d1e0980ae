"""OpenAI chat: `messages`, also in the request of a batch, in its output, and in fine-tuning files."""

from typing import Any

from compressor.errors import InputError
from compressor.formats.shapes import chat
from compressor.formats.shapes.shape import Shape, deep, kind
from compressor.formats.splice import Path

_LISTS: tuple[tuple[str, ...], ...] = (("messages",), ("body", "messages"))
_PREFERENCES: tuple[tuple[str, ...], ...] = (("input", "messages"), ("preferred_output",), ("non_preferred_output",))
_CHOICES: tuple[tuple[str, ...], ...] = (("choices",), ("response", "body", "choices"))


def _find(document: Any) -> tuple[Path, ...] | None:
    if isinstance(document, list):
        return ((),)
    if not isinstance(document, dict):
        return None
    for path in _LISTS:
        holder = deep(document, *path[:-1])
        if isinstance(holder, dict) and path[-1] in holder:
            return (_checked(document, path),)
    if isinstance(deep(document, *_PREFERENCES[0]), list):
        return tuple(_checked(document, path) for path in _PREFERENCES if path[0] in document)
    for path in _CHOICES:
        choices = deep(document, *path)
        if isinstance(choices, list):
            found = [index for index, choice in enumerate(choices) if chat.owns(deep(choice, "message"))]
            return tuple((*path, index, "message") for index in found)
    return () if "custom_id" in document and {"response", "error"} & document.keys() else None


def _checked(document: Any, path: tuple[str, ...]) -> Path:
    if not isinstance(deep(document, *path), list):
        raise InputError(f'"{".".join(path)}" is {kind(deep(document, *path))}; allowed: a list of messages.')
    return path


SHAPE = Shape(
    "openai",
    "OpenAI chat: `messages` with role and content, batch requests and outputs, fine-tuning files.",
    _find,
    chat.owns,
    chat.read,
    removable=True,
)
