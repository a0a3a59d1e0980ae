"""Examples to tensors, through `compressor.scoring.encoding`: the same words and the same windows as at inference."""

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from compressor.scoring.encoding import PAD, TurnEncoder, Window, role_id
from compressor.scoring.weights import HEADS
from compressor.transcript import VERBATIM_ROLES
from training.examples import Example

NONE = role_id("none")
PIN = HEADS.index("pin")


@dataclass(frozen=True, slots=True)
class Item:
    """One window of one turn.

    Args:
        ids: Shape: (length,), int64.
        role: Id of the turn's role.
        labels: NaN where a subword has no label or belongs to a neighbouring window. Shape: (length, 4).
    """

    ids: NDArray[np.int64]
    role: int
    labels: NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Batch:
    """Windows of about one length, padded. Shapes: (batch, length), labels (batch, length, 4)."""

    input_ids: Tensor
    attention_mask: Tensor
    role_ids: Tensor
    labels: Tensor

    def to(self, device: torch.device) -> "Batch":
        """The same batch on a device."""
        return Batch(*(getattr(self, field.name).to(device) for field in fields(self)))


def items(examples: Iterable[Example], encoder: TurnEncoder, lower: bool = False) -> list[tuple[Item, ...]]:
    """The windows of each turn that the scorer would run.

    Args:
        lower: Show the text in lower case, where that leaves its length as it is.
    Returns:
        One tuple of windows a turn, in order; the same turns whether lower or not.
    """
    found: list[tuple[Item, ...]] = []
    for example in examples:
        for turn, words, labels in zip(example.transcript, example.words, example.labels, strict=True):
            if turn.role in VERBATIM_ROLES or not words:
                continue
            lowered = turn.text.lower()
            text = lowered if lower and len(lowered) == len(turn.text) else turn.text
            encoded = encoder.encode(text, words)
            spread = encoded.spread(labels.astype(np.float64)).astype(np.float32)
            found.append(tuple(_item(window, role_id(turn.role), spread) for window in encoded.windows))
    return found


def forget_roles(chosen: Sequence[Item], share: float, chance: random.Random) -> list[Item]:
    """Show a share of the windows with the role `none`, as a plain document would have it.

    What an assistant says is never pinned only because an assistant says it; without the role that label has no ground.
    """
    assistant = role_id("assistant")
    out: list[Item] = []
    for item in chosen:
        if chance.random() >= share:
            out.append(item)
            continue
        labels = item.labels
        if item.role == assistant:
            labels = labels.copy()
            labels[:, PIN] = np.nan
        out.append(replace(item, role=NONE, labels=labels))
    return out


def batches(chosen: Sequence[Item], subwords: int, chance: random.Random | None = None) -> Iterator[Batch]:
    """Windows of similar length together, at most `subwords` a batch with their padding.

    Args:
        chance: Shuffles which windows meet and the order of the batches; without it the order is by length.
    """
    order = list(range(len(chosen)))
    if chance is not None:
        chance.shuffle(order)
        order.sort(key=lambda index: len(chosen[index].ids) + chance.random() * 4)
    else:
        order.sort(key=lambda index: len(chosen[index].ids))
    groups: list[list[Item]] = [[]]
    for index in order:
        longest = max([len(item.ids) for item in groups[-1]] + [len(chosen[index].ids)])
        if groups[-1] and longest * (len(groups[-1]) + 1) > subwords:
            groups.append([])
        groups[-1].append(chosen[index])
    if chance is not None:
        chance.shuffle(groups)
    for group in groups:
        if group:
            yield _batch(group)


def _item(window: Window, role: int, spread: NDArray[np.float32]) -> Item:
    labels = np.full((len(window.ids), spread.shape[1]), np.nan, dtype=np.float32)
    labels[window.inner[0] : window.inner[1]] = spread[window.owned[0] : window.owned[1]]
    return Item(window.ids, role, labels)


def _batch(group: Sequence[Item]) -> Batch:
    length = max(len(item.ids) for item in group)
    ids = np.full((len(group), length), PAD, dtype=np.int64)
    mask = np.zeros_like(ids)
    roles = np.full_like(ids, NONE)
    labels = np.full((len(group), length, len(HEADS)), np.nan, dtype=np.float32)
    for row, item in enumerate(group):
        size = len(item.ids)
        ids[row, :size] = item.ids
        mask[row, :size] = 1
        roles[row, :] = item.role
        labels[row, :size] = item.labels
    return Batch(*(torch.from_numpy(array) for array in (ids, mask, roles, labels)))
