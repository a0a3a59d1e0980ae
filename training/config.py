"""How a model is trained: one frozen record, read from TOML; an unknown key is an error."""

import tomllib
from dataclasses import dataclass, fields
from pathlib import Path


class ConfigError(ValueError):
    """A training configuration cannot be read; the message names the file, the key and what is allowed."""


@dataclass(frozen=True, slots=True)
class TrainingConfig:
    """Every choice of a training run.

    Args:
        name: Name of the run, written into the model's config.
        base: Hub id or folder (config.json, model.safetensors, tokenizer.json) of the encoder, as the model card names
            it. The command line may say where it is on disk.
        epochs: Passes over the annotated transcripts.
        batch_subwords: Subwords of one batch, padding included.
        learning_rate: Highest learning rate, of the top layer and the heads.
        layer_decay: Factor of the learning rate from each layer to the one below.
        head_learning_rate: Learning rate of the role embedding and the output layer.
        warmup: Share of the steps in which the learning rate rises.
        weight_decay: AdamW's, on matrices only.
        dropout: Probability of dropout.
        train_embedding: Whether the word embedding learns too.
        weights: Weight of each head in the loss: light, tight, entity, pin.
        name_sentences: Sentences of the name corpora drawn anew for each epoch.
        lower: Share of turns and name sentences that are shown in lower case.
        forget_role: Share of turns that are shown with the role `none`.
        average: Checkpoints of the last part of the run whose mean is the result; 1 takes the last one.
        evaluations: Times an epoch that the development split is measured.
        bfloat16: Whether the forward pass runs in bfloat16.
        threads: Threads of torch; 0 leaves its default.
        seed: Seed of everything random.
    """

    name: str
    base: str
    epochs: int = 3
    batch_subwords: int = 2048
    learning_rate: float = 3e-4
    layer_decay: float = 1.0
    head_learning_rate: float = 1e-3
    warmup: float = 0.06
    weight_decay: float = 0.01
    dropout: float = 0.1
    train_embedding: bool = False
    weights: tuple[float, float, float, float] = (1.0, 1.0, 1.0, 1.0)
    name_sentences: int = 0
    lower: float = 0.0
    forget_role: float = 0.0
    average: int = 1
    evaluations: int = 1
    bfloat16: bool = True
    threads: int = 0
    seed: int = 1

    def __post_init__(self) -> None:
        for name, low in (("epochs", 1), ("batch_subwords", 256), ("average", 1), ("evaluations", 1)):
            if getattr(self, name) < low:
                raise ConfigError(f"{name} is {getattr(self, name)}; allowed: {low} or more.")
        for name in ("warmup", "dropout", "lower", "forget_role", "layer_decay"):
            if not 0 <= getattr(self, name) <= 1:
                raise ConfigError(f"{name} is {getattr(self, name)}; allowed: 0 to 1.")
        if len(self.weights) != 4:
            raise ConfigError(f"weights has {len(self.weights)} numbers; allowed: 4 (light, tight, entity, pin).")


def read_config(path: Path) -> TrainingConfig:
    """Read a TOML file.

    Raises:
        ConfigError: A key is unknown or missing, or a value out of range.
    """
    values = tomllib.loads(path.read_text(encoding="utf-8"))
    allowed = {field.name for field in fields(TrainingConfig)}
    unknown = sorted(set(values) - allowed)
    if unknown:
        raise ConfigError(f"{path}: unknown key {', '.join(unknown)}; allowed: {', '.join(sorted(allowed))}.")
    if "weights" in values:
        values["weights"] = tuple(values["weights"])
    try:
        return TrainingConfig(**values)
    except TypeError as error:
        raise ConfigError(f"{path}: {error}") from error
