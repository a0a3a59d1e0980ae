"""Speed and memory: cold start of the command line, and words a second of the library by part.

    python -m benchmarks.speed [--words 2000] [--runs 5]

Figures of one machine say little: the table gives the ratio to a loop of matrix products timed in the same run.
"""

import argparse
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from compressor import Compressor
from compressor.protection import RULES, protect, views_of
from compressor.words import segment

CALL = Path(__file__).resolve().parents[1] / "notebooks" / "examples" / "warranty_call.txt"


def yardstick() -> float:
    """Seconds of a fixed amount of arithmetic on this machine, now."""
    matrix = np.random.default_rng(0).standard_normal((768, 768), dtype=np.float32)
    start = time.perf_counter()
    for _ in range(40):
        matrix @ matrix
    return time.perf_counter() - start


def sample(words: int) -> str:
    """A call of about this many words, made of the example; each copy differs, so that no turn is scored once for all."""
    text = CALL.read_text(encoding="utf-8")
    copies = [
        text.replace("HA-220914", f"HA-{220914 + copy}").replace("so ", f"so {copy} ")
        for copy in range(words // len(text.split()) + 1)
    ]
    lines = "".join(copies).splitlines(keepends=True)
    while sum(len(line.split()) for line in lines) > words:
        lines.pop()
    return "".join(lines)


def median(seconds: list[float]) -> float:
    return statistics.median(seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--words", type=int, default=2000)
    parser.add_argument("--runs", type=int, default=5)
    given = parser.parse_args()
    text = sample(given.words)
    unit = median([yardstick() for _ in range(given.runs)])
    rows: list[tuple[str, float]] = []
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "call.txt"
        file.write_text(text, encoding="utf-8")
        for name, arguments in (
            ("cold start, --help", ["--help"]),
            ("cold start to output", ["compress", str(file), "-q"]),
        ):
            seconds = []
            for _ in range(given.runs):
                start = time.perf_counter()
                subprocess.run([sys.executable, "-m", "compressor", *arguments], check=True, capture_output=True)
                seconds.append(time.perf_counter() - start)
            rows.append((name, median(seconds)))
    start = time.perf_counter()
    compressor = Compressor.from_pretrained("default")
    compressor.compress("warm up")
    rows.append(("load the model", time.perf_counter() - start))
    whole, scoring, rules = [], [], []
    for _ in range(given.runs):
        start = time.perf_counter()
        result = compressor.compress(text)
        whole.append(time.perf_counter() - start)
        words = segment(result.source)
        start = time.perf_counter()
        scores = next(compressor._score([result.source], [words]))
        scoring.append(time.perf_counter() - start)
        thresholds = [compressor.scorer.thresholds(turn) for turn in result.source.turns]
        start = time.perf_counter()
        protect(views_of(result.source, words, scores, thresholds, [""] * len(result.source)), RULES)
        rules.append(time.perf_counter() - start)
    rows += [("compress, warm", median(whole)), ("  of it scoring", median(scoring)), ("  of it rules", median(rules))]
    print(
        f"{len(text.split())} words, {result.report.tokens_before} tokens, {len(result.source)} turns; median of {given.runs}\n"
    )
    print("| part | seconds | × yardstick |\n|---|---:|---:|")
    for name, seconds in rows:
        print(f"| {name} | {seconds:.2f} | {seconds / unit:.1f} |")
    print(f"\nwords a second, warm: {len(text.split()) / median(whole):.0f}")
    print(f"peak memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


if __name__ == "__main__":
    main()
