"""Edits by hand, in a sheet and in a page."""

import csv
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from compressor import Compressor
from tests.training.labelling.conftest import chat, records
from training.corpora.annotated import read_record

Run = Callable[..., Result]


@pytest.fixture
def sheet(run: Run, raw_file: Path, tmp_path: Path) -> Path:
    """The sheet of five chats."""
    run(raw_file, "--export-sheet", tmp_path / "cut.csv", "--scorer", "heuristic")
    return tmp_path / "cut.csv"


def rows_of(path: Path) -> list[dict[str, str]]:
    """The rows of a sheet."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def save(path: Path, rows: list[dict[str, str]], delimiter: str = ",") -> None:
    """Write a sheet as a spreadsheet program would."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), delimiter=delimiter)
        writer.writeheader()
        writer.writerows(rows)


def edits(run: Run, raw: Path, path: Path, out: Path, code: int = 0, kind: str = "--sheet") -> Result:
    """Read an edited sheet or page."""
    return run(raw, "--from", "edits", kind, path, "-o", out, "--scorer", "heuristic", "--force", code=code)


def test_a_sheet_comes_back_as_it_was_edited(run: Run, raw_file: Path, sheet: Path, tmp_path: Path) -> None:
    """One word a row; 0 cuts it; another delimiter, another order and x for yes are understood."""
    rows = rows_of(sheet)
    assert {row["turn"] for row in rows} == {"1", "2"}  # the turn of the system is not for cutting
    for row in rows:
        row["light"] = "" if row["word"] in ("Hi", ",", "um", "Well") else "x"
        row["tight"] = "" if row["word"] in ("Hi", ",", "um", "Well", "the", "is") else "x"
    save(sheet, rows[::-1], ";")
    edits(run, raw_file, sheet, tmp_path / "out.jsonl")
    found = records(tmp_path / "out.jsonl")
    assert found[3]["turns"][1]["light"] == "can Dr. Vane see me on 4 June? I can't come before noon."
    assert found[3]["turns"][2]["tight"] == "surgery closed on 4 June so Dr. Vane not in only Mr. Rao."
    assert "unsure" not in found[3]["turns"][1]
    for record in found:
        read_record(record)


def test_one_column_gives_one_level(run: Run, raw_file: Path, sheet: Path, tmp_path: Path) -> None:
    """A sheet with `keep` says what light keeps."""
    rows = [{**row, "keep": "no" if row["word"] == "um" else "yes"} for row in rows_of(sheet)]
    save(sheet, [{name: value for name, value in row.items() if name not in ("light", "tight")} for row in rows])
    edits(run, raw_file, sheet, tmp_path / "out.jsonl")
    user = records(tmp_path / "out.jsonl")[0]["turns"][1]
    assert user["light"] == "Hi, , can Dr. Vane see me on 1 June? I can't come before noon."
    assert "tight" in user["unsure"]


def test_words_that_look_like_formulas_stay_words(run: Run, tmp_path: Path) -> None:
    """A spreadsheet must not reckon with what somebody wrote, and what it makes of dates does not matter."""
    raw = tmp_path / "raw.json"
    raw.write_text(json.dumps([{"role": "user", "content": "=HYPERLINK(1) -5 +3 @home 1/2 MAR1"}]), encoding="utf-8")
    run(raw, "--export-sheet", tmp_path / "cut.csv", "--scorer", "heuristic")
    rows = rows_of(tmp_path / "cut.csv")
    assert not any(row["word"].startswith(("=", "-", "+", "@")) for row in rows)
    for row in rows:
        row["word"] = "02. Jan" if row["word"] == "1/2" else row["word"]
        row["light"] = row["tight"] = "1"
    save(tmp_path / "cut.csv", rows)
    edits(run, raw, tmp_path / "cut.csv", tmp_path / "out.jsonl")
    assert records(tmp_path / "out.jsonl")[0]["turns"][0]["light"] == "=HYPERLINK(1) -5 +3 @home 1/2 MAR1"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda rows: rows.pop(3), "has no row for"),
        (lambda rows: rows.append(rows[0]), "twice"),
        (lambda rows: rows[2].update(end="99"), "has no row for"),
        (lambda rows: rows.append({**rows[0], "end": "77"}), "has no word at 0 to 77"),
        (lambda rows: rows[2].update(start="first"), "whole numbers"),
        (lambda rows: rows[2].update(light="maybe"), "'maybe'; allowed: 1 or 0"),
        (lambda rows: rows[2].update(light="0", tight="1"), "which light cuts"),
        (lambda rows: rows[2].update(word="Goodbye"), "was it changed"),
    ],
)
def test_a_damaged_sheet_is_refused_by_record(
    run: Run, raw_file: Path, sheet: Path, tmp_path: Path, change: Callable[[list[dict[str, str]]], object], reason: str
) -> None:
    """The record is named and left out, the other four are labelled."""
    rows = rows_of(sheet)
    change(rows)
    save(sheet, rows)
    result = edits(run, raw_file, sheet, tmp_path / "out.jsonl", code=1)
    assert reason in result.output
    assert "raw-0001" in result.output
    assert len(records(tmp_path / "out.jsonl")) == 4


