"""A long conversation with little in it, and what is checked of the bodies that it is sent in."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from compressor import Compressor, Policy
from compressor.scoring.heuristic import HeuristicScorer
from tests.fakes import word_counter

PINNED = "Please send 3 chairs to Graz, but I must not pay more than 90 euros."

CHATTER = (
    "Well, that is really very kind of you, and I was, you know, just out in the garden all day long with everybody.",
    "Oh, great, wonderful, thanks a lot for everything, it was such a lovely, lovely day out here in the sunshine again.",
)

ANSWER = (
    "Sure, I would be really happy to help you with that! Well, so, basically, the chairs are more or less on their way, "
    "as far as I can see right now, and everything is going just fine."
)


def compressor(**options: Any) -> Compressor:
    """A compressor without a model, that counts words."""
    return Compressor(HeuristicScorer(), policy=Policy(**options) if options else None, token_counter=word_counter)


def said(number: int) -> str:
    """What the user says: a request first, chatter after it."""
    return PINNED if number == 0 else f"{CHATTER[number % 2]} That was day {number}."


def is_subsequence(shorter: str, longer: str) -> bool:
    """Whether a text is another one with characters left out."""
    rest = iter(longer)
    return all(character in rest for character in shorter)


def rewrites(bodies: Sequence[Sequence[Any]]) -> int:
    """How many calls did not begin with what the call before them sent."""
    return sum(later[: len(earlier)] != list(earlier) for earlier, later in pairwise(bodies))


def check_chat(messages: Sequence[dict[str, Any]]) -> None:
    """Refuse what OpenAI's chat completions refuse: an empty message, a tool call without its result directly behind it."""
    open_calls: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            open_calls.remove(message["tool_call_id"])
            continue
        assert not open_calls, f"no result for {open_calls}"
        open_calls = [call["id"] for call in message.get("tool_calls") or ()]
        assert message["content"] or open_calls, message
    assert not open_calls


def check_responses(items: Sequence[dict[str, Any]]) -> None:
    """Refuse what the responses API refuses: a result without its call, a call without its result."""
    calls = [item["call_id"] for item in items if item.get("type") == "function_call"]
    results = [item["call_id"] for item in items if item.get("type") == "function_call_output"]
    assert sorted(calls) == sorted(results)
    assert all(item["content"] for item in items if "role" in item)


def check_anthropic(messages: Sequence[dict[str, Any]]) -> None:
    """Refuse what Anthropic's messages API refuses: wrong order of roles, empty text, a tool call without its result."""
    assert [message["role"] for message in messages] == [("user", "assistant")[n % 2] for n in range(len(messages))]
    open_calls: set[str] = set()
    for message in messages:
        blocks = message["content"]
        blocks = [{"type": "text", "text": blocks}] if isinstance(blocks, str) else blocks
        assert blocks
        results = [block for block in blocks if block["type"] == "tool_result"]
        assert {block["tool_use_id"] for block in results} == open_calls
        assert blocks[: len(results)] == results
        assert all(block["text"].strip() for block in blocks if block["type"] == "text"), message
        open_calls = {block["id"] for block in blocks if block["type"] == "tool_use"}
    assert not open_calls
