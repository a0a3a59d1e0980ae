"""Batch runs: throughput against file size, workers, cache, memory, and where the processor time goes.

    python -m benchmarks.batch                                            # small sizes: some minutes
    python -m benchmarks.batch --turns 10000 100000 1000000 --memory-mb 1000 --json batch.json

Every row is one run of `compressor batch` in a process of its own, over a file of JSON lines that is made for it: chats of
20 turns whose texts are those of the labelled transcripts in `training/data/`.

- `repeated`: the shipped model, and texts drawn from 1,000 different ones, as where most turns are boilerplate. The model
  scores each once a run, so what grows with the file is everything else.
- `distinct`: the shipped model, and no two turns alike. All is scored.
- `memory`: repeated turns, and an inline image of 256 KB in each chat, up to the size asked for.

Peak memory is that of all processes of a run together, each counted whole, so that what they share counts several times.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
TRANSCRIPTS = ROOT / "training" / "data" / "synthetic"
CHAT = 20
DIFFERENT = 1_000
IMAGE = 256 * 1024


@dataclass(frozen=True)
class Row:
    """One run."""

    kind: str
    turns: int
    megabytes: float
    workers: int
    seconds: float
    turns_a_second: float
    processor_us_a_turn: float
    hit_rate: float
    model_share: float
    peak_mb: float
    processor_seconds: dict[str, float]


def texts() -> list[str]:
    """The turns of the labelled transcripts, in an order that mixes them."""
    found = [
        turn["text"]
        for path in sorted(TRANSCRIPTS.glob("*.jsonl"))
        for line in path.read_text(encoding="utf-8").splitlines()
        for turn in json.loads(line)["turns"]
    ]
    random.Random(0).shuffle(found)
    return found


def chats(pool: list[str], *, distinct: bool, image: bool) -> Iterator[str]:
    """Lines of chats without end."""
    chance = random.Random(1)
    number = 0
    picture = "".join(chance.choices("ABCDEFGHabcdefgh0123456789+/", k=IMAGE)) if image else ""
    while True:
        messages: list[dict[str, Any]] = []
        for turn in range(CHAT):
            text = pool[number % len(pool)] if distinct else chance.choice(pool[:DIFFERENT])
            if distinct and number >= len(pool):
                text = f"{text} ({number})"
            messages.append({"role": "user" if turn % 2 == 0 else "assistant", "content": text})
            number += 1
        if picture:
            part = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{picture}"}}
            messages[0]["content"] = [{"type": "text", "text": messages[0]["content"]}, part]
        yield json.dumps({"id": number, "messages": messages}, ensure_ascii=False) + "\n"


def write(path: Path, lines: Iterator[str], *, turns: int = 0, size: int = 0) -> int:
    """Write so many turns, or so many bytes; says how many turns."""
    done = 0
    with path.open("w", encoding="utf-8") as file:
        for line in lines:
            file.write(line)
            done += CHAT
            if (turns and done >= turns) or (size and file.tell() >= size):
                return done
    return done


def run(kind: str, path: Path, turns: int, workers: int, out: Path) -> Row:
    """Run the command and watch its memory."""
    arguments = ["batch", str(path), "-o", str(out), "--workers", str(workers), "--quiet"]
    start = time.perf_counter()
    running = subprocess.Popen([sys.executable, "-m", "compressor", *arguments], cwd=ROOT)
    peak = 0
    while running.poll() is None:
        peak = max(peak, resident(running.pid))
        time.sleep(0.05)
    seconds = time.perf_counter() - start
    if running.returncode:
        raise SystemExit(f"the run over {path} failed: exit status {running.returncode}")
    report = json.loads((out / "report.json").read_text(encoding="utf-8"))
    spent, cache = report["processor_seconds"], report["cache"]
    return Row(
        kind=kind,
        turns=turns,
        megabytes=round(path.stat().st_size / 1e6, 1),
        workers=workers,
        seconds=round(seconds, 1),
        turns_a_second=round(turns / seconds, 1),
        processor_us_a_turn=round(sum(spent.values()) / turns * 1e6),
        hit_rate=round(cache["hits"] / max(1, cache["hits"] + cache["misses"]), 3),
        model_share=report["model_share"] or 0.0,
        peak_mb=round(peak / 1e6),
        processor_seconds=spent,
    )


def resident(root: int) -> int:
    """Bytes in memory of a process and all below it; from /proc, so on Linux."""
    parents: dict[int, list[int]] = {}
    sizes: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:  # it has ended meanwhile
                continue
            parents.setdefault(int(fields[1]), []).append(int(entry.name))
            sizes[int(entry.name)] = int(fields[21]) * os.sysconf("SC_PAGE_SIZE")
    total, left = 0, [root]
    while left:
        process = left.pop()
        total += sizes.get(process, 0)
        left += parents.get(process, [])
    return total


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--turns", type=int, nargs="*", default=[2_000, 8_000], help="sizes of the repeated runs")
    parser.add_argument("--distinct", type=int, nargs="*", default=[400, 800], help="sizes of the distinct runs")
    parser.add_argument("--workers", type=int, nargs="*", default=[1, 2], help="each size is run with so many")
    parser.add_argument("--memory-mb", type=int, default=50, help="size of the memory run; 0: none")
    parser.add_argument("--folder", type=Path, help="where the files are made; a temporary folder")
    parser.add_argument("--json", type=Path, help="write the figures")
    given = parser.parse_args()
    pool = texts()
    plan = [("repeated", turns, workers) for turns in given.turns for workers in given.workers]
    plan += [("distinct", turns, workers) for turns in given.distinct for workers in given.workers]
    plan += [("memory", 0, max(given.workers))] if given.memory_mb else []
    rows: list[Row] = []
    print("| run | turns | MB | workers | s | turns/s | CPU µs/turn | known turns | model | peak MB |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
    for kind, turns, workers in plan:
        with tempfile.TemporaryDirectory(dir=given.folder) as folder:
            path = Path(folder) / "logs.jsonl"
            lines = chats(pool, distinct=kind == "distinct", image=kind == "memory")
            made = write(path, lines, turns=turns, size=given.memory_mb * 10**6 if kind == "memory" else 0)
            row = run(kind, path, made, workers, Path(folder) / "out")
        rows.append(row)
        print(
            f"| {row.kind} | {row.turns} | {row.megabytes} | {row.workers} | {row.seconds} | {row.turns_a_second:.0f} |"
            f" {row.processor_us_a_turn} | {row.hit_rate:.1%} | {row.model_share:.1%} | {row.peak_mb:.0f} |",
            flush=True,
        )
    if given.json:
        given.json.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
