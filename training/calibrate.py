"""Choose the thresholds of each head and language, on the development split alone.

    python -m training.calibrate models/default --data training/data/synthetic [--data OWN]

`training.export` does this already; the command is for other targets than the constants below.
"""

import argparse
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from compressor.scoring.classifier import ClassifierScorer
from compressor.scoring.weights import HEADS, LANGUAGES, read_config
from training import metrics
from training.corpora.annotated import read_folder
from training.evaluate import Scored, score
from training.examples import Example
from training.model import write_config
from training.splits import LISTED, read_splits

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


def main() -> None:
    """Read the command line and choose."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path, help="model folder")
    parser.add_argument("--data", type=Path, action="append", required=True, help="folder of annotated .jsonl files")
    parser.add_argument("--splits", type=Path, default=LISTED)
    arguments = parser.parse_args()
    examples = [example for folder in arguments.data for example in read_folder(folder)]
    write_thresholds(arguments.model, read_splits(arguments.splits).select(examples, "dev"))
    print(json.dumps(read_config(arguments.model).to_dict()["thresholds"]))


if __name__ == "__main__":
    main()
