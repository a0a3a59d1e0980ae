"""One tiny run: train, export, evaluate, write the card, score."""

import json
from pathlib import Path

import numpy as np
import pytest

from compressor.errors import ModelError
from compressor.scoring.classifier import ClassifierScorer, language
from compressor.scoring.encoding import TurnEncoder
from compressor.transcript import Turn
from compressor.words import Word, segment_text
from training.card import card
from training.config import TrainingConfig
from training.corpora.annotated import read_folder
from training.evaluate import evaluate
from training.export import export
from training.splits import Splits, make_splits, write_splits
from training.train import load, train


@pytest.fixture(scope="module")
def splits(annotated_folder: Path) -> Splits:
    """Splits of the tiny corpus."""
    return make_splits(list(read_folder(annotated_folder)))


@pytest.fixture(scope="module")
def model(
    annotated_folder: Path, encoder_folder: Path, splits: Splits, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """A model folder, trained and exported."""
    out = tmp_path_factory.mktemp("run")
    write_splits(splits, out / "splits.json")
    config = TrainingConfig(
        name="tiny",
        base=str(encoder_folder),
        epochs=20,
        batch_subwords=512,
        learning_rate=3e-3,
        head_learning_rate=3e-2,
        lower=0.1,
        forget_role=0.1,
        average=2,
        bfloat16=False,
        threads=1,
    )
    material = load(TurnEncoder(encoder_folder / "tokenizer.json"), [annotated_folder], None, out / "splits.json")
    final = train(config, material, encoder_folder, out)
    dev = splits.select(read_folder(annotated_folder), "dev")
    table = export(final, out / "model", dev, "blocks8-32", ["float32", "dynamic8"])
    assert table["float32"]["largest_difference"] < 1e-3
    assert table["blocks8-32"]["largest_difference"] < 0.1
    losses = [json.loads(line).get("loss") for line in (out / "log.jsonl").read_text().splitlines()]
    assert losses[0] is None
    return out / "model"


def words_of(turn: Turn) -> list[Word]:
    """The words of one turn."""
    return [Word(0, start, end) for start, end in segment_text(turn.text)]


def test_a_trained_model_is_measured_and_described(model: Path, annotated_folder: Path, splits: Splits) -> None:
    """It learned the tiny corpus, and the card names every head."""
    scorer = ClassifierScorer.from_folder(model)
    numbers = evaluate(scorer, splits.select(read_folder(annotated_folder), "test"))
    assert numbers["en"]["light"]["f1"] > 0.8
    text = card(scorer.config, {**json.loads((model / "metrics.json").read_text()), "test": numbers})
    assert all(f"`{head}`" in text for head in scorer.config.heads)


def test_company_changes_no_bit_of_a_score(model: Path) -> None:
    """Alone, in any batch, in any order, on any number of threads."""
    turns = [Turn("user", None, "word " * n + f"Ann {n} 你好。") for n in (0, 1, 5, 40, 400, 3, 0)] + [
        Turn("tool", None, "x y"),
        Turn(),
    ]
    together = ClassifierScorer.from_folder(model, threads=4).score(turns, [words_of(turn) for turn in turns])
    scorer = ClassifierScorer.from_folder(model, threads=1)
    for turn, found in zip(turns, together, strict=True):
        (alone,) = scorer.score([turn], [words_of(turn)])
        for head in scorer.config.heads:
            np.testing.assert_array_equal(getattr(found, head), getattr(alone, head))


def test_verbatim_and_empty_turns_are_not_run(model: Path) -> None:
    """They are kept and protected by no head."""
    scorer = ClassifierScorer.from_folder(model)
    turns = [Turn("system", None, "Never lie."), Turn("user", None, ""), Turn("user", None, " \n")]
    system, empty, blank = scorer.score(turns, [words_of(turn) for turn in turns])
    assert system.light.tolist() == system.tight.tolist() == [1, 1, 1]
    assert system.entity.tolist() == system.pin.tolist() == [0, 0, 0]
    assert len(empty.light) == len(blank.light) == 0


def test_torch_and_onnx_agree(model: Path) -> None:
    """The same turn through both backends, within what 8-bit weights cost."""
    turn = Turn("user", None, "Um, can Dr. Vane see me on 3 June? 押金 3 号能退吗？")
    onnx, torch = (
        ClassifierScorer.from_folder(model, backend=name).score([turn], [words_of(turn)])[0]  # type: ignore[arg-type]
        for name in ("onnx", "torch")
    )
    np.testing.assert_allclose(onnx.light, torch.light, atol=0.1)


def test_training_twice_gives_the_same_weights(
    annotated_folder: Path, encoder_folder: Path, splits: Splits, tmp_path: Path
) -> None:
    """Everything random has a seed."""
    write_splits(splits, tmp_path / "splits.json")
    config = TrainingConfig(name="twice", base="", epochs=1, batch_subwords=512, bfloat16=False, threads=1, lower=0.5)
    encoder = TurnEncoder(encoder_folder / "tokenizer.json")
    material = load(encoder, [annotated_folder], None, tmp_path / "splits.json")
    one, two = (train(config, material, encoder_folder, tmp_path / name) / "model.safetensors" for name in "ab")
    assert one.read_bytes() == two.read_bytes()


@pytest.mark.parametrize(
    ("key", "value", "named"),
    [
        ("segmentation", "0", "segmentation"),
        ("heads", ["light"], "heads"),
        ("format", 9, "format"),
        ("stride", 256, "stride"),
    ],
)
def test_a_model_that_does_not_fit_is_refused(model: Path, tmp_path: Path, key: str, value: object, named: str) -> None:
    """The error names what is wrong and the file."""
    record = json.loads((model / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps({**record, key: value}))
    with pytest.raises(ModelError, match=named):
        ClassifierScorer.from_folder(tmp_path)


def test_a_missing_file_is_named(model: Path, tmp_path: Path) -> None:
    """Folder first, then config, tokenizer and weights."""
    with pytest.raises(ModelError, match="no model folder"):
        ClassifierScorer.from_folder(tmp_path / "nowhere")
    for name in ("config.json", "tokenizer.json", "model.onnx"):
        with pytest.raises(ModelError, match=name):
            ClassifierScorer.from_folder(tmp_path)
        (tmp_path / name).write_bytes((model / name).read_bytes())
    (tmp_path / "model.onnx").write_bytes(b"not a model")
    with pytest.raises(ModelError, match="onnxruntime cannot load"):
        ClassifierScorer.from_folder(tmp_path)


def test_language_of_a_text() -> None:
    """A few Han letters in English text leave it English."""
    assert language("The word 好 means good") == "en"
    assert language("我用 iPhone 打电话") == "zh"
    assert language("123 !!") == "en"
