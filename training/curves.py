"""The curves of a run: log.jsonl → curves.csv and curves.png."""

import csv
import logging
from pathlib import Path
from typing import Any

from training.journal import records

log = logging.getLogger(__name__)


def write(out: Path) -> None:
    """Write both; without matplotlib the table alone."""
    rows = [record for record in records(out / "log.jsonl") if "step" in record and "stopped" not in record]
    measured = [row for row in rows if "quality" in row]
    columns = ["step", "minutes", "loss", *dict.fromkeys(key for row in measured for key in row if key != "step")]
    with (out / "curves.csv").open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, columns)
        table.writeheader()
        table.writerows(rows)
    try:
        _plot(rows, measured, out / "curves.png")
    except ImportError as error:
        log.warning("no curves.png: %s is not installed (pip install 'compressor[train]')", error.name)


def _plot(rows: list[dict[str, Any]], measured: list[dict[str, Any]], path: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.4), layout="constrained")
    left, right = figure.subplots(1, 2)
    losses = [(row["step"], row["loss"]) for row in rows if "loss" in row]
    left.plot(*zip(*losses, strict=True) if losses else ([], []))
    left.set(xlabel="step", ylabel="loss", title="Training")
    curves = [key for key in dict.fromkeys(key for row in measured for key in row) if key.endswith((".f1", "quality"))]
    for key in curves:
        if "entity" not in key and "pin" not in key:  # at 0.5 those two decide nothing
            points = [(row["step"], row[key]) for row in measured if key in row]
            right.plot(*zip(*points, strict=True), marker="o", label=key)
    right.set(xlabel="step", title="Development split")
    if curves:
        right.legend(fontsize="small")
    figure.savefig(path, dpi=110)
