"""Slack exports: a day of a channel as a list of events, or the answer of the API with one under `messages`."""

import re
from typing import Any

from compressor.errors import InputError
from compressor.formats.shapes import chat
from compressor.formats.shapes.shape import Part, Shape, deep, find_items, kind, running, turn_of
from compressor.formats.splice import Path
from compressor.transcript import Turn

# Source: https://docs.slack.dev/messaging/formatting-message-text: mentions, links and dates stand between < and >, and
# only these three characters are escaped.
_MARKUP = re.compile(r"<[^<>\n]+>|&(?:amp|lt|gt);")
_TIME = re.compile(r"\d{6,}\.\d+")
# Events in which somebody says something; the text of all others (somebody joined, a topic was set) is the program's.
_SAID = frozenset({"bot_message", "me_message", "file_share", "file_comment", "thread_broadcast", "reply_broadcast"})
_NAMES = (
    ("user_profile", "display_name"), ("user_profile", "real_name"), ("user_profile", "name"), ("username",), ("user",),
    ("bot_id",),
)  # fmt: skip


def _find(document: Any) -> tuple[Path, ...] | None:
    return find_items(document, _owns, "messages")


def _owns(value: Any) -> bool:
    if not isinstance(value, dict) or "role" in value or not isinstance(value.get("ts"), str):
        return False
    return _TIME.fullmatch(value["ts"]) is not None and ("text" in value or value.get("type") == "message")


def _read(event: Any, index: int, path: Path) -> Turn:
    said = chat.checked(event, index).get("text")
    if said is not None and not isinstance(said, str):
        raise InputError(f'turn {index}: "text" is {kind(said)}; allowed: a string.')
    subtype = event.get("subtype")
    if subtype is not None and str(subtype) not in _SAID:
        return turn_of("system", None, said or "", path, None)
    speaker = next((name for keys in _NAMES if isinstance(name := deep(event, *keys), str) and name), None)
    text, fields, blocks = running([Part(("text",), said)], _MARKUP) if said else ("", (), ())
    return turn_of("speaker", speaker, text, path, None, fields, blocks)


SHAPE = Shape(
    "slack",
    "Slack exports: a list of events with `user`, `text` and `ts`; mentions, links and escapes are never altered.",
    _find,
    _owns,
    _read,
)
