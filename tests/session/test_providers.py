"""At every step of a growing conversation the providers would take what the session sends."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compressor import Compressor, Policy, Session
from compressor.contract import is_subsequence
from compressor.scoring.heuristic import HeuristicScorer
from compressor.session.protocol import whole_text
from tests.fakes import word_counter
from tests.session.conversations import check, conversations

COMPRESSOR = Compressor(HeuristicScorer(), token_counter=word_counter)


def settled(messages: list[dict[str, Any]]) -> list[int]:
    """The lengths at which no tool call waits for its result."""
    ends, waiting = [], 0
    for end, message in enumerate(messages, 1):
        parts = message["content"] if isinstance(message["content"], list) else []
        waiting += len(message.get("tool_calls") or ()) + sum(part["type"] == "tool_use" for part in parts)
        waiting -= (message["role"] == "tool") + sum(part["type"] == "tool_result" for part in parts)
        if not waiting:
            ends.append(end)
    return ends


def strings(value: Any) -> list[str]:
    """Every string of a message that is text, and every other value as it is."""
    if isinstance(value, dict):
        return [text for key, item in sorted(value.items()) for text in [key, *strings(item)]]
    return [text for item in value for text in strings(item)] if isinstance(value, list) else [str(value)]


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_every_output_is_valid_and_only_ever_shrinks(provider: str, data: st.DataObject) -> None:
    """Whatever the budget, the window and the overflow: calls keep their results, roles alternate, nothing is empty."""
    messages = data.draw(conversations(provider))
    policy = Policy(
        max_tokens=data.draw(st.integers(5, 120)),
        keep_last=data.draw(st.integers(0, 4)),
        floor=data.draw(st.sampled_from(["sure", "masks"])),
    )
    session = Session(
        compressor=COMPRESSOR, policy=policy, on_overflow=data.draw(st.sampled_from(["report", "omit", "omit"]))
    )
    check(messages, provider)
    sent: dict[int, dict[str, Any]] = {}
    at = 0
    for end in settled(messages):
        session.extend(messages[at:end])
        at = end
        output = session.messages()
        check(output, provider)
        numbers = session._state.present
        assert len(numbers) == len(output)
        for number, message in zip(numbers, output, strict=True):
            before = strings(sent.get(number, messages[number]))
            after = strings(message)
            assert len(before) == len(after)
            assert all(is_subsequence(one, other) for one, other in zip(after, before, strict=True))
            sent[number] = message
        assert set(numbers) <= set(sent)
        kept = set(numbers)
        missing = {slot.turn: slot for slot in session.memory.missing}
        assert set(range(end)) - kept <= set(missing), "a turn went without a word in memory.missing"
        for turn, slot in missing.items():
            assert slot.text == whole_text(messages[turn], session._state.cuts[turn].turn.text)
        total = sum(session._state.cuts[n].tokens[session._state.levels[n]] for n in numbers)
        assert session.report.tokens_after == total
        assert session.report.budget_met == (total <= (policy.max_tokens or 0))
    assert session.originals() == messages


@settings(max_examples=20, deadline=None)
@given(messages=conversations("openai"), ratio=st.sampled_from([0.0, 0.3, 0.5, 0.8, 1.0]), keep_last=st.integers(0, 3))
def test_append_only_output_is_never_changed(messages: list[dict[str, Any]], ratio: float, keep_last: int) -> None:
    """What was returned stands at the head of every later output, at any ratio and window."""
    policy = Policy(keep_ratio=ratio, keep_last=keep_last)
    session = Session(compressor=COMPRESSOR, policy=policy, append_only=True)
    before: list[dict[str, Any]] = []
    for message in messages:
        session.append(message)
        output = session.messages()
        assert output[: len(before)] == before
        before = output
    assert session.report.stable_share <= 1
    assert all(
        call.prefix_stable_bytes == earlier.bytes - 1
        for earlier, call in zip(session.report.calls, session.report.calls[1:], strict=False)
    )
