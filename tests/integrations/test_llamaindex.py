"""The LlamaIndex adapters, with the real framework and a scripted model."""

import asyncio
import json
import pickle
import threading
from collections.abc import Sequence
from typing import Any

import pytest

pytest.importorskip("llama_index.core")
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

from llama_index.core.agent.workflow import FunctionAgent, ReActAgent  # noqa: E402
from llama_index.core.base.llms.types import (  # noqa: E402
    ChatMessage,
    ChatResponse,
    CompletionResponse,
    ImageBlock,
    LLMMetadata,
    MessageRole,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
)
from llama_index.core.bridge.pydantic import PrivateAttr  # noqa: E402
from llama_index.core.chat_engine import SimpleChatEngine  # noqa: E402
from llama_index.core.llms.function_calling import FunctionCallingLLM  # noqa: E402
from llama_index.core.llms.llm import ToolSelection  # noqa: E402
from llama_index.core.memory import BaseMemory  # noqa: E402
from llama_index.core.schema import (  # noqa: E402
    ImageNode,
    MediaResource,
    Node,
    NodeWithScore,
    TextNode,
)
from llama_index.core.storage.chat_store import SimpleChatStore  # noqa: E402

from compressor import Policy  # noqa: E402
from compressor.integrations.llamaindex import CompressedMemory, CompressionPostprocessor  # noqa: E402
from tests.fakes import word_counter  # noqa: E402
from tests.integrations.scripts import (  # noqa: E402
    ANSWER,
    PINNED,
    check_chat,
    compressor,
    is_subsequence,
    rewrites,
    said,
)


