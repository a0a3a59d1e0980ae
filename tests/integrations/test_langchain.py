"""The LangChain adapters, with the real framework and scripted models."""

import asyncio
import json
import logging
import threading
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("langchain")

from langchain.agents import create_agent
from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.chat_history import InMemoryChatMessageHistory
from langchain_core.documents import Document
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    convert_to_openai_messages,
    trim_messages,
)
from langchain_core.messages.utils import count_tokens_approximately
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder
from langchain_core.runnables.history import RunnableWithMessageHistory
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import PrivateAttr

from compressor import Policy, PolicyError, SessionError
from compressor.integrations.langchain import (
    CompressedChatMessageHistory,
    CompressionMiddleware,
    DocumentCompressor,
    StateCompressionMiddleware,
    compress_messages,
)
from compressor.integrations.langchain.messages import read, write
from tests.integrations.scripts import (
    ANSWER,
    PINNED,
    check_chat,
    compressor,
    is_subsequence,
    rewrites,
    said,
)


class Scripted(BaseChatModel):
    """Calls a tool twice for what the user says, and answers with a text for the results; remembers what it saw."""

    _seen: list[list[BaseMessage]] = PrivateAttr(default_factory=list)
    _lock: Any = PrivateAttr(default_factory=threading.Lock)

    @property
    def _llm_type(self) -> str:
        return "scripted"

    @property
    def seen(self) -> list[list[BaseMessage]]:
        """The messages of each call."""
        return self._seen

    def bind_tools(self, tools: Any, **kwargs: Any) -> "Scripted":
        return self

    def _answer(self, messages: list[BaseMessage]) -> AIMessage:
        with self._lock:
            self._seen.append(list(messages))
        if isinstance(messages[-1], HumanMessage):
            calls = [{"name": "weather", "args": {"city": city}, "id": f"call_{city}"} for city in ("Graz", "Linz")]
            return AIMessage("", tool_calls=calls)
        return AIMessage(ANSWER)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=self._answer(messages))])

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        answer = self._answer(messages)
        if answer.tool_calls:
            chunks = [
                {"name": call["name"], "args": json.dumps(call["args"]), "id": call["id"], "index": at}
                for at, call in enumerate(answer.tool_calls)
            ]
            yield ChatGenerationChunk(message=AIMessageChunk("", tool_call_chunks=chunks))
            return
        for word in ANSWER.split(" "):
            yield ChatGenerationChunk(message=AIMessageChunk(word + " "))


def weather(city: str) -> str:
    """Tell the weather of a city."""
    return f"Well, in {city} it is, so to say, 31 degrees."


def thread(name: str) -> Any:
    """The config of a thread."""
    return {"configurable": {"thread_id": name}}


def bodies(model: Scripted) -> list[Any]:
    """What a provider would have been sent, call by call."""
    return [convert_to_openai_messages(messages) for messages in model.seen]


def ask(agent: Any, name: str, rounds: int, first: int = 0) -> dict[str, Any]:
    """Say something to an agent in some rounds, and give back its state."""
    for number in range(first, first + rounds):
        state = agent.invoke({"messages": [HumanMessage(said(number))]}, thread(name))
    return state  # type: ignore[no-any-return]


def test_an_agent_sees_less_and_its_state_keeps_the_originals() -> None:
    """Over ten rounds with parallel tools: valid requests, the pinned turn verbatim, few rewrites, a memory beside it."""
    model = Scripted()
    middleware = CompressionMiddleware(compressor=compressor(max_tokens=420, keep_last=4))
    agent = create_agent(
        model, [weather], system_prompt="Be really, really nice.", middleware=[middleware], checkpointer=InMemorySaver()
    )
    state = ask(agent, "1", 10)
    sent = bodies(model)
    for body in sent:
        check_chat(body)
        assert body[0]["content"] == "Be really, really nice."
        assert body[1]["content"] == PINNED
    assert 1 <= rewrites(sent) <= 4
    messages = state["messages"]
    assert [message.content for message in messages if isinstance(message, HumanMessage)] == [
        said(n) for n in range(10)
    ]
    assert {message.content for message in messages if isinstance(message, AIMessage)} == {"", ANSWER}
    last = model.seen[-1][1:]
    assert [message.id for message in last] == [message.id for message in messages[:-1]]
    assert sum(len(message.text) for message in last) < 0.9 * sum(len(message.text) for message in messages[:-1])
    assert all(is_subsequence(new.text, old.text) for new, old in zip(last, messages, strict=False))
    session = middleware.session(messages)
    assert len(session) == len(messages)
    assert any("90 euros" in slot.text for slot in session.memory.constraints)


