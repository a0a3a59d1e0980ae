"""The network to train, with the weights of a base encoder, and its folder on disk."""

import json
import shutil
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from compressor.scoring.encoding import STRIDE, WINDOW
from compressor.scoring.torch_model import Shape, TurnClassifier, from_bert, read_weights
from compressor.scoring.weights import HEADS, LANGUAGES, ModelConfig, read_config, required
from compressor.transcript import ROLES
from compressor.words import SEGMENTATION
from training.errors import ConfigError


def base_folder(base: str) -> Path:
    """The folder of a base encoder; a name that is no folder is downloaded from the model hub.

    Raises:
        ConfigError: It is no folder, and the hub does not have it or cannot be reached.
    """
    if Path(base).is_dir():
        return Path(base)
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(base, allow_patterns=["config.json", "model.safetensors", "tokenizer.json"]))
    except Exception as error:  # the hub's, the HTTP library's and the system's have no common base
        raise ConfigError(
            f"base is {base!r}: no folder, and not to be had from the model hub ({type(error).__name__}); allowed: a"
            " shipped model's name, a folder, or a name on the hub. Without network, give a folder with --base."
        ) from error


def from_base(folder: Path, dropout: float) -> TurnClassifier:
    """A classifier with the weights of an encoder, and fresh heads.

    Raises:
        ConfigError: The folder holds no encoder of this kind.
    """
    try:
        return _from_base(folder, dropout)
    except (OSError, ValueError, KeyError, RuntimeError) as error:
        raise ConfigError(
            f"{folder}: no encoder that can be started from ({type(error).__name__}: {error})."
        ) from error


def _from_base(folder: Path, dropout: float) -> TurnClassifier:
    record = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    model = TurnClassifier(
        Shape(
            vocabulary=record["vocab_size"],
            hidden=record["hidden_size"],
            layers=record["num_hidden_layers"],
            heads=record["num_attention_heads"],
            inner=record["intermediate_size"],
            positions=record["max_position_embeddings"],
            types=record["type_vocab_size"],
            roles=len(ROLES),
            outputs=len(HEADS),
            dropout=dropout,
        )
    )
    missing, unexpected = model.load_state_dict(from_bert(load_file(folder / "model.safetensors")), strict=False)
    if unexpected or set(missing) - {"roles.weight", "top.weight", "top.bias"}:
        raise ValueError(f"the weights do not fit; missing {missing}, unexpected {unexpected}")
    return model


def is_classifier(folder: Path) -> bool:
    """Whether a folder holds a trained classifier and not a plain encoder."""
    path = folder / "config.json"
    return path.is_file() and "heads" in json.loads(path.read_text(encoding="utf-8"))


def from_model(folder: Path, dropout: float, layers: int | None = None) -> TurnClassifier:
    """A classifier with the weights of a trained one, heads included.

    Args:
        layers: Keeps so many of its layers, spread evenly from the first to the last; None keeps all.
    Raises:
        ConfigError: It has fewer layers.
    """
    config = read_config(folder)
    shape = replace(shape_of(config), dropout=dropout)
    layers = shape.layers if layers is None else layers
    if layers > shape.layers:
        raise ConfigError(f"layers is {layers}, and {folder} has {shape.layers}.")
    kept = [round(number * (shape.layers - 1) / max(1, layers - 1)) for number in range(layers)]
    state = {}
    for name, tensor in read_weights(required(folder, "model.safetensors")).items():
        if not name.startswith("layers."):
            state[name] = tensor
        elif (old := int(name.split(".")[1])) in kept:
            state[name.replace(f".{old}.", f".{kept.index(old)}.", 1)] = tensor
    model = TurnClassifier(replace(shape, layers=layers))
    model.load_state_dict(state)
    return model


def shape_of(config: ModelConfig) -> Shape:
    """The sizes of a network, as its config.json tells them."""
    sizes = {name: value if name == "dropout" else int(value) for name, value in config.shape.items()}
    return Shape(**sizes)  # type: ignore[arg-type]


def load_model(path: Path, shape: Shape) -> TurnClassifier:
    """The network with the weights of a model.safetensors, in float32 and ready to run."""
    model = TurnClassifier(shape)
    model.load_state_dict(read_weights(path))
    return model.eval()


def save(
    model: TurnClassifier, state: Mapping[str, Tensor], base: Path, folder: Path, version: str, origin: str
) -> None:
    """Write a model folder for torch: float16 weights, tokenizer and config, with every threshold at 0.5."""
    folder.mkdir(parents=True, exist_ok=True)
    halves = {name: tensor.detach().to(torch.float16).contiguous() for name, tensor in state.items()}
    save_file(halves, folder / "model.safetensors")
    shutil.copyfile(base / "tokenizer.json", folder / "tokenizer.json")
    config = ModelConfig(
        version=version,
        heads=HEADS,
        thresholds={head: dict.fromkeys(LANGUAGES, 0.5) for head in HEADS},
        window=WINDOW,
        stride=STRIDE,
        pooling="mean",
        segmentation=SEGMENTATION,
        roles=ROLES,
        base=origin,
        quantisation="none",
        shape=asdict(model.shape),
    )
    write_config(folder, config)


def write_config(folder: Path, config: ModelConfig) -> None:
    """Write config.json."""
    (folder / "config.json").write_text(json.dumps(config.to_dict(), indent=2) + "\n", encoding="utf-8")
