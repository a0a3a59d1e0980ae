"""Anthropic messages: content blocks, tool use and results, a system text beside them, batches and their results."""

from typing import Any

from compressor.errors import InputError
from compressor.formats.shapes import chat
from compressor.formats.shapes.shape import Shape, deep
from compressor.formats.splice import Path

_BLOCKS = frozenset(
    "tool_use tool_result thinking redacted_thinking document search_result server_tool_use web_search_tool_result".split()
)


def _find(document: Any) -> tuple[Path, ...] | None:
    if isinstance(document, list):
        return ((),) if _has_blocks(document) else None
    if not isinstance(document, dict):
        return None
    count = requests(document)
    if count > 1:
        raise InputError(
            f"the object holds {count} requests, which are a conversation each; read a file of them with read_records(), "
            "or write one request a line in a .jsonl file."
        )
    if count:
        return (("requests", 0, "params", "messages"),)
    if isinstance(deep(document, "params", "messages"), list):
        return (("params", "messages"),)
    if "custom_id" in document and isinstance(document.get("result"), dict):
        return (("result", "message"),) if chat.owns(document["result"].get("message")) else ()
    messages = document.get("messages")
    if not isinstance(messages, list) or not (
        isinstance(document.get("system"), (str, list)) or "anthropic_version" in document or _has_blocks(messages)
    ):
        return None
    return (("messages",),)


def requests(document: Any) -> int:
    """How many requests the body of a batch holds, 0 if it is none; the first of them says what they are."""
    items = document.get("requests") if isinstance(document, dict) else None
    if not isinstance(items, list) or not items or not isinstance(deep(items[0], "params", "messages"), list):
        return 0
    return len(items)


def _has_blocks(messages: list[Any]) -> bool:
    return any(
        isinstance(part, dict) and str(part.get("type")) in _BLOCKS
        for message in messages
        if isinstance(content := deep(message, "content"), list)
        for part in content
    )


SHAPE = Shape(
    "anthropic",
    "Anthropic messages: content blocks, `system`, tool use and results, batch requests (`params`) and results.",
    _find,
    chat.owns,
    chat.read,
    removable=True,
)
