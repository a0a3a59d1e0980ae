"""The network in torch: a BERT encoder with a role embedding and one linear layer for all heads.

Imports torch when it is imported; `torch_backend` and the training do that, the core never does. The names of the
parameters are those of a transformers `BertModel`, so that its weights load as they are.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.nn import functional

_EMBEDDING, _SCALE = "words.weight", "words.scale"


@dataclass(frozen=True, slots=True)
class Shape:
    """Sizes of the network.

    Args:
        vocabulary: Rows of the word embedding.
        hidden: Width.
        layers: Transformer layers.
        heads: Attention heads; divides `hidden`.
        inner: Width of the feed-forward layer.
        positions: Longest window.
        types: Rows of the token type embedding; only the first is used.
        roles: Rows of the role embedding.
        outputs: Heads on top: light, tight, entity, pin.
        dropout: Probability of dropout in training, everywhere but in the attention.
    """

    vocabulary: int
    hidden: int
    layers: int
    heads: int
    inner: int
    positions: int
    types: int = 2
    roles: int = 6
    outputs: int = 4
    dropout: float = 0.1


class Attention(nn.Module):
    """Self-attention. (batch, length, hidden) → (batch, length, hidden)."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.heads = shape.heads
        self.query = nn.Linear(shape.hidden, shape.hidden)
        self.key = nn.Linear(shape.hidden, shape.hidden)
        self.value = nn.Linear(shape.hidden, shape.hidden)
        self.out = nn.Linear(shape.hidden, shape.hidden)

    def forward(self, x: Tensor, bias: Tensor) -> Tensor:
        """`bias` is added to the attention: 0 to see, a large negative number not to. Shape: (batch, 1, 1, length)."""
        batch, length, hidden = x.shape
        split = (batch, length, self.heads, hidden // self.heads)
        query, key, value = (layer(x).view(split).transpose(1, 2) for layer in (self.query, self.key, self.value))
        weights = query @ key.transpose(-1, -2) / math.sqrt(split[-1])
        mixed = functional.softmax(weights + bias, dim=-1).to(value.dtype) @ value
        return cast(Tensor, self.out(mixed.transpose(1, 2).reshape(batch, length, hidden)))


class Layer(nn.Module):
    """Attention and feed-forward, each followed by dropout, the residual and a layer norm."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.attention = Attention(shape)
        self.attention_norm = nn.LayerNorm(shape.hidden, eps=1e-12)
        self.up = nn.Linear(shape.hidden, shape.inner)
        self.down = nn.Linear(shape.inner, shape.hidden)
        self.norm = nn.LayerNorm(shape.hidden, eps=1e-12)
        self.dropout = nn.Dropout(shape.dropout)

    def forward(self, x: Tensor, bias: Tensor) -> Tensor:
        """(batch, length, hidden) → the same shape."""
        x = self.attention_norm(x + self.dropout(self.attention(x, bias)))
        return cast(Tensor, self.norm(x + self.dropout(self.down(functional.gelu(self.up(x))))))


class TurnClassifier(nn.Module):
    """The whole network: subwords and roles in, one logit a head out."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        self.words = nn.Embedding(shape.vocabulary, shape.hidden)
        self.positions = nn.Embedding(shape.positions, shape.hidden)
        self.types = nn.Embedding(shape.types, shape.hidden)
        self.roles = nn.Embedding(shape.roles, shape.hidden)
        self.norm = nn.LayerNorm(shape.hidden, eps=1e-12)
        self.dropout = nn.Dropout(shape.dropout)
        self.layers = nn.ModuleList(Layer(shape) for _ in range(shape.layers))
        self.top = nn.Linear(shape.hidden, shape.outputs)
        nn.init.zeros_(self.roles.weight)

    def forward(self, input_ids: Tensor, attention_mask: Tensor, role_ids: Tensor) -> Tensor:
        """Score every subword.

        Args:
            input_ids: Subwords. Shape: (batch, length), int64.
            attention_mask: 1 for a subword, 0 for padding. Shape: (batch, length), int64.
            role_ids: The role of the turn, at every subword. Shape: (batch, length), int64.
        Returns:
            Logits. Shape: (batch, length, outputs).
        """
        places = torch.arange(input_ids.shape[1], device=input_ids.device)
        embedded = self.words(input_ids) + self.positions(places) + self.types.weight[0] + self.roles(role_ids)
        x = self.dropout(self.norm(embedded))
        bias = (1 - attention_mask[:, None, None, :]).to(x.dtype) * -1e4
        for layer in self.layers:
            x = layer(x, bias)
        return cast(Tensor, self.top(x))


_BERT_NAMES = (
    ("embeddings.word_embeddings.", "words."),
    ("embeddings.position_embeddings.", "positions."),
    ("embeddings.token_type_embeddings.", "types."),
    ("embeddings.LayerNorm.", "norm."),
    ("encoder.layer.", "layers."),
    (".attention.self.", ".attention."),
    (".attention.output.dense.", ".attention.out."),
    (".attention.output.LayerNorm.", ".attention_norm."),
    (".intermediate.dense.", ".up."),
    (".output.dense.", ".down."),
    (".output.LayerNorm.", ".norm."),
)


def write_weights(path: Path, state: Mapping[str, Tensor]) -> None:
    """Write model.safetensors: float16, the word embedding in 8 bits with a scale a row, as half of the file is that."""
    table = state[_EMBEDDING].float()
    scale = (table.abs().amax(dim=1) / 127).clamp(min=1e-8)
    stored = {name: tensor.detach().to(torch.float16).contiguous() for name, tensor in state.items()}
    stored[_EMBEDDING] = (table / scale[:, None]).round().to(torch.int8)
    stored[_SCALE] = scale
    save_file(stored, path)


def read_weights(path: Path) -> dict[str, Tensor]:
    """The weights of a model.safetensors, in float32, however they are stored."""
    state = {name: tensor.float() for name, tensor in load_file(path).items()}
    if _SCALE in state:
        state[_EMBEDDING] = state[_EMBEDDING] * state.pop(_SCALE)[:, None]
    return state


def from_bert(state: dict[str, Tensor]) -> dict[str, Tensor]:
    """The weights of a transformers `BertModel` under the names of `TurnClassifier`, in float32."""
    renamed: dict[str, Tensor] = {}
    for name, tensor in state.items():
        name = name.removeprefix("bert.")
        if name.startswith("pooler.") or name.endswith("position_ids") or name.startswith("cls."):
            continue
        for old, new in _BERT_NAMES:
            name = name.replace(old, new)
        renamed[name] = tensor.float()
    return renamed
