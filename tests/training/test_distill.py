"""Teaching a student: its layers, what the teacher says and how that is remembered, public transcripts, one run."""

import json
import tarfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from compressor.scoring.classifier import ClassifierScorer
from compressor.scoring.weights import read_config as read_model_config
from compressor.words import Word
from tests.training.conftest import encoder_of
from training.config import Teaching, TrainingConfig
from training.corpora.annotated import read_folder
from training.corpora.plain import unlabelled, written
from training.corpora.public import apart, read_public, sample
from training.distill import material
from training.errors import ConfigError
from training.examples import Example
from training.loop import train
from training.model import from_model
from training.sources import Sources, gather
from training.teacher import Teacher, blend, only_confident


@pytest.fixture(scope="module")
def examples(annotated_folder: Path) -> list[Example]:
    """The tiny corpus."""
    return list(read_folder(annotated_folder))


def test_a_student_begins_with_layers_of_the_teacher(trained_model: Path) -> None:
    """The first and the last of two; one alone is the first; embeddings and heads are the teacher's."""
    both, one = from_model(trained_model, 0.0, 2), from_model(trained_model, 0.0, 1)
    assert one.shape.layers == 1
    assert torch.equal(one.layers[0].up.weight, both.layers[0].up.weight)
    assert torch.equal(one.top.weight, both.top.weight)
    assert torch.equal(one.words.weight, both.words.weight)
    with pytest.raises(ConfigError, match=r"layers is 3, and .* has 2"):
        from_model(trained_model, 0.0, 3)


def test_the_teacher_says_what_the_scorer_says_and_remembers(
    trained_model: Path, examples: list[Example], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its labels are the scores of each turn; the second time no turn is run, also by another process."""
    labelled = Teacher(trained_model, tmp_path).label(examples)
    scorer = ClassifierScorer.from_folder(trained_model)
    for example in labelled:
        words = [[Word(at, a, b) for a, b in cut] for at, cut in enumerate(example.words)]
        for said, labels in zip(scorer.score(example.transcript.turns, words), example.labels, strict=True):
            np.testing.assert_allclose(labels[:, 0], said.light, atol=1e-3)
            np.testing.assert_allclose(labels[:, 3], said.pin, atol=1e-3)
    again = Teacher(trained_model, tmp_path)
    monkeypatch.setattr(ClassifierScorer, "score", None)
    for before, after in zip(labelled, again.label(examples), strict=True):
        for left, right in zip(before.labels, after.labels, strict=True):
            np.testing.assert_array_equal(left, right)


def test_what_a_kill_left_half_written_is_asked_again(
    trained_model: Path, examples: list[Example], tmp_path: Path
) -> None:
    """A draft is no memory."""
    Teacher(trained_model, tmp_path).label(examples[:1])
    (folder,) = tmp_path.iterdir()
    (folder / "00000009.tmp").write_bytes(b"PK half")
    assert len(Teacher(trained_model, tmp_path).label(examples)) == len(examples)


def test_labels_of_annotators_and_teacher_are_averaged(examples: list[Example]) -> None:
    """Where nobody annotated, the teacher's word alone counts; where it is unsure it may count for nothing."""
    hard = replace(examples[0], labels=(np.array([[1.0, np.nan, 0.0, 1.0]], dtype=np.float32),))
    soft = replace(examples[0], labels=(np.array([[0.5, 0.25, 0.5, 1.0]], dtype=np.float32),))
    (both,) = blend([hard], [soft], 0.5)
    np.testing.assert_allclose(both.labels[0], [[0.75, 0.25, 0.25, 1.0]])
    (sure,) = only_confident([soft], 0.25)
    np.testing.assert_array_equal(sure.labels[0], np.array([[np.nan, 0.25, np.nan, 1.0]], dtype=np.float32))


def test_public_text_that_is_judged_on_is_left_out(examples: list[Example]) -> None:
    """However it is punctuated or in upper case."""
    long = "the quick brown fox never jumps over more than nine lazy dogs at once"
    turn = examples[0].transcript.turns[0]
    judged = unlabelled("x", "judged", "en", [replace(turn, text=f"Well, {long.upper()}!")])
    copy = unlabelled("x", "copy", "en", [replace(turn, text=f"As I said: {long.replace(' ', ', ')}. Ok?")])
    other = unlabelled("x", "other", "en", [replace(turn, text="Nothing of the kind was ever said by anybody here.")])
    assert [example.id for example in apart([copy, other], [judged])] == ["x/other"]


def test_each_corpus_gives_as_much_as_it_can(examples: list[Example]) -> None:
    """A small one gives all, and what it lacks comes from the larger ones."""
    turn = examples[0].transcript.turns[0]

    def corpus(source: str, transcripts: int) -> list[Example]:
        turns = [replace(turn, text="four words of text") for _ in range(5)]
        return [unlabelled(source, str(n), "en", turns) for n in range(transcripts)]

    drawn = sample([*corpus("large", 100), *corpus("small", 3), *corpus("mid", 50)], 1200, 1)
    words = {name: sum(e.n_words for e in drawn if e.source == name) for name in ("small", "mid", "large")}
    assert words == {"small": 60, "mid": 560, "large": 580}
    assert sample([], 100, 1) == []


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ("So it 's , um , {pause} fine .", "So it's, um, fine."),
        ("Mm - hmm {disfmarker}", "Mm-hmm"),
        ("i do n't know", "i don't know"),
    ],
)
def test_tokenised_speech_is_written_as_people_do(raw: str, text: str) -> None:
    """Meetings come with spaces around their marks."""
    assert written(raw) == text


