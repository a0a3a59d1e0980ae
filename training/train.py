"""Train the four heads.

    python -m training.train training/configs/base.toml --base ENCODER --data training/data/synthetic --out runs/base
    python -m training.train training/configs/base.toml --base ENCODER --data training/data/synthetic --data OWN \
        --names CORPORA --out runs/base

`--data` may be repeated; transcripts that `--splits` lists as development or test are not learned from. `--names` is a
folder that holds wnut17.tar.xz, ner_collection.tar.xz and crossner.tar.xz. `--out` gets `epoch-N/` and `final/`, which
`training.export` turns into a model for the library, and `log.jsonl`.
"""

import argparse
import copy
import json
import random
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional
from tqdm import tqdm

from compressor.scoring.encoding import TurnEncoder
from compressor.scoring.torch_model import TurnClassifier
from compressor.scoring.weights import HEADS
from training.config import TrainingConfig, read_config
from training.corpora.annotated import read_folder
from training.corpora.names import read_names
from training.dataset import Batch, Item, batches, forget_roles, items
from training.metrics import auc, f1
from training.model import base_folder, from_base, save
from training.splits import LISTED, read_splits

Turns = list[tuple[Item, ...]]


@dataclass(frozen=True, slots=True)
class Material:
    """Windows a turn, to learn from and to measure on: annotated ones as written and in lower case, names too."""

    annotated: tuple[Turns, Turns]
    names: tuple[Turns, Turns]
    dev: Mapping[str, Turns]


def load(encoder: TurnEncoder, data: Sequence[Path], names: Path | None, splits: Path) -> Material:
    """Read and encode all corpora."""
    examples = [example for folder in data for example in read_folder(folder)]
    listed = read_splits(splits)
    train = listed.select(examples, "train")
    dev = listed.select(examples, "dev")
    sentences = list(read_names(names)) if names else []
    print(f"{len(train)} transcripts to learn from, {len(dev)} for development, {len(sentences)} name sentences")
    return Material(
        annotated=(items(train, encoder), items(train, encoder, lower=True)),
        names=(items(sentences, encoder), items(sentences, encoder, lower=True)),
        dev={lang: items([e for e in dev if e.lang == lang], encoder) for lang in ("en", "zh")},
    )


def draw(material: Material, config: TrainingConfig, chance: random.Random) -> list[Item]:
    """The windows of one epoch: all annotated ones, and as many name sentences as the config says."""

    def pick(forms: tuple[Turns, Turns], indices: Iterable[int]) -> list[Item]:
        return [item for index in indices for item in forms[chance.random() < config.lower][index]]

    annotated = pick(material.annotated, range(len(material.annotated[0])))
    count = min(config.name_sentences, len(material.names[0]))
    names = pick(material.names, chance.sample(range(len(material.names[0])), count))
    return forget_roles(annotated, config.forget_role, chance) + names


def loss(logits: Tensor, labels: Tensor, weights: Tensor) -> Tensor:
    """Binary cross-entropy per head over the subwords that have a label. Both shapes: (batch, length, 4)."""
    known = ~torch.isnan(labels)
    targets = torch.where(known, labels, torch.zeros_like(labels))
    each = functional.binary_cross_entropy_with_logits(logits.float(), targets, reduction="none")
    means = (each * known).sum(dim=(0, 1)) / known.sum(dim=(0, 1)).clamp(min=1)
    # A head with few labels in this batch counts as much less as it has fewer of them.
    share = known.sum(dim=(0, 1)) / known.any(dim=-1).sum().clamp(min=1)
    return (means * weights * share).sum()


def optimizer(model: TurnClassifier, config: TrainingConfig) -> torch.optim.AdamW:
    """AdamW with a learning rate a layer, and no weight decay on vectors and embeddings."""
    model.words.weight.requires_grad_(config.train_embedding)
    depth = len(model.layers)
    groups: list[dict[str, object]] = []
    for name, parameter in model.named_parameters():
        if not parameter.requires_grad:
            continue
        fresh = name.startswith(("top.", "roles."))
        level = int(name.split(".")[1]) if name.startswith("layers.") else -1
        rate = config.head_learning_rate if fresh else config.learning_rate * config.layer_decay ** (depth - 1 - level)
        decay = config.weight_decay if parameter.dim() > 1 and name.startswith(("layers.", "top.")) else 0.0
        groups.append({"params": [parameter], "lr": rate, "weight_decay": decay})
    return torch.optim.AdamW(groups, betas=(0.9, 0.98), eps=1e-6)


def forward(model: TurnClassifier, batch: Batch, bfloat16: bool) -> Tensor:
    """The logits of a batch. Shape: (batch, length, 4)."""
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=bfloat16):
        logits: Tensor = model(batch.input_ids, batch.attention_mask, batch.role_ids)
    return logits


