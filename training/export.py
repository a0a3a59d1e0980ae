"""Make a model for the library out of trained weights: `python -m training export`.

    python -m training export runs/mine --out models/mine

Writes ONNX with 8-bit weights, a table of what that changed, thresholds chosen on the development split, and what the
model was made of. `--scheme` says how the weights are stored (`training.graph`); `--compare` measures all schemes first.
"""

import json
import logging
import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click
import numpy as np
import onnx
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from compressor.scoring.classifier import Backend
from compressor.scoring.encoding import TurnEncoder, role_id
from compressor.scoring.onnx_backend import OnnxBackend
from compressor.scoring.torch_backend import TorchBackend
from compressor.scoring.torch_model import TurnClassifier, read_weights, write_weights
from compressor.scoring.weights import HEADS, read_config
from compressor.transcript import VERBATIM_ROLES
from training import provenance
from training.calibrate import write_thresholds
from training.errors import DataError
from training.evaluate import update
from training.examples import Example
from training.graph import build
from training.model import load_model, shape_of, write_config
from training.options import FOLDER, PATH, own_data_option, splits_option
from training.sources import gather

log = logging.getLogger(__name__)

SCHEMES = ("float32", "blocks8-32", "blocks8-64", "blocks8-128", "dynamic8", "smooth8")
DEFAULT_SCHEME = "smooth8"
SAMPLE = 400
"""Windows that the table of schemes is measured on."""


@dataclass(frozen=True, slots=True)
class Pass:
    """One forward pass: the subwords and the role. Shapes: (1, length)."""

    ids: NDArray[np.int64]
    roles: NDArray[np.int64]


def passes(examples: Sequence[Example], encoder: TurnEncoder, count: int = SAMPLE) -> list[Pass]:
    """The first windows of some transcripts, spread over all of them."""
    found = [
        Pass(window.ids[np.newaxis], np.full((1, len(window.ids)), role_id(turn.role), dtype=np.int64))
        for example in examples
        for turn, words in zip(example.transcript, example.words, strict=True)
        if words and turn.role not in VERBATIM_ROLES
        for window in encoder.encode(turn.text, words).windows
    ]
    return found[:: max(1, len(found) // count)][:count]


def run(backend: Backend, chosen: Sequence[Pass]) -> NDArray[np.float64]:
    """Probabilities of all subwords in a row. Shape: (n_subwords, 4)."""
    logits = [backend(each.ids, np.ones_like(each.ids), each.roles)[0] for each in chosen]
    return 1 / (1 + np.exp(-np.concatenate(logits).astype(np.float64)))


def input_ranges(model: TurnClassifier, chosen: Sequence[Pass]) -> dict[str, NDArray[np.float32]]:
    """The largest absolute input of each channel of each linear layer; see `training.graph.Ranges`."""
    found: dict[str, NDArray[np.float32]] = {}

    def watch(name: str) -> Callable[[nn.Module, tuple[Tensor, ...]], None]:
        def note(module: nn.Module, inputs: tuple[Tensor, ...]) -> None:
            largest = inputs[0].abs().amax(dim=(0, 1)).numpy()
            found[name] = np.maximum(found[name], largest) if name in found else largest

        return note

    handles = [
        module.register_forward_pre_hook(watch(name.replace(".query", ".qkv")))
        for name, module in model.named_modules()
        if isinstance(module, nn.Linear) and name.startswith("layers.") and not name.endswith((".key", ".value"))
    ]
    with torch.inference_mode():
        for each in chosen:
            ids = torch.from_numpy(each.ids)
            model(ids, torch.ones_like(ids), torch.from_numpy(each.roles))
    for handle in handles:
        handle.remove()
    return found


def compare(path: Path, reference: NDArray[np.float64], chosen: Sequence[Pass]) -> dict[str, Any]:
    """Size, speed on one thread and differences to torch of one ONNX file."""
    began = time.perf_counter()
    backend = OnnxBackend(path)
    loaded = time.perf_counter()
    values = run(backend, chosen)
    done = time.perf_counter()
    gap = np.abs(values - reference)
    changed = (values >= 0.5) != (reference >= 0.5)
    return {
        "megabytes": round(path.stat().st_size / 1e6, 1),
        "load_seconds": round(loaded - began, 2),
        "subwords_a_second": round(len(values) / (done - loaded)),
        "largest_difference": round(float(gap.max()), 4),
        "mean_difference": round(float(gap.mean()), 5),
        "decisions_changed": {head: round(float(changed[:, n].mean()), 5) for n, head in enumerate(HEADS)},
    }


def export(source: Path, out: Path, dev: Sequence[Example], scheme: str, schemes: Sequence[str]) -> dict[str, Any]:
    """Write the model folder.

    Args:
        source: Folder of the trained weights.
        dev: The development split; not empty.
        scheme: How model.onnx stores the weights.
        schemes: All schemes that the table compares.
    Returns:
        The table, by scheme.
    """
    if not dev:
        raise DataError(f"{source}: no transcript in the development split, on which the thresholds are chosen.")
    config = read_config(source)
    sizes = shape_of(config)
    state = read_weights(source / "model.safetensors")
    weights = {name: tensor.numpy() for name, tensor in state.items()}
    out.mkdir(parents=True, exist_ok=True)
    chosen = passes(dev, TurnEncoder(source / "tokenizer.json", config.window, config.stride))
    reference = run(TorchBackend(source / "model.safetensors", config), chosen)
    ranges = input_ranges(load_model(source / "model.safetensors", sizes), chosen)
    table: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        for each in dict.fromkeys([*schemes, scheme]):
            path = Path(folder) / f"{each}.onnx"
            onnx.save(build(weights, sizes, each, ranges), path)
            table[each] = compare(path, reference, chosen)
            log.info("%s %s", each, json.dumps(table[each]))
        shutil.copyfile(Path(folder) / f"{scheme}.onnx", out / "model.onnx")
    if source.resolve() != out.resolve():
        shutil.copyfile(source / "tokenizer.json", out / "tokenizer.json")
    write_weights(out / "model.safetensors", state)
    write_config(out, replace(config, quantisation=scheme))
    write_thresholds(out, dev)
    update(out, export={"scheme": scheme, "subwords": len(reference), "table": table})
    return table


@click.command(name="export", help=__doc__)
@click.argument("source", type=FOLDER)
@own_data_option
@splits_option
@click.option("--out", type=PATH, required=True, help="Model folder to write.")
@click.option("--scheme", type=click.Choice(SCHEMES), default=DEFAULT_SCHEME, show_default=True)
@click.option("--compare", is_flag=True, help="Measure all schemes.")
def command(source: Path, data: tuple[Path, ...], splits: Path | None, out: Path, scheme: str, compare: bool) -> None:
    """Read the command line and export."""
    weights = source / "final" if (source / "final").is_dir() else source
    run = weights.parent if weights.name == "final" else weights
    own, general = gather(provenance.sources_of(run, data, splits)).part("dev")
    schemes = SCHEMES if compare else ("float32",)
    export(weights, out, [*own, *general], scheme, schemes)
    provenance.copy(run, out)
    click.echo(json.dumps(read_config(out).to_dict()["thresholds"]))
