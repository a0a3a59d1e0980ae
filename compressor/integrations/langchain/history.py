"""A chat history that is read back shortened."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.messages import BaseMessage

from compressor.integrations.conversations import Conversations, Overflow
from compressor.integrations.langchain.messages import read, write
from compressor.pipeline import Compressor
from compressor.policy import Policy
from compressor.session import Session
from compressor.tokens import TokenCounter


class CompressedChatMessageHistory(BaseChatMessageHistory):
    """Wraps any chat history: stores every message as it is, and gives them back with low-signal words deleted.

    ```python
    history = CompressedChatMessageHistory(RedisChatMessageHistory("chat-1"), policy=Policy(max_tokens=8000))
    chain = RunnableWithMessageHistory(prompt | model, lambda session_id: history)
    history.history.messages  # the originals
    history.session.memory.constraints
    ```

    Args:
        history: Where the messages are stored.
        policy, model, compressor, token_counter, on_overflow: See `Session`.
        note_missing: Let a system message of one line list what `on_overflow="omit"` left out.
    Raises:
        PolicyError: An option is not allowed.
        ModelError: The model cannot be used.
    """

    def __init__(
        self,
        history: BaseChatMessageHistory,
        *,
        policy: Policy | None = None,
        model: str | Path = "default",
        compressor: Compressor | None = None,
        token_counter: TokenCounter | str | None = None,
        on_overflow: Overflow = "report",
        note_missing: bool = False,
    ) -> None:
        super().__init__()
        self.history = history
        self.note_missing = note_missing
        self.conversations = Conversations(
            policy=policy,
            model=model,
            compressor=compressor,
            token_counter=token_counter,
            on_overflow=on_overflow,
            max_sessions=1,
        )

    @property
    def messages(self) -> list[BaseMessage]:  # type: ignore[override]
        """The messages, shortened."""
        return self._shortened(self.history.messages)

    async def aget_messages(self) -> list[BaseMessage]:
        """The messages, shortened in a thread."""
        return await asyncio.to_thread(self._shortened, await self.history.aget_messages())

    @property
    def session(self) -> Session:
        """The session of this history: its `memory`, its `report`."""
        return self.conversations.session([read(message) for message in self.history.messages])

    def add_message(self, message: BaseMessage) -> None:
        """Store a message as it is."""
        self.history.add_message(message)

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Store messages as they are."""
        self.history.add_messages(messages)

    async def aadd_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Store messages as they are."""
        await self.history.aadd_messages(messages)

    def clear(self) -> None:
        """Remove all messages from the store."""
        self.history.clear()

    async def aclear(self) -> None:
        """Remove all messages from the store."""
        await self.history.aclear()

    def _shortened(self, messages: Sequence[BaseMessage]) -> list[BaseMessage]:
        return write(
            messages, self.conversations.shorten([read(message) for message in messages]), note=self.note_missing
        )
