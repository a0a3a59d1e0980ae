"""LangChain's messages as turns, and back: a copy of each message that changed, with nothing else changed in it."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    FunctionMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)

from compressor.integrations.conversations import Call, Said, Shortened


def read(message: BaseMessage) -> Said:
    """The turn of a message. Its texts are those strings and text blocks that no citation or annotation points into."""
    texts = tuple(text for _, text in _texts(message))
    content = message.content
    more = isinstance(content, list) and len(texts) < len(content)
    if isinstance(message, AIMessage):
        calls = tuple(Call(call["id"] or "", call["name"], _json(call["args"])) for call in message.tool_calls)
        legacy = message.additional_kwargs.get("function_call")
        if legacy and not calls:
            calls = (Call(f"function:{legacy.get('name')}", str(legacy.get("name")), str(legacy.get("arguments"))),)
        return Said("assistant", texts, calls, more=more or bool(message.invalid_tool_calls))
    if isinstance(message, ToolMessage):
        return Said("tool", texts, answers=message.tool_call_id, more=more)
    if isinstance(message, FunctionMessage):
        return Said("tool", texts, answers=f"function:{message.name}", more=more)
    if isinstance(message, HumanMessage):
        return Said("user", texts, more=more)
    return Said(str(getattr(message, "role", message.type)), texts, more=more)


def write(messages: Sequence[BaseMessage], shortened: Shortened, *, note: bool = False) -> list[BaseMessage]:
    """The messages with what remains of their texts; those that did not change are the very objects that were read.

    Args:
        messages: All that were read, in order.
        note: Whether a system message, behind those at the head, lists what is left out.
    """
    written = [
        _with_texts(message, texts)
        for message, texts in zip(messages, shortened.texts, strict=True)
        if texts is not None
    ]
    if note and shortened.note:
        head = next((at for at, message in enumerate(written) if not isinstance(message, SystemMessage)), len(written))
        written.insert(head, SystemMessage(shortened.note))
    return written


def _with_texts(message: BaseMessage, texts: Sequence[str]) -> BaseMessage:
    places = list(_texts(message))
    if [text for _, text in places] == list(texts):
        return message
    content: Any = message.content
    if isinstance(content, str):
        return message.model_copy(update={"content": texts[0]})
    content = list(content)
    for (place, _), text in zip(places, texts, strict=True):
        block = content[place]
        content[place] = text if isinstance(block, str) else {**block, "text": text}
    return message.model_copy(update={"content": content})


def _texts(message: BaseMessage) -> Iterator[tuple[int, str]]:
    """The place in the content and the text of all that may be shortened."""
    content = message.content
    for place, block in enumerate([content] if isinstance(content, str) else content):
        if isinstance(block, str):
            if block or isinstance(content, list):
                yield place, block
        elif (
            block.get("type") == "text"
            and isinstance(block.get("text"), str)
            and not block.get("annotations")
            and not block.get("citations")
        ):
            yield place, block["text"]


def _json(arguments: object) -> str:
    try:
        return json.dumps(arguments, ensure_ascii=False)
    except (TypeError, ValueError):
        return str(arguments)
