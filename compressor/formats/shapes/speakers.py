"""Meetings and calls: `turns` of `speaker` and `text`."""

from typing import Any

from compressor.errors import InputError
from compressor.formats.shapes import chat
from compressor.formats.shapes.shape import Shape, kind, turn_of
from compressor.formats.splice import Path
from compressor.transcript import Turn


def _find(document: Any) -> tuple[Path, ...] | None:
    if isinstance(document, list):
        return ((),) if any(_owns(item) for item in document) else None
    if not isinstance(document, dict) or "turns" not in document or isinstance(document.get("messages"), list):
        return None
    if not isinstance(document["turns"], list):
        raise InputError(f'"turns" is {kind(document["turns"])}; allowed: a list of turns.')
    return (("turns",),)


def _owns(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and "text" in value
        and "content" not in value
        and bool({"role", "speaker"} & value.keys())
    )


def _read(message: Any, index: int, path: Path) -> Turn:
    speaker = chat.checked(message, index).get("speaker")
    role = "speaker" if isinstance(speaker, str) and "role" not in message else chat.string(message, "role", index)
    text, fields, blocks = chat.content(message, "text", index)
    return turn_of(role, speaker, text, path, message, fields, blocks, ("role", "text", "speaker"))


SHAPE = Shape(
    "speakers", "Meetings and calls: `turns` of `speaker` (or `role`) and `text`.", _find, _owns, _read, removable=True
)
