"""The budget of texts that brings messages below a limit, by a counter of whole messages.

Such a counter also counts roles, names and tool calls, which no deletion saves, and may be a call over the network. So the
texts get a budget of their own, in the tokens of the compressor, and the result is counted.
"""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from threading import Lock

from langchain_core.messages import BaseMessage

from compressor.integrations.conversations import Conversations, Said, Shortened, heads
from compressor.integrations.langchain.messages import read, write

ListCounter = Callable[[list[BaseMessage]], int]

ROOM = 0.9
"""A new budget is this share of what there is room for. The overhead of messages grows with each one; a budget that moved
with it would rewrite at every call what was sent before."""

TRIES = 4
"""How often a result is counted at most."""

KNOWN = 1024
"""How many conversations' budgets are remembered."""


class Budgets:
    """Finds budgets, and remembers them: that of a conversation only ever falls, so that what was sent before stays.

    Args:
        conversations: Shortens the messages.
    """

    def __init__(self, conversations: Conversations) -> None:
        self.conversations = conversations
        self._known: OrderedDict[tuple[bytes, int], int] = OrderedDict()
        self._lock = Lock()

    def fit(
        self, messages: list[BaseMessage], tokens: int, max_tokens: int, count: ListCounter
    ) -> tuple[list[BaseMessage], int]:
        """Shorten messages until they are within a limit, or nothing more may go.

        Args:
            messages: The whole conversation.
            tokens: Their count; above `max_tokens`.
            max_tokens: The limit.
            count: Counts a list of messages.
        Returns:
            The shortened messages and their count; the messages themselves where their texts count for nothing.
        """
        turns = [read(message) for message in messages]
        bare = write(messages, Shortened(tuple((".",) * len(turn.texts) for turn in turns), ""))
        overhead = count(bare)
        if tokens <= overhead:
            return messages, tokens
        counter = self.conversations.compressor.counter
        scale = sum(counter(text) for turn in turns for text in turn.texts) / (tokens - overhead)
        # Where messages may go their overhead goes with them: begin with too much, and see what remains.
        stays = 0 if self.conversations.on_overflow == "omit" else overhead
        room = (max_tokens - stays) * scale
        known = self._recall(turns, max_tokens)
        budget = known if known is not None and known <= room else _below(room)
        for _ in range(TRIES):
            shortened = write(messages, self.conversations.shorten(turns, max_tokens=budget))
            after = count(shortened)
            if after <= max_tokens or not budget:
                break
            budget = _below(budget - (after - max_tokens) * scale)
        self._remember(turns, max_tokens, budget)
        return shortened, after

    def _recall(self, turns: Sequence[Said], max_tokens: int) -> int | None:
        """The budget that the conversation had when it was shorter."""
        with self._lock:
            known = ((head, max_tokens) for head in reversed(heads(turns)))
            return next((self._known[key] for key in known if key in self._known), None)

    def _remember(self, turns: Sequence[Said], max_tokens: int, budget: int) -> None:
        with self._lock:
            key = heads(turns)[-1], max_tokens
            self._known[key] = budget
            self._known.move_to_end(key)
            if len(self._known) > KNOWN:
                self._known.popitem(last=False)


def _below(room: float) -> int:
    return max(0, int(room * ROOM))
