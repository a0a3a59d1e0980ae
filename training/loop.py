"""The training loop: one for `train` and `distill`, with checkpoints, exact resume and early stopping.

`--out` gets `log.jsonl`, `checkpoint.pt` while it runs, `final/` (weights for `python -m training export`), and
`curves.csv` and `curves.png`.
"""

import logging
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from compressor.scoring.torch_model import TurnClassifier
from compressor.scoring.weights import read_config
from training import checkpoint, curves
from training.config import TrainingConfig
from training.dataset import Batch
from training.journal import Journal
from training.material import Material, epochs
from training.model import is_classifier, save
from training.objective import best_device, forward, has_bfloat16, loss, measure, optimizer, rate

log = logging.getLogger(__name__)

REPORT = 25
"""Steps whose mean loss is one record of the log."""

State = dict[str, Tensor]


@dataclass
class _Progress:
    """What changes as a run goes on, besides the weights."""

    step: int = 0
    running: float = 0.0
    seconds: float = 0.0
    best: float = -1.0
    stale: int = 0


def train(config: TrainingConfig, material: Material, model: TurnClassifier, base: Path, out: Path) -> Path:
    """Run the epochs, from the checkpoint if `out` has one of this very run.

    Args:
        model: With the weights that the run starts from.
        base: Folder of what the run starts from, or learns from; its tokenizer is the model's.
        out: Folder of the run.
    Returns:
        The folder of the final weights.
    Raises:
        ConfigError: `out` holds another run.
    """
    _seed(config)
    out.mkdir(parents=True, exist_ok=True)
    device = best_device()
    steps_of = epochs(material, config)
    identity = checkpoint.fingerprint(config, steps_of, model.state_dict())
    if checkpoint.finished(out, identity):
        log.info("%s: this run is finished already", out)
        return out / "final"
    optimiser = optimizer(model, config)  # freezes what does not learn
    model.to(device).train()
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimiser, lambda step: rate(step, sum(map(len, steps_of)), config.warmup)
    )
    run = _Run(config, material, model, optimiser, schedule, device, steps_of, out, identity)
    run.resume()
    try:
        run.go()
        mean = run.finish()
    finally:
        run.journal.close()
    origin = read_config(base).base if is_classifier(base) else config.base
    save(model, mean, base, out / "final", config.name, origin)
    curves.write(out)
    checkpoint.finish(out, identity)
    return out / "final"


