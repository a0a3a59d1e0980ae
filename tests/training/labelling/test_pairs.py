"""Pairs of an original and a shortened text."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from tests.training.labelling.conftest import chat, records, shorten
from training.corpora.annotated import read_record

Run = Callable[..., Result]


def shortened(messages: list[dict[str, str]]) -> list[dict[str, str]]:
    """The same messages without fillers."""
    return [{**one, "content": shorten(one["content"])} for one in messages]


def write_lines(path: Path, values: list[object]) -> Path:
    """One JSON value a line."""
    path.write_text("".join(json.dumps(value, ensure_ascii=False) + "\n" for value in values), encoding="utf-8")
    return path


def test_two_files_become_labels(run: Run, raw_file: Path, tmp_path: Path) -> None:
    """What the short text lacks is deleted in both levels; of what it keeps, nobody said whether tight would."""
    short = write_lines(tmp_path / "short.jsonl", [{"messages": shortened(chat(n + 1))} for n in range(5)])
    out = tmp_path / "out.jsonl"
    run(raw_file, "--from", "pairs", "--shortened", short, "-o", out, "--scorer", "heuristic")
    found = records(out)
    assert len(found) == 5
    user = found[2]["turns"][1]
    assert user["light"] == "can Dr. Vane see me on 3 June? I can't come before noon."
    assert [user["text"][a:b] for a, b in user["unsure"]["tight"]] == [user["light"]]
    assert "light" not in user["unsure"]
    assert found[0]["quality"] == {"variation": 0.0, "gap": 0.0}
    for record in found:
        read_record(record)


def test_the_tight_level_may_be_what_is_known(run: Run, raw_file: Path, tmp_path: Path) -> None:
    """Then light keeps at least that, and the rest of light is unsure."""
    short = write_lines(tmp_path / "short.jsonl", [{"messages": shortened(chat(n + 1))} for n in range(5)])
    out = tmp_path / "out.jsonl"
    run(raw_file, "--from", "pairs", "--shortened", short, "--level", "tight", "-o", out, "--scorer", "heuristic")
    user = records(out)[0]["turns"][1]
    assert user["tight"] == "can Dr. Vane see me on 1 June? I can't come before noon."
    assert [user["text"][a:b] for a, b in user["unsure"]["light"]] == ["Hi, um,"]


def test_two_versions_give_both_levels(run: Run, raw_file: Path, tmp_path: Path) -> None:
    """Nothing is unsure then."""
    light = write_lines(tmp_path / "light.jsonl", [{"messages": shortened(chat(n + 1))} for n in range(5)])
    tight = write_lines(
        tmp_path / "tight.jsonl",
        [
            {
                "messages": [
                    {**one, "content": shorten(one["content"], frozenset({"hi", "um", "the", "is", "well", "so"}))}
                    for one in chat(n + 1)
                ]
            }
            for n in range(5)
        ],
    )
    out = tmp_path / "out.jsonl"
    run(raw_file, "--from", "pairs", "--shortened", light, "--shortened", tight, "-o", out, "--scorer", "heuristic")
    turn = records(out)[0]["turns"][2]
    assert turn["tight"] == "surgery closed on 1 June, Dr. Vane not in, only Mr. Rao"
    assert "unsure" not in turn


def test_folders_are_paired_by_name(run: Run, tmp_path: Path) -> None:
    """Whatever the ending; a file without a partner is named."""
    for folder, ending in (("long", "txt"), ("short", "md")):
        (tmp_path / folder).mkdir()
        for name in ("b", "a"):
            text = f"User: Well, the {name} fee is not due.\nAssistant: um noted {name}.\n"
            text = text.replace("Well, ", "").replace("um ", "") if folder == "short" else text
            (tmp_path / folder / f"{name}.{ending}").write_text(text, encoding="utf-8")
    out = tmp_path / "out.jsonl"
    run(tmp_path / "long", "--from", "pairs", "--shortened", tmp_path / "short", "-o", out, "--scorer", "heuristic")
    assert [record["turns"][0]["light"] for record in records(out)] == [
        "the a fee is not due.",
        "the b fee is not due.",
    ]
    (tmp_path / "short" / "a.md").unlink()
    result = run(tmp_path / "long", "--from", "pairs", "--shortened", tmp_path / "short", "-o", out, "--force", code=1)
    assert "a.txt" in result.output


def test_dropped_turns_are_found_over_the_conversation(run: Run, tmp_path: Path) -> None:
    """A team that left whole turns out still has labels: those turns are deleted."""
    raw = write_lines(
        tmp_path / "raw.jsonl", [{"messages": [*chat(1)[1:], {"role": "user", "content": "Great, thanks so much!"}]}]
    )
    short = write_lines(tmp_path / "short.jsonl", [{"messages": shortened(chat(1))[1:]}])
    out = tmp_path / "out.jsonl"
    run(raw, "--from", "pairs", "--shortened", short, "-o", out, "--scorer", "heuristic")
    turns = records(out)[0]["turns"]
    assert turns[0]["light"] == "can Dr. Vane see me on 1 June? I can't come before noon."
    assert turns[2]["light"] == ""


def test_columns_of_json_lines(run: Run, tmp_path: Path) -> None:
    """Texts and messages under two or three keys; a bad line is named and the rest goes on."""
    rows: list[object] = [
        {"id": "case-7", "long": "Well, the fee is not due.", "short": "the fee is not due.", "brief": "fee not due."},
        {"long": chat(2), "short": shortened(chat(2)), "brief": shortened(chat(2))},
        {"long": "Well, the fee is not due."},
        {"long": "the fee is not due", "short": "An invoice remains outstanding here", "brief": "nothing"},
        ["no object"],
        {"long": "", "short": "", "brief": ""},
    ]
    path = write_lines(tmp_path / "pairs.jsonl", rows)
    out = tmp_path / "out.jsonl"
    result = run(path, "--from", "pairs", "--columns", "long,short,brief", "-o", out, "--scorer", "heuristic", code=1)
    found = records(out)
    assert [one["id"] for one in found] == ["case-7", "pairs-0002"]
    assert found[0]["turns"][0]["tight"] == "fee not due."
    for line, reason in ((3, "'short' is missing"), (4, "rewritten"), (5, "JSON object"), (6, "no words")):
        assert any(
            f"line {line}" in one["reason"] and reason in one["reason"] for one in records(tmp_path / "out.rejects")
        ), reason
    assert "4 failed" in result.output


def test_another_number_of_conversations_is_refused(run: Run, raw_file: Path, tmp_path: Path) -> None:
    """Pairs that slipped by one would be wrong throughout."""
    short = write_lines(tmp_path / "short.jsonl", [{"messages": chat(1)}])
    result = run(raw_file, "--from", "pairs", "--shortened", short, "-o", tmp_path / "out.jsonl", code=1)
    assert "holds 1 conversations" in result.output
    assert not (tmp_path / "out.jsonl").exists()


@pytest.mark.parametrize("arguments", [(), ("--shortened", "x", "--columns", "a,b"), ("--columns", "a")])
def test_pairs_need_one_source(run: Run, raw_file: Path, tmp_path: Path, arguments: tuple[str, ...]) -> None:
    """Neither none nor two, and at least two columns."""
    (tmp_path / "x").touch()
    given = [tmp_path / "x" if one == "x" else one for one in arguments]
    run(raw_file, "--from", "pairs", "-o", tmp_path / "out.jsonl", *given, code=2)
