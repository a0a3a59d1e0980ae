"""Sessions for callers that hand over the whole conversation at every call, as agents and chat clients do.

Which session a call belongs to is found by content: the one whose turns are the longest head of the call's turns. So no
thread needs a name, conversations may run side by side, fork and be edited, and what was sent before stays byte for
byte. A session that is not there any more (another process, too many conversations) is built again turn by turn and
comes out the same, because a session's state depends on its turns alone.
"""

import json
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path
from threading import Lock
from typing import Any, Literal

from compressor.errors import PolicyError
from compressor.integrations.options import compressor_of
from compressor.pipeline import Compressor
from compressor.policy import Policy
from compressor.session import Session
from compressor.tokens import TokenCounter

Overflow = Literal["report", "raise", "omit"]

_ROLES = frozenset({"user", "assistant", "system", "developer", "tool"})


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call: its id, which need not be unique, the tool, and the arguments as JSON or text."""

    id: str
    name: str = ""
    arguments: str = ""


@dataclass(frozen=True, slots=True)
class Said:
    """One turn as an adapter reads it from its framework.

    Args:
        role: `user`, `assistant`, `system`, `developer` or `tool`; turns of any other role are never altered.
        texts: The strings that may be shortened, in order.
        calls: The tool calls of an assistant's turn.
        answers: Of a tool's turn: the id of the call that it answers.
        more: Whether the turn holds something that must not get lost with its texts: images, text with citations.
        thoughts: Whether it holds thoughts of the model, which go where its calls go.
    """

    role: str
    texts: tuple[str, ...] = ()
    calls: tuple[Call, ...] = ()
    answers: str | None = None
    more: bool = False
    thoughts: bool = False


@dataclass(frozen=True, slots=True)
class Shortened:
    """What a call may send.

    Args:
        texts: For each turn the strings that remain of its texts, as many as there were, or None where the turn is left out.
        note: One line that lists what is left out; empty if nothing is.
    """

    texts: tuple[tuple[str, ...] | None, ...]
    note: str


class Conversations:
    """The sessions of many conversations. Safe to use from several threads.

    Args:
        policy, model, compressor, token_counter, on_overflow: See `Session`.
        max_sessions: Most sessions that are kept, 1 or more; the one used least recently goes first and is built again
            when its conversation goes on.
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
        max_sessions: int = 64,
    ) -> None:
        if isinstance(max_sessions, bool) or not isinstance(max_sessions, int) or max_sessions < 1:
            raise PolicyError(f"max_sessions is {max_sessions!r}; allowed: a whole number, 1 or more.")
        self.compressor = compressor_of(compressor, model, policy, token_counter)
        self.on_overflow = on_overflow
        self._max_sessions = max_sessions
        self._sessions: OrderedDict[bytes, Session] = OrderedDict()
        self._lock = Lock()
        self._new_session(None)  # what is not allowed is said now, not in the first call

    def shorten(self, turns: Sequence[Said], *, max_tokens: int | None = None) -> Shortened:
        """Shorten a conversation, in the session to which it belongs.

        Args:
            turns: The whole conversation.
            max_tokens: A budget for this call instead of the policy's.
        Raises:
            SessionError: `on_overflow` is `raise`, and what must stay exceeds the budget.
        """
        session, key = self._take(turns, max_tokens)
        kept = {int(message["name"]): message for message in session.messages()}
        texts = tuple(_texts(turn, kept[number]) if number in kept else None for number, turn in enumerate(turns))
        note = session.note
        self._give_back(session, key)
        return Shortened(texts, note)

    def session(self, turns: Sequence[Said], *, max_tokens: int | None = None) -> Session:
        """The session of a conversation, with its memory and its report: to be read, not appended to."""
        session, key = self._take(turns, max_tokens)
        self._give_back(session, key)
        return session

    def rename(self, turns: Sequence[Said], instead: Sequence[Said]) -> None:
        """From now on other turns, as many, stand for these in the caller's list; their session goes on with the originals."""
        with self._lock:
            session = self._sessions.pop(_keys(_messages(turns), None)[-1], None)
        if session is not None:
            self._give_back(session, _keys(_messages(instead), None)[-1])

    def __deepcopy__(self, memo: dict[int, Any]) -> "Conversations":
        """Itself: what copies of a component share can harm none, since sessions are found by what was said in them."""
        return self

    def _take(self, turns: Sequence[Said], max_tokens: int | None) -> tuple[Session, bytes]:
        """The session that holds these turns and no others, and the key to give it back under; until then it is nobody else's."""
        messages = _messages(turns)
        keys = _keys(messages, max_tokens)
        session, known = None, 0
        with self._lock:
            for count in range(len(turns), -1, -1):
                if keys[count] in self._sessions:
                    session, known = self._sessions.pop(keys[count]), count
                    break
        if session is None:
            session = self._new_session(max_tokens)
        for message in messages[known:]:  # one by one: the state must not depend on how the turns were parcelled out
            session.append(message)
        return session, keys[-1]

    def _give_back(self, session: Session, key: bytes) -> None:
        with self._lock:
            self._sessions[key] = session
            self._sessions.move_to_end(key)
            while len(self._sessions) > self._max_sessions:
                self._sessions.popitem(last=False)

    def _new_session(self, max_tokens: int | None) -> Session:
        policy = self.compressor.policy
        if max_tokens is not None:
            policy = replace(policy, max_tokens=max_tokens, keep_ratio=None, preset=None)
        return Session(policy=policy, compressor=self.compressor, on_overflow=self.on_overflow)


