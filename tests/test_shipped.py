"""The shipped models: batches, parity with torch, quality not below their metrics, and real transcripts."""

import json
import tomllib
from pathlib import Path

import numpy as np
import pytest

from compressor import Compressor, Transcript, Turn
from compressor.scoring import Scores
from compressor.scoring.classifier import ClassifierScorer
from compressor.scoring.weights import SHIPPED, model_folder
from compressor.words import by_turn, segment

ROOT = Path(__file__).resolve().parents[1]
LABELLED = sorted((ROOT / "training" / "data" / "synthetic").glob("*.jsonl"))
EXAMPLES = ROOT / "notebooks" / "examples"


def labelled(paths: list[Path], first: int = 1) -> list[dict[str, object]]:
    """The first records of some files."""
    return [json.loads(line) for path in paths for line in path.read_text(encoding="utf-8").splitlines()[:first]]


def turns_of(record: dict[str, object]) -> list[Turn]:
    return [Turn(turn["role"], turn["speaker"], turn["text"]) for turn in record["turns"]]  # type: ignore[attr-defined]


def score(scorer: ClassifierScorer, turns: list[Turn]) -> list[Scores]:
    transcript = Transcript(turns)
    return scorer.score(turns, by_turn(transcript, segment(transcript)))


@pytest.fixture(scope="module")
def turns() -> list[Turn]:
    """Some sixty turns of both languages."""
    return [turn for record in labelled([LABELLED[0], LABELLED[20], LABELLED[-1]], 2) for turn in turns_of(record)]


@pytest.fixture(scope="module", params=SHIPPED)
def name(request: pytest.FixtureRequest) -> str:
    """Each shipped model."""
    return str(request.param)


@pytest.fixture(scope="module")
def scorer(name: str) -> ClassifierScorer:
    """That model, loaded once."""
    return ClassifierScorer.from_folder(name)


def test_batch_mates_change_no_decision(name: str, scorer: ClassifierScorer, turns: list[Turn]) -> None:
    """Alone, among others, in another order and on one thread: the same scores to the last bit."""
    alone = [score(scorer, [turn])[0] for turn in turns]
    together = score(scorer, turns)
    backwards = score(ClassifierScorer.from_folder(name, threads=1), turns[::-1])[::-1]
    for one, other, third in zip(alone, together, backwards, strict=True):
        for head in ("light", "tight", "entity", "pin"):
            assert np.array_equal(getattr(one, head), getattr(other, head))
            assert np.array_equal(getattr(one, head), getattr(third, head))


@pytest.mark.slow
def test_torch_and_onnx_agree(turns: list[Turn]) -> None:
    """Eight-bit weights change few decisions of the float ones: at most the share that the model card states, doubled."""
    pytest.importorskip("torch")
    onnx = score(ClassifierScorer.from_folder("default"), turns)
    torch = score(ClassifierScorer.from_folder("default", backend="torch"), turns)
    scorer = ClassifierScorer.from_folder("default")
    thresholds = [scorer.thresholds(turn) for turn in turns]
    for head, share in (("light", 0.015), ("tight", 0.025), ("entity", 0.01), ("pin", 0.01)):
        changed = [
            (getattr(one, head) >= limits[head]) != (getattr(other, head) >= limits[head])
            for one, other, limits in zip(onnx, torch, thresholds, strict=True)
        ]
        assert float(np.concatenate(changed).mean()) <= share, head


@pytest.mark.slow
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_quality_is_not_below_the_metrics(name: str, scorer: ClassifierScorer, lang: str) -> None:
    """F1 of `light` on labelled test transcripts, within sampling error of the figure in metrics.json."""
    from training.corpora.annotated import read_record
    from training.metrics import f1

    test = set(json.loads((ROOT / "training" / "data" / "splits.json").read_text(encoding="utf-8"))["test"])
    records = [record for record in labelled(LABELLED, 99) if record["id"] in test and record["lang"] == lang]
    targets, found = [], []
    for example in map(read_record, records):
        turns = list(example.transcript.turns)
        for turn, labels, scores in zip(turns, example.labels, score(scorer, turns), strict=True):
            targets.append(labels[:, 0] >= 0.5)
            found.append(scores.light >= scorer.thresholds(turn)["light"])
    metrics = json.loads((model_folder(name) / "metrics.json").read_text(encoding="utf-8"))
    assert f1(np.concatenate(targets), np.concatenate(found)) >= metrics["test"][lang]["light"]["f1"] - 0.02


