"""The Anthropic helpers, with the real client and a provider on this machine."""

import asyncio
import copy
from collections.abc import Iterator
from typing import Any

import pytest

anthropic = pytest.importorskip("anthropic")

from compressor import InputError, PolicyError, SessionError  # noqa: E402
from compressor.integrations.anthropic import compress_request, with_compression  # noqa: E402
from tests.integrations.provider import Provider, provider  # noqa: E402
from tests.integrations.scripts import (  # noqa: E402
    ANSWER,
    PINNED,
    check_anthropic,
    compressor,
    is_subsequence,
    rewrites,
    said,
)

TOOLS = [{"name": "weather", "input_schema": {"type": "object", "properties": {}}}]
USAGE = {"input_tokens": 1, "output_tokens": 1}


def answer(number: int, body: dict[str, Any]) -> Any:
    """Thoughts and two tool calls for what the user says, and a text for their results."""
    if body.get("stream"):
        return events()
    last = body["messages"][-1]["content"]
    if isinstance(last, str) or last[0]["type"] == "text":
        content = [
            {"type": "thinking", "thinking": "Well, so, hm.", "signature": "c2ln"},
            {"type": "text", "text": ANSWER},
            *(
                {"type": "tool_use", "id": f"toolu_{number}_{n}", "name": "weather", "input": {"n": n}}
                for n in range(2)
            ),
        ]
    else:
        content = [{"type": "text", "text": ANSWER}]
    reason = "tool_use" if len(content) > 1 else "end_turn"
    return {
        "id": "msg",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": content,
        "stop_reason": reason,
        "usage": USAGE,
    }


def events() -> list[dict[str, Any]]:
    """A streamed answer."""
    message = {"id": "msg", "type": "message", "role": "assistant", "model": "m", "content": [], "usage": USAGE}
    return [
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": ANSWER}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": USAGE},
        {"type": "message_stop"},
    ]


@pytest.fixture
def server() -> Iterator[Provider]:
    """A provider of messages."""
    with provider(answer) as running:
        yield running


def client_of(running: Provider, *, asynchronous: bool = False) -> Any:
    """A client of that provider."""
    kind = anthropic.AsyncAnthropic if asynchronous else anthropic.Anthropic
    return kind(api_key="none", base_url=running.url, max_retries=0)


def talk(client: Any, rounds: int, **options: Any) -> list[dict[str, Any]]:
    """Run an agent with a tool for some rounds, and give back its messages, with the client's own blocks in them."""
    messages: list[dict[str, Any]] = []
    for number in range(rounds):
        messages.append({"role": "user", "content": said(number)})
        while True:
            reply = client.messages.create(model="m", max_tokens=99, messages=messages, tools=TOOLS, **options)
            messages.append({"role": "assistant", "content": reply.content})
            uses = [block for block in reply.content if block.type == "tool_use"]
            if not uses:
                break
            results = [
                {"type": "tool_result", "tool_use_id": use.id, "content": "Well, it is 31 degrees."} for use in uses
            ]
            messages.append({"role": "user", "content": results})
    return messages


def test_an_agent_sends_valid_shorter_requests_that_begin_alike(server: Provider) -> None:
    """Over ten rounds with parallel tools: pairs and thoughts intact, the pinned turn verbatim, few rewrites."""
    client = with_compression(client_of(server), compressor=compressor(max_tokens=700, keep_last=4))
    system = [{"type": "text", "text": "Be really, really nice.", "cache_control": {"type": "ephemeral"}}]
    messages = talk(client, 10, system=system)
    bodies = [body["messages"] for body in server.bodies]
    for number, body in enumerate(bodies):
        check_anthropic(body)
        assert body[0]["content"] == PINNED
        assert len(body) == 2 * number + 1
        assert server.bodies[number]["system"] == system
        assert server.bodies[number]["tools"] == TOOLS
    assert 1 <= rewrites(bodies) <= 4
    assert messages[1]["content"][1].text == ANSWER
    text = bodies[-1][1]["content"][1]["text"]
    assert is_subsequence(text, ANSWER)
    assert len(text) < len(ANSWER)
    assert bodies[-1][1]["content"][0] == {"type": "thinking", "thinking": "Well, so, hm.", "signature": "c2ln"}


def test_every_way_to_ask_is_covered(server: Provider) -> None:
    """Streams, beta, raw answers and the copy's own copies send shortened messages; the given client does not."""
    plain = client_of(server)
    client = with_compression(plain, compressor=compressor(preset="tight", keep_last=0))
    request = {
        "model": "m",
        "max_tokens": 9,
        "messages": [{"role": "user", "content": said(1)}, {"role": "assistant", "content": ANSWER}],
    }
    plain.messages.create(**request)
    assert server.bodies.pop()["messages"] == request["messages"]
    with client.messages.stream(**request) as stream:
        assert "".join(stream.text_stream) == ANSWER
    assert next(iter(client.messages.create(stream=True, **request))).type == "message_start"
    client.beta.messages.create(**request)
    client.messages.with_raw_response.create(**request).parse()
    client.with_options(timeout=5.0).messages.create(**request)
    assert len(server.bodies) == 5
    assert all(len(body["messages"][1]["content"]) < len(ANSWER) for body in server.bodies)