def heads(turns: Sequence[Said]) -> list[bytes]:
    """A digest of each head of a conversation, from the empty one to the whole. Length: one more than turns."""
    return _keys(_messages(turns), None)


def _keys(messages: Sequence[Mapping[str, Any]], max_tokens: int | None) -> list[bytes]:
    key = blake2b(repr(max_tokens).encode(), digest_size=20).digest()
    keys = [key]
    for message in messages:
        key = blake2b(key + json.dumps(message).encode(), digest_size=20).digest()
        keys.append(key)
    return keys


def _messages(turns: Sequence[Said]) -> list[dict[str, Any]]:
    """The turns as chat messages that any session takes, whatever the framework lets through; each has its number as its name.

    Tool calls get ids of their own, since models repeat theirs. A call that nothing directly behind it answers is no
    pair to keep, and an answer behind no call stands as a system message, which stays as it is.
    """
    messages: list[dict[str, Any]] = []
    caller = 0  # the last turn that is no answer
    unanswered = [list(turn.calls) for turn in turns]
    for number, turn in enumerate(turns):
        message: dict[str, Any] = {
            "role": turn.role if turn.role in _ROLES else "system",
            "name": str(number),
            "content": "",
        }
        messages.append(message)
        if turn.role != "tool":
            caller = number
        elif turns[caller].role == "assistant" and turns[caller].calls:
            # An answer to no open call gets one made up: what stands between a call and its answer must be an answer.
            call = next((call for call in unanswered[caller] if call.id == turn.answers), None)
            if call is not None:
                unanswered[caller].remove(call)
            function = {"name": call.name, "arguments": call.arguments} if call else {"name": "", "arguments": ""}
            message["tool_call_id"] = f"{caller}-{number}"
            calls = messages[caller].setdefault("tool_calls", [])
            calls.append({"id": message["tool_call_id"], "type": "function", "function": function})
        else:
            message["role"] = "system"
    for turn, message, calls in zip(turns, messages, unanswered, strict=True):
        message["content"] = _content(turn, more=turn.more or bool(calls))
    return messages


def _content(turn: Said, more: bool) -> str | list[dict[str, str]]:
    if len(turn.texts) == 1 and not more and not turn.thoughts:
        return turn.texts[0]
    parts = [{"type": "text", "text": text} for text in turn.texts]
    parts = [{"type": "thinking"}, *parts] if turn.thoughts else parts
    return [*parts, {"type": "more"}] if more else parts or ""


def _texts(turn: Said, message: Mapping[str, Any]) -> tuple[str, ...]:
    content = message["content"]
    if not turn.texts:
        return ()
    return (content,) if isinstance(content, str) else tuple(part["text"] for part in content if part["type"] == "text")
