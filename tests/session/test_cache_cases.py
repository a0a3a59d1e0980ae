"""Conversations in which other tools lost the provider's cache: what was sent stays as it was sent."""

import json
from typing import Any

import pytest

from compressor import Compressor, Policy, Session
from compressor.contract import is_subsequence

FESTIVAL = (
    [
        {"role": "system", "content": "You plan a garden show."},
        {"role": "user", "content": "Good evening! Reserve the park for 3 October, and never before 9:30."},
        {
            "role": "assistant",
            "content": "Good evening to you too, how lovely! So, I have, as you asked, reserved the park for 3 October, "
            "from 9:30 on, and I really do hope that suits you.",
        },
        {"role": "user", "content": "Great. How many tents fit?"},
        {
            "role": "assistant",
            "content": "Well, that is a good question: at most 27 tents, if the pond is not drained.",
        },
    ],
    [
        {"role": "user", "content": "Then drain it. How many now?"},
        {"role": "assistant", "content": "Thanks, got it, in that case only 40 tents fit, not 27."},
    ],
    [
        "Reserve the park for 3 October, and never before 9:30.",
        "How many tents fit?",
        "at most 27",
        "if",
        "not drained",
    ],
)


def call(name: str, said: str) -> dict[str, Any]:
    function = {"name": "wc", "arguments": json.dumps({"f": f"{name}.csv"})}
    return {
        "role": "assistant",
        "content": said,
        "tool_calls": [{"id": name, "type": "function", "function": function}],
    }


TOOLS = (
    [
        {"role": "user", "content": "Hello, could you count the lines of both files, please?"},
        call("a", "Sure, let me go and have a look at them."),
        {"role": "tool", "tool_call_id": "a", "content": "   712 a.csv"},
    ],
    [
        call("b", "Good, and now the next one, one moment."),
        {"role": "tool", "tool_call_id": "b", "content": "     0 b.csv"},
        {"role": "assistant", "content": "Thanks for waiting: a.csv has 712 lines, b.csv none."},
    ],
    ["could you count the lines of both files, please?", "   712 a.csv"],
)


@pytest.mark.parametrize("append_only", [False, True])
@pytest.mark.parametrize(("case", "keep_last"), [(FESTIVAL, 0), (TOOLS, 1)])
def test_what_was_sent_is_sent_again_byte_for_byte(
    shipped: Compressor,
    case: tuple[list[dict[str, Any]], list[dict[str, Any]], list[str]],
    keep_last: int,
    append_only: bool,
) -> None:
    """The pair that closes after the cut, and the window that moves on, change nothing before them; only new turns are new."""
    first, more, must_keep = case
    policy = Policy(keep_ratio=0.5, keep_last=keep_last)
    session = Session(compressor=shipped, policy=policy, append_only=append_only)
    session.extend(first)
    before = session.messages()
    session.extend(more)
    after = session.messages()
    assert after[: len(first)] == before
    assert session.report.prefix_stable_bytes == session.report.calls[0].bytes - 1
    texts = [message["content"] for message in after]
    assert all(any(wanted in text for text in texts) for wanted in must_keep)
    assert sum(map(len, texts)) < sum(len(message["content"]) for message in [*first, *more])
    for message, source in zip(after, [*first, *more], strict=True):
        assert is_subsequence(message["content"], source["content"])
        assert {**message, "content": ""} == {**source, "content": ""}
        assert message["content"].strip()
