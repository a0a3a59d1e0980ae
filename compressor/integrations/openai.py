"""OpenAI: requests to chat completions and responses with shortened conversations, and a client that sends them.

```python
from compressor import Policy
from compressor.integrations.openai import with_compression

client = with_compression(OpenAI(), policy=Policy(max_tokens=8000, keep_last=6))
client.chat.completions.create(model="gpt-5", messages=messages)  # as before, and client.responses.create(...)
```
"""

try:
    import openai
except ImportError as error:
    raise ImportError("the OpenAI client is not installed: pip install 'compressor[openai]'.") from error

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

Client = TypeVar("Client", bound=openai.OpenAI | openai.AsyncOpenAI)

_SYSTEM = ("system", "developer")
_CHAT_KEYS = frozenset({"role", "content", "name", "tool_calls", "function_call", "tool_call_id"})
_OTHER_SIDE = frozenset({"mcp_approval_response", "compaction_trigger", "configuration_update", "additional_tools"})
"""Types of items without a role that do not come from the model."""

_CHAT_TEXT = ("text",)
_RESPONSES_TEXT = ("input_text", "output_text", "text")


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
    """The arguments of `chat.completions.create` or `responses.create` with a shortened conversation.

    A pure function: the request is not changed, and the same one gives the same result. Calls for a growing conversation
    agree on the bytes that they share, as those of a session do. Tools, images, ids and all other arguments pass
    through; system messages, instructions and tool results are never altered.

    ```python
    request = {"model": "gpt-5", "messages": messages}
    client.chat.completions.create(**compress_request(request, policy=Policy(max_tokens=8000)))
    ```

    Args:
        request: Keyword arguments, with `messages` (chat completions) or `input` (responses).
        policy, model, compressor, token_counter, on_overflow: See `Session`. Not the arguments of the request.
        note_missing: Let a system message of one line list what `on_overflow="omit"` left out.
        conversations: Sessions to go on with, instead of all options but `note_missing`.
    Raises:
        InputError: The request holds no conversation that can be read; names the message.
        CompressorError: An option or the model is not allowed, or `on_overflow="raise"` and the budget is exceeded.
    """
    conversations = conversations or Conversations(
        policy=policy, model=model, compressor=compressor, token_counter=token_counter, on_overflow=on_overflow
    )
    request = settled(request)
    key = "messages" if "messages" in request else "input"
    items = request.get(key)
    if key == "input" and (isinstance(items, str) or ("input" not in request and "prompt" in request)):
        return dict(request)  # one message alone, which is the last turn, or a stored prompt
    if not isinstance(items, list):
        raise InputError(f'the request has {type(items).__name__} for "{key}"; allowed: "messages" or "input", a list.')
    readings = list(_chat(items) if key == "messages" else _responses(items))
    shortened = conversations.shorten([reading.said for reading in readings])
    sent = written(items, readings, shortened)
    if note_missing and shortened.note:
        roles = [as_dict(item).get("role") for item in sent]
        head = next((place for place, role in enumerate(roles) if role not in _SYSTEM), len(roles))
        sent.insert(head, {"role": roles[0] if head else "system", "content": shortened.note})
    return {**request, key: sent}


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
    """A copy of a client whose chat completions and responses are sent with shortened conversations.

    It is a client of the same class, over the same connections, with the same methods, also `stream`, `parse`,
    `with_raw_response` and `with_options`. Answers come back as they are. The client that is given is not changed.

    Args:
        client: An `OpenAI` or `AsyncOpenAI`, or a class derived from one.
        policy, model, compressor, token_counter, on_overflow, note_missing: See `compress_request`.
        max_sessions: Most conversations whose sessions are kept; others are built again when they go on.
    """
    conversations = Conversations(
        policy=policy, model=model, compressor=compressor, token_counter=token_counter,
        on_overflow=on_overflow, max_sessions=max_sessions,
    )  # fmt: skip

    def rewrite(body: Mapping[str, Any]) -> Mapping[str, Any]:
        return compress_request(body, conversations=conversations, note_missing=note_missing)

    return rewriting(client, {"/chat/completions": rewrite, "/responses": rewrite})


