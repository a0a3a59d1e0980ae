"""One tiny run: train, export, evaluate, write the card, score."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from compressor.errors import ModelError
from compressor.scoring.classifier import ClassifierScorer, language
from compressor.scoring.encoding import TurnEncoder
from compressor.transcript import Turn
from compressor.words import Word, segment_text
from training.card import card
from training.config import TrainingConfig
from training.corpora.annotated import read_folder
from training.evaluate import evaluate
from training.loop import train
from training.sources import Sources, gather
from training.splits import Splits
from training.train import material, start


def words_of(turn: Turn) -> list[Word]:
    """The words of one turn."""
    return [Word(0, start, end) for start, end in segment_text(turn.text)]


def test_a_trained_model_is_measured_and_described(trained_model: Path, annotated_folder: Path, splits: Splits) -> None:
    """It learned the tiny corpus, and the card names every head."""
    scorer = ClassifierScorer.from_folder(trained_model)
    numbers = evaluate(scorer, splits.select(read_folder(annotated_folder), "test"))
    assert numbers["en"]["light"]["f1"] > 0.8
    text = card(scorer.config, {**json.loads((trained_model / "metrics.json").read_text()), "test": numbers})
    assert all(f"`{head}`" in text for head in scorer.config.heads)


def test_company_changes_no_bit_of_a_score(trained_model: Path) -> None:
    """Alone, in any batch, in any order, on any number of threads."""
    turns = [Turn("user", None, "word " * n + f"Ann {n} 你好。") for n in (0, 1, 5, 40, 400, 3, 0)] + [
        Turn("tool", None, "x y"),
        Turn(),
    ]
    together = ClassifierScorer.from_folder(trained_model, threads=4).score(turns, [words_of(turn) for turn in turns])
    scorer = ClassifierScorer.from_folder(trained_model, threads=1)
    for turn, found in zip(turns, together, strict=True):
        (alone,) = scorer.score([turn], [words_of(turn)])
        for head in scorer.config.heads:
            np.testing.assert_array_equal(getattr(found, head), getattr(alone, head))


def test_verbatim_and_empty_turns_are_not_run(trained_model: Path) -> None:
    """They are kept and protected by no head."""
    scorer = ClassifierScorer.from_folder(trained_model)
    turns = [Turn("system", None, "Never lie."), Turn("user", None, ""), Turn("user", None, " \n")]
    system, empty, blank = scorer.score(turns, [words_of(turn) for turn in turns])
    assert system.light.tolist() == system.tight.tolist() == [1, 1, 1]
    assert system.entity.tolist() == system.pin.tolist() == [0, 0, 0]
    assert len(empty.light) == len(blank.light) == 0


def test_torch_and_onnx_agree(trained_model: Path) -> None:
    """The same turn through both backends, within what 8-bit weights cost."""
    turn = Turn("user", None, "Um, can Dr. Vane see me on 3 June? 押金 3 号能退吗？")
    onnx, torch = (
        ClassifierScorer.from_folder(trained_model, backend=name).score([turn], [words_of(turn)])[0]  # type: ignore[arg-type]
        for name in ("onnx", "torch")
    )
    np.testing.assert_allclose(onnx.light, torch.light, atol=0.1)


def test_training_twice_gives_the_same_weights(annotated_folder: Path, encoder_folder: Path, tmp_path: Path) -> None:
    """Everything random has a seed."""
    config = TrainingConfig(name="twice", base="", epochs=1, batch_subwords=512, bfloat16=False, threads=1, lower=0.5)
    corpus = gather(Sources((annotated_folder,)))

    def once(out: Path) -> bytes:
        model, folder = start(str(encoder_folder), config.dropout)
        learned = material(config, TurnEncoder(folder / "tokenizer.json"), corpus)
        return (train(config, learned, model, folder, out) / "model.safetensors").read_bytes()

    assert once(tmp_path / "a") == once(tmp_path / "b")


def test_a_run_starts_from_a_trained_model_with_its_heads(trained_model: Path) -> None:
    """Before the first step the network says what the model says."""
    network, folder = start(str(trained_model), 0.0)
    assert folder == trained_model
    ids = torch.arange(5, 25)[None]
    here = network.eval()(ids, torch.ones_like(ids), torch.zeros_like(ids)).detach().numpy()
    backend = ClassifierScorer.from_folder(trained_model, backend="torch")._backend
    there = backend(ids.numpy(), np.ones((1, 20), dtype=np.int64), np.zeros((1, 20), dtype=np.int64))
    np.testing.assert_allclose(here, there, atol=1e-5)


def test_a_model_of_another_segmentation_is_no_start(trained_model: Path, tmp_path: Path) -> None:
    """Fine-tuning it would mix two kinds of words."""
    record = json.loads((trained_model / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps({**record, "segmentation": "0"}))
    with pytest.raises(ModelError, match="segmentation"):
        start(str(tmp_path), 0.0)


@pytest.mark.parametrize(
    ("key", "value", "named"),
    [
        ("segmentation", "0", "segmentation"),
        ("heads", ["light"], "heads"),
        ("format", 9, "format"),
        ("stride", 256, "stride"),
    ],
)
def test_a_model_that_does_not_fit_is_refused(
    trained_model: Path, tmp_path: Path, key: str, value: object, named: str
) -> None:
    """The error names what is wrong and the file."""
    record = json.loads((trained_model / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps({**record, key: value}))
    with pytest.raises(ModelError, match=named):
        ClassifierScorer.from_folder(tmp_path)


def test_a_missing_file_is_named(trained_model: Path, tmp_path: Path) -> None:
    """Folder first, then config, tokenizer and weights."""
    with pytest.raises(ModelError, match="no model folder"):
        ClassifierScorer.from_folder(tmp_path / "nowhere")
    for name in ("config.json", "tokenizer.json", "model.onnx"):
        with pytest.raises(ModelError, match=name):
            ClassifierScorer.from_folder(tmp_path)
        (tmp_path / name).write_bytes((trained_model / name).read_bytes())
    (tmp_path / "model.onnx").write_bytes(b"not a model")
    with pytest.raises(ModelError, match="onnxruntime cannot load"):
        ClassifierScorer.from_folder(tmp_path)


def test_language_of_a_text() -> None:
    """A few Han letters in English text leave it English."""
    assert language("The word 好 means good") == "en"
    assert language("我用 iPhone 打电话") == "zh"
    assert language("123 !!") == "en"