class _Run:
    """The state of one run, its steps, and how it is saved and taken up again."""

    def __init__(
        self,
        config: TrainingConfig,
        material: Material,
        model: TurnClassifier,
        optimiser: torch.optim.AdamW,
        schedule: torch.optim.lr_scheduler.LambdaLR,
        device: torch.device,
        steps_of: Sequence[Sequence[Batch]],
        out: Path,
        identity: str,
    ) -> None:
        self.config, self.material, self.model, self.device = config, material, model, device
        self.optimiser, self.schedule, self.out, self.identity = optimiser, schedule, out, identity
        self.batches = [batch for steps in steps_of for batch in steps]
        self.marks = _marks([len(steps) for steps in steps_of], config.evaluations)
        self.bfloat16 = config.bfloat16 and has_bfloat16(device)
        self.weights = torch.tensor(config.weights, device=device)
        self.progress = _Progress()
        self.snapshots: list[tuple[float, State]] = []

    def resume(self) -> None:
        """Take up the checkpoint, or begin."""
        record = checkpoint.read(self.out, self.identity, self.device)
        size = 0
        if record is not None:
            self.model.load_state_dict(record["weights"], strict=False)
            self.optimiser.load_state_dict(record["optimiser"])
            self.schedule.load_state_dict(record["schedule"])
            self.snapshots = record["snapshots"]
            self.progress = _Progress(**record["progress"])
            torch.set_rng_state(record["chance"].cpu())
            if self.device.type == "cuda":
                torch.cuda.set_rng_state(record["cuda_chance"].cpu())
            size = record["log_size"]
            log.info("goes on at step %d of %d", self.progress.step, len(self.batches))
        self.journal = Journal(self.out / "log.jsonl", size, self.progress.step, len(self.batches))
        if record is None:
            windows = sum(len(batch.input_ids) for batch in self.batches)
            self.journal.note(
                config=asdict(self.config),
                steps=len(self.batches),
                windows=windows,
                device=self.device.type,
                bfloat16=self.bfloat16,
            )
            self.journal.note(step=0, **self._measured())

    def go(self) -> None:
        """Make the steps that are left; stops early where the development split says so."""
        began = time.monotonic() - self.progress.seconds
        while self.progress.step < len(self.batches):
            if self.config.patience and self.progress.stale >= self.config.patience:
                self.journal.note(step=self.progress.step, stopped=f"no better for {self.progress.stale} evaluations")
                return
            self._step(self.batches[self.progress.step])
            self.progress.seconds = time.monotonic() - began
            if self.progress.step % REPORT == 0:
                mean, minutes = self.progress.running / REPORT, self.progress.seconds / 60
                self.journal.note(step=self.progress.step, loss=round(mean, 6), minutes=round(minutes, 2))
                self.progress.running = 0.0
            if self.progress.step in self.marks:
                self._evaluate()
            self.journal.advance()
            if self.progress.step % self.config.checkpoint_steps == 0:
                self._save()

    def finish(self) -> State:
        """The mean of the snapshots, over the weights that never changed."""
        found = [state for _, state in self.snapshots]
        for name, tensor in self.model.named_parameters():
            if tensor.requires_grad:
                tensor.data.copy_(torch.stack([state[name] for state in found]).mean(dim=0))
        self.journal.note(step=self.progress.step, averaged=len(found), **self._measured())
        return {name: tensor.detach().cpu() for name, tensor in self.model.state_dict().items()}

    def _step(self, batch: Batch) -> None:
        on_device = batch.to(self.device)
        value = loss(forward(self.model, on_device, self.bfloat16), on_device.labels, self.weights)
        value.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimiser.step()
        self.optimiser.zero_grad(set_to_none=True)
        self.schedule.step()
        self.progress.step += 1
        self.progress.running += float(value.detach())

    def _evaluate(self) -> None:
        numbers = self._measured()
        self.journal.note(step=self.progress.step, **numbers)
        quality = numbers["quality"]
        better = quality > self.progress.best
        self.progress.best = max(quality, self.progress.best)
        self.progress.stale = 0 if better else self.progress.stale + 1
        self.snapshots.append((quality, _learning(self.model, torch.Tensor.clone)))
        if self.config.patience:  # stops early, so the best count and not the last
            self.snapshots.sort(key=lambda pair: pair[0])
        self.snapshots = self.snapshots[-self.config.average :]

    def _measured(self) -> dict[str, float]:
        return measure(self.model, self.material.dev, self.config.batch_subwords, self.bfloat16, self.device)

    def _save(self) -> None:
        record: dict[str, Any] = {
            "fingerprint": self.identity,
            "weights": _learning(self.model),
            "optimiser": self.optimiser.state_dict(),
            "schedule": self.schedule.state_dict(),
            "snapshots": self.snapshots,
            "progress": asdict(self.progress),
            "chance": torch.get_rng_state(),
            "log_size": self.journal.size,
        }
        if self.device.type == "cuda":
            record["cuda_chance"] = torch.cuda.get_rng_state()
        checkpoint.write(self.out, record)


def _learning(model: TurnClassifier, change: Callable[[Tensor], Tensor] = lambda tensor: tensor) -> State:
    """The weights that learn; the others are those that the run started from."""
    return {name: change(tensor.detach()) for name, tensor in model.named_parameters() if tensor.requires_grad}


def _marks(lengths: Sequence[int], evaluations: int) -> frozenset[int]:
    """The steps after which the development split is measured: so many times an epoch, at its end for the last."""
    ends = np.cumsum(lengths)
    starts = ends - lengths
    return frozenset(
        int(start) + max(1, round(length * part / evaluations))
        for start, length in zip(starts, lengths, strict=True)
        for part in range(1, evaluations + 1)
    )


def _seed(config: TrainingConfig) -> None:
    random.seed(config.seed)
    np.random.seed(config.seed)
    torch.manual_seed(config.seed)
    torch.set_flush_denormal(True)  # rebuilt encoders hold denormal numbers, which are slow
    if config.threads:
        torch.set_num_threads(config.threads)
