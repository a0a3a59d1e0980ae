"""Splits by transcript."""

from pathlib import Path

from training.corpora.annotated import read_folder
from training.splits import leaks, make_splits, read_splits, write_splits

DATA = Path(__file__).resolve().parents[2] / "training" / "data"


def test_splits_depend_on_ids_and_seed_alone(annotated_folder: Path) -> None:
    """Another order of the records changes nothing; both languages are in each split; none is in two."""
    examples = list(read_folder(annotated_folder))
    splits = make_splits(examples, seed=3)
    assert splits == make_splits(examples[::-1], seed=3)
    assert not splits.dev & splits.test
    assert {id_[:2] for id_ in splits.dev} == {id_[:2] for id_ in splits.test} == {"en", "zh"}


def test_the_list_comes_back(annotated_folder: Path, tmp_path: Path) -> None:
    """Written and read, the same ids."""
    splits = make_splits(list(read_folder(annotated_folder)))
    write_splits(splits, tmp_path / "splits.json")
    assert read_splits(tmp_path / "splits.json") == splits


def test_a_copied_passage_is_a_leak(annotated_folder: Path) -> None:
    """A long turn that stands in two splits is reported."""
    from dataclasses import replace

    from compressor.transcript import Transcript, Turn

    first, second = list(read_folder(annotated_folder))[:2]
    long = Transcript((Turn("user", None, " ".join(f"w{n}" for n in range(30))),))
    examples = [replace(first, id="a", transcript=long), replace(second, id="b", transcript=long)]
    splits = make_splits([], 1)
    assert leaks(examples, splits) == []
    apart = type(splits)(frozenset({"a"}), frozenset())
    assert [(a, b) for a, b, _ in leaks(examples, apart)] == [("a", "b")]


def test_the_listed_splits_do_not_leak() -> None:
    """No long passage of the transcripts in the repository is in two splits, and the list names a tenth for each."""
    examples = list(read_folder(DATA / "synthetic"))
    splits = read_splits()
    assert len(examples) == 228
    assert leaks(examples, splits) == []
    counts = {name: len(splits.select(examples, name)) for name in ("dev", "test")}
    assert all(20 <= count <= 26 for count in counts.values()), counts
