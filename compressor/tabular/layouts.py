"""How Arrow lays out lists, maps and encoded values: taken apart into plain arrays, and put together again."""

from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as kinds
from numpy.typing import NDArray

from compressor.errors import InputError

Offsets = NDArray[np.int64]
"""Where the items of each row begin, and at the end where those of the last one end. Shape: (n_rows + 1,)."""


def items_of(array: pa.Array) -> tuple[Offsets, pa.Array]:
    """Where the items of each row begin and end, from 0, and the items of these rows alone."""
    type = array.type
    if kinds.is_fixed_size_list(type):
        size = type.list_size
        return np.arange(len(array) + 1, dtype=np.int64) * size, array.values.slice(
            array.offset * size, len(array) * size
        )
    if kinds.is_list_view(type) or kinds.is_large_list_view(type):
        sizes = np.where(np.array(validity(array), np.bool_), array.sizes.to_numpy(), 0)
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes, dtype=np.int64)])
        # Rows of a view may stand in any order and share items: here each gets its own.
        return offsets, picked(array.values, zip(array.offsets.to_pylist(), sizes.tolist(), strict=True))
    offsets = array.offsets.to_numpy().astype(np.int64)
    pairs = kinds.is_map(type)
    items = pa.StructArray.from_arrays([array.keys, array.items], names=["key", "value"]) if pairs else array.values
    return offsets - offsets[0], items.slice(offsets[0], offsets[-1] - offsets[0])


def list_like(array: pa.Array, offsets: Offsets, items: pa.Array) -> pa.Array:
    """A list array of the type and with the nulls of another one."""
    type, mask = array.type, null_mask(array)
    if kinds.is_fixed_size_list(type):
        return pa.FixedSizeListArray.from_arrays(items, type=type, mask=mask)
    if kinds.is_list_view(type) or kinds.is_large_list_view(type):
        small = kinds.is_list_view(type)
        whole = pa.array(offsets, pa.int32() if small else pa.int64())
        sizes = pa.array(np.diff(offsets), whole.type)
        view = pa.ListViewArray if small else pa.LargeListViewArray
        return view.from_arrays(whole.slice(0, len(array)), sizes, items, type=type, mask=mask)
    if kinds.is_large_list(type):
        return pa.LargeListArray.from_arrays(pa.array(offsets, pa.int64()), items, type=type, mask=mask)
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), items, type=type, mask=mask)


def map_like(array: pa.Array, offsets: Offsets, keys: pa.Array, items: pa.Array) -> pa.Array:
    """A map array of the type and with the nulls of another one."""
    return pa.MapArray.from_arrays(pa.array(offsets, pa.int32()), keys, items, type=array.type, mask=null_mask(array))


def picked(items: pa.Array, runs: Iterable[tuple[int, int]]) -> pa.Array:
    """Some stretches (start, length) of an array, one after the other. Views of strings have no `take` or `filter`."""
    return pa.concat_arrays([items.slice(0, 0), *(items.slice(start, length) for start, length in runs if length)])


def validity(array: pa.Array) -> list[bool]:
    """False where a row is null."""
    return list(array.is_valid().to_pylist())


def null_mask(array: pa.Array) -> pa.Array | None:
    """True where a row is null; None if none is."""
    return array.is_null() if array.null_count else None


def is_text(type: pa.DataType) -> bool:
    """Whether the values are strings or bytes of any length, in any layout."""
    return bool(
        kinds.is_string(type)
        or kinds.is_large_string(type)
        or kinds.is_string_view(type)
        or kinds.is_binary(type)
        or kinds.is_large_binary(type)
        or kinds.is_binary_view(type)
    )


def is_list(type: pa.DataType) -> bool:
    """Whether the values are lists, in any layout; maps are none."""
    return bool(
        kinds.is_list(type)
        or kinds.is_large_list(type)
        or kinds.is_fixed_size_list(type)
        or kinds.is_list_view(type)
        or kinds.is_large_list_view(type)
    )


def is_encoded(type: pa.DataType) -> bool:
    """Whether the values stand elsewhere: in a dictionary, once a run, or in the storage of an extension type."""
    return kinds.is_dictionary(type) or kinds.is_run_end_encoded(type) or isinstance(type, pa.BaseExtensionType)


def plain_type(type: pa.DataType) -> pa.DataType:
    """The type of the values behind all encodings."""
    while is_encoded(type):
        type = type.storage_type if isinstance(type, pa.BaseExtensionType) else type.value_type
    return type


def decoded(array: pa.Array) -> pa.Array:
    """The values of an encoded array (`is_encoded`), one step less encoded."""
    if isinstance(array.type, pa.BaseExtensionType):
        return array.storage
    if kinds.is_dictionary(array.type):
        known = array.dictionary
        if not len(known):  # below a null, pyarrow writes the index 0 even then
            return pa.nulls(len(array), known.type)
        if kinds.is_string_view(known.type) or kinds.is_binary_view(known.type):  # these have no `take`
            known = known.cast(pa.large_string() if kinds.is_string_view(known.type) else pa.large_binary())
        return known.take(array.indices)
    return pc.run_end_decode(array)


def encoded(array: pa.Array, type: pa.DataType) -> pa.Array:
    """Values in the encoding of a type. A dictionary holds each text once, in the order in which they come."""
    if kinds.is_dictionary(type):
        if not is_text(type.value_type):
            raise InputError(f"texts inside a {type} cannot be replaced; decode the column first.")
        found = array.dictionary_encode()
        return pa.DictionaryArray.from_arrays(
            found.indices.cast(type.index_type), found.dictionary.cast(type.value_type), ordered=type.ordered
        )
    return pc.run_end_encode(array, type.run_end_type)