def test_public_archives_are_read_by_name(tmp_path: Path) -> None:
    """Those that are in the folder, each by its own reader; a missing one is no error."""
    dialogue = {"1": {"messages": [{"role": "usr", "content": "你好"}, {"role": "sys", "content": "推荐您去长城。"}]}}
    orders = [{"conversation_id": "o", "utterances": [{"speaker": "user", "text": "one latte"}]}]
    _archive(tmp_path / "crosswoz.tar.xz", {"crosswoz/val.json": dialogue})
    _archive(tmp_path / "taskmaster.tar.xz", {"taskmaster/TM-4-2024/data/data_00.json": orders})
    found = list(read_public(tmp_path))
    assert [(example.id, example.lang) for example in found] == [("taskmaster/o", "en"), ("crosswoz/1", "zh")]
    assert [turn.role for turn in found[1].transcript] == ["user", "assistant"]
    assert all(np.isnan(labels).all() for example in found for labels in example.labels)


def test_a_student_is_taught_in_one_run(trained_model: Path, annotated_folder: Path, tmp_path: Path) -> None:
    """One layer, with unlabelled transcripts: it learns to say what the teacher says, and fits the library."""
    config = TrainingConfig(
        name="student",
        base="tiny",
        epochs=25,
        batch_subwords=512,
        learning_rate=3e-3,
        head_learning_rate=1e-2,
        bfloat16=False,
        threads=1,
        teaching=Teaching(layers=1, public_words=500, public_words_an_epoch=250),
    )
    corpus = gather(Sources((annotated_folder,)))
    public = [replace(e, id=f"p{e.id}", labels=tuple(np.full_like(x, np.nan) for x in e.labels)) for e in corpus.own]
    teacher = Teacher(trained_model, tmp_path / "memory")
    learned = material(config, teacher, encoder_of(trained_model), corpus, public=public[:5])
    final = train(config, learned, from_model(trained_model, 0.1, 1), trained_model, tmp_path / "run")
    assert read_model_config(final).shape["layers"] == 1
    assert not [name for name in load_file(final / "model.safetensors") if name.startswith("layers.1.")]
    told = [json.loads(line) for line in (tmp_path / "run" / "log.jsonl").read_text().splitlines()]
    qualities = [record["quality"] for record in told if "quality" in record]
    assert qualities[-1] > qualities[0]
    student = ClassifierScorer.from_folder(final, backend="torch")
    (example,) = [example for example in corpus.own if example.id == "en-0"]
    words = [[Word(at, a, b) for a, b in cut] for at, cut in enumerate(example.words)]
    said = student.score(example.transcript.turns, words)[0]
    (wanted,) = teacher.label([example])
    assert np.abs(said.light - wanted.labels[0][:, 0]).mean() < 0.2


def test_distill_needs_its_table(trained_model: Path, annotated_folder: Path, tmp_path: Path) -> None:
    """A config for `train` is refused."""
    with pytest.raises(ConfigError, match=r"\[teaching\]"):
        material(
            TrainingConfig(name="x", base="y"),
            Teacher(trained_model, tmp_path),
            encoder_of(trained_model),
            gather(Sources((annotated_folder,))),
        )


def _archive(path: Path, files: dict[str, object]) -> None:
    folder = path.parent / "files"
    with tarfile.open(path, "w:xz") as tar:
        for name, value in files.items():
            folder.mkdir(exist_ok=True)
            (folder / "x").write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")
            tar.add(folder / "x", name)
