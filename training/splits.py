"""Which transcripts are learned from, and which judge: by transcript, by a seed, listed in `data/splits.json`.

python -m training.splits --data training/data/synthetic [--data FOLDER] --out training/data/splits.json
python -m training.splits --check --data training/data/synthetic [--data FOLDER] --out training/data/splits.json

Near-duplicates (two versions of one conversation, a form letter with other names) are put into one part together, and
`--check` fails on a list that parts them.
"""

import json
import random
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from compressor.transcript import VERBATIM_ROLES
from compressor.words import has_unspaced
from training.corpora.annotated import read_folder
from training.errors import DataError
from training.examples import Example

_PATH = click.Path(path_type=Path)
LISTED = Path(__file__).parent / "data" / "splits.json"
SHINGLE = 20
"""Words (characters in scripts without spaces: twice as many) in a row that two splits may not share."""
NEAR = 5
"""Words (characters: twice as many) in a row that near-duplicates are compared by."""
LIKENESS = 0.4
"""Share of the shorter transcript's stretches of `NEAR` words that another holds, from which on the two are one."""
SHORT = 40
"""A transcript of fewer such stretches says what such conversations say; only its copies are near-duplicates."""
COMMON, NEXT = 200, 3
"""Of the transcripts that hold a stretch which more than 200 do, each is compared by it with the next 3 alone."""


@dataclass(frozen=True, slots=True)
class Splits:
    """The ids of the development and the test transcripts; all others are for training."""

    dev: frozenset[str]
    test: frozenset[str]

    def of(self, example: Example) -> str:
        """`train`, `dev` or `test`."""
        return self.part(example.id)

    def part(self, id_: str) -> str:
        """`train`, `dev` or `test`, by the id."""
        return "dev" if id_ in self.dev else "test" if id_ in self.test else "train"

    def select(self, examples: Iterable[Example], split: str) -> list[Example]:
        """The examples of one split, in order."""
        return [example for example in examples if self.of(example) == split]


@dataclass(frozen=True, slots=True)
class NearDuplicate:
    """Two transcripts that share much of their text.

    Args:
        first, second: Their ids.
        likeness: Share of the shorter one's stretches that the other holds, 0 to 1.
    """

    first: str
    second: str
    likeness: float


def make_splits(examples: Sequence[Example], seed: int = 1, share: float = 0.1, likeness: float = LIKENESS) -> Splits:
    """Draw `share` of the transcripts for development and as many for the test, of each language and source alike.

    Near-duplicates count as one transcript: they are all in one part.
    """
    groups = _groups(examples, near_duplicates(examples, likeness))
    strata: dict[tuple[str, str], list[str]] = defaultdict(list)
    for example in examples:
        if example.id in groups:
            strata[example.lang, example.source].append(example.id)
    dev: set[str] = set()
    test: set[str] = set()
    for key in sorted(strata):
        ids = sorted(strata[key])
        random.Random(f"{seed} {key}").shuffle(ids)
        count = round(len(ids) * share) or int(len(ids) >= 3)
        dev.update(member for id_ in ids[:count] for member in groups[id_])
        test.update(member for id_ in ids[count : 2 * count] for member in groups[id_])
    return Splits(frozenset(dev), frozenset(test))


def near_duplicates(examples: Sequence[Example], likeness: float = LIKENESS) -> list[NearDuplicate]:
    """The pairs of transcripts that share at least `likeness` of the shorter one, in the order of the examples.

    Compared are all stretches of `NEAR` words in a row, without case and punctuation, over the turns of a transcript that
    are learned from. Of short transcripts only copies count. Source: shingles and their containment, Broder (1997), "On the resemblance and containment of
    documents"; counted exactly, without sketches, as a set of some thousand transcripts needs none.
    """
    holders: defaultdict[str, list[int]] = defaultdict(list)
    sizes: list[int] = []
    for number, example in enumerate(examples):
        own = set(_stretches(" \n".join(turn.text for turn in example.transcript if turn.role not in VERBATIM_ROLES)))
        sizes.append(len(own))
        for stretch in own:
            holders[stretch].append(number)
    shared: Counter[tuple[int, int]] = Counter()
    for numbers in holders.values():
        reach = len(numbers) if len(numbers) <= COMMON else NEXT
        shared.update((a, b) for place, a in enumerate(numbers) for b in numbers[place + 1 : place + 1 + reach])
    found: list[NearDuplicate] = []
    for (a, b), count in sorted(shared.items()):
        small, large = sorted((sizes[a], sizes[b]))
        if count == large or (small >= SHORT and count >= likeness * small):
            found.append(NearDuplicate(examples[a].id, examples[b].id, count / small))
    return found


