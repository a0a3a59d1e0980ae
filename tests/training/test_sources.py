"""Which transcripts a run learns from: splits, mixing, terms, and input that cannot be learned from."""

import json
import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from training.corpora.annotated import CorpusError, read_folder
from training.errors import DataError
from training.sources import MIX, Sources, gather, learnable, read_terms, with_terms
from training.splits import LISTED, read_splits


def record(
    id_: str = "a", text: str = "Um, call Ann now.", light: str = "call Ann now.", **more: Any
) -> dict[str, Any]:
    """A labelled transcript of one turn."""
    turn = {"role": "user", "speaker": None, "text": text, "light": light, "tight": light}
    return {"id": id_, "lang": "en", "source": "x", "turns": [turn], "entities": ["Ann"], "intents": [], **more}


def write(folder: Path, *records: object) -> Path:
    """A folder with one file."""
    folder.mkdir(exist_ok=True)
    (folder / "a.jsonl").write_text("".join(json.dumps(each) + "\n" for each in records), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def some_general(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three short transcripts of the repository of each split."""
    listed = read_splits(LISTED)
    lines = [line for file in sorted(MIX.glob("*.jsonl")) for line in file.read_text(encoding="utf-8").splitlines()]
    by_part: dict[str, list[dict[str, Any]]] = {"train": [], "dev": [], "test": []}
    for each in sorted(map(json.loads, lines), key=lambda each: len(each["turns"])):
        by_part[listed.part(each["id"])].append(each)
    return write(tmp_path_factory.mktemp("general") / "g", *(each for part in by_part.values() for each in part[:3]))


def test_the_repository_is_mixed_in_and_keeps_its_own_split(annotated_folder: Path, some_general: Path) -> None:
    """Its development and test transcripts are never learned from, one's own are split apart."""
    corpus = gather(Sources((annotated_folder,), some_general))
    listed = read_splits(LISTED)
    own, general = corpus.part("train")
    assert {e.id for e in own}.isdisjoint(corpus.splits.dev | corpus.splits.test)
    assert {e.id for e in general}.isdisjoint(listed.dev | listed.test)
    assert len(general) == 3
    assert all(corpus.part(split)[0] and len(corpus.part(split)[1]) == 3 for split in ("dev", "test"))


def test_what_is_ones_own_already_is_not_mixed_in_again(some_general: Path) -> None:
    """The repository's folder as data: nothing is left to mix, and its listed split holds."""
    corpus = gather(Sources((some_general,), some_general))
    assert corpus.general == ()
    assert corpus.splits.test == read_splits(LISTED).test & {example.id for example in corpus.own}
    assert len(corpus.splits.test) == 3


def test_what_the_shipped_models_were_judged_on_is_never_learned_from(some_general: Path) -> None:
    """Also where it comes in as one's own and nothing is mixed in: no drawn split may put it into training."""
    corpus = gather(Sources((some_general,)))
    listed = read_splits(LISTED)
    assert {example.id for example in corpus.part("train")[0]}.isdisjoint(listed.dev | listed.test)
    assert listed.test & {example.id for example in corpus.own} <= corpus.splits.test


def test_terms_count_as_names_in_any_case(tmp_path: Path) -> None:
    """Whole words only; a comment and a blank line are no terms."""
    (tmp_path / "terms.txt").write_text("# trade\nbill of lading\n\nlay days # time\n", encoding="utf-8")
    terms = read_terms(tmp_path / "terms.txt")
    assert terms == ["bill of lading", "lay days"]
    folder = write(
        tmp_path / "data", record(text="The Bill of Lading, sir, and relay days.", light="The Bill of Lading, sir")
    )
    (example,) = with_terms(list(read_folder(folder)), terms, "terms.txt")
    text = example.transcript.turns[0].text
    words = [text[a:b] for (a, b), label in zip(example.words[0], example.labels[0], strict=True) if label[2] == 1]
    assert words == ["Bill", "of", "Lading"]


def test_terms_that_never_occur_are_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Some missing is a warning, all missing an error."""
    examples = list(read_folder(write(tmp_path / "d", record())))
    with caplog.at_level(logging.WARNING):
        with_terms(examples, ["call", "demurrage"], "t")
    assert "1 of 2 terms occur nowhere, as demurrage" in caplog.text
    with pytest.raises(DataError, match="none of the 1 terms"):
        with_terms(examples, ["demurrage"], "t")


def test_a_head_without_a_positive_label_is_not_taught_to_say_no(tmp_path: Path) -> None:
    """Data in which nobody marked a name would otherwise erase the names that the model knows."""
    (example,) = learnable(list(read_folder(write(tmp_path / "d", record(entities=[])))))
    assert np.isnan(example.labels[0][:, 2:]).all()
    assert not np.isnan(example.labels[0][:, :2]).any()


def test_a_record_that_names_no_names_is_silent_about_them(tmp_path: Path) -> None:
    """A missing key is not an empty list."""
    silent = record()
    del silent["entities"], silent["intents"]
    (example,) = read_folder(write(tmp_path / "d", silent))
    assert np.isnan(example.labels[0][:, 2:]).all()


def test_overlapping_names_and_intents_are_their_union(tmp_path: Path) -> None:
    """Two names that share a word mark each of its words once."""
    text = "Um, meet at New York Times Square now."
    names = ["New York", "York Times", "Times Square"]
    intents = [{"turn": 0, "text": part, "kind": "request"} for part in (text, "meet at New York Times Square now.")]
    (example,) = read_folder(write(tmp_path / "d", record(text=text, light=text, entities=names, intents=intents)))
    found = [text[a:b] for (a, b), row in zip(example.words[0], example.labels[0], strict=True) if row[2] == 1]
    assert found == ["New", "York", "Times", "Square"]
    assert set(np.unique(example.labels[0][:, 3])) == {1.0}


BAD = [
    ("empty folder", [], "no transcript"),
    ("no subsequence", [record(light="call Bob now.")], "line 1.*record 'a', turn 0.*subsequence"),
    ("other segmentation", [record(segmentation="0")], "record 'a'.*segmentation version '0'.*label it again"),
    ("other language", [record(lang="fr")], "record 'a': lang is 'fr'; allowed: en, zh"),
    ("no turns", [record(turns=[])], "record 'a': it has no turns"),
    ("turn without light", [record(turns=[{"role": "user", "text": "x"}])], "record 'a', turn 0: light is missing"),
    ("no id", [{"lang": "en"}], "line 1: KeyError: 'id' is missing"),
    ("id of another type", [record(id_=7)], "the id is 7"),  # type: ignore[arg-type]
    ("an array", [[1]], "line 1.*list instead of an object"),
    ("entities of another type", [record(entities="Ann")], "record 'a': entities is no list"),
    ("intent elsewhere", [record(intents=[{"turn": 0, "text": "buy", "kind": "request"}])], "'buy' is not in turn 0"),
    ("intent of no turn", [record(intents=[{"turn": 4, "text": "x", "kind": "request"}])], "turn 4, and there are 1"),
    ("same id twice", [record(), record()], r"line 2: the id 'a' is that of .*line 1"),
    ("too few to split", [record(), record("b")], "2 transcripts are too few"),
]


@pytest.mark.parametrize(("records", "message"), [row[1:] for row in BAD], ids=[row[0] for row in BAD])
def test_bad_transcripts_are_named(tmp_path: Path, records: list[object], message: str) -> None:
    """File, line, record and reason."""
    with pytest.raises(DataError, match=message):
        gather(Sources((write(tmp_path / "d", *records),)))


def test_a_line_that_is_no_json_or_no_utf8_is_named(tmp_path: Path) -> None:
    """Blank lines are passed over and counted."""
    folder = write(tmp_path / "d")
    for line in (b"{oops", b'{"id": "\xff"}'):
        (folder / "a.jsonl").write_bytes(b"\n" + line + b"\n")
        with pytest.raises(CorpusError, match=r"a\.jsonl, line 2"):
            list(read_folder(folder))


def test_an_id_in_two_folders_is_refused(tmp_path: Path) -> None:
    """Splits go by id."""
    one, two = write(tmp_path / "1", record()), write(tmp_path / "2", record())
    with pytest.raises(DataError, match="'a' occurs in two"):
        gather(Sources((one, two)))


@pytest.mark.parametrize(
    ("light", "message"), [("Um, call Ann now.", "all kept in 'light'"), ("", "all deleted in 'light'")]
)
def test_labels_of_one_class_are_refused(tmp_path: Path, light: str, message: str) -> None:
    """A set in which nothing is deleted, or everything, teaches no choice; the first record is named."""
    examples = list(read_folder(write(tmp_path / "d", record(light=light), record("b", light=light))))
    with pytest.raises(DataError, match=rf"2 transcripts to learn from \(a, …\) are {message}"):
        learnable(examples)


def test_nothing_to_learn_from_is_refused() -> None:
    """All transcripts may be in the other two splits."""
    with pytest.raises(DataError, match="no transcript to learn from"):
        learnable([])
