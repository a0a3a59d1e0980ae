"""The network as an ONNX graph, written node by node with the fused operators of onnxruntime.

Written rather than traced: the graph is already the one that an optimiser would make of it, so that a session loads it
without optimising, and every weight is stored as the scheme says.

Schemes: `float32`; `blocks8-N`, the matrices as 8-bit blocks of N (MatMulNBits, which quantises the activations of each
row by itself); `dynamic8`, 8-bit columns with one scale for the activations of a whole pass (DynamicQuantizeMatMul);
`smooth8`, the same after the channels with large activations hand their size to the weights. In all 8-bit schemes a row
of the word embedding is 8-bit with one scale. A pass of `dynamic8` or `smooth8` must be one window, never a batch.

Source of `smooth8`: Xiao et al. (2023), SmoothQuant.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from compressor.scoring.torch_model import Shape

MICROSOFT = "com.microsoft"
OPSET = 17
EPSILON = 1e-12
SMOOTH = 0.85
"""How much of an activation's size goes to the weights: 0 nothing, 1 all of it."""

Ranges = Mapping[str, NDArray[np.float32]]
"""Largest absolute input of each channel of each linear layer, by the layer's name."""


class _Graph:
    """Collects nodes and weights; each method returns the name of its output."""

    def __init__(self, weights: Mapping[str, NDArray[np.float32]], scheme: str, ranges: Ranges) -> None:
        self.weights = weights
        self.scheme = scheme
        self.ranges = ranges
        self.nodes: list[onnx.NodeProto] = []
        self.stored: dict[str, onnx.TensorProto] = {}

    def node(
        self, kind: str, inputs: Sequence[str], domain: str = "", outputs: int = 1, **attributes: Any
    ) -> list[str]:
        """Add one node."""
        names = [f"{kind}_{len(self.nodes)}" + (f"_{part}" if outputs > 1 else "") for part in range(outputs)]
        self.nodes.append(helper.make_node(kind, list(inputs), names, domain=domain, **attributes))
        return names

    def store(self, name: str, array: NDArray[Any]) -> str:
        """Add one weight."""
        if name not in self.stored:
            self.stored[name] = numpy_helper.from_array(np.ascontiguousarray(array), name)
        return name

    def weight(self, name: str) -> str:
        """Add one weight of the network as it is."""
        return self.store(name, self.weights[name])

    def norm(self, x: str, residual: str, bias: str, name: str) -> str:
        """Layer norm of `x + bias + residual`."""
        # Faster on the processor than the fused SkipLayerNormalization.
        total = self.node("Add", [*self.node("Add", [x, bias]), residual])[0]
        inputs = [total, self.weight(f"{name}.weight"), self.weight(f"{name}.bias")]
        return self.node("LayerNormalization", inputs, axis=-1, epsilon=EPSILON)[0]

    def linear(self, x: str, name: str, weight: NDArray[np.float32]) -> str:
        """`x @ weight.T`, stored as the scheme says. Weight: (outputs, inputs)."""
        if self.scheme == "float32":
            return self.node("MatMul", [x, self.store(f"{name}.t", weight.T)])[0]
        if self.scheme == "smooth8":
            factor = _factors(self.ranges[name], weight)
            x = self.node("Mul", [x, self.store(f"{name}.c", 1 / factor)])[0]
            weight = weight * factor
        if self.scheme in ("dynamic8", "smooth8"):
            scale = np.maximum(np.abs(weight).max(axis=1), 1e-8) / 127
            quantised = np.rint(weight / scale[:, None]).astype(np.int8)
            inputs = [x, self.store(f"{name}.q", quantised.T), self.store(f"{name}.s", scale.astype(np.float32))]
            return self.node("DynamicQuantizeMatMul", inputs, MICROSOFT)[0]
        block = int(self.scheme.removeprefix("blocks8-"))
        rows, columns = weight.shape
        if columns % block:
            raise ValueError(f"{name} has {columns} inputs, which blocks of {block} do not divide")
        blocks = weight.reshape(rows, columns // block, block)
        scale = np.maximum(np.abs(blocks).max(axis=2), 1e-8) / 127
        packed = (np.rint(blocks / scale[:, :, None]) + 128).astype(np.uint8)
        inputs = [x, self.store(f"{name}.q", packed), self.store(f"{name}.s", scale.astype(np.float32).reshape(-1))]
        # accuracy_level 4: the products are of 8-bit integers.
        options = {"K": columns, "N": rows, "bits": 8, "block_size": block, "accuracy_level": 4}
        return self.node("MatMulNBits", inputs, MICROSOFT, **options)[0]

    def words(self, ids: str) -> str:
        """The rows of the word embedding."""
        table = self.weights["words.weight"]
        if self.scheme == "float32":
            return self.node("Gather", [self.store("words", table), ids])[0]
        scale = np.maximum(np.abs(table).max(axis=1, keepdims=True), 1e-8) / 127
        quantised = self.store("words.q", np.rint(table / scale).astype(np.int8))
        rows = self.node("Cast", self.node("Gather", [quantised, ids]), to=TensorProto.FLOAT)[0]
        scales = self.node("Gather", [self.store("words.s", scale.astype(np.float32)), ids])[0]
        return self.node("Mul", [rows, scales])[0]

    def layer(self, x: str, mask: str, shape: Shape, at: str) -> str:
        """One transformer layer."""
        parts = [f"{at}.attention.{part}" for part in ("query", "key", "value")]
        weight = np.concatenate([self.weights[f"{part}.weight"] for part in parts])
        bias = self.store(f"{at}.attention.bias", np.concatenate([self.weights[f"{part}.bias"] for part in parts]))
        joined = self.linear(x, f"{at}.attention.qkv", weight)
        query, key, value = self.node(
            "Split", [joined, self.store("thirds", np.full(3, shape.hidden))], outputs=3, axis=2
        )
        mixed = self.node(
            "MultiHeadAttention",
            [query, key, value, bias, mask],
            MICROSOFT,
            num_heads=shape.heads,
            mask_filter_value=-1e4,
        )[0]
        out = self.linear(mixed, f"{at}.attention.out", self.weights[f"{at}.attention.out.weight"])
        x = self.norm(out, x, self.weight(f"{at}.attention.out.bias"), f"{at}.attention_norm")
        up = self.linear(x, f"{at}.up", self.weights[f"{at}.up.weight"])
        active = self.node("BiasGelu", [up, self.weight(f"{at}.up.bias")], MICROSOFT)[0]
        down = self.linear(active, f"{at}.down", self.weights[f"{at}.down.weight"])
        return self.norm(down, x, self.weight(f"{at}.down.bias"), f"{at}.norm")


def build(
    weights: Mapping[str, NDArray[np.float32]], shape: Shape, scheme: str, ranges: Ranges | None = None
) -> onnx.ModelProto:
    """The graph of a network.

    Args:
        weights: Named as in `TurnClassifier`.
        shape: Its sizes.
        scheme: `float32`, `blocks8-N`, `dynamic8` or `smooth8`.
        ranges: For `smooth8`; named as in `TurnClassifier`, with `attention.qkv` for the three that share an input.
    Returns:
        input_ids, attention_mask, role_ids (batch, length) int64 → logits (batch, length, outputs) float32.
    """
    graph = _Graph(weights, scheme, ranges or {})
    length = graph.node("Gather", [*graph.node("Shape", ["input_ids"]), graph.store("one", np.array([1]))])[0]
    fixed = weights["positions.weight"] + weights["types.weight"][0]
    zero = graph.store("zero", np.array([0]))
    places = graph.node("Slice", [graph.store("places", fixed), zero, length, zero])[0]
    roles = graph.node("Gather", [graph.weight("roles.weight"), "role_ids"])[0]
    embedded = graph.node("Add", [*graph.node("Add", [graph.words("input_ids"), places]), roles])[0]
    inputs = [embedded, graph.weight("norm.weight"), graph.weight("norm.bias")]
    x = graph.node("LayerNormalization", inputs, axis=-1, epsilon=EPSILON)[0]
    mask = graph.node("Cast", ["attention_mask"], to=TensorProto.INT32)[0]
    for number in range(shape.layers):
        x = graph.layer(x, mask, shape, f"layers.{number}")
    top = graph.node("MatMul", [x, graph.store("top.t", weights["top.weight"].T)])[0]
    graph.nodes.append(helper.make_node("Add", [top, graph.weight("top.bias")], ["logits"]))
    sizes = ["batch", "length"]
    names = ("input_ids", "attention_mask", "role_ids")
    proto = helper.make_graph(
        graph.nodes,
        "turn_classifier",
        [helper.make_tensor_value_info(name, TensorProto.INT64, sizes) for name in names],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, [*sizes, shape.outputs])],
        list(graph.stored.values()),
    )
    opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid(MICROSOFT, 1)]
    return helper.make_model(proto, opset_imports=opsets, ir_version=9, producer_name="compressor")


def _factors(largest: NDArray[np.float32], weight: NDArray[np.float32]) -> NDArray[np.float32]:
    """What each input channel is divided by, with a geometric mean of 1. Shape: (inputs,)."""
    activations = np.maximum(largest, 1e-3)
    weights = np.maximum(np.abs(weight).max(axis=0), 1e-4)
    factor = activations**SMOOTH / weights ** (1 - SMOOTH)
    return np.asarray(factor / np.exp(np.mean(np.log(factor))), dtype=np.float32)
