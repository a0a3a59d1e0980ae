"""Chat messages as dicts: string content, content parts (OpenAI) and content blocks (Anthropic)."""

import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from compressor.errors import InputError
from compressor.formats.splice import Path, at, copy
from compressor.transcript import Transcript, Turn

TEXT_PARTS = frozenset({"text", "input_text", "output_text"})
KNOWN_ROLES = frozenset({"user", "assistant", "system", "developer", "tool", "function", "speaker", "none"})
CONTAINERS = ("messages", "conversations", "turns")
"""Keys under which an object holds a conversation: messages, `from`/`value` pairs, turns with `role` and `text`."""

_SHAREGPT_ROLES = {
    "human": "user", "gpt": "assistant", "chatgpt": "assistant", "bard": "assistant", "bing": "assistant",
    "observation": "tool", "function_call": "function",
}  # fmt: skip
_CALLS = ("tool_calls", "function_call")
_SEPARATOR = "\n\n"


def read(source: Any) -> Transcript:
    """Read a list of messages, or an object that holds one: a turn for each message.

    The objects are referred to, never changed.

    Raises:
        InputError: A field is missing or has a wrong type; names the turn and the field.
    """
    path = find(source)
    return Transcript(tuple(turns(source, path)), "messages", MappingProxyType({"source": source}))


def write(transcript: Transcript) -> Any:
    """The list or object that was read, with the texts of the turns, as a copy; leaves out what was dropped."""
    if "source" not in transcript.extra:
        return as_messages(transcript)
    result = copy(transcript.extra["source"])
    gone: list[Path] = []
    for path, text in edits(transcript):
        if text is None:
            gone.append(path)
        else:
            at(result, path[:-1])[path[-1]] = text
    for path in reversed(gone):
        del at(result, path[:-1])[path[-1]]
    return result


def as_messages(transcript: Transcript) -> list[Any]:
    """Each turn's message with the turn's text, as a copy; a new one with `role` and `content` if it was no message."""
    result = []
    for index, turn in enumerate(transcript.turns):
        if turn.extra.get("dropped"):
            continue
        if "message" in turn.extra:
            message = copy(turn.extra["message"])
            for field, text in _changes(turn, index):
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
        for field, text in _changes(turn, index):
            yield turn.extra["path"] + field, text


def _changes(turn: Turn, index: int) -> Iterator[tuple[Path, str]]:
    """The strings of a turn's message that differ from it: where in the message, and the new text."""
    fields, message = turn.extra["fields"], turn.extra["message"]
    blocks = turn.blocks
    if not blocks:  # with_text() without blocks: the text it had, nothing, or the text of the only block
        if turn.text == turn.extra["text"]:
            return
        blocks = ((0, len(turn.text)),) if turn.text else ((0, 0),) * len(fields)
    if len(blocks) != len(fields):
        raise InputError(f"turn {index} has {len(blocks)} text blocks; its message has {len(fields)}.")
    for field, (start, end) in zip(fields, blocks, strict=True):
        if turn.text[start:end] != at(message, field):
            yield field, turn.text[start:end]


def find(source: Any) -> Path:
    """Where the messages are inside a list or an object.

    Raises:
        InputError: The source is neither a list nor an object with `messages` (or `conversations`, `turns`).
    """
    if isinstance(source, list):
        return ()
    if isinstance(source, dict):
        for key in CONTAINERS:
            if key in source:
                if not isinstance(source[key], list):
                    raise InputError(f'"{key}" is {_kind(source[key])}; allowed: a list of messages.')
                return (key,)
        keys = ", ".join(repr(key) for key in list(source)[:5])
        raise InputError(
            f'the object has no "messages" (keys: {keys or "none"}); '
            'allowed: a list under "messages", "conversations" or "turns".'
        )
    raise InputError(f'the source is {_kind(source)}; allowed: a list of messages or an object with "messages".')