def test_threads_do_not_mix() -> None:
    """Two threads in turns, and eight at once, see what each would see alone."""
    model = Scripted()
    middleware = CompressionMiddleware(compressor=compressor(max_tokens=200, keep_last=2))
    agent = create_agent(model, [weather], middleware=[middleware], checkpointer=InMemorySaver())
    for number in range(5):
        for name in "ab":
            agent.invoke({"messages": [HumanMessage(said(number) + name)]}, thread(name))
    ends = {body[0]["content"][-1] for body in bodies(model)}
    assert ends == {"a", "b"}
    by_thread = {end: [body for body in bodies(model) if body[0]["content"].endswith(end)] for end in ends}
    for name, sent in by_thread.items():
        assert rewrites(sent) <= 4
        assert all(name in message["content"] for body in sent for message in body if message["role"] == "user")
    one = [[message["content"] for message in body] for body in by_thread["a"]]
    workers = [threading.Thread(target=ask, args=(agent, f"t{number}", 4)) for number in range(8)]
    model.seen.clear()
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(model.seen) == 8 * 4 * 2
    longest = [[message["content"] for message in body] for body in bodies(model) if len(body) == len(one[7])]
    assert len(longest) == 8
    assert all(body == longest[0] for body in longest)


def test_a_restart_sends_the_same_bytes() -> None:
    """Another process finds the checkpoint but no session, and goes on as if nothing had happened."""
    saver = InMemorySaver()
    outputs = []
    for restarts in (False, True):
        model = Scripted()
        name = f"restarts {restarts}"
        for number in range(6):
            if number in (0, 4) and (restarts or not number):
                middleware = CompressionMiddleware(compressor=compressor(max_tokens=250, keep_last=2))
                agent = create_agent(model, [weather], middleware=[middleware], checkpointer=saver)
            ask(agent, name, 1, first=number)
        outputs.append(bodies(model))
    assert outputs[0] == outputs[1]


def test_an_edited_past_is_followed() -> None:
    """A run from an earlier checkpoint sees that past, cut as before."""
    model = Scripted()
    middleware = CompressionMiddleware(compressor=compressor(max_tokens=250, keep_last=2))
    agent = create_agent(model, [weather], middleware=[middleware], checkpointer=InMemorySaver())
    ask(agent, "1", 5)
    fork = next(state for state in agent.get_state_history(thread("1")) if len(state.values["messages"]) == 16)
    model.seen.clear()
    agent.invoke({"messages": [HumanMessage("Sorry, let us start over from here.")]}, fork.config)
    sent = bodies(model)
    check_chat(sent[0])
    assert len(sent[0]) == 17
    assert sent[0][0]["content"] == PINNED


def test_asynchronous_agents_and_streams() -> None:
    """Tokens stream through, and asynchronous calls are shortened as well."""
    model = Scripted()
    middleware = CompressionMiddleware(compressor=compressor(max_tokens=120, keep_last=2))
    agent = create_agent(model, [weather], middleware=[middleware], checkpointer=InMemorySaver())

    async def run() -> str:
        for number in range(3):
            await agent.ainvoke({"messages": [HumanMessage(said(number))]}, thread("1"))
        text = ""
        stream = agent.astream({"messages": [HumanMessage("ok")]}, thread("1"), stream_mode="messages")
        async for chunk, _ in stream:
            text += chunk.text if isinstance(chunk, AIMessageChunk) else ""
        return text

    assert asyncio.run(run()).strip() == ANSWER
    for body in bodies(model):
        check_chat(body)
    assert len(model.seen[-1][4].text) < len(ANSWER)
    text = "".join(
        chunk.text
        for chunk, _ in agent.stream({"messages": [HumanMessage("fine")]}, thread("1"), stream_mode="messages")
        if isinstance(chunk, AIMessageChunk)
    )
    assert text.strip() == ANSWER


