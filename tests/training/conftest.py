"""A tiny random encoder and annotated transcripts, built on the spot."""

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from compressor.scoring.encoding import TurnEncoder
    from training.splits import Splits

torch = pytest.importorskip("torch")
pytest.importorskip("onnx")
pytest.importorskip("safetensors")

HIDDEN, LAYERS, INNER, POSITIONS = 32, 2, 64, 256


@pytest.fixture(scope="session")
def encoder_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A BERT of two layers with random weights, under the names of transformers, and the shipped tokenizer."""
    from safetensors.torch import save_file

    from compressor.scoring.weights import model_folder

    folder = tmp_path_factory.mktemp("encoder")
    tokenizer = model_folder("default") / "tokenizer.json"
    shutil.copyfile(tokenizer, folder / "tokenizer.json")
    vocabulary = len(json.loads(tokenizer.read_text(encoding="utf-8"))["model"]["vocab"])
    config = {
        "vocab_size": vocabulary,
        "hidden_size": HIDDEN,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": 2,
        "intermediate_size": INNER,
        "max_position_embeddings": POSITIONS,
        "type_vocab_size": 2,
    }
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    torch.manual_seed(0)
    shapes = {
        "embeddings.word_embeddings.weight": (vocabulary, HIDDEN),
        "embeddings.position_embeddings.weight": (POSITIONS, HIDDEN),
        "embeddings.token_type_embeddings.weight": (2, HIDDEN),
    }
    for layer in range(LAYERS):
        at = f"encoder.layer.{layer}"
        for name, rows, columns in (
            ("attention.self.query", HIDDEN, HIDDEN),
            ("attention.self.key", HIDDEN, HIDDEN),
            ("attention.self.value", HIDDEN, HIDDEN),
            ("attention.output.dense", HIDDEN, HIDDEN),
            ("intermediate.dense", INNER, HIDDEN),
            ("output.dense", HIDDEN, INNER),
        ):
            shapes[f"{at}.{name}.weight"] = (rows, columns)
    state = {
        name: torch.randn(shape) * (1.0 if len(shape) == 2 and "embed" in name else 0.2)
        for name, shape in shapes.items()
    }
    state.update(
        {name.replace("weight", "bias"): torch.zeros(shape[0]) for name, shape in shapes.items() if "encoder" in name}
    )
    norms = ["embeddings", *(f"encoder.layer.{n}.{part}output" for n in range(LAYERS) for part in ("attention.", ""))]
    for norm in norms:
        state[f"{norm}.LayerNorm.weight"] = torch.ones(HIDDEN)
        state[f"{norm}.LayerNorm.bias"] = torch.zeros(HIDDEN)
    save_file(state, folder / "model.safetensors")
    return folder


ENGLISH = (
    ("Dr. Vane", "see me about the swollen knee", "away on call"),
    ("Mr. Rao", "send somebody for our boiler", "booked out already"),
    ("Ms. Okafor", "sign these two lease papers", "in court all day"),
    ("Captain Lind", "load forty crates of oranges", "still at sea"),
    ("Mrs. Petrov", "teach nine beginners the waltz", "ill since Sunday"),
    ("Judge Amadi", "hear this appeal without witnesses", "not sitting then"),
    ("Sister Noor", "change that dressing at home", "off duty until noon"),
    ("Chef Marlowe", "cook for seventy hungry cyclists", "closed for repairs"),
    ("Professor Quist", "mark my thesis on beetles", "lecturing in Turku"),
    ("Sergeant Bell", "return the bicycle she found", "no longer there"),
    ("Father Ilic", "bless both boats before sunrise", "travelling by train"),
    ("Nurse Tamsin", "weigh the twins once more", "only back by night"),
)
"""Who is asked, for what, and why it cannot be: no two alike, as near-duplicates would count as one transcript."""

CHINESE = (
    ("孔令秋", "的押金三号能退吗"),
    ("白玉堂", "明早六点可以来装空调吗"),
    ("苏慕云", "那两张火车票还改得了吗"),
    ("陈阿水", "卖的螃蟹多少钱一斤呢"),
    ("林小满", "什么时候把钢琴搬走呀"),
    ("顾长风", "写的合同谁来盖章"),
    ("沈月华", "住院要带身份证原件吗"),
    ("赵铁柱", "修屋顶得花几个工作日"),
)


@pytest.fixture(scope="session")
def annotated_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve short transcripts in English and eight in Chinese, with the labels that an annotator would give."""
    folder = tmp_path_factory.mktemp("annotated")
    records = [_english(n) for n in range(len(ENGLISH))] + [_chinese(n) for n in range(len(CHINESE))]
    lines = (json.dumps(record, ensure_ascii=False) for record in records)
    (folder / "all.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def splits(annotated_folder: Path) -> "Splits":
    """Splits of the tiny corpus."""
    from training.corpora.annotated import read_folder
    from training.splits import make_splits

    return make_splits(list(read_folder(annotated_folder)))


@pytest.fixture(scope="session")
def run_folder(
    annotated_folder: Path, encoder_folder: Path, splits: "Splits", tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """A finished run on the tiny corpus, started from the tiny encoder."""
    from training import provenance
    from training.config import TrainingConfig
    from training.loop import train
    from training.sources import Sources, gather
    from training.splits import write_splits
    from training.train import material, start

    out = tmp_path_factory.mktemp("run")
    write_splits(splits, out / "listed.json")
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
    model, folder = start(config.base, config.dropout)
    sources = Sources((annotated_folder,), None, out / "listed.json")
    corpus = gather(sources)
    record = provenance.describe("train", config, folder, sources, corpus)
    train(config, material(config, encoder_of(folder), corpus), model, folder, out)
    provenance.write_run(out, record, sources, corpus)
    return out


@pytest.fixture(scope="session")
def trained_model(
    run_folder: Path, annotated_folder: Path, splits: "Splits", tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """A model folder, exported from that run."""
    from training import provenance
    from training.corpora.annotated import read_folder
    from training.export import export

    folder = tmp_path_factory.mktemp("models") / "tiny"
    dev = splits.select(read_folder(annotated_folder), "dev")
    table = export(run_folder / "final", folder, dev, "blocks8-32", ["float32", "dynamic8"])
    assert table["float32"]["largest_difference"] < 1e-3
    assert table["blocks8-32"]["largest_difference"] < 0.1
    provenance.copy(run_folder, folder)
    return folder


def encoder_of(folder: Path) -> "TurnEncoder":
    """The turn encoder of a model's or an encoder's folder."""
    from compressor.scoring.encoding import TurnEncoder

    return TurnEncoder(folder / "tokenizer.json")


def _english(number: int) -> dict[str, object]:
    name, wish, why = ENGLISH[number]
    return {
        "id": f"en-{number}",
        "lang": "en",
        "source": "written for this project",
        "turns": [
            {
                "role": "user",
                "speaker": None,
                "text": f"Hi there! Um, can {name} {wish} on {number + 1} June?",
                "light": f"can {name} {wish} on {number + 1} June?",
                "tight": f"can {name} {wish} {number + 1} June?",
            },
            {
                "role": "assistant",
                "speaker": None,
                "text": f"Well, thank you so much. {name} is {why}, I believe.",
                "light": f"{name} is {why}.",
                "tight": f"{name} {why}.",
            },
        ],
        "entities": [name],
        "intents": [{"turn": 0, "text": f"Um, can {name} {wish} on {number + 1} June?", "kind": "question"}],
    }


def _chinese(number: int) -> dict[str, object]:
    name, wish = CHINESE[number]
    return {
        "id": f"zh-{number}",
        "lang": "zh",
        "source": "written for this project",
        "turns": [
            {
                "role": "user",
                "speaker": None,
                "text": f"你好，嗯，{name}{wish}？",
                "light": f"{name}{wish}？",
                "tight": f"{name}{wish}？",
            }
        ],
        "entities": [name],
        "intents": [{"turn": 0, "text": f"{name}{wish}？", "kind": "question"}],
    }