def parted(found: Iterable[NearDuplicate], splits: Splits) -> list[NearDuplicate]:
    """The near-duplicates of which the splits put one into another part than the other."""
    return [pair for pair in found if splits.part(pair.first) != splits.part(pair.second)]


def leaks(examples: Sequence[Example], splits: Splits) -> list[tuple[str, str, str]]:
    """Long passages that two splits share.

    Returns:
        (id, id, passage) of one passage for each such pair of transcripts of different splits.
    """
    seen: dict[str, Example] = {}
    found: dict[tuple[str, str], str] = {}
    for example in examples:
        for turn in example.transcript:
            for passage in _shingles(turn.text, SHINGLE):
                other = seen.setdefault(passage, example)
                if splits.of(other) != splits.of(example):
                    found.setdefault((other.id, example.id), passage)
    return [(a, b, passage) for (a, b), passage in found.items()]


def read_splits(path: Path = LISTED) -> Splits:
    """Read the listed ids.

    Raises:
        DataError: The file cannot be read, or is no such list.
    """
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        return Splits(frozenset(record["dev"]), frozenset(record["test"]))
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise DataError(f"{path}: no list of splits ({error}); allowed: an object with dev and test.") from error


def write_splits(splits: Splits, path: Path = LISTED) -> None:
    """List the ids, one a line, sorted."""
    record = {"dev": sorted(splits.dev), "test": sorted(splits.test)}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def _groups(examples: Sequence[Example], found: Iterable[NearDuplicate]) -> dict[str, list[str]]:
    """The transcripts that are near-duplicates of each other, directly or by others, under the smallest id of them."""
    leader = {example.id: example.id for example in examples}

    def find(id_: str) -> str:
        while leader[id_] != id_:
            leader[id_] = leader[leader[id_]]
            id_ = leader[id_]
        return id_

    for pair in found:
        first, second = sorted((find(pair.first), find(pair.second)))
        leader[second] = first
    groups: defaultdict[str, list[str]] = defaultdict(list)
    for example in examples:
        groups[find(example.id)].append(example.id)
    return dict(groups)


def _stretches(text: str) -> Iterator[str]:
    """What near-duplicates are compared by; of a shorter text the whole."""
    lowered = "".join(char if char.isalnum() else " " for char in text.lower())
    found = list(_shingles(lowered, NEAR))
    yield from found or [" ".join(lowered.split())] * bool(lowered.strip())


def _shingles(text: str, size: int) -> Iterable[str]:
    lowered = text.lower()
    if has_unspaced(lowered):
        items, size, glue = [char for char in lowered if char.isalnum()], 2 * size, ""
    else:
        items, glue = lowered.split(), " "
    for start in range(len(items) - size + 1):
        yield glue.join(items[start : start + size])


@click.command()
@click.option(
    "--data", type=_PATH, multiple=True, required=True, help="Folder or file of annotated .jsonl records. Repeatable."
)
@click.option("--out", type=_PATH, default=LISTED, help="The list [default: the one in the repository].")
@click.option("--seed", type=int, default=1, show_default=True)
@click.option(
    "--likeness",
    type=click.FloatRange(0, 1, min_open=True),
    default=LIKENESS,
    show_default=True,
    help="Share of the shorter transcript that another holds, from which on the two count as one.",
)
@click.option("--check", is_flag=True, help="Draw nothing; fail if the list puts near-duplicates into two parts.")
def command(data: tuple[Path, ...], out: Path, seed: int, likeness: float, check: bool) -> None:
    """Draw the splits and write the list, or check a list; exit status 1 where text is in two parts."""
    try:
        examples = [example for folder in data for example in read_folder(folder)]
        splits = read_splits(out) if check else make_splits(examples, seed, likeness=likeness)
    except DataError as error:
        raise click.ClickException(str(error)) from error
    found = near_duplicates(examples, likeness)
    bad = parted(found, splits)
    for pair in found:
        where = f"{pair.first} ({splits.part(pair.first)}) and {pair.second} ({splits.part(pair.second)})"
        click.echo(f"{'LEAK: ' if pair in bad else ''}{where} share {pair.likeness:.0%} of the shorter")
    passages = leaks(examples, splits)
    for a, b, passage in passages:
        click.echo(f"LEAK: shared by {a} ({splits.part(a)}) and {b} ({splits.part(b)}): {passage}")
    if not check:
        write_splits(splits, out)
    click.echo(
        f"{len(examples)} transcripts: {len(splits.select(examples, 'dev'))} dev, {len(splits.select(examples, 'test'))} "
        f"test; {len(found)} near-duplicates, {len(bad)} of them in two parts; {len(passages)} long passages in two parts"
        + ("" if check else f" -> {out}")
    )
    sys.exit(1 if bad or passages else 0)


if __name__ == "__main__":
    command()