def _chat(messages: Sequence[Any]) -> Iterator[Reading]:
    """A turn for each message."""
    for number, given in enumerate(messages):
        message = as_dict(given)
        role, content = message.get("role"), message.get("content")
        if not isinstance(role, str):
            raise InputError(f'message {number}: "role" is {role!r}; allowed: a string such as "user".')
        # The annotations of an answer are places in its text.
        found = [] if message.get("annotations") else list(text_parts(content, _CHAT_TEXT, (number, "content")))
        more = any(value for key, value in message.items() if key not in _CHAT_KEYS)
        calls = tuple(_call(as_dict(call), "id") for call in message.get("tool_calls") or ())
        if message.get("function_call"):
            function = as_dict(message["function_call"])
            calls += (_call({**function, "id": f"function {function.get('name')}"}, "id"),)
        said = Said(
            "tool" if role == "function" else role,
            tuple(text for _, text in found),
            calls,
            message.get("tool_call_id") or (f"function {message.get('name')}" if role == "function" else None),
            more=more or bool(content and len(found) < (len(content) if isinstance(content, list) else 1)),
        )
        yield Reading(said, tuple(path for path, _ in found), ((number,),))


def _responses(items: Sequence[Any]) -> Iterator[Reading]:
    """A turn for each message and each result; what the model gave in one go (thoughts, calls, text) is one turn."""
    group: list[tuple[int, dict[str, Any]]] = []
    for number, given in enumerate(items):
        item = as_dict(given)
        role, kind = item.get("role"), str(item.get("type", ""))
        if not isinstance(role or item.get("type"), str):
            raise InputError(f'item {number} of "input" has neither "role" nor "type"; allowed: a message or an item.')
        if role == "assistant" or (role is None and not kind.endswith("_output") and kind not in _OTHER_SIDE):
            group.append((number, item))
            continue
        if group:
            yield _answer(group)
            group = []
        key = "content" if role is not None else "output"
        found = list(text_parts(item.get(key), _RESPONSES_TEXT, (number, key)))
        content = item.get(key)
        said = Said(
            str(role) if role is not None else "tool" if kind.endswith("_output") else "system",
            tuple(text for _, text in found),
            answers=item.get("call_id"),
            more=bool(content and len(found) < (len(content) if isinstance(content, list) else 1)) or key not in item,
        )
        yield Reading(said, tuple(path for path, _ in found), ((number,),))
    if group:
        yield _answer(group)


def _answer(group: Sequence[tuple[int, dict[str, Any]]]) -> Reading:
    """The turn of the model that some items make up."""
    found: list[tuple[Path, str]] = []
    calls: list[Call] = []
    thoughts = more = False
    for number, item in group:
        if item.get("role") == "assistant":
            content = item.get("content")
            own = list(text_parts(content, _RESPONSES_TEXT, (number, "content")))
            more = more or bool(content and len(own) < (len(content) if isinstance(content, list) else 1))
            found += own
        elif item["type"] == "reasoning":
            thoughts = True
        elif item.get("call_id"):
            calls.append(_call(item, "call_id"))
        else:  # tools that the provider runs itself, references, what is new
            more = True
    said = Said("assistant", tuple(text for _, text in found), tuple(calls), more=more, thoughts=thoughts)
    return Reading(said, tuple(path for path, _ in found), tuple((number,) for number, _ in group))


def _call(call: Mapping[str, Any], key: str) -> Call:
    function = as_dict(call.get("function") or call.get("custom")) or call
    arguments = function.get("arguments", function.get("input", function.get("action", "")))
    return Call(
        str(call.get(key) or ""),
        str(function.get("name") or ""),
        arguments if isinstance(arguments, str) else json.dumps(arguments, default=str),
    )
