"""How a model is trained: one frozen record, read from TOML; an unknown key is an error."""

import tomllib
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, TypeVar

from training.errors import ConfigError

Built = TypeVar("Built")


@dataclass(frozen=True, slots=True)
class Teaching:
    """How a student learns from a teacher; the table `[teaching]` of a config.

    Args:
        layers: Layers of the student, spread evenly over the teacher's; all of them for self-training.
        hard_share: Weight of an annotator's label against the teacher's probability, where there are both.
        confident: A word of a public transcript counts where the teacher's probability is at least so far from 0.5.
        public_words: Words of public transcripts that the teacher labels, as many of each corpus.
        public_words_an_epoch: Words of them drawn anew for each epoch.
    """

    layers: int = 6
    hard_share: float = 0.5
    confident: float = 0.0
    public_words: int = 1_000_000
    public_words_an_epoch: int = 400_000

    def __post_init__(self) -> None:
        _at_least("layers", self.layers, 1)
        _at_least("public_words", self.public_words, 0)
        _at_least("public_words_an_epoch", self.public_words_an_epoch, 0)
        _between("hard_share", self.hard_share, 0, 1)
        _between("confident", self.confident, 0, 0.49)


@dataclass(frozen=True, slots=True)
class TrainingConfig:
    """Every choice of a training run.

    Args:
        name: Name of the run, written into the model's config.
        base: What the run starts from: a shipped model or model folder, or an encoder by hub id or folder (config.json,
            model.safetensors, tokenizer.json), as the model card names it. The command line may say where it is on disk.
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
        mix_share: Words of the mixed-in general transcripts drawn for each epoch, for each word of one's own.
        lower: Share of turns and name sentences that are shown in lower case.
        forget_role: Share of turns that are shown with the role `none`.
        average: Checkpoints of the last part of the run whose mean is the result; 1 takes the last one.
        evaluations: Times an epoch that the development split is measured.
        patience: Evaluations without a better one after which the run stops, and the best ones count for `average`
            instead of the last; 0 runs to the end.
        checkpoint_steps: Steps between two checkpoints.
        bfloat16: Whether the forward pass runs in bfloat16, where the device has instructions for it.
        threads: Threads of torch; 0 leaves its default.
        seed: Seed of everything random.
        teaching: What `distill` needs to know; None for `train`.
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
    mix_share: float = 0.5
    lower: float = 0.0
    forget_role: float = 0.0
    average: int = 1
    evaluations: int = 1
    patience: int = 0
    checkpoint_steps: int = 100
    bfloat16: bool = True
    threads: int = 0
    seed: int = 1
    teaching: Teaching | None = None

    def __post_init__(self) -> None:
        least = {"batch_subwords": 256, "name_sentences": 0, "patience": 0, "threads": 0}
        for name in ("epochs", "batch_subwords", "average", "evaluations", "checkpoint_steps", *least):
            _at_least(name, getattr(self, name), least.get(name, 1))
        for name in ("warmup", "dropout", "lower", "forget_role", "layer_decay"):
            _between(name, getattr(self, name), 0, 1)
        _between("mix_share", self.mix_share, 0, 1000)
        for name in ("learning_rate", "head_learning_rate"):
            _between(name, getattr(self, name), 1e-7, 1)
        if len(self.weights) != 4:
            raise ConfigError(f"weights has {len(self.weights)} numbers; allowed: 4 (light, tight, entity, pin).")


def _at_least(name: str, value: float, low: float) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < low:
        raise ConfigError(f"{name} is {value!r}; allowed: a whole number, {low} or more.")


def _between(name: str, value: float, low: float, high: float) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not low <= value <= high:
        raise ConfigError(f"{name} is {value!r}; allowed: a number from {low:g} to {high:g}.")


def read_config(path: Path) -> TrainingConfig:
    """Read a TOML file.

    Raises:
        ConfigError: It is no TOML, a key is unknown or missing, or a value out of range.
    """
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path}: cannot be read as a config ({error}).") from error
    try:
        if "teaching" in values:
            values["teaching"] = _build(Teaching, values["teaching"])
        if "weights" in values:
            values["weights"] = tuple(values["weights"])
        return _build(TrainingConfig, values)
    except (ConfigError, TypeError) as error:
        raise ConfigError(f"{path}: {error}") from error


def _build(kind: type[Built], values: dict[str, Any]) -> Built:
    allowed = {field.name for field in fields(kind)}  # type: ignore[arg-type]
    unknown = sorted(set(values) - allowed)
    if unknown:
        raise ConfigError(f"unknown key {', '.join(unknown)}; allowed: {', '.join(sorted(allowed))}.")
    return kind(**values)