def test_the_state_is_replaced_if_asked() -> None:
    """Checkpoints get smaller; the model sees what it sees otherwise, since nothing is cut twice."""
    seen, sizes = [], []
    for kind in (CompressionMiddleware, StateCompressionMiddleware):
        model = Scripted()
        middleware = kind(compressor=compressor(max_tokens=250, keep_last=2))
        agent = create_agent(model, [weather], middleware=[middleware], checkpointer=InMemorySaver())
        state = ask(agent, "1", 8)
        seen.append(bodies(model))
        sizes.append(sum(len(message.text) for message in state["messages"]))
        assert len(state["messages"]) == 8 * 5
        assert any("before_model" in node for node in agent.get_graph().nodes) == (kind is StateCompressionMiddleware)
    assert seen[0] == seen[1]
    assert sizes[1] < sizes[0]


def test_a_hard_limit_leaves_messages_out_and_notes_it() -> None:
    """Pairs go together, the state keeps everything, and a system message lists what went."""
    model = Scripted()
    middleware = CompressionMiddleware(
        compressor=compressor(max_tokens=90, keep_last=2), on_overflow="omit", note_missing=True
    )
    agent = create_agent(
        model, [weather], system_prompt="Be nice.", middleware=[middleware], checkpointer=InMemorySaver()
    )
    state = ask(agent, "1", 6)
    for body in bodies(model):
        check_chat(body)
    last = model.seen[-1]
    assert len(last) < len(state["messages"])
    assert [type(message) for message in last[:2]] == [SystemMessage, SystemMessage]
    assert middleware.session(state["messages"]).memory.missing


def test_options_are_checked_when_they_are_given() -> None:
    """Not in the first call."""
    with pytest.raises(PolicyError, match="on_overflow"):
        CompressionMiddleware(model="heuristic", on_overflow="omit")
    with pytest.raises(PolicyError, match="policy"):
        CompressionMiddleware(model="heuristic", policy={"max_tokens": 3})  # type: ignore[arg-type]
    with pytest.raises(PolicyError, match="compressor"):
        CompressionMiddleware(compressor="default")  # type: ignore[arg-type]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_messages_change_in_nothing_but_texts() -> None:
    """Every kind of message and content block comes back, changed ones as copies, others as the very objects."""
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    cited = {"type": "text", "text": ANSWER, "annotations": [{"type": "citation", "start_index": 1}]}
    use = {"type": "tool_use", "id": "t", "name": "f", "input": {}}
    messages: list[BaseMessage] = [
        SystemMessage(ANSWER),
        HumanMessage(
            [ANSWER, image, {"type": "text", "text": ANSWER, "cache_control": {"type": "ephemeral"}}], name="Ann"
        ),
        AIMessage(
            [{"type": "thinking", "thinking": "hm"}, cited, use],
            tool_calls=[{"name": "f", "args": {"a": {1}}, "id": "t"}],
        ),
        ToolMessage(ANSWER, tool_call_id="t", artifact=object(), status="error"),
        FunctionMessage(ANSWER, name="f"),
        ChatMessage(ANSWER, role="critic"),
        AIMessage(ANSWER, id="x", response_metadata={"m": 1}, usage_metadata=None, additional_kwargs={"k": 1}),
        AIMessage(
            "", invalid_tool_calls=[{"name": "f", "args": "{", "id": "u", "error": "e", "type": "invalid_tool_call"}]
        ),
        ToolMessage("no call", tool_call_id="nobody"),
        HumanMessage(""),
    ]
    before = [message.model_copy(deep=True) for message in messages if not isinstance(message, ToolMessage)]
    history = CompressedChatMessageHistory(
        InMemoryChatMessageHistory(messages=list(messages)), compressor=compressor(preset="tight", keep_last=0)
    )
    new = history.messages
    assert [message for message in messages if not isinstance(message, ToolMessage)] == before
    for same in (0, 2, 3, 4, 5, 7, 8, 9):
        assert new[same] is messages[same]
    first, _, second = new[1].content
    assert len(first) < len(ANSWER)
    assert second == {**messages[1].content[2], "text": second["text"]}
    assert len(second["text"]) < len(ANSWER)
    assert new[1].content[1] == image
    assert new[1].name == "Ann"
    assert len(new[6].content) < len(ANSWER)
    assert new[6] == messages[6].model_copy(update={"content": new[6].content})


