"""Random conversations in the shape of each provider, and the rules that each provider checks."""

from typing import Any

from hypothesis import strategies as st

SENTENCES = (
    "Hi there!", "Thanks a lot, that is really very kind of you.", "Please book a table for 4 on Friday.",
    "It must not cost more than 90 euros.", "Well, I was just thinking about it, you know, the other day.",
    "Sure, I would be happy to help you with that!", "The pump is covered for 12 months, but the labour is not.",
    "No worries, take your time, there is really no hurry at all.", "What does it cost?", "Scrap that, at most 3.",
    "I looked at the whole list again, and honestly, it all seems quite fine to me.", "好的，谢谢您！", "请帮我订一张去上海的票，预算不超过500元。",
    "嗯嗯，那个，其实我觉得这个酒店还是挺不错的，环境也很好。", "改成最多3个人。", "我看了一下，目前还没有付款，如果超过200元就先别买。",
)  # fmt: skip

texts = st.lists(st.sampled_from(SENTENCES), min_size=1, max_size=4).map(" ".join)
IMAGE = {"openai": {"type": "image_url", "image_url": {"url": "https://x.example/a.png"}}}
IMAGE["anthropic"] = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA=="}}


@st.composite
def conversations(draw: st.DrawFn, provider: str, max_rounds: int = 5) -> list[dict[str, Any]]:
    """A conversation that a provider takes: system prompt, questions, tool calls alone and in parallel, images."""
    messages: list[dict[str, Any]] = []
    if provider == "openai" and draw(st.booleans()):
        messages.append({"role": "system", "content": "You help with bookings. Never quote prices."})
    ids = 0
    for _ in range(draw(st.integers(1, max_rounds))):
        messages.append({"role": "user", "content": draw(_content(provider))})
        for _ in range(draw(st.sampled_from([0, 0, 1, 2]))):
            count = draw(st.integers(1, 3))
            calls = [f"call_{ids + number}" for number in range(count)]
            ids += count
            said = draw(st.one_of(st.none(), texts))
            results = draw(st.permutations(calls))
            if provider == "openai":
                made = [
                    {"id": one, "type": "function", "function": {"name": "look", "arguments": '{"a": 1}'}}
                    for one in calls
                ]
                messages.append({"role": "assistant", "content": said, "tool_calls": made})
                messages += [{"role": "tool", "tool_call_id": one, "content": draw(texts)} for one in results]
            else:
                blocks = [{"type": "text", "text": said}] if said else []
                blocks += [{"type": "tool_use", "id": one, "name": "look", "input": {"a": 1}} for one in calls]
                messages.append({"role": "assistant", "content": blocks})
                answers = [{"type": "tool_result", "tool_use_id": one, "content": draw(texts)} for one in results]
                more = [{"type": "text", "text": draw(texts)}] if draw(st.booleans()) else []
                messages.append({"role": "user", "content": [*answers, *more]})
        messages.append({"role": "assistant", "content": draw(_content(provider, images=False))})
    return messages


@st.composite
def _content(draw: st.DrawFn, provider: str, images: bool = True) -> Any:
    if draw(st.integers(0, 2)):
        return draw(texts)
    parts: list[dict[str, Any]] = [{"type": "text", "text": draw(texts)} for _ in range(draw(st.integers(1, 2)))]
    if images and draw(st.booleans()):
        parts.insert(draw(st.integers(0, len(parts))), IMAGE[provider])
    return parts


def check(messages: list[dict[str, Any]], provider: str) -> None:
    """Refuse what the provider would refuse."""
    (check_openai if provider == "openai" else check_anthropic)(messages)


_NEXT = {
    "start": {"system", "user"}, "system": {"system", "user"}, "user": {"assistant", "calls"}, "assistant": {"user"},
    "calls": {"tool"}, "tool": {"tool", "assistant", "calls"},
}  # fmt: skip


def check_openai(messages: list[dict[str, Any]]) -> None:
    """Each call is answered directly behind its turn; nothing is empty; user and assistant take turns."""
    waiting: list[str] = []
    last = "start"
    for message in messages:
        role = "calls" if message.get("tool_calls") else message["role"]
        assert role in _NEXT[last], f"{role} after {last}"
        if role == "tool":
            waiting.remove(message["tool_call_id"])
        else:
            assert not waiting, f"calls without a result before {message}"
        waiting += [call["id"] for call in message.get("tool_calls") or ()]
        _check_content(message.get("content"), optional=role == "calls")
        last = role


def check_anthropic(messages: list[dict[str, Any]]) -> None:
    """A user begins; roles alternate; every tool_use has its result in the next message; no text block is empty."""
    waiting: set[str] = set()
    for number, message in enumerate(messages):
        assert message["role"] == ("user", "assistant")[number % 2], f"{message['role']} at {number}"
        _check_content(message["content"])
        parts = message["content"] if isinstance(message["content"], list) else []
        results = {part["tool_use_id"] for part in parts if part["type"] == "tool_result"}
        assert results == waiting, f"results {results} for {waiting}"
        waiting = {part["id"] for part in parts if part["type"] == "tool_use"}


def _check_content(content: Any, optional: bool = False) -> None:
    if content is None:
        assert optional
    elif isinstance(content, str):
        assert content.strip(), "an empty message"
    else:
        assert content, "a message without parts"
        assert all(part["text"].strip() for part in content if part["type"] == "text"), "an empty text block"
