"""The command `batch`: exit statuses, what is said where, and the ways to look first."""

import json
import os
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from compressor.batch.progress import SHOWN, Terminal
from compressor.batch.worker import Problem
from compressor.cli import main
from tests.batch.conftest import conversation, lines, made


def batch(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["batch", *map(str, arguments), "--model", "heuristic", "--workers", "1"])


def test_all_done_is_0_and_some_failed_is_1(archive: Path, tmp_path: Path) -> None:
    """With the failures and the summary on standard error, and nothing on standard output."""
    (tmp_path / "good.jsonl").write_text(lines(3))
    good = batch(tmp_path / "good.jsonl", "-o", tmp_path / "a")
    assert (good.exit_code, good.stdout) == (0, "")
    assert "1 of 1 files done" in good.stderr
    bad = batch(archive, "-o", tmp_path / "b")
    assert (bad.exit_code, bad.stdout) == (1, "")
    assert re.search(r"chats.jsonl:9: .*JSON", bad.stderr)
    assert "broken.json: the file is compressed with gz and is cut short" in bad.stderr
    again = batch(archive, "-o", tmp_path / "b")
    assert again.exit_code == 1


def test_quiet_says_nothing(archive: Path, tmp_path: Path) -> None:
    """But the exit status."""
    found = batch(archive, "-o", tmp_path / "out", "--quiet")
    assert (found.exit_code, found.output) == (1, "")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "Missing argument"),
        (("in",), "Missing option"),
        (("missing", "-o", "out"), "cannot be read: No such file"),
        (("-", "-o", "out"), "standard input"),
        (("in", "-o", "in"), "which would be overwritten"),
        (("in", "-o", "out", "--keep-ratio", "2"), "keep_ratio is 2"),
        (("in", "-o", "out", "--protect", "("), "no regular expression"),
        (("in", "-o", "out", "--tokens", "none"), "token_counter is 'none'"),
        (("in", "-o", "out", "--workers", "0"), "workers"),
        (("in", "-o", "out", "--diff"), "give --sample"),
        (("in", "-o", "out", "--sample", "2", "--dry-run"), "choose one"),
        (("empty", "-o", "out"), "there is no file to compress"),
    ],
)
def test_wrong_usage_is_2(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], message: str
) -> None:
    """With what is wrong; nothing is written."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in").mkdir()
    (tmp_path / "empty").mkdir()
    (tmp_path / "in" / "a.jsonl").write_text(lines(1))
    found = CliRunner().invoke(main, ["batch", *arguments])
    assert found.exit_code == 2, found.output
    assert message in found.output
    assert not (tmp_path / "out").exists()


def test_files_can_be_chosen(archive: Path, tmp_path: Path) -> None:
    """In a dry run, a sample and a run; what was passed over is counted."""
    out = tmp_path / "out"
    for mode in (("--dry-run",), ("--sample", "3"), ()):
        found = batch(archive, "-o", out, "--include", "2024/*", "--exclude", "*.gz", *mode)
        assert found.exit_code == 0, found.output
        assert "chats.jsonl" not in found.output
    assert {path.name for path in out.rglob("*.*") if path.parent.name in ("may", "2024")} == {"list.json", "call.txt"}
    assert "passed over: 1 × excluded, 2 × hidden, 2 × not included" in found.output
    none = batch(archive, "-o", out, "--include", "*.parquet")
    assert none.exit_code == 2
    assert "no file to compress" in none.output


def test_a_changed_policy_is_wrong_usage(archive: Path, tmp_path: Path) -> None:
    """And --restart mends it."""
    batch(archive, "-o", tmp_path / "out")
    found = batch(archive, "-o", tmp_path / "out", "--preset", "tight")
    assert found.exit_code == 2
    assert "policy preset was None and is 'tight'" in found.output
    assert batch(archive, "-o", tmp_path / "out", "--preset", "tight", "--restart").exit_code == 1


def test_a_missing_model_is_1(archive: Path, tmp_path: Path) -> None:
    """Told before anything is read."""
    found = CliRunner().invoke(main, ["batch", str(archive), "-o", str(tmp_path / "out"), "--model", "no/such"])
    assert found.exit_code == 1
    assert "no model folder" in found.output
    assert not (tmp_path / "out").exists()


def test_fail_fast_names_the_first_failure(archive: Path, tmp_path: Path) -> None:
    """And how to go on."""
    found = batch(archive, "-o", tmp_path / "out", "--fail-fast")
    assert found.exit_code == 1
    assert "broken.json: " in found.output
    assert "stopped at the first failure" in found.output


def test_a_dry_run_writes_nothing(archive: Path, tmp_path: Path) -> None:
    """It lists the files with formats and counts, what is passed over, what cannot be read, and an estimate."""
    found = batch(archive, "-o", tmp_path / "out", "--dry-run")
    assert found.exit_code == 1  # one file cannot be read
    assert re.search(r"chats.jsonl: jsonl, utf-8; 16 conversations", found.output)
    assert re.search(r"more.jsonl.gz: jsonl, gz, utf-8; 6 conversations", found.output)
    assert "passed over: 2 × hidden" in found.output
    assert "cannot be read: 1" in found.output
    assert re.search(r"about \d+ seconds with 1 workers", found.output)
    assert not (tmp_path / "out").exists()


def test_a_sample_shows_records_from_all_over(archive: Path, tmp_path: Path) -> None:
    """The same ones each time, with their deletions on request; nothing is written."""
    found = batch(archive, "-o", tmp_path / "out", "--sample", "9", "--diff", "--keep-last", "0")
    assert found.exit_code == 1  # one file cannot be read
    assert "\x1b[9;31m" in found.output
    places = re.findall(r"^\S+/([\w.]+):(\d+): \d+ →", found.output, re.MULTILINE)
    assert len({name for name, _ in places}) > 1
    assert re.search(r"\d records: \d+ → \d+ tokens", found.output)
    assert batch(archive, "-o", tmp_path / "out", "--sample", "9", "--diff", "--keep-last", "0").output == found.output
    assert not (tmp_path / "out").exists()


def test_a_sample_of_everything_is_everything(archive: Path, tmp_path: Path) -> None:
    """In the order in which it stands."""
    (tmp_path / "a.jsonl").write_text(lines(5))
    found = batch(tmp_path / "a.jsonl", "-o", tmp_path / "out", "--sample", "50")
    assert found.exit_code == 0
    assert re.findall(r"a.jsonl:(\d+):", found.output) == list("12345")
    assert "5 records" in found.output


def test_a_sample_takes_single_rows_of_tables(tmp_path: Path) -> None:
    """By the number of the row, with their deletions."""
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    rows = [json.dumps(conversation(number)["messages"]) for number in range(4)]
    parquet.write_table(pa.table({"talk": rows}), tmp_path / "t.parquet")
    arguments = (tmp_path / "t.parquet", "-o", tmp_path / "out", "--column", "talk", "--keep-last", "0")
    found = batch(*arguments, "--sample", "4", "--diff")
    assert found.exit_code == 0, found.output
    assert re.findall(r"t.parquet:(\d+):", found.output) == list("1234")
    assert "\x1b[9;31m" in found.output
    assert batch(*arguments).exit_code == 0


def test_columns_of_csv_files_can_be_named(tmp_path: Path) -> None:
    """Who speaks, what is said, and which rows are one conversation."""
    rows = "talk,who,said\n1,user,um I need it\n1,assistant,basically yes\n2,user,um no\n"
    (tmp_path / "a.csv").write_text(rows)
    names = ("--role-column", "who", "--text-column", "said", "--conversation-column", "talk")
    found = batch(tmp_path / "a.csv", "-o", tmp_path / "out", "--keep-last", "0", *names)
    assert found.exit_code == 0, found.output
    assert "2 conversations, 3 turns" in found.output
    assert made(tmp_path / "out")["a.csv"].startswith(b"talk,who,said\n1,user,")


def test_names_that_are_no_text_are_compressed_all_the_same(tmp_path: Path) -> None:
    """Listed, shown and resumed by the bytes that they are."""
    folder = os.fsencode(tmp_path / "in")
    os.mkdir(folder)
    with open(folder + b"/caf\xe9.jsonl", "wb") as file:
        file.write(lines(2).encode() + b"{broken\n")
    for _ in range(2):
        found = batch(tmp_path / "in", "-o", tmp_path / "out")
        assert found.exit_code == 1, found.output
    assert os.path.exists(os.fsencode(tmp_path / "out") + b"/caf\xe9.jsonl")
    assert batch(tmp_path / "in", "-o", tmp_path / "out", "--dry-run").exit_code == 0


class Screen:
    """A stream that is a terminal."""

    def __init__(self) -> None:
        self.text = ""

    def write(self, text: str) -> None:
        self.text += text

    def flush(self) -> None: ...

    def isatty(self) -> bool:
        return True


def test_a_terminal_shows_rate_and_remaining_time(archive: Path) -> None:
    """Failures stand above the bar, the first ones only."""
    pytest.importorskip("tqdm")
    from compressor.batch.inputs import find_inputs

    screen = Screen()
    terminal = Terminal(screen)  # type: ignore[arg-type]
    inputs = find_inputs([archive], "out")
    terminal.begin(inputs, 0)
    for line in range(SHOWN + 5):
        terminal.problem(inputs.files[0], Problem(line + 1, "why", "raw"))
    terminal.advance(inputs.size)
    terminal.close()
    assert "100%" in screen.text
    assert "B/s" in screen.text
    assert screen.text.count(": why") == SHOWN
    assert "further failures are listed in errors.jsonl" in screen.text


def test_no_bar_where_there_is_no_terminal(archive: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A log file is not filled with it."""
    from compressor.batch.inputs import find_inputs

    terminal = Terminal()
    terminal.begin(find_inputs([archive], "out"), 0)
    terminal.advance(10)
    terminal.close()
    assert capsys.readouterr().err == ""


def test_control_characters_of_names_do_not_reach_the_terminal(tmp_path: Path) -> None:
    """Neither in failures nor in the summary, in what is looked at first, or in what is refused."""
    (tmp_path / "in").mkdir()
    file = tmp_path / "in" / "a\x1b[2J\nb\x9b.jsonl"
    file.write_text(lines(2) + "{broken\n")
    (tmp_path / "in" / "c\x1b[2J.txt").write_bytes("Zoë: 40 € für Übung\r\nBjörn: ça va\r\n".encode("cp1252"))
    (tmp_path / "in" / "d\x1b[2J").symlink_to(tmp_path / "nowhere")
    out = tmp_path / "out"
    told = [
        batch(tmp_path / "in", "-o", out, *options).output
        for options in (("--dry-run",), ("--sample", "9"), ("--fail-fast",), (), ("--keep-last", "3"))
    ]
    (out / file.name).unlink()
    told.append(batch(tmp_path / "in", "-o", out).output)
    for text in told:
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", text), text
    assert "a\\x1b[2J\\nb\\x9b.jsonl:3: " in told[3]
    assert "gone since" in told[-1]
