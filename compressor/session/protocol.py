"""What the providers' rules look at in a message: whose side it is on, which tools it calls and which calls it answers.

Source: the API references of OpenAI (chat completions: an assistant message with tool calls is followed by one tool message
for each of them) and Anthropic (messages: a tool_use block is answered by a tool_result block of the next user message,
ids are unique, roles alternate).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from compressor.errors import SessionError
from compressor.formats import dump
from compressor.formats.shapes.chat import TEXT_PARTS

_ANSWERING = frozenset({"tool", "function"})
_SYSTEM = frozenset({"system", "developer"})
_CARRIED = frozenset({"tool_use", "tool_result", "thinking", "redacted_thinking"})
_BLOCKS = _CARRIED | {"server_tool_use", "web_search_tool_result", "document", "image", "search_result"}


@dataclass(frozen=True, slots=True)
class Wire:
    """One message as the providers see it.

    Args:
        side: `user`, `assistant` or `system`; the results of tools come from the user's side.
        calls: The ids of the tool calls that it makes; an empty string for a call without an id.
        answers: The ids of the calls whose results it holds.
        plain: Whether it holds text alone.
        bare: Whether it holds nothing but text, tool calls with the thoughts before them, and tool results.
        blocks: Whether a part of it is of a type that only Anthropic has.
    """

    side: str
    calls: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()
    plain: bool = True
    bare: bool = True
    blocks: bool = False


def wire_of(message: Mapping[str, Any], number: int) -> Wire:
    """Read a message.

    Raises:
        SessionError: A tool call or result has an id that is no string, or an id twice.
    """
    role = message["role"]
    calls, answers = tuple(_calls(message, number)), tuple(_answers(message, number))
    for ids, what in ((calls, "makes two tool calls"), (answers, "holds two results")):
        named = [one for one in ids if one]
        twice = next((one for one in named if named.count(one) > 1), None)
        if twice is not None:
            raise SessionError(f"turn {number} {what} with the id {twice!r}; allowed: ids that occur once.")
    types = {part.get("type") for part in _parts(message)}
    known = {"role", "content", "name", "tool_calls", "function_call", "tool_call_id"}
    bare = all(value in (None, [], {}, "") for key, value in message.items() if key not in known) and all(
        part.get("type") in _CARRIED or (part.get("type") in TEXT_PARTS and part.keys() <= {"type", "text"})
        for part in _parts(message)
    )
    side = "user" if role in _ANSWERING else "system" if role in _SYSTEM else role
    plain = bare and not calls and not answers and not types & _CARRIED
    return Wire(side, calls, answers, plain, bare, bool(types & _BLOCKS))


def result_texts(message: Mapping[str, Any]) -> list[str]:
    """The texts of the tool_result blocks of a message, in order: a string, or the text blocks of a list.

    They are no part of the text of a turn, as they are never altered.
    """
    return [text for part in _parts(message) if part.get("type") == "tool_result" for text in _texts(part)]


def whole_text(message: Mapping[str, Any], text: str) -> str:
    """The text of a message with that of its tool_result blocks, in order, a blank line between two.

    Args:
        text: Its text without them.
    """
    if not any(part.get("type") == "tool_result" for part in _parts(message)):
        return text
    return "\n\n".join(
        text
        for part in _parts(message)
        for text in (_texts(part) if part.get("type") == "tool_result" else _own_text(part))
    )


def _texts(block: Mapping[str, Any]) -> list[str]:
    content = block.get("content")
    if isinstance(content, str):
        return [content]
    return [text for part in _parts(block) for text in _own_text(part)]


def _own_text(part: Mapping[str, Any]) -> list[str]:
    return [part["text"]] if part.get("type") in TEXT_PARTS and isinstance(part.get("text"), str) else []


def detail(message: Mapping[str, Any]) -> str:
    """What a message holds besides its text, as JSON; an empty string where there is nothing."""
    held: dict[str, Any] = {
        key: value for key, value in message.items() if key not in ("role", "content", "name") and value
    }
    parts = [part for part in _parts(message) if part.get("type") not in TEXT_PARTS]
    if parts:
        held["content"] = parts
    return dump(held) if held else ""


@dataclass(slots=True)
class Calls:
    """The tool calls of a conversation so far.

    Args:
        made: The turn that made each call that has an id.
        waiting: The calls of the last turn that makes any which have no result yet; id and turn.
    """

    made: dict[str, int] = field(default_factory=dict)
    waiting: list[tuple[str, int]] = field(default_factory=list)

    def after(self, wires: Sequence[Wire], first: int) -> "Calls":
        """The calls once some messages are added, of which the first has the number `first`.

        Returns:
            New calls; the ids that were made are in a dict of their own, to be merged.
        Raises:
            SessionError: A result comes before its call, twice or too late, a call goes without a result, or an id is
                used twice.
        """
        made: dict[str, int] = {}
        waiting = list(self.waiting)
        for number, wire in enumerate(wires, first):
            for answer in wire.answers:
                at = next((place for place, (one, _) in enumerate(waiting) if one == answer), None)
                if at is None:
                    raise SessionError(self._unasked(answer, number, made))
                del waiting[at]
            if waiting and not wire.answers:
                open_ids = ", ".join(repr(one) for one, _ in waiting)
                raise SessionError(
                    f"turn {number} ({wire.side}) comes before the results of the tool calls {open_ids} of turn "
                    f"{waiting[0][1]}; allowed next: a result for each of them."
                )
            for call in wire.calls:
                if call and (call in self.made or call in made):
                    before = made.get(call, self.made.get(call))
                    raise SessionError(
                        f"turn {number} makes a tool call with the id {call!r}, as turn {before} did; allowed: an id of "
                        "its own for each call."
                    )
                if call:
                    made[call] = number
                waiting.append((call, number))
        return Calls(made, waiting)

    def merge(self, later: "Calls") -> None:
        """Take over what `after` returned."""
        self.made.update(later.made)
        self.waiting = later.waiting

    def _unasked(self, answer: str, number: int, made: Mapping[str, int]) -> str:
        call = made.get(answer, self.made.get(answer))
        if call is None:
            return (
                f"turn {number} holds a result for the tool call {answer!r}, which no turn before it makes; allowed: "
                "results directly after the turn that makes the call."
            )
        return (
            f"turn {number} holds a result for the tool call {answer!r} of turn {call}, which has its result already; "
            "allowed: one result for each call."
        )


def _calls(message: Mapping[str, Any], number: int) -> Iterator[str]:
    for call in message.get("tool_calls") or ():
        yield _id(call.get("id") if isinstance(call, dict) else None, number, "tool call")
    if message.get("function_call"):
        yield ""
    for part in _parts(message):
        if part.get("type") == "tool_use":
            yield _id(part.get("id"), number, "tool_use block")


def _answers(message: Mapping[str, Any], number: int) -> Iterator[str]:
    if message["role"] in _ANSWERING:
        yield _id(message.get("tool_call_id"), number, "tool result")
    for part in _parts(message):
        if part.get("type") == "tool_result":
            yield _id(part.get("tool_use_id"), number, "tool_result block")


def _id(value: Any, number: int, what: str) -> str:
    if value is not None and not isinstance(value, str):
        raise SessionError(f"turn {number}: the id of a {what} is {value!r}; allowed: a string, or none.")
    return value or ""


def _parts(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    content = message.get("content")
    return [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []
