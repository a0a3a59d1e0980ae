"""Which transcripts are learned from, and which judge: by transcript, by a seed, listed in `data/splits.json`.

python -m training.splits --data training/data/synthetic [--data FOLDER] --out training/data/splits.json
"""

import argparse
import json
import random
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from compressor.words import has_unspaced
from training.corpora.annotated import read_folder
from training.examples import Example

LISTED = Path(__file__).parent / "data" / "splits.json"
SHINGLE = 20
"""Words (characters in scripts without spaces: twice as many) in a row that two splits may not share."""


@dataclass(frozen=True, slots=True)
class Splits:
    """The ids of the development and the test transcripts; all others are for training."""

    dev: frozenset[str]
    test: frozenset[str]

    def of(self, example: Example) -> str:
        """`train`, `dev` or `test`."""
        return "dev" if example.id in self.dev else "test" if example.id in self.test else "train"

    def select(self, examples: Iterable[Example], split: str) -> list[Example]:
        """The examples of one split, in order."""
        return [example for example in examples if self.of(example) == split]


def make_splits(examples: Sequence[Example], seed: int = 1, share: float = 0.1) -> Splits:
    """Draw `share` of the transcripts for development and as many for the test, of each language and source alike."""
    strata: dict[tuple[str, str], list[str]] = defaultdict(list)
    for example in examples:
        strata[example.lang, example.source].append(example.id)
    dev: set[str] = set()
    test: set[str] = set()
    for key in sorted(strata):
        ids = sorted(strata[key])
        random.Random(f"{seed} {key}").shuffle(ids)
        count = round(len(ids) * share) or int(len(ids) >= 3)
        dev.update(ids[:count])
        test.update(ids[count : 2 * count])
    return Splits(frozenset(dev), frozenset(test))


def leaks(examples: Sequence[Example], splits: Splits) -> list[tuple[str, str, str]]:
    """Long passages that two splits share.

    Returns:
        (id, id, passage) of one passage for each such pair of transcripts of different splits.
    """
    seen: dict[str, Example] = {}
    found: dict[tuple[str, str], str] = {}
    for example in examples:
        for turn in example.transcript:
            for passage in _shingles(turn.text):
                other = seen.setdefault(passage, example)
                if splits.of(other) != splits.of(example):
                    found.setdefault((other.id, example.id), passage)
    return [(a, b, passage) for (a, b), passage in found.items()]


def read_splits(path: Path = LISTED) -> Splits:
    """Read the listed ids."""
    record = json.loads(path.read_text(encoding="utf-8"))
    return Splits(frozenset(record["dev"]), frozenset(record["test"]))


def write_splits(splits: Splits, path: Path = LISTED) -> None:
    """List the ids, one a line, sorted."""
    record = {"dev": sorted(splits.dev), "test": sorted(splits.test)}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def _shingles(text: str) -> Iterable[str]:
    lowered = text.lower()
    if has_unspaced(lowered):
        items, size, glue = [char for char in lowered if char.isalnum()], 2 * SHINGLE, ""
    else:
        items, size, glue = lowered.split(), SHINGLE, " "
    for start in range(len(items) - size + 1):
        yield glue.join(items[start : start + size])


def main() -> None:
    """Draw the splits, refuse leaks, write the list."""
    parser = argparse.ArgumentParser(description="Split annotated transcripts by transcript.")
    parser.add_argument("--data", type=Path, action="append", required=True, help="folder of annotated .jsonl files")
    parser.add_argument("--out", type=Path, default=LISTED)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    examples = [example for folder in arguments.data for example in read_folder(folder)]
    splits = make_splits(examples, arguments.seed)
    for a, b, passage in leaks(examples, splits):
        print(f"shared by {a} ({splits.dev & {a} and 'dev'}) and {b}: {passage}")
    write_splits(splits, arguments.out)
    print(f"{len(examples)} transcripts: {len(splits.dev)} dev, {len(splits.test)} test -> {arguments.out}")


if __name__ == "__main__":
    main()
