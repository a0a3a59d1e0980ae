"""Choose the thresholds of each head and language, on the development split alone: `python -m training calibrate`.

`python -m training export` does this already; the command is for other targets than the constants below, or other
transcripts.
"""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import click
import numpy as np

from compressor.scoring.classifier import ClassifierScorer
from compressor.scoring.weights import HEADS, LANGUAGES, read_config
from training import metrics
from training.errors import DataError
from training.evaluate import Scored, score
from training.examples import Example
from training.model import write_config
from training.options import FOLDER, own_data_option, splits_option
from training.provenance import sources_of
from training.sources import gather

ENTITY_RECALL = 0.985
"""Share of the words of names that the entity head should find."""
ENTITY_FALSE = 0.03
"""Largest share of all other words that it may take for names; outranks the recall."""
PIN_RECALL = 0.95
"""Share of the annotated sentences of user turns that the pin head should find by itself; the rules find more."""
PIN_MOST = 0.05
"""Highest threshold of the pin head: a few dozen sentences of one language are too few to trust a higher one."""
KEEP_RANGE = (0.45, 0.55)
"""Where the best F1 of light and tight is looked for: the presets stay near the annotators' ratio."""


def calibrate(scorer: ClassifierScorer, dev: Sequence[Example]) -> dict[str, dict[str, float]]:
    """Thresholds by head and language; 0.5 for a language without a transcript."""
    chosen: dict[str, dict[str, float]] = {head: {} for head in HEADS}
    for lang in LANGUAGES:
        own = [example for example in dev if example.lang == lang]
        values = thresholds(score(scorer, own)) if own else dict.fromkeys(HEADS, 0.5)
        for head in HEADS:
            chosen[head][lang] = round(values[head], 4)
    return chosen


def thresholds(scored: Scored) -> dict[str, float]:
    """The thresholds of one language."""
    columns = {head: scored.scores[:, number] for number, head in enumerate(HEADS)}
    targets = {head: scored.labels[:, number] >= 0.5 for number, head in enumerate(HEADS)}
    found = {head: metrics.threshold_for_f1(targets[head], columns[head], *KEEP_RANGE) for head in ("light", "tight")}
    others = columns["entity"][~targets["entity"]]
    tolerable = float(np.quantile(others, 1 - ENTITY_FALSE, method="higher")) if len(others) else 0.5
    found["entity"] = max(metrics.threshold_for_recall(targets["entity"], columns["entity"], ENTITY_RECALL), tolerable)
    asked = scored.pins["user"].intents
    reached = metrics.threshold_for_recall(np.ones(len(asked), dtype=np.bool_), asked, PIN_RECALL)
    found["pin"] = min(reached, PIN_MOST)
    # Rounded down, so that the value on the edge is still found.
    return {head: float(np.floor(value * 1e4) / 1e4) for head, value in found.items()}


def write_thresholds(folder: Path, dev: Sequence[Example]) -> None:
    """Choose the thresholds with the very model that ships, and write them into its config.json."""
    scorer = ClassifierScorer.from_folder(folder.resolve())
    write_config(folder, replace(read_config(folder), thresholds=calibrate(scorer, dev)))


@click.command(name="calibrate", help=__doc__)
@click.argument("model", type=FOLDER)
@own_data_option
@splits_option
def command(model: Path, data: tuple[Path, ...], splits: Path | None) -> None:
    """Read the command line and choose."""
    own, general = gather(sources_of(model, data, splits)).part("dev")
    if not own and not general:
        raise DataError(f"{model}: no transcript in the development split, on which the thresholds are chosen.")
    write_thresholds(model, [*own, *general])
    click.echo(json.dumps(read_config(model).to_dict()["thresholds"]))
