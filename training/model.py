"""The network to train, with the weights of a base encoder, and its folder on disk."""

import json
import shutil
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from compressor.scoring.encoding import STRIDE, WINDOW
from compressor.scoring.torch_model import Shape, TurnClassifier, from_bert, read_weights
from compressor.scoring.weights import HEADS, LANGUAGES, ModelConfig
from compressor.transcript import ROLES
from compressor.words import SEGMENTATION


def base_folder(base: str) -> Path:
    """The folder of a base encoder; a name that is no folder is downloaded from the model hub."""
    if Path(base).is_dir():
        return Path(base)
    from huggingface_hub import snapshot_download

    return Path(snapshot_download(base, allow_patterns=["config.json", "model.safetensors", "tokenizer.json"]))


def from_base(folder: Path, dropout: float) -> TurnClassifier:
    """A classifier with the weights of an encoder, and fresh heads."""
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
        raise ValueError(f"{folder}: the weights do not fit; missing {missing}, unexpected {unexpected}")
    return model


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
