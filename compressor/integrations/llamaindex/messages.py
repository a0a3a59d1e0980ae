"""LlamaIndex's chat messages as turns, and back: a copy of each message that changed, with nothing else changed in it."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from llama_index.core.base.llms.types import ChatMessage, MessageRole, TextBlock, ThinkingBlock, ToolCallBlock

from compressor.integrations.conversations import Call, Said, Shortened

_ROLES = {MessageRole.FUNCTION: "tool", MessageRole.CHATBOT: "assistant", MessageRole.MODEL: "assistant"}


def read(message: ChatMessage) -> Said:
    """The turn of a message. Tool calls stand in its blocks or, as older integrations have it, in `additional_kwargs`."""
    texts = tuple(block.text for block in message.blocks if isinstance(block, TextBlock))
    blocks = [block for block in message.blocks if isinstance(block, ToolCallBlock)]
    calls = [Call(block.tool_call_id or "", block.tool_name, _json(block.tool_kwargs)) for block in blocks]
    thoughts = any(isinstance(block, ThinkingBlock) for block in message.blocks)
    known = (TextBlock, ToolCallBlock, ThinkingBlock)
    answers = message.additional_kwargs.get("tool_call_id")
    role = _ROLES.get(message.role, message.role.value)
    return Said(
        role,
        texts,
        tuple(calls or map(_call, message.additional_kwargs.get("tool_calls") or ())) if role == "assistant" else (),
        str(answers) if answers is not None else None,
        more=any(not isinstance(block, known) for block in message.blocks),
        thoughts=thoughts,
    )


def write(messages: Sequence[ChatMessage], shortened: Shortened, *, note: bool = False) -> list[ChatMessage]:
    """The messages with what remains of their texts; those that did not change are the very objects that were read.

    Args:
        messages: All that were read, in order.
        note: Whether a system message, behind those at the head, lists what is left out.
    """
    pairs = zip(messages, shortened.texts, strict=True)
    written = [_with_texts(message, texts) for message, texts in pairs if texts is not None]
    if note and shortened.note:
        roles = [message.role for message in written]
        head = next((at for at, role in enumerate(roles) if role != MessageRole.SYSTEM), len(roles))
        written.insert(head, ChatMessage(role=MessageRole.SYSTEM, content=shortened.note))
    return written


def _with_texts(message: ChatMessage, texts: Sequence[str]) -> ChatMessage:
    new = iter(texts)
    blocks = [_with_text(block, next(new)) if isinstance(block, TextBlock) else block for block in message.blocks]
    if all(one is other for one, other in zip(blocks, message.blocks, strict=True)):
        return message
    return message.model_copy(update={"blocks": blocks})


def _with_text(block: TextBlock, text: str) -> TextBlock:
    return block if block.text == text else block.model_copy(update={"text": text})


def _call(call: Any) -> Call:
    """A tool call as a provider's client or an older integration has it: an object or a dict."""
    found = dict(_items(call))
    function = dict(_items(found.get("function")))
    name = found.get("tool_name") or found.get("name") or function.get("name")
    arguments = found.get("tool_kwargs") or found.get("input") or function.get("arguments")
    return Call(str(found.get("id") or found.get("tool_id") or ""), str(name or ""), _json(arguments))


def _items(value: Any) -> Iterator[tuple[str, Any]]:
    yield from value.items() if isinstance(value, dict) else vars(value).items() if hasattr(value, "__dict__") else ()


def _json(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
