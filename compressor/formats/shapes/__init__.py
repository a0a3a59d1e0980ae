"""The SHAPES of conversations in JSON: which one a value has, and the turns in it. Where the JSON stands is no matter here."""

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Literal

from compressor.errors import InputError
from compressor.formats.shapes import (
    agent,
    anthropic,
    discord,
    langchain,
    openai,
    responses,
    sharegpt,
    slack,
    speakers,
    telegram,
    telemetry,
)
from compressor.formats.shapes.shape import Shape, keys_of, kind, within
from compressor.formats.splice import Path, at
from compressor.transcript import Turn

__all__ = ["SHAPES", "Shape", "classify", "find", "lines", "owner", "turns", "warned"]

KNOWN_ROLES = frozenset({"user", "assistant", "system", "developer", "tool", "function", "speaker", "none"})
_CONTAINERS = ("messages", "conversations", "turns")

SHAPES: Mapping[str, Shape] = MappingProxyType(
    {
        module.SHAPE.name: module.SHAPE
        for module in (
            openai,
            anthropic,
            responses,
            sharegpt,
            speakers,
            langchain,
            agent,
            telemetry,
            slack,
            discord,
            telegram,
        )
    }
)
"""Every shape by its name."""

# What is most particular comes first: `messages` alone is what many others have, too.
_ORDER = tuple(
    SHAPES[name]
    for name in "telegram discord slack telemetry agent langchain responses speakers sharegpt anthropic openai".split()
)


def find(document: Any, shape: str | None = None) -> tuple[Shape, tuple[Path, ...]]:
    """The shape of a JSON value that holds a conversation, and where its messages are: lists of them, or single ones.

    A message on its own is a conversation of one turn.

    Args:
        document: The value.
        shape: A name in SHAPES. None: the first that fits.
    Raises:
        InputError: No shape fits (says which were tried), or the value is broken.
    """
    found = _find(document, shape)
    if found is not None:
        return found
    alone = owner(document, shape)
    if alone is not None:
        return alone, ((),)
    names = ", ".join(candidate.name for candidate in _tried(shape))
    if not isinstance(document, (dict, list)):
        raise InputError(
            f'the source is {kind(document)}; allowed: a list of messages or an object with "messages" (shapes tried: {names}).'
        )
    if shape is not None:
        raise InputError(f"the source has not the shape {shape} ({SHAPES[shape].doc})")
    raise InputError(
        f'the object has no "messages" (keys: {keys_of(document)}); allowed: a list under "messages", "conversations" or '
        f'"turns", or another of the shapes that were tried: {names}.'
    )


def turns(document: Any, shape: str | None = None, prefix: Path = ()) -> tuple[str, tuple[Turn, ...]]:
    """The name of the shape of a JSON value, and the turns in it.

    Args:
        document: The value.
        shape: A name in SHAPES. None: found by the content.
        prefix: Where the value stands in its document.
    Raises:
        InputError: As `find`, or a message cannot be read; names the turn and the field.
    """
    found, places = find(document, shape)
    items = [item for path in places for item in _items(document, path)]
    read = _read([value for _, value in items], [path for path, _ in items], [found] * len(items))
    return found.name, tuple(within(turn, prefix) for turn in warned(read))


def lines(values: Sequence[Any], paths: Sequence[Path], owners: Sequence[Shape]) -> Iterator[Turn | InputError | None]:
    """The turn of each of several messages that are one conversation together, or the error of one that cannot be read.

    Args:
        values: The messages.
        paths: Where each is in its document.
        owners: The shape of each, or of the list that it stands in.
    """
    passed = {index for shape in set(owners) for index in shape.passes(values)}
    number = 0
    for index, (value, path, shape) in enumerate(zip(values, paths, owners, strict=True)):
        if index in passed:
            yield None
            continue
        reader = shape if shape.owns(value) else owner(value) or shape  # lists may be mixed
        try:
            turn = reader.read(value, number, path)
        except InputError as error:
            yield error
            continue
        number += turn is not None
        yield turn if turn is None else within(turn, (), removable=shape.removable and reader.removable)


def classify(value: Any, shape: str | None = None) -> Literal["conversation", "message", "other"]:
    """Whether a JSON value is a conversation, one message of a conversation, or neither."""
    if isinstance(value, list):
        return "conversation"
    if not isinstance(value, dict):
        return "other"
    if any(
        isinstance(value.get(key), list) or (key in value and not {"role", "type"} & value.keys())
        for key in _CONTAINERS
    ):
        return "conversation"
    if owner(value, shape) is not None:
        return "message"
    try:
        return "other" if _find(value, shape) is None else "conversation"
    except InputError:  # it has a shape, but is broken
        return "conversation"


def owner(value: Any, shape: str | None = None) -> Shape | None:
    """The shape of a JSON value that is one message."""
    return next((candidate for candidate in _tried(shape) if candidate.owns(value)), None)


def _find(document: Any, shape: str | None) -> tuple[Shape, tuple[Path, ...]] | None:
    for candidate in _tried(shape):
        places = candidate.find(document)
        if places is not None:
            return candidate, places
    return None


def _tried(shape: str | None) -> tuple[Shape, ...]:
    return _ORDER if shape is None else (SHAPES[shape],)


def _items(document: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    value = at(document, path)
    if isinstance(value, list):
        yield from (((*path, index), item) for index, item in enumerate(value))
    else:
        yield path, value


def _read(values: Sequence[Any], paths: Sequence[Path], owners: Sequence[Shape]) -> Iterator[Turn]:
    for turn in lines(values, paths, owners):
        if isinstance(turn, InputError):
            raise turn
        if turn is not None:
            yield turn


def warned(read: Iterable[Turn]) -> Iterator[Turn]:
    """The same turns; the first of each unknown role is named in a warning."""
    known = set(KNOWN_ROLES)
    for index, turn in enumerate(read):
        if turn.role not in known:
            known.add(turn.role)
            warnings.warn(f"turn {index}: unknown role {turn.role!r}; it is kept as it is.", UserWarning, stacklevel=4)
        yield turn
