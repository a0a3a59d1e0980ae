"""The OpenAI helpers, with the real client and a provider on this machine."""

import asyncio
import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest

openai = pytest.importorskip("openai")

from compressor import InputError, Policy, PolicyError  # noqa: E402
from compressor.integrations.openai import compress_request, with_compression  # noqa: E402
from tests.integrations.provider import Provider, provider  # noqa: E402
from tests.integrations.scripts import (  # noqa: E402
    ANSWER,
    PINNED,
    check_chat,
    check_responses,
    compressor,
    is_subsequence,
    rewrites,
    said,
)

CALL = {"id": "call_1", "type": "function", "function": {"name": "weather", "arguments": '{"city":"Graz"}'}}
TOOLS = [{"type": "function", "function": {"name": "weather", "parameters": {"type": "object", "properties": {}}}}]


def chat_answer(number: int, body: dict[str, Any]) -> Any:
    """A tool call, always with the same id, for what the user says, and a text for its result."""
    calls = body["messages"][-1]["role"] == "user" and number < 20
    message = {"role": "assistant", "content": None if calls else ANSWER} | ({"tool_calls": [CALL]} if calls else {})
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}
    if body.get("stream"):
        delta = {"index": 0, "delta": {"role": "assistant", "content": ANSWER}, "finish_reason": "stop"}
        return [{"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [delta]}]
    return {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}


def response_answer(number: int, body: dict[str, Any]) -> Any:
    """Thoughts and a tool call for what the user says, and a text for its result."""
    thoughts = {"type": "reasoning", "id": f"rs_{number}", "summary": []}
    if body["input"][-1].get("role") == "user":
        call = {
            "type": "function_call",
            "id": f"fc_{number}",
            "call_id": f"call_{number}",
            "name": "f",
            "arguments": "{}",
        }
        output = [thoughts, call]
    else:
        text = {"type": "output_text", "text": ANSWER, "annotations": []}
        output = [
            {"type": "message", "id": f"msg_{number}", "role": "assistant", "status": "completed", "content": [text]}
        ]
    fixed = {"object": "response", "created_at": 1, "model": "m", "parallel_tool_calls": True, "tool_choice": "auto"}
    return {"id": f"resp_{number}", **fixed, "tools": [], "output": output}


@pytest.fixture
def chat() -> Iterator[Provider]:
    """A provider of chat completions."""
    with provider(chat_answer) as running:
        yield running


def client_of(running: Provider, *, asynchronous: bool = False) -> Any:
    """A client of that provider."""
    kind = openai.AsyncOpenAI if asynchronous else openai.OpenAI
    return kind(api_key="none", base_url=running.url, max_retries=0)


def talk(client: Any, rounds: int) -> list[Any]:
    """Run an agent with one tool for some rounds, and give back its messages."""
    messages: list[Any] = [{"role": "system", "content": "You help with orders. Be really, really nice."}]
    for number in range(rounds):
        messages.append({"role": "user", "content": said(number)})
        while messages[-1]["role"] != "assistant" if isinstance(messages[-1], dict) else messages[-1].tool_calls:
            if not isinstance(messages[-1], dict):
                messages += [
                    {"role": "tool", "tool_call_id": call.id, "content": "It is, well, sunny, 31 degrees."}
                    for call in messages[-1].tool_calls
                ]
            answer = client.chat.completions.create(model="m", messages=messages, tools=TOOLS)
            message = answer.choices[0].message
            messages.append(message if message.tool_calls else {"role": "assistant", "content": message.content})
    return messages


def test_an_agent_sends_valid_shorter_requests_that_begin_alike(chat: Provider) -> None:
    """Over ten rounds with tools: pairs intact, the pinned turn verbatim, originals untouched, few rewrites."""
    client = with_compression(client_of(chat), compressor=compressor(max_tokens=320, keep_last=4))
    messages = talk(client, 10)
    bodies = [body["messages"] for body in chat.bodies]
    for body in bodies:
        check_chat(body)
        assert body[0] == messages[0]
        assert body[1]["content"] == PINNED
    assert 1 <= rewrites(bodies) <= 4
    originals = [message if isinstance(message, dict) else message.to_dict() for message in messages]
    assert originals[3]["content"] == "It is, well, sunny, 31 degrees."
    assert [message["content"] for message in originals if message["role"] == "user"] == [said(n) for n in range(10)]
    last = bodies[-1]
    assert sum(len(message["content"] or "") for message in last) < 0.9 * sum(
        len(message["content"] or "") for message in originals[: len(last)]
    )
    assert all(
        is_subsequence(new["content"] or "", old["content"] or "") for new, old in zip(last, originals, strict=False)
    )
    assert chat.bodies[-1]["tools"] == TOOLS


def test_the_given_client_stays_as_it_is(chat: Provider) -> None:
    """Only the copy compresses; it is a client of the same class, and so are its own copies."""
    plain = client_of(chat)
    client = with_compression(plain, compressor=compressor(preset="tight", keep_last=0))
    messages = [
        {"role": "user", "content": said(1)},
        {"role": "assistant", "content": ANSWER},
        {"role": "user", "content": "ok"},
    ]
    for one in (plain, client, client.with_options(timeout=5.0), plain.copy()):
        assert type(one) is openai.OpenAI
        one.chat.completions.create(model="m", messages=messages)
    sent = [body["messages"] for body in chat.bodies]
    assert sent[0] == sent[3] == messages
    assert sent[1] == sent[2] != messages


def test_every_way_to_ask_is_covered(chat: Provider) -> None:
    """Streams, parsed and raw answers come back as from any client, and all send shortened messages."""
    client = with_compression(client_of(chat), compressor=compressor(preset="tight", keep_last=0))
    request = {
        "model": "m",
        "messages": [{"role": "assistant", "content": ANSWER}, {"role": "tool", "content": "no pair"}],
    }
    chunks = list(client.chat.completions.create(stream=True, **request))
    assert chunks[0].choices[0].delta.content == ANSWER
    with client.chat.completions.stream(**request) as stream:
        assert any(event.type == "chunk" for event in stream)
    assert client.chat.completions.parse(**request).choices[0].message.content == ANSWER
    assert client.chat.completions.with_raw_response.create(**request).parse().choices[0].message.content == ANSWER
    with client.chat.completions.with_streaming_response.create(**request) as raw:
        assert ANSWER in raw.read().decode()
    assert len(chat.bodies) == 5
    assert all(len(body["messages"][0]["content"]) < len(ANSWER) for body in chat.bodies)


def test_an_asynchronous_client_does_the_same(chat: Provider) -> None:
    """Ten conversations at once, each in its own session."""

    async def run() -> None:
        client = with_compression(client_of(chat, asynchronous=True), compressor=compressor(max_tokens=30, keep_last=1))
        talks = [
            [
                {"role": "user", "content": f"{said(1)} {n}"},
                {"role": "assistant", "content": ANSWER},
                {"role": "user", "content": "ok"},
            ]
            for n in range(10)
        ]
        answers = await asyncio.gather(*(client.chat.completions.create(model="m", messages=one) for one in talks))
        assert len(answers) == 10
        stream = await client.chat.completions.create(model="m", messages=talks[0], stream=True)
        assert [chunk.choices[0].delta.content async for chunk in stream] == [ANSWER]
        assert isinstance(client.with_options(timeout=3.0), openai.AsyncOpenAI)

    asyncio.run(run())
    assert len(chat.bodies) == 11
    for body in chat.bodies:
        assert len(body["messages"][1]["content"]) < len(ANSWER)


def test_responses_keep_thoughts_with_their_calls() -> None:
    """An agent on the responses API, which gives items back as they came."""
    with provider(response_answer) as running:
        client = with_compression(client_of(running), compressor=compressor(max_tokens=150, keep_last=4))
        items: list[Any] = [{"role": "developer", "content": "Be really, really nice."}]
        for number in range(6):
            items.append({"role": "user", "content": said(number)})
            answer = client.responses.create(model="m", input=items, instructions="Well, be nice.")
            items += answer.output
            items.append({"type": "function_call_output", "call_id": answer.output[1].call_id, "output": "Well, 31."})
            items += client.responses.create(model="m", input=items).output
    bodies = [body["input"] for body in running.bodies]
    for body in bodies:
        check_responses(body)
        assert body[1]["content"] == PINNED
    assert 1 <= rewrites(bodies) <= 4
    assert running.bodies[0]["instructions"] == "Well, be nice."
    texts = [item["content"][0]["text"] for item in bodies[-1] if item.get("type") == "message"]
    assert any(len(text) < len(ANSWER) for text in texts)
    assert [item for item in bodies[-1] if item.get("type") == "reasoning"]


def test_a_request_is_changed_in_nothing_but_texts() -> None:
    """Images, names, cache marks, refusals, legacy calls, annotated answers, extra fields, and the argument itself."""
    text = {"type": "text", "text": ANSWER, "prompt_cache_breakpoint": {"mode": "explicit"}}
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    request = {
        "model": "m",
        "temperature": 0.2,
        "messages": [
            {"role": "system", "content": "Well, you are really, really nice."},
            {"role": "user", "name": "Ann", "content": [text, image]},
            {"role": "assistant", "content": ANSWER, "refusal": None, "annotations": [], "x": {"y": [1]}},
            {"role": "assistant", "content": ANSWER, "annotations": [{"type": "url_citation", "start_index": 3}]},
            {"role": "user", "content": said(1)},
            {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
            {"role": "function", "name": "f", "content": "Well, so, it is really, really hot."},
            {"role": "user", "content": "ok"},
        ],
    }
    before = copy.deepcopy(request)
    sent = compress_request(request, compressor=compressor(preset="tight", keep_last=1))
    assert request == before
    messages = sent.pop("messages")
    assert sent == {"model": "m", "temperature": 0.2}
    assert messages[1]["content"][0] == {**text, "text": messages[1]["content"][0]["text"]}
    assert len(messages[1]["content"][0]["text"]) < len(ANSWER)
    assert messages[1]["content"][1] == image
    assert messages[1]["name"] == "Ann"
    assert messages[2] == {**before["messages"][2], "content": messages[2]["content"]}
    assert len(messages[2]["content"]) < len(ANSWER)
    for same in (0, 3, 5, 6, 7):
        assert messages[same] == before["messages"][same]


def test_iterables_are_read_once_and_sent_whole() -> None:
    """Messages and parts may be any iterable, as the client allows; none is lost by being read."""
    parts = ({"type": "text", "text": part} for part in ("One, well.", "Two, well."))
    request = {"messages": iter([{"role": "user", "content": parts}])}
    sent = compress_request(request, compressor=compressor())
    assert sent["messages"][0]["content"] == [
        {"type": "text", "text": "One, well."},
        {"type": "text", "text": "Two, well."},
    ]


def test_what_a_hard_limit_left_out_is_noted() -> None:
    """With `omit`, the budget is kept, pairs go together, and one system message lists what went."""
    messages: list[dict[str, Any]] = [{"role": "system", "content": "Be nice."}]
    for number in range(1, 9):
        call = {**CALL, "id": f"call_{number}"}
        messages += [
            {"role": "user", "content": said(number)},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": call["id"], "content": "It is, well, sunny, and 31 degrees hot."},
            {"role": "assistant", "content": ANSWER},
        ]
    messages.append({"role": "user", "content": "ok"})
    options = {"compressor": compressor(max_tokens=120, keep_last=2), "on_overflow": "omit"}
    sent = compress_request({"messages": messages}, **options)["messages"]
    check_chat(sent)
    assert len(sent) < len(messages)
    noted = compress_request({"messages": messages}, note_missing=True, **options)["messages"]
    assert noted[:1] + noted[2:] == sent
    assert noted[1]["role"] == "system"


def test_a_result_whose_call_is_on_the_server_passes() -> None:
    """With `previous_response_id` the input begins with a tool's result."""
    items = [{"type": "function_call_output", "call_id": "c", "output": "Well, 31."}, {"role": "user", "content": "ok"}]
    assert compress_request({"input": items, "previous_response_id": "r"}, compressor=compressor())["input"] == items
    for request in ({"input": "Well, well."}, {"prompt": {"id": "p"}}):
        assert compress_request(request, compressor=compressor()) == request


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ({"model": "m"}, "NoneType"),
        ({"messages": "hello"}, "str"),
        ({"messages": [{"role": "user", "content": "hi"}, {"content": "hi"}]}, "message 1"),
        ({"messages": [3]}, "message 0"),
        ({"input": [{"content": "hi"}]}, "item 0"),
    ],
)
def test_a_request_without_a_conversation_is_refused(request_: dict[str, Any], message: str) -> None:
    """The error names the message."""
    with pytest.raises(InputError, match=message):
        compress_request(request_, compressor=compressor())


def test_a_wrong_option_shows_when_the_client_is_made() -> None:
    """Not in the first call."""
    client = openai.OpenAI(api_key="none")
    with pytest.raises(PolicyError, match="on_overflow"):
        with_compression(client, model="heuristic", on_overflow="silently")  # type: ignore[arg-type]
    with pytest.raises(PolicyError, match="max_sessions"):
        with_compression(client, model="heuristic", policy=Policy(), max_sessions=0)


def test_a_body_of_json_is_what_is_sent() -> None:
    """The result of the pure function can be written as JSON, models of the client's included."""
    answered = openai.types.chat.ChatCompletionMessage(role="assistant", content=ANSWER)
    sent = compress_request(
        {"messages": [{"role": "user", "content": "Hi."}, answered, {"role": "user", "content": "ok"}]},
        compressor=compressor(preset="tight", keep_last=0),
    )
    assert json.dumps(sent["messages"])
    assert len(sent["messages"][1]["content"]) < len(ANSWER)
