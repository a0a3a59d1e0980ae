"""Finds and checks a model folder: config.json, tokenizer.json, and model.onnx or model.safetensors."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from compressor.errors import ModelError

FORMAT = 1
"""Version of config.json; a folder with another one is refused."""

HEADS = ("light", "tight", "entity", "pin")
"""The heads that a model must have, in the order of the last axis of its logits."""

LANGUAGES = ("en", "zh")
"""The languages that have thresholds of their own."""

SHIPPED = ("default", "fast")
"""Names of the models in the package; each is a folder."""

_NAMES = " or ".join(f"`{name}`" for name in SHIPPED)
ALLOWED = f"allowed: the name of a shipped model ({_NAMES}), the path of a model folder, or `heuristic`"

_PACKAGED = Path(__file__).resolve().parents[1] / "models"
_REPOSITORY = Path(__file__).resolve().parents[2] / "models"


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """What config.json says.

    Args:
        version: Version of the model, as the reports name it.
        heads: Names of the last axis of the logits.
        thresholds: Least probability that counts as yes, by head and language, chosen on the development split.
        window: Subwords of one window, the marks of start and end included.
        stride: Subwords from window to window.
        pooling: How a word's score comes from its subwords; `mean` is the only one.
        segmentation: Version of the words it was trained on.
        roles: Names of the role ids.
        base: The encoder it was trained from.
        quantisation: How the weights of model.onnx are stored.
        shape: Sizes of the network, for torch.
    """

    version: str
    heads: tuple[str, ...]
    thresholds: Mapping[str, Mapping[str, float]]
    window: int
    stride: int
    pooling: str
    segmentation: str
    roles: tuple[str, ...]
    base: str
    quantisation: str
    shape: Mapping[str, float]

    def to_dict(self) -> dict[str, Any]:
        """What config.json holds."""
        return {
            "format": FORMAT,
            "version": self.version,
            "heads": list(self.heads),
            "thresholds": {head: dict(values) for head, values in self.thresholds.items()},
            "window": self.window,
            "stride": self.stride,
            "pooling": self.pooling,
            "segmentation": self.segmentation,
            "roles": list(self.roles),
            "base": self.base,
            "quantisation": self.quantisation,
            "shape": dict(self.shape),
        }


def model_folder(name: str | Path) -> Path:
    """The folder of a model: the one in the package, else the one in the repository, else the name taken as a path.

    Raises:
        ModelError: The name is no string and no path, is empty, or starts with a user that is not known.
    """
    if not isinstance(name, (str, Path)) or not str(name):
        raise ModelError(f"model is {name!r}; {ALLOWED}.")
    text = str(name)
    if "/" not in text and "\\" not in text and text not in (".", ".."):
        for root in (_PACKAGED, _REPOSITORY):
            if os.path.isdir(root / text):
                return root / text
    try:
        return Path(text).expanduser()
    except RuntimeError as error:
        raise ModelError(f"model is {text!r}: {error} {ALLOWED}.") from error


def read_config(folder: Path) -> ModelConfig:
    """Read and check config.json.

    Raises:
        ModelError: The folder or the file is missing, or the model does not fit this version of the package.
    """
    path = required(folder, "config.json")
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        config = ModelConfig(
            version=str(record["version"]),
            heads=tuple(record["heads"]),
            thresholds=record["thresholds"],
            window=int(record["window"]),
            stride=int(record["stride"]),
            pooling=record["pooling"],
            segmentation=str(record["segmentation"]),
            roles=tuple(record["roles"]),
            base=record["base"],
            quantisation=record["quantisation"],
            shape=record["shape"],
        )
        found = record["format"]
    except KeyError as error:
        raise ModelError(f"{path}: the key {error} is missing; export the model again.") from error
    except (ValueError, TypeError, AttributeError, OverflowError, RecursionError, OSError) as error:
        raise ModelError(f"{path}: not a model's config ({error}); export the model again.") from error
    _check(path, found, config)
    return config


def required(folder: Path, name: str) -> Path:
    """A file of a model folder.

    Raises:
        ModelError: The folder or the file is not there; says what is missing, and where.
    """
    if not os.path.isdir(folder):
        raise ModelError(f"no model folder at {folder}; give the name of a shipped model ({_NAMES}) or a path.")
    if not os.path.isfile(folder / name):
        raise ModelError(
            f"{folder.absolute()}: {name} is missing; the folder needs config.json, tokenizer.json and the weights."
        )
    return folder / name


def _check(path: Path, found: object, config: ModelConfig) -> None:
    from compressor.transcript import ROLES  # here, because words.py imports this module for `model_folder` alone
    from compressor.words import SEGMENTATION

    if config.segmentation != SEGMENTATION:
        raise ModelError(
            f"{path}: trained on words of segmentation version {config.segmentation!r}, and this package cuts by"
            f" version {SEGMENTATION!r}; train the model again or install the package version it was made for."
        )
    for name, value, allowed in (
        ("format", found, FORMAT),
        ("heads", config.heads, HEADS),
        ("roles", config.roles, ROLES),
        ("pooling", config.pooling, "mean"),
    ):
        if value != allowed:
            raise ModelError(f"{path}: {name} is {value!r}; allowed: {allowed!r}.")
    if not 2 < config.stride + 2 < config.window:
        raise ModelError(f"{path}: stride is {config.stride}; allowed: 1 to {config.window - 3} (window - 3).")
    for name, part in (("thresholds", config.thresholds), ("shape", config.shape)):
        if not isinstance(part, Mapping):
            raise ModelError(f"{path}: {name} is {part!r}; allowed: an object.")
    for head in HEADS:
        values = config.thresholds.get(head)
        if not isinstance(values, Mapping):
            raise ModelError(
                f"{path}: thresholds.{head} is {values!r}; allowed: an object with {', '.join(LANGUAGES)}."
            )
        for language in LANGUAGES:
            value = values.get(language)
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1:
                raise ModelError(f"{path}: thresholds.{head}.{language} is {value!r}; allowed: 0 to 1.")