def test_reading_and_writing_nothing_new_returns_the_same_objects() -> None:
    """With everything kept, no message is copied."""
    messages = [HumanMessage("One."), AIMessage([{"type": "text", "text": "Two."}])]
    from compressor.integrations.conversations import Shortened

    same = write(messages, Shortened(tuple(read(message).texts for message in messages), ""))
    assert all(new is old for new, old in zip(same, messages, strict=True))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_chat_history_stores_everything_and_is_read_back_shortened() -> None:
    """In a `RunnableWithMessageHistory`, synchronous and asynchronous; the wrapped history holds every word."""
    model = Scripted()
    store = InMemoryChatMessageHistory()
    history = CompressedChatMessageHistory(store, compressor=compressor(max_tokens=150, keep_last=2))
    prompt = ChatPromptTemplate.from_messages(
        [("system", "Be nice."), MessagesPlaceholder("past"), ("human", "{input}")]
    )

    def answer(value: Any) -> str:
        model.seen.append(value.to_messages())
        return ANSWER

    chain = RunnableWithMessageHistory(
        prompt | answer, lambda session_id: history, input_messages_key="input", history_messages_key="past"
    )
    for number in range(6):
        chain.invoke({"input": said(number)}, {"configurable": {"session_id": "1"}})
    asyncio.run(chain.ainvoke({"input": "ok"}, {"configurable": {"session_id": "1"}}))
    assert [message.content for message in store.messages] == [
        text for number in range(6) for text in (said(number), ANSWER)
    ] + ["ok", ANSWER]
    assert history.history is store
    assert len(history.messages[2].content) < len(said(1))
    assert history.messages[0].content == PINNED
    assert asyncio.run(history.aget_messages()) == history.messages
    assert history.session.memory.intents
    history.add_user_message("bye")
    asyncio.run(history.aadd_messages([AIMessage("bye")]))
    assert len(store.messages) == 16
    history.clear()
    assert history.messages == store.messages == []


def conversation(rounds: int) -> list[BaseMessage]:
    """A system message, and rounds of chatter with one request at the start."""
    messages: list[BaseMessage] = [SystemMessage("Be nice.")]
    for number in range(rounds):
        messages += [HumanMessage(said(number)), AIMessage(ANSWER)]
    return messages


def by_one(message: BaseMessage) -> int:
    """Counts one message."""
    return len(message.text) // 4 + 3


@pytest.mark.parametrize(
    "counter", ["approximate", by_one, lambda messages: sum(map(by_one, messages)), Scripted(), len]
)
def test_compressing_keeps_the_promise_of_trimming(counter: Any) -> None:
    """With any counter of `trim_messages`, at any limit, the result fits, begins as asked, and keeps more messages."""
    messages = conversation(8)
    shared = compressor()
    if isinstance(counter, Scripted):
        counter = type(
            "Counting",
            (Scripted,),
            {"get_num_tokens_from_messages": lambda self, messages, tools=None: sum(map(by_one, messages))},
        )()
    for limit in (5, 60, 300, 450, 100_000):
        options: dict[str, Any] = {"token_counter": counter, "start_on": "human", "include_system": True}
        new = compress_messages(messages, max_tokens=limit, compressor=shared, **options)
        trimmed = trim_messages(messages, max_tokens=limit, **options)
        assert len(new) >= len(trimmed)
        assert compress_messages(messages, max_tokens=limit, compressor=shared, **options) == new
        if trimmed:
            assert new[0] == trimmed[0] == messages[0]
        if len(new) > 1:
            assert isinstance(new[1], HumanMessage)
    new = compress_messages(messages, max_tokens=10_000, token_counter=counter, end_on="human", compressor=compressor())
    assert isinstance(new[-1], HumanMessage)


def test_compressing_fits_without_trimming_where_it_can() -> None:
    """Words go before messages do, the pinned turn stays, and a growing conversation is rewritten rarely."""
    shared = compressor()
    shorten = compress_messages(
        max_tokens=900, token_counter="approximate", compressor=shared, policy=Policy(keep_last=2)
    )
    sent = []
    for rounds in range(5, 17):
        messages = conversation(rounds)
        new = shorten.invoke(messages)
        assert count_tokens_approximately(new) <= 900
        assert len(new) == len(messages)
        assert new[1].content == PINNED
        sent.append([message.content for message in new])
    assert count_tokens_approximately(messages) > 1100
    assert rewrites(sent) <= 4