@torch.no_grad()
def measure(model: TurnClassifier, dev: Mapping[str, Turns], config: TrainingConfig) -> dict[str, float]:
    """F1 at 0.5 and AUC per head and language, over subwords."""
    model.eval()
    found: dict[str, float] = {}
    for lang, turns in dev.items():
        scores, labels = [], []
        for batch in batches([item for turn in turns for item in turn], 2 * config.batch_subwords):
            scores.append(forward(model, batch, config.bfloat16).float().sigmoid().reshape(-1, len(HEADS)).numpy())
            labels.append(batch.labels.reshape(-1, len(HEADS)).numpy())
        if not scores:
            continue
        all_scores, all_labels = np.concatenate(scores), np.concatenate(labels)
        for head, name in enumerate(HEADS):
            known = ~np.isnan(all_labels[:, head])
            target, score = all_labels[known, head] >= 0.5, all_scores[known, head]
            found[f"{lang}.{name}.f1"] = round(f1(target, score >= 0.5), 4)
            found[f"{lang}.{name}.auc"] = round(auc(target, score), 4)
    model.train()
    return found


def train(config: TrainingConfig, material: Material, base: Path, out: Path) -> Path:
    """Run the epochs.

    Returns:
        The folder of the final weights.
    """
    random.seed(config.seed)
    np.random.seed(config.seed)
    torch.manual_seed(config.seed)
    torch.set_flush_denormal(True)  # rebuilt encoders hold denormal numbers, which are slow
    if config.threads:
        torch.set_num_threads(config.threads)
    out.mkdir(parents=True, exist_ok=True)
    chance = random.Random(config.seed)
    model = from_base(base, config.dropout)
    model.train()
    steps_of = [
        list(batches(draw(material, config, chance), config.batch_subwords, chance)) for _ in range(config.epochs)
    ]
    total = sum(len(steps) for steps in steps_of)
    optimiser = optimizer(model, config)
    rise = max(1, round(config.warmup * total))
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimiser, lambda step: min((step + 1) / rise, max(0.02, (total - step) / max(1, total - rise)))
    )
    weights = torch.tensor(config.weights)
    snapshots: list[dict[str, Tensor]] = []
    began = time.monotonic()
    done, running = 0, 0.0
    with (out / "log.jsonl").open("w", encoding="utf-8") as log:

        def note(**record: object) -> None:
            log.write(json.dumps(record) + "\n")
            log.flush()
            print(record, flush=True)

        note(config=asdict(config), steps=total, windows=[sum(len(b.input_ids) for b in steps) for steps in steps_of])
        for epoch, steps in enumerate(steps_of, 1):
            marks = {round(len(steps) * part / config.evaluations) for part in range(1, config.evaluations + 1)}
            for number, batch in enumerate(tqdm(steps, desc=f"epoch {epoch}", mininterval=30, ascii=True), 1):
                value = loss(forward(model, batch, config.bfloat16), batch.labels, weights)
                value.backward()  # type: ignore[no-untyped-call]
                torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimiser.step()
                optimiser.zero_grad(set_to_none=True)
                schedule.step()
                done += 1
                running += float(value.detach())
                if done % 25 == 0:
                    note(step=done, loss=round(running / 25, 4), minutes=round((time.monotonic() - began) / 60, 2))
                    running = 0.0
                if number in marks:
                    note(epoch=epoch, step=done, **measure(model, material.dev, config))
                    snapshots = [*snapshots, copy.deepcopy(model.state_dict())][-config.average :]
            save(model, model.state_dict(), base, out / f"epoch-{epoch}", f"{config.name}-epoch-{epoch}", config.base)
        mean = {name: torch.stack([s[name].float() for s in snapshots]).mean(dim=0) for name in snapshots[0]}
        if config.average > 1:
            model.load_state_dict(mean)
            note(averaged=len(snapshots), **measure(model, material.dev, config))
    save(model, mean, base, out / "final", config.name, config.base)
    return out / "final"


def main() -> None:
    """Read the command line and train."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("config", type=Path, help="TOML file, as in training/configs/")
    parser.add_argument("--data", type=Path, action="append", required=True, help="folder of annotated .jsonl files")
    parser.add_argument("--names", type=Path, help="folder of the archives of the name corpora")
    parser.add_argument("--base", help="folder of the encoder that the config names, where it is on disk already")
    parser.add_argument("--splits", type=Path, default=LISTED)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    config = read_config(arguments.config)
    print(config)
    base = base_folder(arguments.base or config.base)
    material = load(TurnEncoder(base / "tokenizer.json"), arguments.data, arguments.names, arguments.splits)
    print(train(config, material, base, arguments.out))


if __name__ == "__main__":
    main()
