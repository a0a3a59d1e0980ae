"""Telegram exports: `messages` with `from` and a `text` that is a string, or a list of strings and entities."""

import re
from collections.abc import Iterator
from typing import Any

from compressor.errors import InputError
from compressor.formats.shapes import chat
from compressor.formats.shapes.shape import Part, Shape, deep, find_items, kind, running, turn_of
from compressor.formats.splice import Path
from compressor.transcript import Turn

_NO_MARKUP = re.compile(r"(?!)")
# Entities whose text is said like any other; links, mentions, numbers and code are never altered.
_SAID = frozenset({"plain", "bold", "italic", "underline", "strikethrough", "spoiler", "blockquote"})


def _find(document: Any) -> tuple[Path, ...] | None:
    chats = deep(document, "chats", "list")
    if isinstance(chats, list) and any(find_items(item, _owns, "messages") for item in chats):
        return tuple(
            ("chats", "list", index, "messages")
            for index, item in enumerate(chats)
            if isinstance(deep(item, "messages"), list)
        )
    return find_items(document, _owns, "messages")


def _owns(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and value.get("type") in ("message", "service")
        and "text" in value
        and bool({"from", "from_id", "actor", "date"} & value.keys())
        and not {"role", "ts"} & value.keys()
    )


def _read(message: Any, index: int, path: Path) -> Turn:
    parts = list(_parts(chat.checked(message, index).get("text", ""), index))
    if message.get("type") != "message":
        return turn_of("system", None, "".join(part.text for part in parts), path, None)
    speaker = next((name for key in ("from", "from_id") if isinstance(name := message.get(key), str) and name), None)
    text, fields, blocks = running(parts, _NO_MARKUP) if any(part.text for part in parts) else ("", (), ())
    return turn_of("speaker", speaker, text, path, None, fields, blocks)


def _parts(said: Any, index: int) -> Iterator[Part]:
    if isinstance(said, str):
        yield Part(("text",), said)
        return
    if not isinstance(said, list):
        raise InputError(f'turn {index}: "text" is {kind(said)}; allowed: a string, or a list of strings and entities.')
    for number, part in enumerate(said):
        if isinstance(part, str):
            yield Part(("text", number), part)
        elif isinstance(deep(part, "text"), str):
            yield Part(("text", number, "text") if str(part.get("type")) in _SAID else None, part["text"])
        else:
            raise InputError(
                f'turn {index}: "text", part {number} is {kind(part)}; allowed: a string, or an entity with a text.'
            )


SHAPE = Shape(
    "telegram",
    "Telegram exports: `messages` with `from` and `text`; links, mentions and code are never altered.",
    _find,
    _owns,
    _read,
)
