"""One Arrow column of conversations: its rows as plain values, and the column again with some of its texts replaced.

Only the texts are made anew. All that stands beside them (other fields, nulls, the types and the metadata of fields) is
handed on as the buffers it came in, so that no value changes on a way through Python.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise, repeat
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as kinds

from compressor.errors import InputError
from compressor.tabular.layouts import (
    Offsets,
    decoded,
    encoded,
    is_encoded,
    is_list,
    is_text,
    items_of,
    list_like,
    map_like,
    null_mask,
    picked,
    plain_type,
    validity,
)

Edit = tuple[int, tuple[Any, ...], str | None]
"""A row, the keys and list positions that lead to a value inside it, and its new text; None leaves the list item out."""

ALLOWED = "allowed: strings (plain text or JSON), a list of messages, or a struct or map that holds one"


@dataclass(frozen=True, slots=True)
class OtherValue:
    """Stands for a value that no JSON holds, such as a timestamp: no text of a conversation, but something."""

    type: str


def check_type(name: str, type: pa.DataType) -> None:
    """Make sure that a column can hold conversations.

    Raises:
        InputError: Its type cannot; names it and what is allowed.
    """
    inner = plain_type(type)
    if kinds.is_dictionary(type) and not is_text(type.value_type):
        raise InputError(
            f"the column {name!r} holds {type}, whose texts cannot be replaced; decode the dictionary first."
        )
    if not (is_text(inner) or is_list(inner) or kinds.is_struct(inner) or kinds.is_map(inner) or kinds.is_null(inner)):
        raise InputError(f"the column {name!r} holds {type}; {ALLOWED}.")


def values(array: pa.Array) -> list[Any]:
    """Each row as JSON would hold it: dicts (of structs and maps), lists, strings, numbers, None.

    Bytes that are UTF-8 are strings; other bytes stay bytes. What JSON has no word for is an `OtherValue`.

    Raises:
        InputError: A struct or a map has a key twice.
        UnicodeDecodeError: A string is no UTF-8, which Arrow does not check.
    """
    type = array.type
    if is_encoded(type):
        return values(decoded(array))
    if kinds.is_struct(type):
        names = _names(type)
        children = [values(array.field(index)) for index in range(type.num_fields)]
        rows = zip(*children, strict=True) if children else repeat((), len(array))
        return [
            dict(zip(names, row, strict=True)) if there else None
            for row, there in zip(rows, validity(array), strict=True)
        ]
    if kinds.is_map(type):
        offsets, pairs = items_of(array)
        pairs = list(zip(values(pairs.field(0)), values(pairs.field(1)), strict=True))
        return _cut(array, offsets, pairs, _as_dict)
    if is_list(type):
        offsets, items = items_of(array)
        return _cut(array, offsets, values(items), list)
    if kinds.is_binary(type) or kinds.is_large_binary(type) or kinds.is_binary_view(type):
        return [_as_text(value) for value in array.to_pylist()]
    if is_text(type) or (kinds.is_primitive(type) and not kinds.is_temporal(type)) or kinds.is_null(type):
        return list(array.to_pylist())
    other = OtherValue(str(type))
    return [other if there else None for there in validity(array)]


def replace(array: pa.Array, edits: Sequence[Edit]) -> pa.Array:
    """The column with some texts replaced and some list items left out; of the same type and length.

    Raises:
        InputError: An item of a list of fixed length, or a key of a struct, cannot be left out.
    """
    if not edits:
        return array
    type = array.type
    if isinstance(type, pa.BaseExtensionType):
        return pa.ExtensionArray.from_storage(type, replace(array.storage, edits))
    if is_encoded(type):
        return encoded(replace(decoded(array), edits), type)
    if kinds.is_struct(type):
        names = _names(type)
        children = [array.field(index) for index in range(type.num_fields)]
        for name, below in _by_key(edits).items():
            at = names.index(name)
            children[at] = replace(children[at], below)
        fields = [type.field(index) for index in range(type.num_fields)]
        return pa.StructArray.from_arrays(children, fields=fields, mask=null_mask(array))
    if kinds.is_map(type):
        offsets, pairs = items_of(array)
        keys = values(pairs.field(0))
        placed = [(_key_position(keys, offsets, row, path[0]), path[1:], text) for row, path, text in edits]
        return map_like(array, offsets, pairs.field(0), replace(pairs.field(1), placed))
    if is_list(type):
        return _replace_in_list(array, edits)
    return _replace_texts(array, {row: text for row, _, text in edits})


def _replace_in_list(array: pa.Array, edits: Sequence[Edit]) -> pa.Array:
    offsets, items = items_of(array)
    placed = [(int(offsets[row]) + int(path[0]), path[1:], text) for row, path, text in edits]
    gone = [position for position, path, text in placed if not path and text is None]
    items = replace(items, [edit for edit in placed if edit[1] or edit[2] is not None])
    if gone:
        if kinds.is_fixed_size_list(array.type):
            raise InputError(f"a message cannot be left out of a {array.type}; choose another option for emptied.")
        stays = np.ones(len(items), np.bool_)
        stays[gone] = False
        edges = [-1, *sorted(gone), len(items)]
        items = picked(items, ((before + 1, after - before - 1) for before, after in pairwise(edges)))
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(stays, dtype=np.int64)])[offsets]
    return list_like(array, offsets, items)


def _replace_texts(array: pa.Array, texts: dict[int, str | None]) -> pa.Array:
    """Strings or bytes of any layout, with some of them replaced; the others are not looked at, valid UTF-8 or not."""
    new: list[bytes | None] = [None] * len(array)
    for row, text in texts.items():
        if text is None:
            raise InputError("a text that is no item of a list cannot be left out.")
        new[row] = text.encode("utf-8", "surrogatepass")
    is_new = np.zeros(len(array), np.bool_)
    is_new[list(texts)] = True
    mixed = pc.if_else(pa.array(is_new), pa.array(new, pa.large_binary()), array.cast(pa.large_binary()))
    return pc.cast(mixed, options=pc.CastOptions(target_type=array.type, allow_invalid_utf8=True))


def _key_position(keys: Sequence[Any], offsets: Offsets, row: int, key: Any) -> int:
    return keys.index(key, int(offsets[row]), int(offsets[row + 1]))


def _cut(array: pa.Array, offsets: Offsets, items: list[Any], make: Callable[[list[Any]], Any]) -> list[Any]:
    """The items of each row, or None where the row is null."""
    edges = offsets.tolist()
    return [
        make(items[start:end]) if there else None
        for start, end, there in zip(edges[:-1], edges[1:], validity(array), strict=True)
    ]


def _by_key(edits: Sequence[Edit]) -> dict[str, list[Edit]]:
    found: defaultdict[str, list[Edit]] = defaultdict(list)
    for row, path, text in edits:
        found[path[0]].append((row, path[1:], text))
    return found


def _names(type: pa.StructType) -> list[str]:
    names = [type.field(index).name for index in range(type.num_fields)]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError(f"a struct has the field {twice[0]!r} twice; name its fields apart.")
    return names


def _as_dict(pairs: list[tuple[Any, Any]]) -> dict[Any, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise InputError("a map has a key twice; keep one of them.")
    return found


def _as_text(value: bytes | None) -> str | bytes | None:
    try:
        return None if value is None else value.decode()
    except UnicodeDecodeError:
        return value
