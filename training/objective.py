"""The loss, the optimiser and the measure of a run, and where it runs."""

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from compressor.scoring.torch_model import TurnClassifier
from compressor.scoring.weights import HEADS
from training.config import TrainingConfig
from training.dataset import Batch, batches
from training.material import Turns
from training.metrics import auc, f1

QUALITY = {"light": "f1", "tight": "f1", "entity": "auc", "pin": "auc"}
"""Of each head the measure that counts when runs are compared: the cut is a decision, names and pins a ranking."""


def best_device() -> torch.device:
    """A graphics card where torch can use one, else the processor."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def has_bfloat16(device: torch.device) -> bool:
    """Whether bfloat16 is faster there: a processor without instructions for it takes thirty times as long."""
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported())
    capability = torch.cpu.get_capabilities() if hasattr(torch.cpu, "get_capabilities") else {}
    return bool(capability.get("amx_bf16") or capability.get("avx512_bf16"))


def forward(model: TurnClassifier, batch: Batch, bfloat16: bool) -> Tensor:
    """The logits of a batch. Shape: (batch, length, 4)."""
    with torch.autocast(batch.input_ids.device.type, dtype=torch.bfloat16, enabled=bfloat16):
        logits: Tensor = model(batch.input_ids, batch.attention_mask, batch.role_ids)
    return logits


def loss(logits: Tensor, labels: Tensor, weights: Tensor) -> Tensor:
    """Binary cross-entropy per head over the subwords that have a label. Both shapes: (batch, length, 4).

    Labels between 0 and 1 are a teacher's probabilities.
    """
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


def rate(step: int, total: int, warmup: float) -> float:
    """Factor of the learning rates at a step: up in a line, then down in one, to a fiftieth."""
    rise = max(1, round(warmup * total))
    return min((step + 1) / rise, max(0.02, (total - step) / max(1, total - rise)))


@torch.no_grad()
def measure(
    model: TurnClassifier, dev: Mapping[str, Turns], batch_subwords: int, bfloat16: bool, device: torch.device
) -> dict[str, float]:
    """F1 at 0.5 and AUC per head and group of `dev`, over subwords, and `quality`: the mean of what `QUALITY` names."""
    model.eval()
    found: dict[str, float] = {}
    for group, turns in dev.items():
        scores, labels = [], []
        for batch in batches([item for turn in turns for item in turn], 2 * batch_subwords):
            values = forward(model, batch.to(device), bfloat16).float().sigmoid()
            scores.append(values.reshape(-1, len(HEADS)).cpu().numpy())
            labels.append(batch.labels.reshape(-1, len(HEADS)).numpy())
        if not scores:
            continue
        all_scores, all_labels = np.concatenate(scores), np.concatenate(labels)
        for head, name in enumerate(HEADS):
            known = ~np.isnan(all_labels[:, head])
            target, score = all_labels[known, head] >= 0.5, all_scores[known, head]
            found[f"{group}.{name}.f1"] = round(f1(target, score >= 0.5), 4)
            found[f"{group}.{name}.auc"] = round(auc(target, score), 4)
    model.train()
    counted = [
        value
        for key, value in found.items()
        if QUALITY[key.split(".")[-2]] == key.split(".")[-1] and not np.isnan(value)
    ]
    return {**found, "quality": round(float(np.mean(counted)), 5) if counted else 0.0}
