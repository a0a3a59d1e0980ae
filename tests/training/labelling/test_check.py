"""The look at labelled records: breaches of the format, what is kept, what to review."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from compressor.words import SEGMENTATION

Run = Callable[..., Result]
GOOD: dict[str, Any] = {
    "id": "a-1",
    "lang": "en",
    "turns": [
        {
            "role": "user",
            "speaker": None,
            "text": "Hi, can Dr. Vane see me? I can't come before 9.",
            "light": "can Dr. Vane see me? I can't come before 9.",
            "tight": "Dr. Vane see me? can't come before 9.",
        }
    ],
    "entities": ["Dr. Vane"],
    "intents": [{"turn": 0, "text": "I can't come before 9.", "kind": "constraint"}],
}


def changed(**fields: Any) -> dict[str, Any]:
    """The good record with other fields; those of its turn are given as `turn`."""
    turn = fields.pop("turn", {})
    return {**GOOD, **fields, **({"turns": [{**GOOD["turns"][0], **turn}]} if "turns" not in fields else {})}


def check(run: Run, tmp_path: Path, *found: Any, code: int) -> str:
    """What the command says of some records."""
    path = tmp_path / "mine.jsonl"
    path.write_text(
        "".join((one if isinstance(one, str) else json.dumps(one)) + "\n" for one in found), encoding="utf-8"
    )
    return run("--check", path, "--scorer", "none", code=code).output


def test_good_records_pass(run: Run, tmp_path: Path) -> None:
    """And what is kept is said by role."""
    output = check(run, tmp_path, GOOD, changed(id="a-2"), code=0)
    assert "every record keeps to the format" in output
    assert "2 records: 2 en" in output
    assert "user" in output


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        ("{not json", "no JSON"),
        ("[1]", "allowed: a JSON object"),
        (changed(id=""), '"id" is'),
        (changed(lang="de"), '"lang" is'),
        (changed(turns=[]), '"turns" is missing or empty'),
        (changed(turns=["x"]), "turn 0 is str"),
        (changed(turn={"light": None}), '"light" is None'),
        (changed(turn={"light": "could Dr. Vane see me?"}), "does not fit"),
        (changed(turn={"light": "could Dr. Vane see me?"}), "'could Dr. Vane"),
        (changed(turn={"tight": "Hi, Dr. Vane"}), '"tight" is not "light" with words deleted'),
        (changed(entities=["Dr. Vane", "Mr. Rao"]), "no turn holds the entity 'Mr. Rao'"),
        (changed(entities="Dr. Vane"), '"entities" is str'),
        (changed(intents=[{"turn": 3, "text": "x"}]), "intent"),
        (changed(intents=[{"turn": 0, "text": "He cannot come."}]), "does not hold the intent"),
        (
            changed(intents=[{"turn": 0, "text": "I can't come"}, {"turn": 0, "text": "can't come before 9."}]),
            "overlap",
        ),
        (changed(segmentation="0"), f"this package cuts words by {SEGMENTATION!r}"),
        (changed(turn={"unsure": {"tight": [[0, 1]]}}), "edges of words of segmentation version"),
        (changed(turn={"unsure": {"tight": [[0, 7], [4, 7]]}}), "overlaps"),
        (changed(turn={"unsure": {"tight": [5]}}), "[start, end]"),
        (changed(turn={"unsure": [[0, 2]]}), '"unsure" is'),
        (changed(id="a-1"), "the id is taken by 1 other records"),
    ],
)
def test_a_breach_names_the_record(run: Run, tmp_path: Path, record: Any, reason: str) -> None:
    """Line, record, turn and what is allowed; the exit status says so."""
    output = check(run, tmp_path, GOOD, record, code=1)
    assert reason in output or reason.replace("does not fit", "do not fit") in output
    assert "line 2" in output
    if isinstance(record, dict):
        assert f"record {record['id']!r}" in output


def test_an_empty_set_is_refused(run: Run, tmp_path: Path) -> None:
    """No file, no record."""
    assert "there is no record" in check(run, tmp_path, "", code=1)
    (tmp_path / "empty").mkdir()
    assert "no .jsonl file" in run("--check", tmp_path / "empty", code=1).output


@pytest.mark.parametrize("kept", ["text", ""])
def test_a_label_of_one_class_is_refused(run: Run, tmp_path: Path, kept: str) -> None:
    """A set in which nothing, or everything, is deleted teaches nothing."""
    text = GOOD["turns"][0]["text"] if kept else ""
    output = check(run, tmp_path, changed(turn={"light": text, "tight": text}), code=1)
    assert f"light: every word of all 1 records is {'kept' if kept else 'deleted'}" in output


def test_deleted_contract_words_are_listed(run: Run, tmp_path: Path) -> None:
    """A plucked `not` comes first, with its words around; one that is said again, or goes with its clause, is left alone."""
    turns = [
        {
            "role": "assistant",
            "text": "The fee is not due until 9 June.",
            "light": "The fee is due until 9 June.",
            "tight": "fee due",
        },
        {"role": "assistant", "text": "It's not, it's not due.", "light": "it's not due.", "tight": "not due."},
        {
            "role": "assistant",
            "text": "I can't complain, so the fee is due.",
            "light": "the fee is due.",
            "tight": "fee due.",
        },
    ]
    record = {**GOOD, "turns": turns, "entities": [], "intents": []}
    path = tmp_path / "mine.jsonl"
    path.write_text(json.dumps(record) + "\n", encoding="utf-8")
    result = run("--check", path, "--scorer", "none", "--report", tmp_path / "report.json")
    assert "a-1, turn 0: light deletes negation" in result.output
    report = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    negations = [one for one in report["doubts"] if "negation" in one["reason"]]
    assert [one["turn"] for one in negations] == [0]
    assert "[not]" in negations[0]["excerpt"]
    assert report["contract"]["negation"]["light_deletes"] >= 3
    assert report["contract"]["negation"]["light_deletes_alone"] == 1
    assert 0 < report["kept"]["assistant"]["tight"] < report["kept"]["assistant"]["light"] < 1


def test_emptied_and_untouched_turns_are_listed(run: Run, tmp_path: Path) -> None:
    """A long turn of which nothing is left, or from which nothing was cut."""
    said = " ".join(f"The crane at berth {n} lifts steel." for n in range(12))
    turns = [
        {"role": "speaker", "text": said, "light": "", "tight": ""},
        {"role": "speaker", "text": said, "light": said, "tight": said},
    ]
    output = check(run, tmp_path, {**GOOD, "turns": turns, "entities": [], "intents": []}, code=0)
    assert "words are deleted" in output
    assert "not even in tight" in output


def test_a_model_that_disagrees_is_listed(run: Run, tmp_path: Path) -> None:
    """Labels turned upside down are what a confident model would cut otherwise."""
    text = "Um, hello there, thanks so much, well. The invoice 4471 is due on 9 June unless the bank refuses."
    upside = "Um, hello there, thanks so much, well."
    record = {**GOOD, "entities": [], "intents": []}
    record["turns"] = [{"role": "assistant", "text": text, "light": upside, "tight": upside}]
    path = tmp_path / "mine.jsonl"
    path.write_text(json.dumps(record) + "\n", encoding="utf-8")
    assert "the model disagrees on" in run("--check", path).output
