"""The command around the ways of labelling: what it reads, writes and refuses; weak labels."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from tests.training.labelling.conftest import chat, records
from training.corpora.annotated import read_record

Run = Callable[..., Result]


def test_weak_labels_come_from_the_model(run: Run, raw_file: Path, tmp_path: Path) -> None:
    """Fillers go, the contract stays, names and requests are found, and words of doubt are marked."""
    run(raw_file, "--from", "weak", "-o", tmp_path / "out.jsonl", "--source", "clinic", "--domain", "visits")
    found = records(tmp_path / "out.jsonl")
    assert len(found) == 5
    system, _, assistant = found[0]["turns"]
    assert system["light"] == system["text"]
    assert assistant["light"].startswith("the surgery is closed on 1 June")
    assert "not" in assistant["tight"]
    assert {"Dr. Vane", "Mr. Rao"} <= set(found[0]["entities"])
    assert [one["kind"] for one in found[0]["intents"]] == ["question", "constraint"]
    assert (found[0]["source"], found[0]["domain"]) == ("clinic", "visits")
    for record in found:
        read_record(record)
    run("--check", tmp_path / "out.jsonl", "--scorer", "none")


def test_a_stricter_model_is_sure_of_fewer_words(run: Run, raw_file: Path, tmp_path: Path) -> None:
    """From 0.5 on every word is sure."""
    unsure = []
    for confident in (0.5, 0.99):
        out = tmp_path / f"{confident}.jsonl"
        run(raw_file, "--from", "weak", "-o", out, "--confident", confident)
        unsure.append(sum(len(turn.get("unsure", {})) for record in records(out) for turn in record["turns"]))
    assert unsure[0] == 0 < unsure[1]


def test_quotes_are_found_by_rule(run: Run, tmp_path: Path) -> None:
    """With their marks, each once."""
    raw = tmp_path / "raw.json"
    raw.write_text(
        json.dumps([{"role": "user", "content": 'He said "not today", then "not today" and “later”.'}]),
        encoding="utf-8",
    )
    run(raw, "--from", "weak", "--scorer", "heuristic", "-o", tmp_path / "out.jsonl")
    assert records(tmp_path / "out.jsonl")[0]["quotes"] == ['"not today"', "“later”"]


def test_all_formats_and_folders_are_read(run: Run, tmp_path: Path) -> None:
    """Files of several formats; a bad line, an empty transcript and an unreadable file are named, and the rest goes on."""
    folder = tmp_path / "raw"
    (folder / "deep").mkdir(parents=True)
    (folder / "a.txt").write_text("Ada: Um, the fee is not due.\nRao: Well, noted.\n", encoding="utf-8")
    (folder / "b.json").write_text(json.dumps(chat(1)), encoding="utf-8")
    (folder / "deep" / "a.txt").write_text("Ada: The tide is high.\n", encoding="utf-8")
    (folder / "c.jsonl").write_text(
        json.dumps({"messages": chat(2)})
        + "\n{broken\n"
        + json.dumps({"messages": [{"role": "user", "content": " "}]})
        + "\n",
        encoding="utf-8",
    )
    result = run(folder, "--from", "weak", "--scorer", "heuristic", "-o", tmp_path / "out.jsonl", code=1)
    assert [one["id"] for one in records(tmp_path / "out.jsonl")] == ["raw-a-0001", "b-0001", "c-0001", "deep-a-0001"]
    reasons = [one["reason"] for one in records(tmp_path / "out.rejects")]
    assert len(reasons) == 2
    assert "line 2" in reasons[0]
    assert "no words" in reasons[1]
    assert "3 failed" not in result.output


def test_several_blocks_of_a_message_are_one_text(run: Run, tmp_path: Path) -> None:
    """Nothing of a message with parts is lost."""
    raw = tmp_path / "raw.json"
    parts = [{"type": "text", "text": "The fee is not due."}, {"type": "text", "text": "Pay by 9 June."}]
    raw.write_text(json.dumps([{"role": "assistant", "content": parts}]), encoding="utf-8")
    run(raw, "--from", "weak", "--scorer", "heuristic", "-o", tmp_path / "out.jsonl")
    text = records(tmp_path / "out.jsonl")[0]["turns"][0]["text"]
    assert "not due." in text
    assert "Pay by 9 June." in text


def test_the_language_is_found(run: Run, tmp_path: Path) -> None:
    """By the script, unless it is given."""
    raw = tmp_path / "raw.txt"
    raw.write_text("甲: 押金还不能退，合同到六月。OK\n", encoding="utf-8")
    run(raw, "--from", "weak", "--scorer", "heuristic", "-o", tmp_path / "out.jsonl")
    assert records(tmp_path / "out.jsonl")[0]["lang"] == "zh"
    run(raw, "--from", "weak", "--scorer", "heuristic", "-o", tmp_path / "out.jsonl", "--force", "--lang", "en")
    assert records(tmp_path / "out.jsonl")[0]["lang"] == "en"


def test_an_output_is_not_overwritten(run: Run, raw_file: Path, tmp_path: Path) -> None:
    """Labels that somebody corrected by hand are not lost to a second run."""
    out = tmp_path / "out.jsonl"
    out.write_text("mine\n", encoding="utf-8")
    result = run(raw_file, "--from", "weak", "--scorer", "heuristic", "-o", out, code=2)
    assert "--force" in result.output
    assert out.read_text(encoding="utf-8") == "mine\n"


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ((), "--from"),
        (("--from", "weak"), "-o"),
        (("--from", "teacher", "-o", "x.jsonl"), "--endpoint"),
        (("--from", "weak", "-o", "x.jsonl", "--model", "gpt"), "--model has no meaning for weak"),
        (("--from", "edits", "-o", "x.jsonl"), "--sheet or --page"),
        (("--check", "--from", "weak"), "--from has no meaning"),
        (("--check", "--drop-worst", "0.1"), "--drop-worst has no meaning"),
        (
            (
                "--from",
                "teacher",
                "--endpoint",
                "http://127.0.0.1:9/v1",
                "--model",
                "m",
                "-o",
                "x.jsonl",
                "--body",
                "[1]",
            ),
            "--body",
        ),
    ],
)
def test_wrong_usage_is_explained(run: Run, raw_file: Path, arguments: tuple[str, ...], reason: str) -> None:
    """An option that would do nothing is refused, a missing one is named."""
    assert reason in run(raw_file, *arguments, code=2).output


def test_nothing_to_read_is_an_error(run: Run, tmp_path: Path) -> None:
    """An empty folder, a missing file, a file of nothing but errors: no output."""
    (tmp_path / "empty").mkdir()
    (tmp_path / "bad.jsonl").write_text("{broken\n", encoding="utf-8")
    for raw, reason in (("empty", "no file"), ("missing.txt", "No such file"), ("bad.jsonl", "line 1")):
        result = run(tmp_path / raw, "--from", "weak", "--scorer", "heuristic", "-o", tmp_path / "out.jsonl", code=1)
        assert reason in result.output
    assert not (tmp_path / "out.jsonl").exists()


def test_an_unknown_model_is_named(run: Run, raw_file: Path, tmp_path: Path) -> None:
    """Not a stack trace."""
    result = run(raw_file, "--from", "weak", "--scorer", str(tmp_path / "nowhere"), "-o", tmp_path / "o.jsonl", code=1)
    assert "no model folder" in result.output


def test_the_command_is_part_of_the_training_commands() -> None:
    """`python -m training label` and `splits`."""
    from training.__main__ import COMMANDS

    assert COMMANDS["label"][0] == "training.labelling.cli:label"
    assert COMMANDS["splits"][0] == "training.splits:command"
