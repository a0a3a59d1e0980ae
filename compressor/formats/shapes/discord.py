"""Discord exports: `messages` with an `author` and `content`, as DiscordChatExporter and the API write them."""

import re
from typing import Any

from compressor.errors import InputError
from compressor.formats.shapes import chat
from compressor.formats.shapes.shape import Part, Shape, deep, find_items, kind, running, turn_of
from compressor.formats.splice import Path
from compressor.transcript import Turn

# Source: https://docs.discord.com/developers/reference#message-formatting
_MARKUP = re.compile(r"<(?:[@#:/]|a:|t:|id:|https?:)[^<>\n]*>")
_SAID = ("Default", "Reply", "ChatInputCommand", "ThreadStarterMessage", "ContextMenuCommand", 0, 19, 20, 21, 23)
_NAMES = (
    ("author", "nickname"),
    ("author", "global_name"),
    ("author", "name"),
    ("author", "username"),
    ("author", "id"),
)


def _find(document: Any) -> tuple[Path, ...] | None:
    return find_items(document, _owns, "messages")


def _owns(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and isinstance(value.get("content"), str)
        and isinstance(value.get("author"), dict)
        and bool({"name", "username", "id"} & value["author"].keys())
        and "role" not in value
    )


def _read(message: Any, index: int, path: Path) -> Turn:
    said = chat.checked(message, index).get("content")
    if said is not None and not isinstance(said, str):
        raise InputError(f'turn {index}: "content" is {kind(said)}; allowed: a string.')
    if message.get("type", "Default") not in _SAID:
        return turn_of("system", None, said or "", path, None)
    speaker = next((name for keys in _NAMES if isinstance(name := deep(message, *keys), str) and name), None)
    text, fields, blocks = running([Part(("content",), said)], _MARKUP) if said else ("", (), ())
    return turn_of("speaker", speaker, text, path, None, fields, blocks)


SHAPE = Shape(
    "discord",
    "Discord exports: `messages` with `author` and `content`; mentions, emoji and times are never altered.",
    _find,
    _owns,
    _read,
)