def test_a_file_that_is_no_sheet_is_refused(run: Run, raw_file: Path, tmp_path: Path) -> None:
    """Says which column is missing."""
    (tmp_path / "cut.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    result = edits(run, raw_file, tmp_path / "cut.csv", tmp_path / "out.jsonl", code=1)
    assert "column record is missing" in result.output


def test_the_page_comes_back_as_it_was_edited(run: Run, raw_file: Path, tmp_path: Path) -> None:
    """Words struck out on the exported page, in either way."""
    page = tmp_path / "cut.html"
    run(raw_file, "--export-page", page, "--scorer", "heuristic")
    content = page.read_text(encoding="utf-8")
    edits(run, raw_file, page, tmp_path / "before.jsonl", kind="--page")
    before = records(tmp_path / "before.jsonl")[0]["turns"][2]
    assert "unsure" not in before
    assert "noon" in content
    content = content.replace('<span class="w">noon</span>', '<del class="w">noon</del>', 1)
    content = content.replace('<span class="w">come</span>', '<del class="w tight">come</del>', 1)
    page.write_text(content, encoding="utf-8")
    edits(run, raw_file, page, tmp_path / "out.jsonl", kind="--page")
    first, second = (record["turns"][1] for record in records(tmp_path / "out.jsonl")[:2])
    assert first["light"].endswith("I can't come before.")
    assert first["tight"].endswith("I can't before.")
    assert second["light"].endswith("I can't come before noon.")


def test_the_diff_of_a_result_is_such_a_page(run: Run, tmp_path: Path) -> None:
    """Its `<del>` marks are the light level, even after an editor has re-indented the page."""
    raw = tmp_path / "raw.json"
    raw.write_text(json.dumps(chat(9)), encoding="utf-8")
    compressor = Compressor.from_pretrained("heuristic")
    page = compressor.compress(chat(9), keep_last=0).diff("html")
    (tmp_path / "diff.html").write_text(
        "<html><body>" + page.replace(" noon", "\n      <del>noon</del>&nbsp;").replace("<p>", "\n<p>\n  "),
        encoding="utf-8",
    )
    edits(run, raw, tmp_path / "diff.html", tmp_path / "out.jsonl", kind="--page")
    (record,) = records(tmp_path / "out.jsonl")
    assert record["turns"][1]["light"].endswith("come before.")
    assert "noon" not in record["turns"][1]["tight"]
    assert record["labelled_by"] == "edits in a page"


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        (">noon<", ">midnight<", "the transcript has 'noon.'"),
        ('data-id="raw-0001"', 'data-id="raw-0009"', "in the page 0 times"),
        ("<p><b>user</b>", "<b>user</b>", "shows 2 turns"),
    ],
)
def test_a_page_whose_text_was_changed_is_refused(
    run: Run, raw_file: Path, tmp_path: Path, old: str, new: str, reason: str
) -> None:
    """A person may mark words, not write them; the record and the place are named."""
    page = tmp_path / "cut.html"
    run(raw_file, "--export-page", page, "--scorer", "heuristic")
    content = page.read_text(encoding="utf-8")
    assert old in content
    page.write_text(content.replace(old, new, 1), encoding="utf-8")
    result = edits(run, raw_file, page, tmp_path / "out.jsonl", code=1, kind="--page")
    assert reason in result.output
    assert "raw-0001" in result.output
    assert len(records(tmp_path / "out.jsonl")) == 4


def test_a_page_without_a_conversation_is_refused(run: Run, raw_file: Path, tmp_path: Path) -> None:
    """Another page by mistake."""
    (tmp_path / "cut.html").write_text("<p>Hello</p>", encoding="utf-8")
    assert "no conversation" in edits(run, raw_file, tmp_path / "cut.html", tmp_path / "o.jsonl", 1, "--page").output
