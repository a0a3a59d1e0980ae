"""A chat memory that stores every message as it is and is read back shortened."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.bridge.pydantic import Field, PrivateAttr
from llama_index.core.llms import LLM
from llama_index.core.memory.types import DEFAULT_CHAT_STORE_KEY, BaseChatStoreMemory
from llama_index.core.storage.chat_store import BaseChatStore, SimpleChatStore
from llama_index.core.storage.chat_store.loading import load_chat_store
from llama_index.core.utils import get_tokenizer

from compressor.integrations.conversations import Conversations, Overflow
from compressor.integrations.fields import PolicyField
from compressor.integrations.llamaindex.messages import read, write
from compressor.integrations.options import with_budget
from compressor.pipeline import Compressor
from compressor.policy import Policy
from compressor.session import Session

TOKEN_LIMIT = 3000
TOKEN_LIMIT_RATIO = 0.75
"""The defaults of LlamaIndex's own chat memories: tokens where no LLM is given, and the share of an LLM's window."""

STEPS = 20
"""What `initial_token_count` leaves of the limit is cut down to a multiple of this share of it, so that the messages do not
change with every little change of a prompt."""


class CompressedMemory(BaseChatStoreMemory):
    """A chat memory within a token limit, that deletes low-signal words instead of old messages.

    `get_all()` gives the messages as they were put; `get()` gives what fits. What `get()` returned before it returns again,
    until the limit is exceeded. Messages are left out only where what must stay exceeds the limit, the oldest that are
    neither requests nor constraints first; `session.memory.missing` lists them.

    ```python
    memory = CompressedMemory.from_defaults(token_limit=8000, policy=Policy(keep_last=6))
    memory.put(ChatMessage(role="user", content="..."))
    memory.get()
    memory.session.memory.constraints
    ```

    Args:
        token_limit: Most tokens of the messages, above 0.
        tokenizer_fn: Cuts a text into tokens. Default: LlamaIndex's own.
        policy: What to protect: a `Policy` without a budget or a preset, or its options as a dict.
        model, compressor: See `Session`.
        on_overflow: See `Session`; here `omit` by default.
        note_missing: Let a system message of one line list what was left out.
        chat_store, chat_store_key: Where the messages are stored.
    Raises:
        ValueError: An option is not allowed.
        ModelError: The model cannot be used.
    """

    token_limit: int
    tokenizer_fn: Callable[[str], Sequence[Any]] = Field(default_factory=get_tokenizer, exclude=True)
    policy: PolicyField = None
    model: str = "default"
    compressor: Any = Field(default=None, exclude=True)
    on_overflow: Overflow = "omit"
    note_missing: bool = False
    _conversations: Conversations = PrivateAttr()

    def model_post_init(self, context: Any) -> None:
        """Load the model, so that a mistake shows at once."""
        super().model_post_init(context)
        if self.token_limit < 1:
            raise ValueError(f"token_limit is {self.token_limit}; allowed: a whole number, 1 or more.")
        self._conversations = Conversations(
            policy=with_budget(self.policy, self.compressor, "token_limit", self.token_limit),
            model=self.model,
            compressor=self.compressor,
            token_counter=self._count,
            on_overflow=self.on_overflow,
        )

    def _count(self, text: str) -> int:
        return len(self.tokenizer_fn(text))

    @classmethod
    def class_name(cls) -> str:
        """Get class name."""
        return "CompressedMemory"

    @classmethod
    def from_defaults(
        cls,
        chat_history: list[ChatMessage] | None = None,
        llm: LLM | None = None,
        chat_store: BaseChatStore | None = None,
        chat_store_key: str = DEFAULT_CHAT_STORE_KEY,
        token_limit: int | None = None,
        tokenizer_fn: Callable[[str], Sequence[Any]] | None = None,
        policy: Policy | dict[str, Any] | None = None,
        model: str = "default",
        compressor: Compressor | None = None,
        on_overflow: Overflow = "omit",
        note_missing: bool = False,
        **kwargs: Any,
    ) -> "CompressedMemory":
        """Create a memory; its limit is by default three quarters of the window of the LLM, or 3,000 tokens without one.

        Raises:
            ValueError: An argument is unknown.
        """
        if kwargs:
            raise ValueError(f"Unexpected kwargs: {kwargs}")
        if token_limit is None:
            token_limit = int(llm.metadata.context_window * TOKEN_LIMIT_RATIO) if llm is not None else TOKEN_LIMIT
        memory = cls(
            token_limit=token_limit,
            tokenizer_fn=tokenizer_fn or get_tokenizer(),
            policy=policy,
            model=model,
            compressor=compressor,
            on_overflow=on_overflow,
            note_missing=note_missing,
            chat_store=chat_store or SimpleChatStore(),
            chat_store_key=chat_store_key,
        )
        if chat_history is not None:
            memory.set(chat_history)
        return memory

    def to_string(self) -> str:
        """Convert memory to string."""
        return self.to_json()

    @classmethod
    def from_string(cls, json_str: str, **kwargs: Any) -> "CompressedMemory":
        """Create a memory from a string; what cannot be written (`tokenizer_fn`, `compressor`) is given again."""
        return cls.from_json(json_str, **kwargs)

    @classmethod
    def from_dict(cls, data: dict[str, Any], **kwargs: Any) -> "CompressedMemory":
        """Create a memory from a dict."""
        store = data.get("chat_store")
        return super().from_dict(
            {**data, "chat_store": load_chat_store(store)} if isinstance(store, dict) else data, **kwargs
        )

    def get(self, input: str | None = None, initial_token_count: int = 0, **kwargs: Any) -> list[ChatMessage]:
        """Get chat history, shortened.

        Args:
            input: Not used.
            initial_token_count: Tokens of the prompt besides the history, which the limit includes.
        Raises:
            ValueError: They exceed the limit alone.
        """
        return self._shortened(self.get_all(), initial_token_count)

    async def aget(self, input: str | None = None, initial_token_count: int = 0, **kwargs: Any) -> list[ChatMessage]:
        """Get chat history, shortened in a thread; see `get`."""
        return await asyncio.to_thread(self._shortened, await self.aget_all(), initial_token_count)

    @property
    def session(self) -> Session:
        """The session of this history: its `memory`, its `report`."""
        return self._conversations.session([read(message) for message in self.get_all()])

    def _shortened(self, messages: list[ChatMessage], initial_token_count: int) -> list[ChatMessage]:
        left = self.token_limit - initial_token_count
        if left < 0:
            raise ValueError("Initial token count exceeds token limit")
        if initial_token_count:
            step = max(1, self.token_limit // STEPS)
            left = left // step * step
        turns = [read(message) for message in messages]
        return write(messages, self._conversations.shorten(turns, max_tokens=left), note=self.note_missing)