def turns(source: Any, path: Path) -> Iterator[Turn]:
    """One turn for each item of the list at `path` inside `source`."""
    warned: set[str] = set()
    for index, message in enumerate(at(source, path)):
        yield read_message(message, index, (*path, index), path[-1] if path else "messages", warned)


def read_message(
    message: Any, index: int, path: Path, container: str | int = "messages", warned: set[str] | None = None
) -> Turn:
    """The turn of one message.

    Args:
        message: The dict.
        index: The number of the turn, for errors.
        path: Where the message is in its document.
        container: The key of the list it stands in: the names of the fields depend on it.
        warned: Unknown roles that a warning named already; this one's is added.
    """
    if not isinstance(message, dict):
        raise InputError(f"turn {index} is {_kind(message)}; allowed: a message object with role and content.")
    role_key, text_key, name_key = "role", "content", "name"
    if container == "conversations" and "from" in message:
        role_key, text_key = "from", "value"
    elif container == "turns" and "text" in message:
        text_key, name_key = "text", "speaker"
    speaker = message.get(name_key)
    if role_key not in message and not (container == "turns" and isinstance(speaker, str)):
        raise InputError(
            f'turn {index}: "{role_key}" is missing (keys: {", ".join(map(repr, list(message)[:5])) or "none"}).'
        )
    role = message.get(role_key, "speaker")
    if not isinstance(role, str):
        raise InputError(
            f'turn {index}: "{role_key}" is {_kind(role)}; allowed: a string such as "user" or "assistant".'
        )
    if role_key == "from":
        role = _SHAREGPT_ROLES.get(role, role)
    if role not in KNOWN_ROLES and warned is not None and role not in warned:
        warned.add(role)
        warnings.warn(f"turn {index}: unknown role {role!r}; it is kept as it is.", UserWarning, stacklevel=2)
    if message.get("tool_calls") is not None and not isinstance(message["tool_calls"], list):
        raise InputError(f'turn {index}: "tool_calls" is {_kind(message["tool_calls"])}; allowed: a list.')
    text, fields, blocks = _content(message, index, text_key)
    keys = (role_key, text_key, name_key)
    extra = {"message": message, "path": path, "keys": keys, "fields": fields, "text": text}
    return Turn(role, speaker if isinstance(speaker, str) else None, text, MappingProxyType(extra), blocks)


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


def _content(
    message: Mapping[str, Any], index: int, key: str
) -> tuple[str, tuple[Path, ...], tuple[tuple[int, int], ...]]:
    """The text of a message, where its strings are in the message, and where they are in the text."""
    content = message.get(key)
    if content is None:
        if key not in message and message.get("role") != "assistant":
            raise InputError(f'turn {index}: "{key}" is missing; allowed: a string, a list of parts, or null.')
        return "", (), ()
    if isinstance(content, str):
        return content, ((key,),), ()
    if not isinstance(content, list):
        raise InputError(f'turn {index}: "{key}" is {_kind(content)}; allowed: a string, a list of parts, or null.')
    texts: list[str] = []
    fields: list[Path] = []
    for number, part in enumerate(content):
        where = f'turn {index}: "{key}", part {number}'
        if not isinstance(part, dict):
            raise InputError(f"{where} is {_kind(part)}; allowed: an object with a type.")
        if not isinstance(part.get("type"), str):
            found = _kind(part["type"]) if "type" in part else "missing"
            raise InputError(f'{where}: "type" is {found}; allowed: a string such as "text".')
        if part["type"] in TEXT_PARTS:
            if not isinstance(part.get("text"), str):
                found = _kind(part["text"]) if "text" in part else "missing"
                raise InputError(f'{where}: "text" is {found}; allowed: a string.')
            texts.append(part["text"])
            fields.append((key, number, "text"))
    blocks: list[tuple[int, int]] = []
    start = 0
    for text in texts:
        blocks.append((start, start + len(text)))
        start += len(text) + len(_SEPARATOR)
    return _SEPARATOR.join(texts), tuple(fields), tuple(blocks)


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


def _kind(value: Any) -> str:
    return "null" if value is None else type(value).__name__