def test_an_asynchronous_client_does_the_same(server: Provider) -> None:
    """Five conversations at once, and a stream."""

    async def run() -> None:
        client = with_compression(
            client_of(server, asynchronous=True), compressor=compressor(preset="tight", keep_last=1)
        )
        talks = [
            [
                {"role": "user", "content": f"{n}"},
                {"role": "assistant", "content": ANSWER},
                {"role": "user", "content": "ok"},
            ]
            for n in range(5)
        ]
        calls = (client.messages.create(model="m", max_tokens=9, messages=one) for one in talks)
        assert all(reply.content[1].text == ANSWER for reply in await asyncio.gather(*calls))
        async with client.messages.stream(model="m", max_tokens=9, messages=talks[0]) as stream:
            assert "".join([text async for text in stream.text_stream]) == ANSWER

    asyncio.run(run())
    assert sorted(body["messages"][0]["content"] for body in server.bodies) == ["0", "0", "1", "2", "3", "4"]
    assert all(len(body["messages"][1]["content"]) < len(ANSWER) for body in server.bodies)


def test_a_request_is_changed_in_nothing_but_texts() -> None:
    """Images, cited text, cache marks, tool results, server tools, extra fields, and the argument itself."""
    cited = {"type": "text", "text": ANSWER, "citations": [{"type": "char_location", "cited_text": "so"}]}
    marked = {"type": "text", "text": ANSWER, "cache_control": {"type": "ephemeral"}}
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}
    use = {"type": "tool_use", "id": "t", "name": "f", "input": {"q": "Well, so."}}
    result = {
        "type": "tool_result",
        "tool_use_id": "t",
        "content": [{"type": "text", "text": "Well, it is so."}, image],
    }
    search = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}
    request = {
        "model": "m",
        "max_tokens": 9,
        "system": "Well, be really, really nice.",
        "messages": [
            {"role": "user", "content": [image, marked]},
            {"role": "assistant", "content": [search, cited, marked, use]},
            {"role": "user", "content": [result, {"type": "text", "text": said(1)}]},
            {"role": "assistant", "content": ANSWER},
            {"role": "user", "content": "ok"},
        ],
    }
    before = copy.deepcopy(request)
    sent = compress_request(request, compressor=compressor(preset="tight", keep_last=1))
    assert request == before
    check_anthropic(sent["messages"])
    shorter = sent["messages"][0]["content"][1]
    assert shorter == {**marked, "text": shorter["text"]}
    assert len(shorter["text"]) < len(ANSWER)
    assert sent["messages"][0]["content"][0] == image
    assert sent["messages"][1]["content"] == [
        search,
        cited,
        {**marked, "text": sent["messages"][1]["content"][2]["text"]},
        use,
    ]
    assert sent["messages"][2]["content"][0] == result
    assert len(sent["messages"][2]["content"][1]["text"]) < len(said(1))
    assert {key: sent[key] for key in ("model", "max_tokens", "system")} == {
        key: before[key] for key in ("model", "max_tokens", "system")
    }


def test_what_a_hard_limit_left_out_is_noted_in_the_system_prompt() -> None:
    """Pairs of parallel calls and results go together, and messages that held nothing else with them."""
    messages: list[dict[str, Any]] = []
    for number in range(1, 8):
        uses = [{"type": "tool_use", "id": f"t{number}{n}", "name": "f", "input": {}} for n in range(2)]
        results = [
            {"type": "tool_result", "tool_use_id": use["id"], "content": "Well, it is 31 degrees."} for use in uses
        ]
        messages += [
            {"role": "user", "content": said(number)},
            {"role": "assistant", "content": uses},
            {"role": "user", "content": results},
            {"role": "assistant", "content": ANSWER},
        ]
    messages.append({"role": "user", "content": "ok"})
    options = {"compressor": compressor(max_tokens=120, keep_last=2), "on_overflow": "omit"}
    sent = compress_request({"messages": messages}, **options)
    check_anthropic(sent["messages"])
    assert len(sent["messages"]) < len(messages)
    assert "system" not in sent
    noted = compress_request({"messages": messages, "system": "Be nice."}, note_missing=True, **options)
    assert noted["messages"] == sent["messages"]
    assert noted["system"].startswith("Be nice.\n\n")
    assert noted["system"].count("\n") == 2
    blocks = compress_request(
        {"messages": messages, "system": [{"type": "text", "text": "Be nice."}]}, note_missing=True, **options
    )
    assert [block["type"] for block in blocks["system"]] == ["text", "text"]


def test_a_budget_below_the_pins_is_refused_if_asked() -> None:
    """The error comes before anything is sent."""
    messages = [{"role": "user", "content": f"{PINNED} {number}"} for number in range(9)]
    with pytest.raises(SessionError):
        compress_request({"messages": messages}, compressor=compressor(max_tokens=40, keep_last=0), on_overflow="raise")


@pytest.mark.parametrize(
    ("messages", "named"),
    [
        (None, "NoneType"),
        ("hello", "str"),
        ([{"role": "user", "content": "hi"}, {"role": "user"}], "message 1"),
        ([{"content": "hi"}], "message 0"),
        ([{"role": "user", "content": 3}], "message 0"),
    ],
)
def test_a_request_without_a_conversation_is_refused(messages: Any, named: str) -> None:
    """The error names the message."""
    with pytest.raises(InputError, match=named):
        compress_request({"model": "m", "messages": messages}, compressor=compressor())


def test_a_wrong_option_shows_when_the_client_is_made() -> None:
    """Not in the first call."""
    with pytest.raises(PolicyError, match="on_overflow"):
        with_compression(anthropic.Anthropic(api_key="none"), model="heuristic", on_overflow="omit")
