"""Near-duplicates stay in one part, and a list that parts them is refused."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from compressor.transcript import Transcript, Turn
from training.corpora.annotated import read_record
from training.examples import Example
from training.labelling.errors import LabelError
from training.labelling.validity import breaches, read_records
from training.splits import Splits, command, make_splits, near_duplicates, parted

SENTENCES = [
    "The crane at berth {n} lifts steel for the {name} line until the tide turns at noon.",
    "Nobody may walk below the load, and {name} has to sign before it moves.",
    "If the wind is above {n} knots, we stop and tell the harbour office.",
    "The invoice goes to the agent, not to the owner, within {n} days.",
    "Has the surveyor seen hold two, or only the pictures of the damage?",
]
CHINESE = "{name}号泊位的吊机每天中午之前只卸钢材，超过{n}节的风必须停工，并且通知港务办公室，账单寄给代理而不是船东。理货员没有签字之前谁也不能开舱，潮水退了以后再约下一班。"


def example(id_: str, text: str, lang: str = "en", role: str = "speaker") -> Example:
    """A transcript of one turn from which nothing was cut."""
    turn = {"role": role, "speaker": None, "text": text, "light": text, "tight": text}
    return read_record({"id": id_, "lang": lang, "turns": [turn], "entities": [], "intents": []})


def own(number: int) -> str:
    """A text that shares nothing with the others."""
    return " ".join(f"w{number}x{place}" for place in range(60))


def letter(n: int, name: str) -> str:
    """The same letter with other figures and names."""
    return " ".join(SENTENCES).format(n=n, name=name)


def test_versions_of_one_text_are_near_duplicates() -> None:
    """Other names and figures, another case, an extract of it, in both languages; other texts are not."""
    texts = [letter(4, "Harrow"), letter(9, "Oakham").upper(), " ".join(SENTENCES[:3]).format(n=1, name="Ely"), own(1)]
    examples = [example(f"a{n}", text) for n, text in enumerate(texts)]
    examples += [example(f"z{n}", CHINESE.format(n=n, name=name), "zh") for n, name in ((3, "一"), (5, "二"))]
    found = {(pair.first, pair.second) for pair in near_duplicates(examples)}
    assert found == {("a0", "a1"), ("a0", "a2"), ("a1", "a2"), ("z3", "z5")}


def test_short_texts_are_near_duplicates_only_as_copies() -> None:
    """`Where is my order 7?` says what such chats say."""
    texts = ["Hi, where is my order 7?", "hi where is my order 7", "Hi, where is my order 8?", ""]
    examples = [example(f"a{n}", text) for n, text in enumerate(texts)]
    assert [(pair.first, pair.second) for pair in near_duplicates(examples)] == [("a0", "a1")]


def test_a_common_preamble_is_no_likeness() -> None:
    """Turns of the system are not learned from, so that they may be the same everywhere."""
    preamble = letter(1, "Harrow")
    records = []
    for number in range(3):
        turns = [
            {"role": role, "speaker": None, "text": text, "light": text, "tight": text}
            for role, text in (("system", preamble), ("user", own(number)))
        ]
        records.append(read_record({"id": f"a{number}", "lang": "en", "turns": turns, "entities": [], "intents": []}))
    assert near_duplicates(records) == []


def test_near_duplicates_are_in_one_part() -> None:
    """Whatever the seed; a chain counts as one."""
    examples = [example(f"a{n}", letter(n, f"Mill{n}")) for n in range(6)] + [
        example(f"b{n}", own(n)) for n in range(30)
    ]
    parts = set()
    for seed in range(12):
        splits = make_splits(examples, seed, share=0.2)
        assert parted(near_duplicates(examples), splits) == []
        assert not splits.dev & splits.test
        parts.add(splits.part("a0"))
    assert parts == {"train", "dev", "test"}


def test_many_copies_are_still_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A text that more transcripts hold than are compared with each other is still one group."""
    monkeypatch.setattr("training.splits.COMMON", 10)
    examples = [example(f"a{n:02d}", letter(3, "Harrow")) for n in range(40)] + [
        example(f"b{n}", own(n)) for n in range(20)
    ]
    for seed in range(5):
        splits = make_splits(examples, seed, share=0.3)
        assert len({splits.part(f"a{n:02d}") for n in range(40)}) == 1


@pytest.fixture
def splits_command(tmp_path: Path) -> Callable[..., Result]:
    """The command over two near-duplicates and eight other texts."""
    texts = {"a0": letter(1, "Harrow"), "a1": letter(2, "Oakham")} | {f"b{n}": own(n) for n in range(8)}
    lines = []
    for id_, text in texts.items():
        turn = {"role": "speaker", "speaker": None, "text": text, "light": text, "tight": text}
        lines.append(json.dumps({"id": id_, "lang": "en", "turns": [turn], "entities": [], "intents": []}))
    (tmp_path / "data.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")

    def run(*arguments: str, code: int) -> Result:
        out = tmp_path / "splits.json"
        result = CliRunner().invoke(command, ["--data", str(tmp_path / "data.jsonl"), "--out", str(out), *arguments])
        assert result.exit_code == code, result.output
        return result

    return run


def test_a_list_that_parts_near_duplicates_fails(splits_command: Callable[..., Result], tmp_path: Path) -> None:
    """The pair is named with its parts; what the command draws itself passes its own check."""
    (tmp_path / "splits.json").write_text(json.dumps({"dev": ["a0"], "test": ["b1"]}), encoding="utf-8")
    result = splits_command("--check", code=1)
    assert "LEAK: a0 (dev) and a1 (train) share" in result.output
    assert json.loads((tmp_path / "splits.json").read_text(encoding="utf-8"))["dev"] == ["a0"]
    splits_command(code=0)
    splits_command("--check", code=0)


def test_a_file_that_is_no_list_is_refused(splits_command: Callable[..., Result], tmp_path: Path) -> None:
    """None at all, or one without the keys."""
    assert "no list of splits" in splits_command("--check", code=1).output
    (tmp_path / "splits.json").write_text("[]", encoding="utf-8")
    assert "no list of splits" in splits_command("--check", code=1).output


def test_the_part_of_an_id() -> None:
    """Everything that is not listed is for training."""
    splits = Splits(frozenset({"a"}), frozenset({"b"}))
    assert [splits.part(id_) for id_ in "abc"] == ["dev", "test", "train"]


def test_the_transcripts_in_the_repository_are_sound() -> None:
    """No breach of the format, no near-duplicate even at a tenth."""
    folder = Path(__file__).resolve().parents[3] / "training" / "data" / "synthetic"
    places = list(read_records([folder]))
    assert len(places) == 228
    examples = []
    for where, record in places:
        assert not isinstance(record, LabelError)
        assert breaches(where, record) == []
        transcript = Transcript(tuple(Turn(turn["role"], None, turn["text"]) for turn in record["turns"]))
        examples.append(Example(record["id"], record["lang"], "synthetic", transcript, (), ()))
    assert near_duplicates(examples, 0.1) == []
