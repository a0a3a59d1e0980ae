"""The transcripts of one run: one's own, the repository's mixed in, how they are split, and the terms of the trade."""

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from compressor.scoring.weights import HEADS
from training.corpora.annotated import read_folder
from training.errors import DataError
from training.examples import Example
from training.labels import entity_words
from training.splits import LISTED, Splits, make_splits, read_splits

log = logging.getLogger(__name__)

MIX = Path(__file__).parent / "data" / "synthetic"
"""The repository's own transcripts; `splits.LISTED` says which of them are never learned from."""

ENTITY = HEADS.index("entity")


@dataclass(frozen=True, slots=True)
class Sources:
    """Where the transcripts of a run are.

    Args:
        data: Folders or files of one's own labelled transcripts.
        mix: Folder of general transcripts that are mixed in, so that general skill stays; None for none.
        splits: List of the development and test transcripts of one's own; None draws it.
        terms: File of terms that count as names, one a line.
    """

    data: tuple[Path, ...]
    mix: Path | None = None
    splits: Path | None = None
    terms: Path | None = None


@dataclass(frozen=True, slots=True)
class Corpus:
    """The transcripts themselves.

    Args:
        own: One's own, with the terms as names.
        general: Those mixed in; none that is among one's own.
        splits: Of one's own.
    """

    own: tuple[Example, ...]
    general: tuple[Example, ...]
    splits: Splits

    def part(self, split: str) -> tuple[list[Example], list[Example]]:
        """One's own and the general ones of `train`, `dev` or `test`."""
        listed = read_splits(LISTED) if self.general else self.splits
        return self.splits.select(self.own, split), listed.select(self.general, split)


def gather(sources: Sources, seed: int = 1) -> Corpus:
    """Read the transcripts and split them.

    Raises:
        DataError: A record cannot be read, an id occurs twice, there are too few to split, or no term occurs.
    """
    own: list[Example] = []
    for folder in sources.data:
        own.extend(read_folder(folder))
    twice = _first_twice(own)
    if twice is not None:
        raise DataError(f"the id {twice!r} occurs in two of the data folders; each transcript needs its own.")
    if not own:
        raise DataError(f"no transcript in {', '.join(map(str, sources.data)) or 'no folder at all'}.")
    mixed = list(read_folder(sources.mix)) if sources.mix is not None else []
    splits = read_splits(sources.splits) if sources.splits is not None else _draw(own, mixed, seed)
    if sources.terms is not None:
        own = with_terms(own, read_terms(sources.terms), sources.terms)
    ids = {example.id for example in own}
    return Corpus(tuple(own), tuple(example for example in mixed if example.id not in ids), splits)


def read_terms(path: Path) -> list[str]:
    """The terms of a file, one a line; `#` begins a comment, blank lines are passed over.

    Raises:
        DataError: There is none.
    """
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: cannot be read as terms, one a line in UTF-8 ({error}).") from error
    terms = list(dict.fromkeys(term for line in lines if (term := line.partition("#")[0].strip())))
    if not terms:
        raise DataError(f"{path}: no term in it; write one a line.")
    return terms


def with_terms(examples: Sequence[Example], terms: Sequence[str], place: Path | str) -> list[Example]:
    """Mark every word that an occurrence of a term touches as part of a name, in upper or lower case.

    Raises:
        DataError: No term occurs in any transcript.
    """
    found = []
    marked: set[str] = set()
    for example in examples:
        labels = []
        for turn, words, own in zip(example.transcript, example.words, example.labels, strict=True):
            text = turn.text.lower()
            if len(text) != len(turn.text):  # a letter whose lower case is longer: match as written
                text = turn.text
            here = [term for term in (term.lower() for term in terms) if term in text]
            marked.update(here)
            hit = entity_words(text, here, words) > 0
            changed = own.copy()
            changed[hit, ENTITY] = 1
            labels.append(changed)
        found.append(replace(example, labels=tuple(labels)))
    missing = [term for term in terms if term.lower() not in marked]
    if len(missing) == len(terms):
        raise DataError(f"{place}: none of the {len(terms)} terms occurs in the transcripts, as {terms[0]!r}.")
    if missing:
        log.warning("%d of %d terms occur nowhere, as %s", len(missing), len(terms), ", ".join(missing[:5]))
    return found


def learnable(examples: Sequence[Example]) -> list[Example]:
    """Transcripts to learn from, checked; a head that they say nothing of is left out of their labels.

    Raises:
        DataError: There are none, or all words of all of them are kept, or all deleted.
    """
    if not examples:
        raise DataError("no transcript to learn from: all are in the development and the test split.")
    drop = []
    for column, head in enumerate(HEADS):
        values = np.concatenate([labels[:, column] for example in examples for labels in example.labels])
        known = values[~np.isnan(values)] >= 0.5
        if len(known) and known.any() and not known.all():
            continue
        if head in ("light", "tight"):
            what = "all kept" if len(known) and known.all() else "all deleted"
            raise DataError(
                f"the words of all {len(examples)} transcripts to learn from ({examples[0].id}, …) are {what} in"
                f" {head!r}: a model that learned it could not choose. Delete words in {head!r}, and keep some."
            )
        drop.append(column)
        log.warning("no word is labelled as %s: that head learns nothing from these transcripts", head)
    if not drop:
        return list(examples)
    return [replace(each, labels=tuple(_without(labels, drop) for labels in each.labels)) for each in examples]


def n_words(examples: Iterable[Example]) -> int:
    """Words of all examples."""
    return sum(example.n_words for example in examples)


def _draw(own: Sequence[Example], mixed: Sequence[Example], seed: int) -> Splits:
    """Splits of one's own; a transcript that the shipped models were judged on, or that is the repository's, stays there."""
    listed = read_splits(LISTED)
    settled = {example.id for example in mixed} | listed.dev | listed.test
    fresh = [example for example in own if example.id not in settled]
    kept = {example.id for example in own if example.id in settled}
    drawn = make_splits(fresh, seed) if fresh else Splits(frozenset(), frozenset())
    splits = Splits(drawn.dev | (listed.dev & kept), drawn.test | (listed.test & kept))
    if not splits.dev or not splits.test:
        raise DataError(
            f"{len(own)} transcripts are too few to draw a development and a test split from: it takes 3 of one language"
            " and source. Label more, or list the ids yourself and give the list with --splits."
        )
    return splits


def _first_twice(examples: Sequence[Example]) -> str | None:
    seen: set[str] = set()
    for example in examples:
        if example.id in seen:
            return example.id
        seen.add(example.id)
    return None


def _without(
    labels: np.ndarray[tuple[int, ...], np.dtype[np.float32]], columns: Sequence[int]
) -> "np.ndarray[tuple[int, ...], np.dtype[np.float32]]":
    changed = labels.copy()
    changed[:, columns] = np.nan
    return changed
