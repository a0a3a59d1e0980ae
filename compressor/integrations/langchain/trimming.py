"""`compress_messages`: takes the place of `trim_messages`, and keeps what that would have thrown away."""

import inspect
import logging
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, TypedDict, Unpack, overload

from langchain_core.language_models import BaseLanguageModel
from langchain_core.messages import (
    BaseMessage,
    MessageLikeRepresentation,
    convert_to_messages,
    trim_messages,
)
from langchain_core.messages.utils import count_tokens_approximately
from langchain_core.prompt_values import PromptValue
from langchain_core.runnables import Runnable, RunnableLambda

from compressor.errors import PolicyError
from compressor.integrations.conversations import Conversations, Overflow
from compressor.integrations.langchain.budgets import Budgets, ListCounter
from compressor.integrations.options import compressor_of, with_budget
from compressor.pipeline import Compressor
from compressor.policy import Policy

logger = logging.getLogger(__name__)

Messages = Iterable[MessageLikeRepresentation] | PromptValue
Counter = ListCounter | Callable[[BaseMessage], int] | BaseLanguageModel[Any] | Literal["approximate"]
OnOverflow = Literal["trim", "omit", "report", "raise"]
Types = str | type[BaseMessage] | Sequence[str | type[BaseMessage]] | None


class Options(TypedDict, total=False):
    """The options of `compress_messages`, explained there."""

    strategy: Literal["first", "last"]
    allow_partial: bool
    end_on: Types
    start_on: Types
    include_system: bool
    text_splitter: Any
    policy: Policy | None
    model: str | Path
    compressor: Compressor | None
    on_overflow: OnOverflow


@overload
def compress_messages(
    messages: None = None, *, max_tokens: int, token_counter: Counter, **options: Unpack[Options]
) -> Runnable[Any, list[BaseMessage]]: ...


@overload
def compress_messages(
    messages: Messages, *, max_tokens: int, token_counter: Counter, **options: Unpack[Options]
) -> list[BaseMessage]: ...


def compress_messages(
    messages: Messages | None = None,
    *,
    max_tokens: int,
    token_counter: Counter,
    strategy: Literal["first", "last"] = "last",
    allow_partial: bool = False,
    end_on: Types = None,
    start_on: Types = None,
    include_system: bool = False,
    text_splitter: Any = None,
    policy: Policy | None = None,
    model: str | Path = "default",
    compressor: Compressor | None = None,
    on_overflow: OnOverflow = "trim",
) -> list[BaseMessage] | Runnable[Any, list[BaseMessage]]:
    """Bring messages below a token count by deleting low-signal words, and only then by trimming.

    Every argument of `trim_messages` means what it means there, and the result keeps its promise: at most `max_tokens` by
    `token_counter`. Whole messages go only where what must stay is still too much; a warning is logged then.

    ```python
    compress_messages(messages, max_tokens=4000, token_counter="approximate", start_on="human", include_system=True)
    chain = compress_messages(max_tokens=4000, token_counter=model) | model
    ```

    Args:
        messages: What `trim_messages` takes. None: a Runnable that waits for them is returned.
        max_tokens, token_counter, strategy, allow_partial, end_on, start_on, include_system, text_splitter: See
            `trim_messages`. The counter is called a few times on whole lists, never for each word.
        policy: What to protect: `keep_last`, `floor`, `also_protect`, ...; without a budget or a preset.
        model, compressor: See `Session`.
        on_overflow: When what must stay exceeds `max_tokens`: `trim` goes on as `trim_messages` does; `omit` leaves out
            the oldest messages that are not pinned (requests, constraints), then the oldest pins, before it trims;
            `report` logs a warning and gives back more than `max_tokens`; `raise` raises SessionError.
    Returns:
        Copies of the messages that changed, the others as they are.
    Raises:
        PolicyError: An option is not allowed.
        ValueError: As in `trim_messages`.
    """
    trimming: dict[str, Any] = {
        "token_counter": token_counter, "strategy": strategy, "allow_partial": allow_partial, "end_on": end_on,
        "start_on": start_on, "include_system": include_system, "text_splitter": text_splitter,
    }  # fmt: skip
    trim_messages([], max_tokens=max_tokens, **trimming)  # its errors, before there are any messages
    if on_overflow not in ("trim", "omit", "report", "raise"):
        raise PolicyError(f"on_overflow is {on_overflow!r}; allowed: 'trim', 'omit', 'report', 'raise'.")
    policy = with_budget(policy, compressor, "max_tokens", max_tokens)
    budgets = _budgets(compressor, model, policy, "report" if on_overflow == "trim" else on_overflow)
    trims = on_overflow in ("trim", "omit")

    def bring(given: Messages) -> list[BaseMessage]:
        return _bring_below(given, budgets, max_tokens, trims, **trimming)

    return RunnableLambda(bring, name="compress_messages") if messages is None else bring(messages)


def _bring_below(
    messages: Messages, budgets: Budgets, max_tokens: int, trims: bool, *, token_counter: Any, **trimming: Any
) -> list[BaseMessage]:
    count = _list_counter(token_counter)
    shortened = convert_to_messages(messages)
    tokens = count(shortened)
    if tokens > max_tokens:
        shortened, tokens = budgets.fit(shortened, tokens, max_tokens, count)
    if tokens > max_tokens:
        logger.warning(
            "what must stay of %d messages needs %d tokens more than the %d allowed%s",
            len(shortened), tokens - max_tokens, max_tokens, ": whole messages are trimmed" if trims else "",
        )  # fmt: skip
    limit = max_tokens if trims else max(tokens, max_tokens)
    return trim_messages(shortened, max_tokens=limit, token_counter=token_counter, **trimming)


def _list_counter(counter: Any) -> ListCounter:
    """The counter as a function of a list, by the rules of `trim_messages`."""
    if isinstance(counter, str):  # checked by trim_messages
        return count_tokens_approximately
    if hasattr(counter, "get_num_tokens_from_messages"):
        return counter.get_num_tokens_from_messages  # type: ignore[no-any-return]
    first = next(iter(inspect.signature(counter).parameters.values()))
    if first.annotation in (BaseMessage, "BaseMessage"):
        return lambda messages: sum(counter(message) for message in messages)
    return counter  # type: ignore[no-any-return]


@lru_cache(maxsize=8)
def _budgets(compressor: Compressor | None, model: str | Path, policy: Policy | None, on_overflow: Overflow) -> Budgets:
    """The sessions of all calls with the same options, so that a conversation goes on in its session."""
    return Budgets(Conversations(compressor=compressor_of(compressor, model, policy, None), on_overflow=on_overflow))
