"""The shipped models side by side: size, quality on the test split, and time, taken in turns in one run.

    python -m benchmarks.models [--runs 5] [--transcripts 23]

Time is that of the labelled test transcripts: the scorer alone on one thread, and whole calls of `compress` with as many
threads as there are processors. Quality stands in each model's metrics.json (`python -m training evaluate`).
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from compressor import Compressor, Transcript, Turn
from compressor.scoring.classifier import ClassifierScorer
from compressor.scoring.weights import LANGUAGES, SHIPPED, model_folder
from compressor.words import by_turn, segment

DATA = Path(__file__).resolve().parents[1] / "training" / "data"


def transcripts(count: int) -> list[Transcript]:
    """The first labelled transcripts of the test split."""
    chosen = set(json.loads((DATA / "splits.json").read_text(encoding="utf-8"))["test"])
    records = (
        json.loads(line)
        for path in sorted((DATA / "synthetic").glob("*.jsonl"))
        for line in path.read_text(encoding="utf-8").splitlines()
    )
    return [
        Transcript([Turn(turn["role"], turn["speaker"], turn["text"]) for turn in record["turns"]])
        for record in records
        if record["id"] in chosen
    ][:count]


def alternated(ways: dict[str, Callable[[], object]], runs: int) -> dict[str, list[float]]:
    """Seconds of each way, the ways taken in turns so that a busy moment hits all of them."""
    found: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(runs + 1):
        for name, way in ways.items():
            start = time.perf_counter()
            way()
            found[name].append(time.perf_counter() - start)
    return {name: seconds[1:] for name, seconds in found.items()}  # the first run warms up


def ratio(slow: Sequence[float], fast: Sequence[float]) -> float:
    """How often the fast one fits into the slow one: the median over the runs, each compared with its neighbour."""
    return statistics.median(one / other for one, other in zip(slow, fast, strict=True))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--transcripts", type=int, default=23)
    given = parser.parse_args()
    texts = transcripts(given.transcripts)
    turns = [turn for text in texts for turn in text]
    words = [cut for text in texts for cut in by_turn(text, segment(text))]
    alone = {name: ClassifierScorer.from_folder(name, threads=1) for name in SHIPPED}
    whole = {name: Compressor.from_pretrained(name) for name in SHIPPED}
    scoring = alternated({name: lambda name=name: alone[name].score(turns, words) for name in SHIPPED}, given.runs)
    calls = alternated(
        {name: lambda name=name: [whole[name].compress(text) for text in texts] for name in SHIPPED}, given.runs
    )
    print(f"{len(texts)} transcripts, {len(turns)} turns, {sum(map(len, words))} words; medians of {given.runs} runs\n")
    heads = [f"F1 {head} {lang}" for lang in LANGUAGES for head in ("light", "tight")]
    print(f"| model | MB | {' | '.join(heads)} | scoring, times as fast | compress(), times as fast |")
    print("|---|---:|" + "---:|" * (len(heads) + 2))
    first = SHIPPED[0]
    for name in SHIPPED:
        folder = model_folder(name)
        numbers = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))["test"]
        quality = [f"{numbers[lang][head]['f1']:.3f}" for lang in LANGUAGES for head in ("light", "tight")]
        size = (folder / "model.onnx").stat().st_size / 1e6
        speeds = [f"{ratio(seconds[first], seconds[name]):.2f}" for seconds in (scoring, calls)]
        print(f"| `{name}` | {size:.0f} | {' | '.join(quality)} | {' | '.join(speeds)} |")


if __name__ == "__main__":
    main()
