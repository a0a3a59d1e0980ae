"""The command line, in process: files, standard input, formats, exit codes."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from compressor.cli import main

TALK = (
    "Ann: um, so, you know, the fee is 40 euros.\nBob: okay, okay, thanks!\nAnn: it must not be paid before 9 June.\n"
)
CHAT = [
    {"role": "user", "content": "Hi! Which pier is closed?"},
    {"role": "assistant", "content": "Well, so, pier 3 is not in use."},
]


def run(*arguments: object, stdin: str | bytes | None = None) -> Result:
    return CliRunner().invoke(main, [*map(str, arguments)], input=stdin)


def compress(*arguments: object, stdin: str | bytes | None = None) -> Result:
    return run("compress", "--model", "heuristic", *arguments, stdin=stdin)


def test_text_from_standard_input() -> None:
    """The result goes to standard output, the summary to standard error."""
    result = compress("-", stdin=TALK)
    assert result.exit_code == 0
    assert "the fee is 40 euros." in result.stdout
    assert "must not be paid before 9 June" in result.stdout
    assert "tokens" in result.stderr
    assert "tokens" not in result.stdout


def test_json_comes_out_as_json_with_its_layout(tmp_path: Path) -> None:
    """Only texts change: the indent and unknown fields stay."""
    file = tmp_path / "chat.json"
    file.write_text(json.dumps({"model": "m", "messages": CHAT}, indent=4), encoding="utf-8")
    result = compress(file, "--keep-last", 0, "--preset", "tight", "-q")
    record = json.loads(result.stdout)
    assert record["model"] == "m"
    assert "Which pier is closed?" in record["messages"][0]["content"]
    assert result.stdout.startswith('{\n    "model"')


def test_json_lines_report_the_bad_line_and_go_on(tmp_path: Path) -> None:
    """Exit 1, the number of the line on standard error, and as many lines as before."""
    file = tmp_path / "logs.jsonl"
    file.write_text(json.dumps(CHAT) + "\n{broken\n" + json.dumps(CHAT) + "\n", encoding="utf-8")
    result = compress(file, "-q")
    assert result.exit_code == 1
    assert f"{file}:2" in result.stderr or "line 2" in result.stderr
    lines = result.stdout.splitlines()
    assert len(lines) == 3
    assert lines[1] == "{broken"
    assert json.loads(lines[0]) == json.loads(lines[2])


def test_check_passes_on_sound_results() -> None:
    """`--check` says that the promises hold."""
    result = compress("-", "--check", "--keep-ratio", 0.5, stdin=TALK)
    assert result.exit_code == 0
    assert "all six promises hold" in result.stderr


def test_check_fails_on_broken_results(monkeypatch: pytest.MonkeyPatch) -> None:
    """`--check` names the broken promise and exits 1."""
    from compressor import pipeline

    render = pipeline.render
    monkeypatch.setattr(
        pipeline, "render", lambda *args: (out := render(*args)).with_turns(t.with_text(t.text + "!?") for t in out)
    )
    result = compress("-", "--check", stdin=TALK)
    assert result.exit_code == 1
    assert "subsequence: turn 0" in result.stderr


def test_json_and_diff_outputs() -> None:
    """One object a transcript with text, messages and report; or the source in colour."""
    record = json.loads(compress("-", "--json", "-q", stdin=TALK).stdout)
    assert set(record) == {"text", "messages", "report"}
    assert record["report"]["tokens_before"] > record["report"]["tokens_after"]
    assert (
        "\x1b[9;31m" in compress("-", "--diff", "-q", stdin=TALK).output
        or "um" in compress("-", "--diff", "-q", stdin=TALK).output
    )


def test_several_files_go_to_a_folder_with_a_report(tmp_path: Path) -> None:
    """Each under its own name; one report a line."""
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text(TALK, encoding="utf-8")
    result = compress(
        tmp_path / "a.txt", tmp_path / "b.txt", "-o", tmp_path / "out", "--report", tmp_path / "report.jsonl"
    )
    assert result.exit_code == 0
    assert (tmp_path / "out" / "a.txt").read_text(encoding="utf-8") == (tmp_path / "out" / "b.txt").read_text(
        encoding="utf-8"
    )
    reports = [json.loads(line) for line in (tmp_path / "report.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [report["source"] for report in reports] == [str(tmp_path / "a.txt"), str(tmp_path / "b.txt")]


def test_bytes_in_another_encoding_are_refused_with_the_offset() -> None:
    """No replacement characters: a clear error instead."""
    result = compress("-", stdin="Zoé: bien\nJosé: oui\n".encode("latin-1"))
    assert result.exit_code == 1
    assert "byte 2" in result.stderr
    assert result.stdout == ""


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["missing.txt"], 1, "missing.txt: No such file"),
        (["-", "--keep-ratio", 2], 2, "keep_ratio is 2.0"),
        (["-", "--max-tokens", -5], 2, "max_tokens is -5, which is negative"),
        (["-", "--keep-ratio", 0.5, "--max-tokens", 5], 2, "given together"),
        (["-", "--protect", "("], 2, "no regular expression"),
        (["-", "--tokens", "words"], 2, "token_counter is 'words'"),
        ([], 2, "Missing argument"),
    ],
)
def test_wrong_usage_and_failures_have_their_exit_codes(arguments: list[object], code: int, message: str) -> None:
    """2 for wrong usage, 1 for a failed record, never a bare traceback."""
    result = compress(*arguments, stdin=TALK)
    assert result.exit_code == code
    assert message in result.stderr


def test_a_missing_model_is_named(tmp_path: Path) -> None:
    """Exit 1 with the folder."""
    result = run("compress", "-", "--model", tmp_path / "none", stdin=TALK)
    assert result.exit_code == 1
    assert "no model folder" in result.stderr


def test_explain_names_rules() -> None:
    """A line a word, or an object a word."""
    lines = run("explain", "-", "--model", "heuristic", stdin=TALK).stdout.splitlines()
    assert any("not" in line and "negation" in line for line in lines)
    words = [
        json.loads(line)
        for line in run("explain", "-", "--model", "heuristic", "--json", stdin=TALK).stdout.splitlines()
    ]
    assert {"turn", "text", "kept", "score", "rules"} <= set(words[0])


def test_rules_and_formats_are_listed() -> None:
    """Every rule and every format, with a line that says what it is."""
    from compressor.formats import FORMATS
    from compressor.protection import RULES

    assert [line.split()[0] for line in run("rules").stdout.splitlines()] == list(RULES)
    assert [line.split()[0] for line in run("formats").stdout.splitlines()] == list(FORMATS)
