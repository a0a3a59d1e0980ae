"""The training loop: checkpoints, exact resumption after a kill, early stopping, curves."""

import csv
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from compressor.scoring.torch_model import TurnClassifier
from tests.training.conftest import encoder_of
from training import checkpoint, curves
from training.config import TrainingConfig
from training.errors import ConfigError
from training.journal import Journal, records
from training.loop import train
from training.material import Material
from training.sources import Sources, gather
from training.train import material, start

ROOT = Path(__file__).resolve().parents[2]

CONFIG = TrainingConfig(
    name="loop", base="", epochs=4, batch_subwords=512, evaluations=2, average=2, bfloat16=False, threads=1
)


def beginning(encoder_folder: Path, annotated_folder: Path) -> tuple[Material, TurnClassifier]:
    """What a run needs, the same each time."""
    model, folder = start(str(encoder_folder), CONFIG.dropout)
    return material(CONFIG, encoder_of(folder), gather(Sources((annotated_folder,)))), model


def test_a_killed_run_goes_on_to_the_same_losses_and_weights(
    trained_model: Path, annotated_folder: Path, tmp_path: Path
) -> None:
    """SIGKILL in the middle, the same command again: the log and the weights are those of a run that was left alone."""
    config = tmp_path / "config.toml"
    config.write_text(
        'name = "k"\nbase = "x"\nepochs = 6\nbatch_subwords = 256\nthreads = 1\nevaluations = 2\naverage = 3\n'
        "lower = 0.3\nforget_role = 0.2\ncheckpoint_steps = 4\nbfloat16 = false\n"
    )

    def run(out: Path) -> list[str]:
        given = (config, "--data", annotated_folder, "--base", trained_model, "--no-mix", "--out", out)
        return [sys.executable, "-m", "training", "train", *map(str, given)]

    alone, killed = tmp_path / "alone", tmp_path / "killed"
    subprocess.run(run(alone), cwd=ROOT, check=True, capture_output=True)
    process = subprocess.Popen(run(killed), cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 120
    while not (killed / checkpoint.NAME).exists() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.002)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert not (killed / "final").exists(), "the run was over before it could be killed"
    again = subprocess.run(run(killed), cwd=ROOT, check=True, capture_output=True, text=True)
    assert "goes on at step" in again.stderr
    for name in ("final/model.safetensors", "final/config.json"):
        assert (alone / name).read_bytes() == (killed / name).read_bytes(), name

    def told(out: Path) -> list[dict[str, object]]:
        return [{**record, "minutes": 0} for record in records(out / "log.jsonl")]

    assert told(alone) == told(killed)


def test_a_checkpoint_of_another_run_is_refused(
    encoder_folder: Path, annotated_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another config, other data or other weights are noticed; `forget` starts over."""
    learned, model = beginning(encoder_folder, annotated_folder)
    _stop_after(2, monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        train(replace(CONFIG, checkpoint_steps=1), learned, model, encoder_folder, tmp_path)
    monkeypatch.undo()
    learned, model = beginning(encoder_folder, annotated_folder)
    with pytest.raises(ConfigError, match="holds another run"):
        train(replace(CONFIG, checkpoint_steps=1, seed=2), learned, model, encoder_folder, tmp_path)
    (tmp_path / checkpoint.NAME).write_bytes(b"PK\x03\x04 cut short")
    with pytest.raises(ConfigError, match="not a checkpoint"):
        train(replace(CONFIG, checkpoint_steps=1), learned, model, encoder_folder, tmp_path)
    checkpoint.forget(tmp_path)
    assert train(replace(CONFIG, epochs=1), learned, model, encoder_folder, tmp_path).is_dir()


def test_a_finished_run_is_not_run_again(
    encoder_folder: Path, annotated_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same command returns at once; another one does not write over it."""
    train(replace(CONFIG, epochs=1), *beginning(encoder_folder, annotated_folder), encoder_folder, tmp_path)
    monkeypatch.setattr("training.loop._Run.go", None)
    train(replace(CONFIG, epochs=1), *beginning(encoder_folder, annotated_folder), encoder_folder, tmp_path)
    with pytest.raises(ConfigError, match="holds another run"):
        train(CONFIG, *beginning(encoder_folder, annotated_folder), encoder_folder, tmp_path)


def test_a_run_that_gets_no_better_stops_and_keeps_the_best(
    encoder_folder: Path, annotated_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After `patience` evaluations without a better one; the weights are the mean of the best, not of the last."""
    learned, model = beginning(encoder_folder, annotated_folder)
    qualities = iter([0.1, 0.5, 0.9, 0.3, 0.2, 0.0])
    states: list[torch.Tensor] = []

    def measured(network: TurnClassifier, *_: object) -> dict[str, float]:
        states.append(network.top.weight.detach().clone())
        return {"quality": next(qualities)}

    monkeypatch.setattr("training.loop.measure", measured)
    final = train(replace(CONFIG, patience=2, epochs=6), learned, model, encoder_folder, tmp_path)
    told = list(records(tmp_path / "log.jsonl"))
    assert told[-2]["stopped"] == "no better for 2 evaluations"
    assert [record["quality"] for record in told if "quality" in record] == [0.1, 0.5, 0.9, 0.3, 0.2, 0.0]
    from safetensors.torch import load_file

    # The two best: 0.9 and 0.5, measured third and second.
    best = torch.stack([states[1], states[2]]).mean(dim=0).to(torch.float16)
    assert torch.equal(load_file(final / "model.safetensors")["top.weight"], best)


def test_the_log_is_cut_to_what_the_checkpoint_saw(tmp_path: Path) -> None:
    """What a killed run wrote behind its last checkpoint is written again, not twice."""
    path = tmp_path / "log.jsonl"
    journal = Journal(path, 0, 0, 9)
    journal.note(step=1, loss=0.5)
    size = journal.size
    journal.note(step=2, loss=0.4)
    journal.close()
    path.write_bytes(path.read_bytes() + b'{"step": 3, "lo')
    assert [record["step"] for record in records(path)] == [1, 2]
    journal = Journal(path, size, 1, 9)
    journal.note(step=2, loss=0.25)
    journal.close()
    assert list(records(path)) == [{"step": 1, "loss": 0.5}, {"step": 2, "loss": 0.25}]


def test_curves_are_a_table_and_a_plot(run_folder: Path, tmp_path: Path) -> None:
    """Every loss and every measure of the log is in the table."""
    told = [record for record in records(run_folder / "log.jsonl") if "step" in record]
    with (run_folder / "curves.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [int(row["step"]) for row in rows] == [record["step"] for record in told]
    assert [float(row["quality"]) for row in rows if row["quality"]] == [r["quality"] for r in told if "quality" in r]
    assert (run_folder / "curves.png").read_bytes().startswith(b"\x89PNG")
    (tmp_path / "log.jsonl").write_text(json.dumps({"step": 0, "quality": 0.5}) + "\n")
    curves.write(tmp_path)
    assert (tmp_path / "curves.png").is_file()


def _stop_after(steps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    count = iter(range(steps))

    def advance(self: Journal) -> None:
        if next(count, None) is None:
            raise KeyboardInterrupt

    monkeypatch.setattr(Journal, "advance", advance)
