"""JSON text in which strings are replaced and list items left out, while every other character stays as it is."""

import json
import re
import sys
from collections import defaultdict
from collections.abc import Collection, Mapping
from enum import Enum
from typing import Any

from compressor.errors import InputError


class Inside(Enum):
    """A step of a path into a string that holds a JSON document of its own."""

    JSON = "JSON"


Path = tuple[str | int | Inside, ...]
"""Keys, list positions and steps into strings that lead to a value inside a JSON document."""

# Long runs without a quote, bracket or comma are skipped in one step; a string is linear in its length.
_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{},:]|[^\s\[\]{},:"]+', re.DOTALL)
_COMMA = re.compile(r"\s*,\s*")
_DEEPEST = 100_000
# A character of a JSON string as it is spelt there; two escapes of a surrogate pair are one.
_UNIT = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.|[^\\]", re.DOTALL)
_ESCAPES = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_SURROGATE = re.compile("[\ud800-\udfff]")
# Keys that lead to a conversation: given twice in one object, a parser would lose the first text without a word.
_READ_KEYS = frozenset(
    "messages conversations conversation turns role content text from value speaker message parts input output body params"
    " response result choices kwargs data payload attributes author user user_profile chats list preferred_output"
    " non_preferred_output chat_history history resourceSpans scopeSpans spans gen_ai.input.messages gen_ai.output.messages key stringValue".split()
)


def parse(raw: str, where: str = "") -> Any:
    """Parse JSON text.

    Raises:
        InputError: It is no JSON (names the line and column), or an object has one of the keys we read twice.
    """
    if not isinstance(raw, str):
        raise InputError(f"{where}the JSON is {type(raw).__name__}; allowed: str.")
    try:
        return json.loads(raw.removeprefix("\ufeff"), object_pairs_hook=_no_duplicates)
    except json.JSONDecodeError as error:
        raise InputError(f"{where}no valid JSON: {error.msg} (line {error.lineno}, column {error.colno}).") from None
    except RecursionError:
        raise InputError(f"{where}the JSON is nested too deeply.") from None
    except InputError as error:
        raise InputError(f"{where}{error}") from None
    except ValueError:
        limit = sys.get_int_max_str_digits()
        raise InputError(
            f"{where}a number has too many digits; allowed: whole numbers of up to {limit} digits."
        ) from None


def at(document: Any, path: Path) -> Any:
    """The value at a path."""
    for step in path:
        document = parse(document) if isinstance(step, Inside) else document[step]
    return document


def copy(value: Any) -> Any:
    """A copy of the lists and dicts of a document; other values are shared.

    Raises:
        InputError: An object contains itself.
    """
    result = [value]
    unfinished: list[tuple[Any, int]] = [(result, 0)]  # containers whose items are still those of the source
    while unfinished:
        container, depth = unfinished.pop()
        if depth > _DEEPEST:
            raise InputError(f"the source is nested more than {_DEEPEST} deep; an object may not contain itself.")
        for key, item in container.items() if isinstance(container, dict) else enumerate(container):
            if isinstance(item, (dict, list)):
                container[key] = dict(item) if isinstance(item, dict) else list(item)
                unfinished.append((container[key], depth + 1))
    return result[0]


def replace(document: Any, edits: Mapping[Path, str | None]) -> None:
    """Do to the lists and dicts of a document what `splice` does to its text."""
    direct, inner = _apart(edits)
    for path, changes in inner.items():
        direct[path] = splice(at(document, path), changes)
    gone = [path for path, text in direct.items() if text is None]
    for path, text in direct.items():
        if text is not None:
            at(document, path[:-1])[path[-1]] = text
    for path in reversed(gone):
        del at(document, path[:-1])[path[-1]]


def splice(raw: str, edits: Mapping[Path, str | None]) -> str:
    """Replace the strings at some paths by others, and take out the list items whose new value is None.

    Args:
        raw: Valid JSON text, with or without a byte order mark.
        edits: New values by path: object keys, list positions and steps into strings from the root.
    """
    direct, inner = _apart(edits)
    return _splice(raw, direct, inner) if direct or inner else raw


def _splice(raw: str, edits: dict[Path, str | None], inner: Mapping[Path, Mapping[Path, str | None]]) -> str:
    cuts = []
    kept_before: dict[Path, bool] = {}
    for path, (start, end) in spans(raw, {*edits, *inner}):
        new = splice(json.loads(raw[start:end], strict=False), inner[path]) if path in inner else edits[path]
        if new is None:
            cuts.append((*_item(raw, start, end, _keeps_one_before(path, edits, kept_before)), ""))
        else:
            cuts.append((start, end, respelt(raw[start:end], new)))
    parts: list[str] = []
    at = 0
    for start, end, text in cuts:
        parts += (raw[at:start], text)
        at = end
    return "".join([*parts, raw[at:]])


def quote(text: str, *, ascii_only: bool = False) -> str:
    """A JSON string that escapes what JSON demands, and half a surrogate pair, which no encoding takes.

    Args:
        text: Any text.
        ascii_only: Escape all that is not ASCII, as the string did that it replaces.
    """
    return json.dumps(text) if ascii_only else dump(text)


def respelt(raw: str, text: str) -> str:
    """A JSON string for a text of which characters were deleted: those that stay are written as they were.

    Args:
        raw: The JSON string that it takes the place of; nothing but a string can be followed.
        text: Its text with characters deleted; any other text is written by `quote`.
    """
    units = _UNIT.findall(raw, 1, len(raw) - 1) if raw[:1] == '"' else []
    kept: list[str] = []
    rest = iter(units)
    for char in text:
        unit = next((unit for unit in rest if unit == char or (len(unit) > 1 and _character(unit) == char)), None)
        if unit is None:
            return quote(text, ascii_only=raw.isascii())
        kept.append(unit)
    return f'"{"".join(kept)}"'


def _character(unit: str) -> str:
    """The character that an escape stands for."""
    if unit[1] != "u":
        return _ESCAPES.get(unit[1], unit[1])
    half = int(unit[2:6], 16)
    return chr(half) if len(unit) == 6 else chr(0x10000 + ((half - 0xD800) << 10) + int(unit[8:], 16) - 0xDC00)


def dump(value: Any) -> str:
    """A value as JSON on one line; what is not ASCII stays, except half a surrogate pair, which no encoding takes."""
    written = json.dumps(value, ensure_ascii=False)
    return _SURROGATE.sub(lambda half: f"\\u{ord(half[0]):04x}", written)


def _apart(edits: Mapping[Path, str | None]) -> tuple[dict[Path, str | None], dict[Path, dict[Path, str | None]]]:
    """The edits of the document itself, and those inside its strings by the place of the string."""
    direct: dict[Path, str | None] = {}
    inner: defaultdict[Path, dict[Path, str | None]] = defaultdict(dict)
    for path, text in edits.items():
        if Inside.JSON in path:
            depth = path.index(Inside.JSON)
            inner[path[:depth]][path[depth + 1 :]] = text
        else:
            direct[path] = text
    return direct, inner


def spans(raw: str, wanted: Collection[Path]) -> list[tuple[Path, tuple[int, int]]]:
    """Where in the text the values at the wanted paths stand, in order."""
    heads = {path[:depth] for path in wanted for depth in range(len(path))}
    found: list[tuple[Path, tuple[int, int]]] = []
    stack: list[tuple[Path | None, bool, int]] = []  # of each open container: its path, whether it is a list, its start
    path: Path | None = ()  # of the value that comes next; None inside what is not wanted
    is_key = False
    for token in _TOKEN.finditer(raw, 1 if raw.startswith("\ufeff") else 0):
        start = token.start()
        mark = raw[start]
        if mark == ",":
            is_key = not stack[-1][1]
            if path and not is_key:
                path = (*path[:-1], _position(path) + 1)
        elif mark == ":":
            continue
        elif mark == '"' and is_key:
            parent = stack[-1][0]
            path = (*parent, json.loads(token[0], strict=False)) if parent in heads and parent is not None else None
            is_key = False
        elif mark in "[{":
            stack.append((path, mark == "[", start))
            is_key = mark == "{"
            path = (*path, 0) if path in heads and path is not None and not is_key else None
        else:
            if mark in "]}":
                path, _, start = stack.pop()
                is_key = False
            if path in wanted and path is not None:
                found.append((path, (start, token.end())))
    if len({path for path, _ in found}) < len(found):  # an edit would overwrite both
        raise InputError("a key that leads to a text is there twice in one object; keep one of them.")
    return found


def _keeps_one_before(path: Path, edits: Mapping[Path, str | None], known: dict[Path, bool]) -> bool:
    """Whether an item of the same list stays that comes before; `known` remembers the answer for the items before."""
    index = _position(path)
    if index == 0:
        known[path] = False
    else:
        before = (*path[:-1], index - 1)
        known[path] = edits.get(before, "") is not None or known[before]
    return known[path]


def _position(path: Path) -> int:
    """The list position that a path ends with."""
    last = path[-1]
    if not isinstance(last, int):
        raise InputError(f"{path} is no item of a list.")
    return last


def _item(raw: str, start: int, end: int, after_one: bool) -> tuple[int, int]:
    """A list item with its comma: the one before it if an item before it stays, else the one behind."""
    if after_one:
        while raw[start - 1] != ",":
            start -= 1
        start -= 1
        while raw[start - 1].isspace():
            start -= 1
        return start, end
    behind = _COMMA.match(raw, end)
    return start, behind.end() if behind else end


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        keys = [key for key, _ in pairs]
        for key in keys:
            if key in _READ_KEYS and keys.count(key) > 1:
                raise InputError(f'the key "{key}" is there twice in one object; keep one of them.')
    return result
