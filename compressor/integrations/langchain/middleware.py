"""An agent middleware that shortens what the model sees, and leaves the state alone."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from langchain.agents.middleware import AgentMiddleware, AgentState
from langchain.agents.middleware.types import ModelRequest, ModelResponse
from langchain_core.messages import AIMessage, BaseMessage
from langgraph.runtime import Runtime

from compressor.integrations.conversations import Conversations, Overflow
from compressor.integrations.langchain.messages import read, write
from compressor.pipeline import Compressor
from compressor.policy import Policy
from compressor.session import Session
from compressor.tokens import TokenCounter


class CompressionMiddleware(AgentMiddleware):
    """Shortens the messages before each model call by deleting low-signal words.

    The state keeps the originals, so checkpoints, tools and other middleware see the whole conversation. Each
    conversation has a session: what was sent before is sent again byte for byte until the budget is exceeded, also
    after a restart from a checkpoint. Tool calls keep their results, and user turns that ask, request or set a
    constraint stay verbatim. The system prompt of the agent is neither changed nor counted. Middleware that adds messages
    of its own to each request belongs behind this one in the list.

    ```python
    middleware = CompressionMiddleware(policy=Policy(max_tokens=8000, keep_last=6))
    agent = create_agent(model, tools, middleware=[middleware], checkpointer=InMemorySaver())
    state = agent.invoke({"messages": [HumanMessage("...")]}, {"configurable": {"thread_id": "1"}})
    middleware.session(state["messages"]).memory.constraints
    ```

    Args:
        policy, model, compressor, token_counter, on_overflow: See `Session`.
        note_missing: Let a system message of one line list what `on_overflow="omit"` left out.
        max_sessions: Most conversations whose sessions are kept; others are built again when they go on.
    Raises:
        PolicyError: An option is not allowed.
        ModelError: The model cannot be used.
    """

    def __init__(
        self,
        *,
        policy: Policy | None = None,
        model: str | Path = "default",
        compressor: Compressor | None = None,
        token_counter: TokenCounter | str | None = None,
        on_overflow: Overflow = "report",
        note_missing: bool = False,
        max_sessions: int = 64,
    ) -> None:
        super().__init__()
        self.note_missing = note_missing
        self.conversations = Conversations(
            policy=policy,
            model=model,
            compressor=compressor,
            token_counter=token_counter,
            on_overflow=on_overflow,
            max_sessions=max_sessions,
        )

    def session(self, messages: Sequence[BaseMessage]) -> Session:
        """The session of the conversation that the messages of a state hold: its `memory`, its `report`."""
        return self.conversations.session([read(message) for message in messages])

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any] | AIMessage:
        """Call the model with the shortened messages."""
        return handler(self._shortened(request))

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any] | AIMessage:
        """See `wrap_model_call`; works in a thread."""
        return await handler(await asyncio.to_thread(self._shortened, request))

    def _shortened(self, request: ModelRequest[Any]) -> ModelRequest[Any]:
        shortened = self.conversations.shorten([read(message) for message in request.messages])
        messages: list[Any] = write(request.messages, shortened, note=self.note_missing)
        return request.override(messages=messages)


class StateCompressionMiddleware(CompressionMiddleware):
    """A `CompressionMiddleware` that also replaces the messages of the state, so that checkpoints get smaller.

    The originals are lost, but no message is taken out of the state. As long as the process lives, turns are still cut
    from the originals; after it, from what is left of them. The options are those of `CompressionMiddleware`.
    """

    def before_model(self, state: AgentState[Any], runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Replace the messages of the state that got shorter."""
        messages = state["messages"]
        turns = [read(message) for message in messages]
        shortened = self.conversations.shorten(turns)
        # A turn that is left out stays in the state, where its place is the link between the state and the session.
        texts = tuple(turn.texts if new is None else new for turn, new in zip(turns, shortened.texts, strict=True))
        written = write(messages, replace(shortened, texts=texts))
        changed = [new for old, new in zip(messages, written, strict=True) if new is not old]
        if not changed:
            return None
        self.conversations.rename(turns, [read(message) for message in written])
        return {"messages": changed}

    async def abefore_model(self, state: AgentState[Any], runtime: Runtime[Any]) -> dict[str, Any] | None:
        """See `before_model`; works in a thread."""
        return await asyncio.to_thread(self.before_model, state, runtime)
