"""Conversations in memory: lists and objects as JSON has them, of any shape; the edits that a transcript makes to them."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from compressor.errors import InputError
from compressor.formats import shapes, splice
from compressor.formats.shapes.chat import TEXT_PARTS
from compressor.formats.shapes.shape import changes
from compressor.formats.splice import Path, at, copy
from compressor.transcript import Transcript, Turn

_CALLS = ("tool_calls", "function_call")


def read(source: Any, shape: str | None = None) -> Transcript:
    """Read a list of messages, or an object that holds one: a turn for each message.

    The objects are referred to, never changed.

    Args:
        source: The list or object.
        shape: A name in SHAPES. None: found by the content.
    Raises:
        InputError: A field is missing or has a wrong type; names the turn and the field. Or the list holds several
            conversations.
    """
    name, turns = read_document(source, shape)
    return Transcript(turns, "messages", MappingProxyType({"source": source, "shape": name}))


def read_document(document: Any, shape: str | None = None, prefix: Path = ()) -> tuple[str, tuple[Turn, ...]]:
    """The name of the shape and the turns of a JSON value; a list that holds one conversation stands for it.

    Args:
        document: The value.
        shape: A name in SHAPES. None: found by the content.
        prefix: Where the value stands.
    Raises:
        InputError: It holds no conversation or several, or a message cannot be read.
    """
    if isinstance(document, list) and is_series(document, shape):
        if len(document) > 1:
            raise InputError(
                f"the list holds {len(document)} conversations; compress them one by one, such as with compress_many(), "
                "or a file of them with read_records()."
            )
        return read_document(document[0], shape, (*prefix, 0))
    return shapes.turns(document, shape, prefix)


def is_series(items: list[Any], shape: str | None = None) -> bool:
    """Whether a list holds conversations, not messages: its first item that is no null decides."""
    first = next((item for item in items if item is not None), None)
    return shapes.classify(first, shape) == "conversation"


def write(transcript: Transcript) -> Any:
    """The list or object that was read, with the texts of the turns, as a copy; leaves out what was dropped."""
    if "source" not in transcript.extra:
        return as_messages(transcript)
    result = copy(transcript.extra["source"])
    splice.replace(result, dict(edits(transcript)))
    return result


def as_messages(transcript: Transcript) -> list[Any]:
    """Each turn's message with the turn's text, as a copy; a new one with `role` and `content` if it was no message.

    Messages of people in exports (Slack, Discord, Telegram) become new ones with `role`, `content` and `name`.
    """
    result = []
    for index, turn in enumerate(transcript.turns):
        if turn.extra.get("dropped"):
            continue
        if isinstance(turn.extra.get("message"), dict):
            message = copy(turn.extra["message"])
            for field, text in changes(turn, index):
                at(message, field[:-1])[field[-1]] = text
        else:
            message = {"role": turn.role, "content": turn.text} | ({"name": turn.speaker} if turn.speaker else {})
        result.append(message)
    return result


def edits(transcript: Transcript) -> Iterator[tuple[Path, str | None]]:
    """What differs from the source, in order: the place of a string and its new text, or of a message that is left out.

    Raises:
        InputError: A turn was not read from messages, or its text blocks are not those of its message.
    """
    for index, turn in enumerate(transcript.turns):
        if "path" not in turn.extra:
            raise InputError(f"turn {index} was not read from messages; make it with with_text() from a turn that was.")
        if turn.extra.get("dropped"):
            yield turn.extra["path"], None
            continue
        for field, text in changes(turn, index):
            yield turn.extra["path"] + field, text


def drop(turn: Turn) -> Turn:
    """The same turn, to be left out when it is written."""
    return replace(turn, extra=MappingProxyType({**turn.extra, "dropped": True}))


def removable(transcript: Transcript, index: int) -> bool:
    """Whether a message may be left out once its text shrank to nothing.

    Only one that carries nothing else, and whose absence breaks no pair of tool call and result, puts no two messages
    of the same side next to each other, and leaves a user message first and last.
    """
    turn = transcript.turns[index]
    path = turn.extra.get("path", ())
    if not turn.extra.get("removable"):
        return False  # a chat message may go; an event of an export or a log, which others refer to, stays
    if not path or not isinstance(path[-1], int) or (transcript.format == "jsonl" and len(path) == 1):
        return False  # not an item of a list of messages: a line of a file stays a line
    if turn.role not in ("user", "assistant") or not _is_plain(turn):
        return False
    before = _next(transcript, range(index - 1, -1, -1))
    after = _next(transcript, range(index + 1, len(transcript.turns)))
    if after is None:
        return turn.role == "assistant" and before is not None and _side(before) == "user"
    if _answers(after.extra["message"]) or (before is not None and _calls(before.extra["message"])):
        return False
    left, right = _side(before) if before is not None else "system", _side(after)
    if left == "system":  # it opens the conversation, which a user has to do
        return right == "user" or right == turn.role
    return left != right or left == turn.role


def _next(transcript: Transcript, indices: Iterable[int]) -> Turn | None:
    """The first of these turns that is not left out."""
    return next(
        (transcript.turns[index] for index in indices if not transcript.turns[index].extra.get("dropped")), None
    )


def _is_plain(turn: Turn) -> bool:
    """Whether a message is nothing but its role, name and text."""
    message, text_key = turn.extra["message"], turn.extra["keys"][1]
    if any(value not in (None, [], {}) for key, value in message.items() if key not in turn.extra["keys"]):
        return False
    content = message.get(text_key)
    if not isinstance(content, list):
        return isinstance(content, str)
    return bool(content) and all(part["type"] in TEXT_PARTS and part.keys() <= {"type", "text"} for part in content)


def _side(turn: Turn) -> str:
    """Who speaks, as alternation sees it: the results of tools come from the user's side."""
    if turn.role in ("tool", "function"):
        return "user"
    return "system" if turn.role == "developer" else turn.role


def _calls(message: Mapping[str, Any]) -> bool:
    return "tool_use" in _part_types(message) or any(message.get(key) for key in _CALLS)


def _answers(message: Mapping[str, Any]) -> bool:
    return "tool_result" in _part_types(message) or message.get("role") in ("tool", "function")


def _part_types(message: Mapping[str, Any]) -> set[str]:
    content = message.get("content")
    return {str(part.get("type")) for part in content if isinstance(part, dict)} if isinstance(content, list) else set()