def test_every_shipped_model_is_complete_and_in_the_package() -> None:
    """Each file that a user needs of each model is in the folder, and named for the wheel."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    packed = project["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    wanted = {
        f"models/{name}/{file}"
        for name in SHIPPED
        for file in ("README.md", "config.json", "metrics.json", "model.onnx", "tokenizer.json")
    }
    assert set(packed) == wanted
    assert all((ROOT / path).is_file() for path in wanted)


def test_the_fast_model_is_as_good_as_promised() -> None:
    """Half of the layers, the same tokenizer, and F1 on the same test split within 0.7 points of the default's."""
    default, fast = (
        json.loads((model_folder(name) / "metrics.json").read_text(encoding="utf-8")) for name in ("default", "fast")
    )
    for lang in ("en", "zh"):
        assert fast["test"][lang]["words"] == default["test"][lang]["words"]
        for head in ("light", "tight"):
            assert fast["test"][lang][head]["f1"] >= default["test"][lang][head]["f1"] - 0.007, (lang, head)
    one, other = (model_folder(name) / "tokenizer.json" for name in ("default", "fast"))
    assert one.read_bytes() == other.read_bytes()


@pytest.mark.parametrize("file", ["warranty_call.txt", "agent_chat.json"])
@pytest.mark.parametrize(
    "options", [{}, {"preset": "tight"}, {"keep_ratio": 0.5}, {"max_tokens": 100, "floor": "masks"}]
)
def test_examples_keep_the_promises(scorer: ClassifierScorer, file: str, options: dict[str, object]) -> None:
    """Real transcripts pass their own check at every setting, and get shorter."""
    from compressor.formats import read_file

    result = Compressor(scorer).compress(read_file(EXAMPLES / file), keep_last=0, **options)
    result.verify()
    assert result.report.tokens_after < 0.85 * result.report.tokens_before


def test_facts_of_the_example_call_survive(shipped: Compressor) -> None:
    """What the call was about is still there, word for word; courtesy is not."""
    text = shipped.compress((EXAMPLES / "warranty_call.txt").read_text(encoding="utf-8")).text
    for fact in (
        "Norda 450", "HA-220914", "E24", "only on the long programme", '"parts and labour for 24 months, except the pump and the hose"',
        "not covered after 12 months", "64 euros", "it may go up to 80", "unless it's under 90 euros", "I can't do mornings",
        "not this Thursday", "Friday 12 June between 2 and 5", "I can't promise that it will be Piet", "must not be switched off",
    ):  # fmt: skip
        assert fact in text, fact
    for filler in ("bear with me", "Great stuff", "wonderful rest of your day", "let me think"):
        assert filler not in text, filler


def test_release_filler_lets_courtesy_go(shipped: Compressor) -> None:
    """Modals in pure courtesy go on request, and are listed; the same words with force stay."""
    chat = [
        {"role": "user", "content": "Is the fee refundable?"},
        {
            "role": "assistant",
            "content": "No, it may not be refunded. You're welcome, no problem at all, have a lovely day!",
        },
        {"role": "user", "content": "ok"},
        {"role": "assistant", "content": "You're welcome, no problem at all, have a lovely day!"},
    ]
    kept = shipped.compress(chat, keep_last=0)
    released = shipped.compress(chat, keep_last=0, release_filler=True)
    assert "no problem" in kept.messages[3]["content"]
    assert (3, "no") in released.report.released
    assert "no problem" not in released.messages[3]["content"]
    assert "may not be refunded" in released.messages[1]["content"]