def test_what_cannot_fit_is_told(caplog: pytest.LogCaptureFixture) -> None:
    """`report` gives back too much and logs it, `raise` raises, `omit` keeps the pins longest."""
    messages = conversation(12)
    options: dict[str, Any] = {"max_tokens": 200, "token_counter": "approximate", "compressor": compressor(keep_last=2)}
    with caplog.at_level(logging.WARNING):
        reported = compress_messages(messages, on_overflow="report", **options)
    assert len(reported) == len(messages)
    assert "more than the 200 allowed" in caplog.text
    with pytest.raises(SessionError):
        compress_messages(messages, on_overflow="raise", **options)
    omitted = compress_messages(messages, on_overflow="omit", **options)
    assert count_tokens_approximately(omitted) <= 200
    assert PINNED in [message.content for message in omitted]
    assert PINNED not in [message.content for message in compress_messages(messages, **options)]


def test_compressing_takes_what_trimming_takes_and_refuses_what_it_refuses() -> None:
    """Tuples, dicts, strings and prompt values; errors of `trim_messages` come at once, also for a runnable."""
    given = [("system", "Be nice."), {"role": "user", "content": "Hi."}, "hello"]
    new = compress_messages(given, max_tokens=100, token_counter="approximate", compressor=compressor())
    assert [type(message) for message in new] == [SystemMessage, HumanMessage, HumanMessage]
    with pytest.raises(ValueError, match="start_on"):
        compress_messages(max_tokens=3, token_counter=len, strategy="first", start_on="human", model="heuristic")
    with pytest.raises(ValueError, match="shortcut"):
        compress_messages(max_tokens=3, token_counter="exact", model="heuristic")  # type: ignore[call-overload]
    with pytest.raises(PolicyError, match="keep_ratio"):
        compress_messages(max_tokens=3, token_counter=len, policy=Policy(keep_ratio=0.5))
    with pytest.raises(PolicyError, match="on_overflow"):
        compress_messages(max_tokens=3, token_counter=len, on_overflow="silently")  # type: ignore[call-overload]


def test_documents_are_shortened_under_one_budget() -> None:
    """Metadata and ids stay, what does not change is the same object, and the query decides nothing."""
    documents = [
        Document(ANSWER, metadata={"source": "a.txt"}, id="a"),
        Document(PINNED, metadata={"source": "b.txt"}),
        Document("", metadata={"source": "c.txt"}),
    ]
    shorten = DocumentCompressor(policy=Policy(keep_ratio=0.5), compressor=compressor())
    new = list(shorten.compress_documents(documents, "chairs"))
    assert [document.metadata for document in new] == [document.metadata for document in documents]
    assert new[0].id == "a"
    assert len(new[0].page_content) < len(ANSWER)
    assert documents[0].page_content == ANSWER
    assert new[2] is documents[2]
    assert asyncio.run(shorten.acompress_documents(documents, "something else")) == new
    assert shorten.compress_documents([], "chairs") == []


def test_a_document_keeps_a_word_unless_told_otherwise() -> None:
    """With `drop` it is left out."""
    filler = Document("Um, well, so, you know.")
    assert (
        DocumentCompressor(policy={"max_tokens": 0}, model="heuristic").compress_documents([filler], "")[0].page_content
    )
    dropping = DocumentCompressor(policy={"max_tokens": 0, "emptied": "drop", "floor": "masks"}, model="heuristic")
    assert dropping.compress_documents([filler], "") == []


def test_a_document_compressor_is_written_and_read() -> None:
    """As any pydantic component: options as plain values, no objects; a rule that cannot be written is named."""
    shorten = DocumentCompressor(policy=Policy(keep_ratio=0.5, also_protect="code"), model="heuristic")
    written = shorten.model_dump_json()
    assert json.loads(written) == {"policy": {"keep_ratio": 0.5, "also_protect": ["code"]}, "model": "heuristic"}
    assert DocumentCompressor.model_validate_json(written).policy == shorten.policy
    with pytest.raises(ValueError, match="keep_ration"):
        DocumentCompressor(policy={"keep_ration": 1}, model="heuristic")
    with pytest.raises(Exception, match="also_protect"):
        DocumentCompressor(policy=Policy(also_protect=len), model="heuristic").model_dump()
