"""A tiny random encoder and annotated transcripts, built on the spot."""

import json
import shutil
from pathlib import Path

import pytest

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


@pytest.fixture(scope="session")
def annotated_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve short transcripts in English and eight in Chinese, with the labels that an annotator would give."""
    folder = tmp_path_factory.mktemp("annotated")
    records = [_english(n) for n in range(12)] + [_chinese(n) for n in range(8)]
    lines = (json.dumps(record, ensure_ascii=False) for record in records)
    (folder / "all.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def _english(number: int) -> dict[str, object]:
    return {
        "id": f"en-{number}",
        "lang": "en",
        "source": "written for this project",
        "turns": [
            {
                "role": "user",
                "speaker": None,
                "text": f"Hi there! Um, can Dr. Vane see me on {number + 1} June?",
                "light": f"can Dr. Vane see me on {number + 1} June?",
                "tight": f"can Dr. Vane see me {number + 1} June?",
            },
            {
                "role": "assistant",
                "speaker": None,
                "text": "Well, thank you so much. Dr. Vane is not in then, only Mr. Rao is.",
                "light": "Dr. Vane is not in then, only Mr. Rao is.",
                "tight": "Dr. Vane not in, only Mr. Rao.",
            },
        ],
        "entities": ["Dr. Vane", "Mr. Rao"],
        "intents": [{"turn": 0, "text": f"Um, can Dr. Vane see me on {number + 1} June?", "kind": "question"}],
    }


def _chinese(number: int) -> dict[str, object]:
    return {
        "id": f"zh-{number}",
        "lang": "zh",
        "source": "written for this project",
        "turns": [
            {
                "role": "user",
                "speaker": None,
                "text": f"你好，嗯，孔令秋的押金 {number + 3} 号能退吗？",
                "light": f"孔令秋的押金 {number + 3} 号能退吗？",
                "tight": f"孔令秋押金 {number + 3} 号能退吗？",
            }
        ],
        "entities": ["孔令秋"],
        "intents": [{"turn": 0, "text": f"孔令秋的押金 {number + 3} 号能退吗？", "kind": "question"}],
    }