class Scripted(FunctionCallingLLM):
    """Calls a tool twice for what the user says, and answers with a text for the results; remembers what it saw."""

    _seen: list[list[ChatMessage]] = PrivateAttr(default_factory=list)

    @property
    def seen(self) -> list[list[ChatMessage]]:
        """The messages of each call."""
        return self._seen

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(is_function_calling_model=True, is_chat_model=True, context_window=400)

    def _answer(self, messages: Sequence[ChatMessage]) -> ChatResponse:
        self._seen.append([message.model_copy(deep=True) for message in messages])
        blocks: list[Any] = [TextBlock(text=ANSWER)]
        if messages[-1].role == MessageRole.USER and "Graz" not in str(messages[-1].content):
            blocks = [
                ToolCallBlock(tool_call_id=f"call_{city}", tool_name="weather", tool_kwargs={"city": city})
                for city in ("Graz", "Linz")
            ]
        return ChatResponse(message=ChatMessage(role="assistant", blocks=blocks))

    def chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        return self._answer(messages)

    async def achat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        return self._answer(messages)

    def _prepare_chat_with_tools(self, tools: Any, **kwargs: Any) -> dict[str, Any]:
        history = list(kwargs.get("chat_history") or [])
        if kwargs.get("user_msg"):
            history.append(kwargs["user_msg"])
        return {"messages": history}

    def get_tool_calls_from_response(self, response: ChatResponse, *args: Any, **kwargs: Any) -> list[ToolSelection]:
        return [
            ToolSelection(tool_id=block.tool_call_id, tool_name=block.tool_name, tool_kwargs=block.tool_kwargs)
            for block in response.message.blocks
            if isinstance(block, ToolCallBlock)
        ]

    def stream_chat(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError

    async def astream_chat(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError

    def complete(self, prompt: str, *args: Any, **kwargs: Any) -> CompletionResponse:
        raise NotImplementedError

    def stream_complete(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError

    async def acomplete(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError

    async def astream_complete(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError


def words(text: str) -> list[int]:
    """Tokens are words."""
    return [0] * word_counter(text)


def memory_of(token_limit: int, **options: Any) -> CompressedMemory:
    """A memory without a model, that counts words."""
    options = {"policy": Policy(keep_last=2), "model": "heuristic", "tokenizer_fn": words, **options}
    return CompressedMemory.from_defaults(token_limit=token_limit, **options)


def body(messages: Sequence[ChatMessage]) -> list[dict[str, Any]]:
    """Messages as a provider would be sent them."""
    sent = []
    for message in messages:
        calls = [{"id": block.tool_call_id} for block in message.blocks if isinstance(block, ToolCallBlock)]
        one = {"role": message.role.value, "content": message.content or "", "tool_calls": calls}
        sent.append(
            one | ({"tool_call_id": message.additional_kwargs["tool_call_id"]} if one["role"] == "tool" else {})
        )
    return sent


async def weather(city: str) -> str:
    """Tell the weather of a city."""
    return f"Well, in {city} it is, so to say, 31 degrees."


def test_an_agent_with_this_memory_sees_less() -> None:
    """Over eight runs with parallel tools: valid requests, the pinned turn verbatim, few rewrites, the store complete."""
    model = Scripted()
    memory = memory_of(560, on_overflow="report")
    agent = FunctionAgent(tools=[weather], llm=model, streaming=False)

    async def run() -> None:
        for number in range(8):
            await agent.run(said(number), memory=memory)

    asyncio.run(run())
    sent = [body(messages) for messages in model.seen]
    for one in sent:
        check_chat(one)
        assert one[0]["content"] == PINNED
    assert 1 <= rewrites(sent) <= 5
    everything = memory.get_all()
    assert [message.content for message in everything if message.role == MessageRole.USER] == [
        said(n) for n in range(8)
    ]
    last = memory.get()
    assert len(last) == len(everything)
    assert all(is_subsequence(new.content or "", old.content or "") for new, old in zip(last, everything, strict=True))
    assert sum(len(words(message.content or "")) for message in last) <= 560
    assert any("90 euros" in slot.text for slot in memory.session.memory.constraints)


def test_a_chat_engine_with_this_memory() -> None:
    """Its `initial_token_count` is part of the limit."""
    model = Scripted()
    memory = memory_of(200)
    engine = SimpleChatEngine.from_defaults(llm=model, memory=memory, system_prompt="Be really, really nice to Graz.")
    for number in range(6):
        engine.chat(f"{said(number)} Graz.")
    for messages in model.seen:
        assert sum(len(words(message.content or "")) for message in messages) <= 200
        assert messages[0].content == "Be really, really nice to Graz."
    assert len(memory.get_all()) == 12
    with pytest.raises(ValueError, match="exceeds token limit"):
        memory.get(initial_token_count=201)


def test_a_hard_limit_is_kept_and_what_went_is_listed() -> None:
    """Messages go as pairs, and the memory of the session holds them verbatim."""
    memory = memory_of(70, note_missing=True)
    for number in range(1, 7):
        calls = [ToolCallBlock(tool_call_id="c", tool_name="weather", tool_kwargs={"city": "Graz"})]
        memory.put_messages(
            [
                ChatMessage(said(number)),
                ChatMessage(role="assistant", blocks=calls),
                ChatMessage(role="tool", content="It is 31.", additional_kwargs={"tool_call_id": "c"}),
                ChatMessage(role="assistant", content=ANSWER),
            ]
        )
    new = memory.get()
    assert new[0].role == MessageRole.SYSTEM
    check_chat(body(new))
    assert len(new) < len(memory.get_all()) == 24
    assert memory.session.report.tokens_after <= 70
    missing = memory.session.memory.missing
    assert {slot.text for slot in missing} <= {message.content or "" for message in memory.get_all()}
    assert any("weather" in slot.detail for slot in missing)


def test_messages_change_in_nothing_but_texts() -> None:
    """Images, thoughts, tool calls of older integrations, extra arguments; what is the same is the very object."""
    image = ImageBlock(url="http://127.0.0.1/a.png")
    legacy = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    messages = [
        ChatMessage(role="system", content=ANSWER),
        ChatMessage(role="user", blocks=[TextBlock(text=ANSWER), image, TextBlock(text=ANSWER)]),
        ChatMessage(role="assistant", content="", additional_kwargs={"tool_calls": [legacy]}),
        ChatMessage(role="tool", content=ANSWER, additional_kwargs={"tool_call_id": "c", "name": "f"}),
        ChatMessage(
            role="assistant", blocks=[ThinkingBlock(content="hm"), TextBlock(text=ANSWER)], additional_kwargs={"k": 1}
        ),
        ChatMessage(role="tool", content="no call"),
        ChatMessage(role="chatbot", content=ANSWER),
        ChatMessage(role="user", blocks=[]),
        ChatMessage(role="user", content="ok"),
    ]
    before = [message.model_copy(deep=True) for message in messages]
    memory = memory_of(85, policy=Policy(keep_last=1, floor="masks"), on_overflow="report")
    memory.set(messages)
    new = memory.get()
    assert messages == before
    assert len(new) == len(messages)
    for same in (0, 2, 3, 5, 7, 8):
        assert new[same] is memory.get_all()[same]
    assert new[1].blocks[1] == image
    assert all(len(new[1].blocks[at].text) < len(ANSWER) for at in (0, 2))
    assert new[4].blocks[0] == ThinkingBlock(content="hm")
    assert new[4].additional_kwargs == {"k": 1}
    assert len(new[4].content) < len(ANSWER)
    assert new[6].role == MessageRole.CHATBOT
    assert len(new[6].content) < len(ANSWER)


def test_a_memory_is_copied_and_pickled_with_its_messages() -> None:
    """A copy goes on with the same bytes, in sessions of its own."""
    memory = memory_of(90, policy={"keep_last": 1}, on_overflow="report")
    for number in range(4):
        memory.put_messages([ChatMessage(said(number)), ChatMessage(role="assistant", content=ANSWER)])
    texts = [message.content for message in memory.get()]
    for copied in (pickle.loads(pickle.dumps(memory)), memory.model_copy(deep=True)):
        assert isinstance(copied, BaseMemory)
        assert copied.policy == Policy(keep_last=1)
        assert [message.content for message in copied.get()] == texts
        copied.put(ChatMessage("ok"))
        assert len(copied.get()) == len(memory.get()) + 1 == len(memory.get_all()) + 1


def test_a_memory_is_written_and_read_as_its_framework_does_it() -> None:
    """As a string and a dict, with its options as plain values."""
    memory = memory_of(90, policy={"keep_last": 1}, note_missing=True, chat_store_key="a")
    for copied in (
        CompressedMemory.from_string(memory.to_string(), tokenizer_fn=words),
        CompressedMemory.from_dict(memory.to_dict(), tokenizer_fn=words),
    ):
        assert copied.policy == Policy(keep_last=1)
        assert (copied.token_limit, copied.note_missing, copied.chat_store_key) == (90, True, "a")
        assert isinstance(copied.chat_store, SimpleChatStore)
    written = json.loads(memory.to_string())
    assert written["class_name"] == "CompressedMemory"
    assert written["policy"] == {"keep_last": 1}


def test_the_limit_comes_from_the_model_or_a_default() -> None:
    """As in LlamaIndex's own memories, three quarters of the window."""
    assert CompressedMemory.from_defaults(llm=Scripted(), model="heuristic").token_limit == 300
    plain = CompressedMemory.from_defaults([ChatMessage("hi")], model="heuristic")
    assert plain.token_limit == 3000
    assert [message.content for message in plain.get()] == ["hi"]
    store = SimpleChatStore()
    shared = [memory_of(90, chat_store=store, chat_store_key=key) for key in "ab"]
    shared[0].put(ChatMessage("hello"))
    assert [len(memory.get()) for memory in shared] == [1, 0]
    shared[0].reset()
    assert shared[0].get() == []
    for wrong in (
        {"token_limit": 0},
        {"policy": {"max_tokens": 3}},
        {"policy": 3},
        {"colour": 1},
        {"on_overflow": "x"},
    ):
        with pytest.raises(ValueError, match=r"token_limit|policy|colour|on_overflow"):
            CompressedMemory.from_defaults(model="heuristic", **wrong)


def test_asynchronous_and_threaded_use() -> None:
    """All asynchronous methods, and eight threads at once."""
    memory = memory_of(90)

    async def run() -> list[ChatMessage]:
        await memory.aset([ChatMessage(said(0))])
        await memory.aput(ChatMessage(role="assistant", content=ANSWER))
        await memory.aput_messages(
            [ChatMessage(said(1)), ChatMessage(role="assistant", content=ANSWER), ChatMessage("ok")]
        )
        return await memory.aget(initial_token_count=1)

    assert asyncio.run(run()) == memory.get(initial_token_count=1)
    expected = [message.content for message in memory.get()]
    found: list[Any] = []
    workers = [threading.Thread(target=lambda: found.append([m.content for m in memory.get()])) for _ in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert found == [expected] * 8
    asyncio.run(memory.areset())
    assert memory.get_all() == []


def test_a_react_agent_works_with_this_memory() -> None:
    """It puts its own thoughts into the memory as text."""

    class Reasoning(Scripted):
        def _answer(self, messages: Sequence[ChatMessage]) -> ChatResponse:
            self._seen.append(list(messages))
            return ChatResponse(message=ChatMessage(role="assistant", content=f"Thought: hm.\nAnswer: {ANSWER}"))

    memory = memory_of(200)
    agent = ReActAgent(tools=[weather], llm=Reasoning(), streaming=False)

    async def run() -> None:
        for number in range(3):
            await agent.run(said(number), memory=memory)

    asyncio.run(run())
    assert memory.get()[0].content == PINNED
    assert len(memory.get()) == len(memory.get_all())


def nodes() -> list[NodeWithScore]:
    """Two text nodes, an image, a multimodal node, and an empty one."""
    return [
        NodeWithScore(node=TextNode(text=ANSWER, id_="a", metadata={"file": "a.txt"}, start_char_idx=3), score=0.9),
        NodeWithScore(
            node=Node(text_resource=MediaResource(text=ANSWER), id_="b", metadata={"file": "b.txt"}), score=0.8
        ),
        NodeWithScore(node=ImageNode(text=ANSWER, image_url="http://127.0.0.1/a.png"), score=0.7),
        NodeWithScore(
            node=Node(text_resource=MediaResource(text=ANSWER), image_resource=MediaResource(data=b"AAAA")), score=0.6
        ),
        NodeWithScore(node=TextNode(text=""), score=None),
    ]


def test_text_nodes_are_shortened_and_others_stay() -> None:
    """Ids, metadata and scores stay; the nodes of the index are not changed; the query decides nothing."""
    given = nodes()
    shorten = CompressionPostprocessor(policy=Policy(keep_ratio=0.5), compressor=compressor())
    new = shorten.postprocess_nodes(given, query_str="chairs")
    assert [node.score for node in new] == [node.score for node in given]
    assert [node.node_id for node in new] == [node.node_id for node in given]
    assert [node.metadata for node in new] == [node.metadata for node in given]
    for at in (0, 1):
        assert len(new[at].get_content()) < len(ANSWER) == len(given[at].get_content())
        assert type(new[at].node) is type(given[at].node)
    for at in (2, 3, 4):
        assert new[at] is given[at]
    again = asyncio.run(shorten.apostprocess_nodes(given, query_str="something else"))
    assert [node.get_content() for node in again] == [node.get_content() for node in new]
    assert shorten.postprocess_nodes([]) == []


def test_a_postprocessor_is_written_and_read_and_drops_if_asked() -> None:
    """By class name and plain options; with `drop` a node without a word left is left out."""
    shorten = CompressionPostprocessor(policy=Policy(max_tokens=0, emptied="drop", floor="masks"), model="heuristic")
    again = CompressionPostprocessor.from_json(shorten.to_json())
    assert again.policy == shorten.policy
    filler = [NodeWithScore(node=TextNode(text="Um, well, so, you know.")), *nodes()[2:3]]
    assert again.postprocess_nodes(filler) == filler[1:]
    keeping = CompressionPostprocessor(policy={"max_tokens": 0}, model="heuristic")
    assert keeping.postprocess_nodes(filler)[0].get_content()
    with pytest.raises(ValueError, match="keep_ration"):
        CompressionPostprocessor(policy={"keep_ration": 0.5})
