"""Anthropic: requests to the messages API with shortened conversations, and a client that sends them.

```python
from compressor import Policy
from compressor.integrations.anthropic import with_compression

client = with_compression(Anthropic(), policy=Policy(max_tokens=8000, keep_last=6))
client.messages.create(model="claude-sonnet-4-5", max_tokens=1024, messages=messages)  # as before
```
"""

try:
    import anthropic
except ImportError as error:
    raise ImportError("the Anthropic client is not installed: pip install 'compressor[anthropic]'.") from error

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path as FilePath
from typing import Any, TypeVar

from compressor.errors import InputError
from compressor.integrations.bodies import Path, Reading, as_dict, settled, text_parts, written
from compressor.integrations.clients import rewriting
from compressor.integrations.conversations import Call, Conversations, Overflow, Said
from compressor.pipeline import Compressor
from compressor.policy import Policy
from compressor.tokens import TokenCounter

Client = TypeVar("Client", bound=anthropic.Anthropic | anthropic.AsyncAnthropic)

_TEXT = ("text",)
_THOUGHTS = frozenset({"thinking", "redacted_thinking"})


def compress_request(
    request: Mapping[str, Any],
    *,
    policy: Policy | None = None,
    model: str | FilePath = "default",
    compressor: Compressor | None = None,
    token_counter: TokenCounter | str | None = None,
    on_overflow: Overflow = "report",
    note_missing: bool = False,
    conversations: Conversations | None = None,
) -> dict[str, Any]:
    """The arguments of `messages.create` with a shortened conversation.

    A pure function: the request is not changed, and the same one gives the same result. Calls for a growing conversation
    agree on the bytes that they share, as those of a session do, so that `cache_control` keeps finding them. Tools,
    images, thinking, cited text, `cache_control` and all other arguments pass through; `system` and tool results are
    never altered.

    ```python
    request = {"model": "claude-sonnet-4-5", "max_tokens": 1024, "messages": messages}
    client.messages.create(**compress_request(request, policy=Policy(max_tokens=8000)))
    ```

    Args:
        request: Keyword arguments, with `messages`.
        policy, model, compressor, token_counter, on_overflow: See `Session`. Not the arguments of the request.
        note_missing: Let a line at the end of `system` list what `on_overflow="omit"` left out.
        conversations: Sessions to go on with, instead of all options but `note_missing`.
    Raises:
        InputError: The request holds no messages that can be read; names the message.
        CompressorError: An option or the model is not allowed, or `on_overflow="raise"` and the budget is exceeded.
    """
    conversations = conversations or Conversations(
        policy=policy, model=model, compressor=compressor, token_counter=token_counter, on_overflow=on_overflow
    )
    request = settled(request)
    messages = request.get("messages")
    if not isinstance(messages, list):
        raise InputError(f'the request has {type(messages).__name__} for "messages"; allowed: a list of messages.')
    readings = list(_read(messages))
    shortened = conversations.shorten([reading.said for reading in readings])
    kept = written(messages, readings, shortened)
    # A message of several results goes block by block, and then altogether.
    kept = [message for message in kept if as_dict(message)["content"] != [] or message in messages]
    sent = {**request, "messages": kept}
    if note_missing and shortened.note:
        sent["system"] = _with_note(request.get("system"), shortened.note)
    return sent


def with_compression(
    client: Client,
    *,
    policy: Policy | None = None,
    model: str | FilePath = "default",
    compressor: Compressor | None = None,
    token_counter: TokenCounter | str | None = None,
    on_overflow: Overflow = "report",
    note_missing: bool = False,
    max_sessions: int = 64,
) -> Client:
    """A copy of a client whose messages are sent with shortened conversations.

    It is a client of the same class, over the same connections, with the same methods, also `stream`, `parse`, `beta`,
    `with_raw_response` and `with_options`. Answers come back as they are; `count_tokens` counts what it is given. The
    client that is given is not changed.

    Args:
        client: An `Anthropic` or `AsyncAnthropic`, or a class derived from one.
        policy, model, compressor, token_counter, on_overflow, note_missing: See `compress_request`.
        max_sessions: Most conversations whose sessions are kept; others are built again when they go on.
    """
    conversations = Conversations(
        policy=policy, model=model, compressor=compressor, token_counter=token_counter,
        on_overflow=on_overflow, max_sessions=max_sessions,
    )  # fmt: skip

    def rewrite(body: Mapping[str, Any]) -> Mapping[str, Any]:
        return compress_request(body, conversations=conversations, note_missing=note_missing)

    return rewriting(client, {"/v1/messages": rewrite})


def _read(messages: Sequence[Any]) -> Iterator[Reading]:
    """A turn for each message, and one for each tool result before the rest of its message."""
    for number, given in enumerate(messages):
        message = as_dict(given)
        role, content = message.get("role"), message.get("content")
        if not isinstance(role, str):
            raise InputError(f'message {number}: "role" is {role!r}; allowed: "user" or "assistant".')
        if not isinstance(content, (str, list)):
            raise InputError(f'message {number}: "content" is {type(content).__name__}; allowed: a string or a list.')
        blocks = [as_dict(block) for block in content] if isinstance(content, list) else []
        results = [place for place, block in enumerate(blocks) if block.get("type") == "tool_result"]
        for place in results:
            yield _result(blocks[place], (number, "content", place))
        rest = [place for place in range(len(blocks)) if place not in results]
        if results and not rest:
            continue
        found = list(text_parts(content, _TEXT, (number, "content")))
        uses = [block for block in blocks if block.get("type") == "tool_use"]
        thoughts = sum(block.get("type") in _THOUGHTS for block in blocks)
        said = Said(
            role,
            tuple(text for _, text in found),
            tuple(
                Call(str(use.get("id")), str(use.get("name")), json.dumps(use.get("input"), default=str))
                for use in uses
            ),
            more=len(rest) > len(found) + len(uses) + thoughts,
            thoughts=thoughts > 0,
        )
        owns = tuple((number, "content", place) for place in rest) if results else ((number,),)
        yield Reading(said, tuple(path for path, _ in found), owns)


def _result(block: Mapping[str, Any], at: Path) -> Reading:
    content = block.get("content")
    found = list(text_parts(content, _TEXT, (*at, "content")))
    more = isinstance(content, list) and len(found) < len(content)
    said = Said("tool", tuple(text for _, text in found), answers=str(block.get("tool_use_id")), more=more)
    return Reading(said, tuple(path for path, _ in found), (at,))


def _with_note(system: Any, note: str) -> Any:
    if isinstance(system, list):
        return [*system, {"type": "text", "text": note}]
    return f"{system}\n\n{note}" if isinstance(system, str) and system else note
