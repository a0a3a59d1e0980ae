"""The state of a run on disk, written so that a kill at any moment leaves the one before it."""

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from training.config import TrainingConfig
from training.dataset import Batch
from training.errors import ConfigError

NAME, FINISHED = "checkpoint.pt", "finished"


def fingerprint(config: TrainingConfig, epochs: Sequence[Sequence[Batch]], state: Mapping[str, Tensor]) -> str:
    """What a run is: its config, every batch, and the weights it starts from."""
    digest = hashlib.sha256(json.dumps(asdict(config), sort_keys=True).encode())
    for batch in (batch for steps in epochs for batch in steps):
        for tensor in (batch.input_ids, batch.role_ids, batch.labels):
            digest.update(tensor.numpy().tobytes())
    for name, tensor in state.items():
        digest.update(name.encode())
        digest.update(tensor.cpu().numpy().tobytes())
    return digest.hexdigest()


def write(out: Path, record: Mapping[str, Any]) -> None:
    """Replace the checkpoint."""
    draft = out / f"{NAME}.tmp"
    with draft.open("wb") as file:
        torch.save(dict(record), file)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(out / NAME)


def forget(out: Path) -> None:
    """Take away what a folder says of a run, so that another may begin there."""
    for name in (NAME, FINISHED):
        (out / name).unlink(missing_ok=True)


def finish(out: Path, identity: str) -> None:
    """Say that the run is over; its checkpoint goes."""
    (out / FINISHED).write_text(identity + "\n", encoding="utf-8")
    (out / NAME).unlink(missing_ok=True)


def finished(out: Path, expected: str) -> bool:
    """Whether the folder holds this very run, and it is over.

    Raises:
        ConfigError: Another run is finished there.
    """
    path = out / FINISHED
    if not path.is_file():
        return False
    if path.read_text(encoding="utf-8").strip() != expected:
        raise _other(out)
    return True


def read(out: Path, expected: str, device: torch.device) -> dict[str, Any] | None:
    """The checkpoint of this very run; None if the folder has none.

    Raises:
        ConfigError: It is that of another run, or damaged.
    """
    path = out / NAME
    if not path.is_file():
        return None
    try:
        record: dict[str, Any] = torch.load(path, map_location=device, weights_only=True)
        found = record["fingerprint"]
    except Exception as error:  # torch, zipfile and pickle each raise their own
        raise ConfigError(f"{path}: not a checkpoint that can be read ({error}); start over with --restart.") from error
    if found != expected:
        raise _other(out)
    return record


def _other(out: Path) -> ConfigError:
    return ConfigError(
        f"{out}: holds another run: the config, the data or the weights it started from are not the same; give another"
        " --out, or start over with --restart."
    )
