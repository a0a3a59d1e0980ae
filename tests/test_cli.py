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


def test_text_in_another_encoding_comes_back_in_it() -> None:
    """It is told by its bytes; no replacement characters."""
    talk = "Zoé: bien\nJosé: oui, à Noël\n".encode("latin-1")
    result = compress("-", "--keep-ratio", 1, stdin=talk)
    assert result.exit_code == 0
    assert result.stdout_bytes == talk


def test_bytes_that_are_no_text_are_refused() -> None:
    """The error says what they are."""
    result = compress("-", stdin=b"PK\x03\x04rest")
    assert result.exit_code == 1
    assert "a ZIP archive" in result.stderr
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


def test_results_never_overwrite_inputs_or_each_other(tmp_path: Path) -> None:
    """Wrong usage, before a byte is written."""
    for name in ("x1", "x2"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "chat.txt").write_text(TALK, encoding="utf-8")
    one, two = tmp_path / "x1" / "chat.txt", tmp_path / "x2" / "chat.txt"
    (tmp_path / "link.txt").symlink_to(one)
    for arguments, message in (
        ([one, two, "-o", tmp_path / "out"], "would both be written"),
        ([one, one, "-o", tmp_path / "out"], "would both be written"),
        ([one, "-o", one], "would be overwritten"),
        ([one, "-o", tmp_path / "x1"], "would be overwritten"),
        ([one, "-o", tmp_path / "link.txt"], "would be overwritten"),
        ([one, "--report", one], "would be overwritten"),
        ([one, "-o", tmp_path / "r", "--report", tmp_path / "r"], "the report and a result"),
        ([one, two, "-o", two], "is a file"),
        ([one, "-o", tmp_path / "none" / "x.txt"], "there is no folder"),
    ):
        result = compress(*arguments)
        assert (result.exit_code, message in result.stderr) == (2, True), (arguments, result.output)
    assert one.read_text(encoding="utf-8") == two.read_text(encoding="utf-8") == TALK
    assert not (tmp_path / "out").exists()
    assert not (tmp_path / "r").exists()


def test_a_failed_file_leaves_its_output_alone(tmp_path: Path) -> None:
    """What an earlier run wrote stays where no record succeeds."""
    (tmp_path / "bad.json").write_text('[{"role": "user", "content": 5}]', encoding="utf-8")
    (tmp_path / "out.json").write_text("before", encoding="utf-8")
    assert compress(tmp_path / "bad.json", "-o", tmp_path / "out.json").exit_code == 1
    assert (tmp_path / "out.json").read_text(encoding="utf-8") == "before"


def test_files_without_a_record_come_out_as_they_are() -> None:
    """Blank lines are no failure."""
    result = compress("-", "--format", "jsonl", stdin="\n\n")
    assert (result.exit_code, result.stdout) == (0, "\n\n")


def test_one_bad_file_or_record_does_not_stop_the_rest(tmp_path: Path) -> None:
    """It is reported, the others come out, and the exit status is 1."""
    (tmp_path / "a.txt").write_text(TALK, encoding="utf-8")
    (tmp_path / "bad.txt").write_bytes(b"\xff\xfea")
    missing = tmp_path / "missing.txt"
    result = compress(missing, tmp_path / "bad.txt", tmp_path / "a.txt", "-o", tmp_path / "out")
    assert result.exit_code == 1
    assert f"{missing}: No such file" in result.stderr
    assert "byte 2 of it cannot be decoded" in result.stderr
    assert "40 euros" in (tmp_path / "out" / "a.txt").read_text(encoding="utf-8")
    lines = f"{json.dumps(CHAT)}\n{{broken\n{json.dumps(CHAT)}\n"
    explained = run("explain", "-", "--model", "heuristic", "--format", "jsonl", stdin=lines)
    assert explained.exit_code == 1
    assert "-:2: line 2" in explained.stderr
    assert explained.stdout.count("Which") == 2


def test_no_input_ends_in_a_traceback(tmp_path: Path) -> None:
    """Numbers without end, and halves of surrogate pairs."""
    number = f'[{{"role": "user", "content": "x", "id": {"9" * 5000}}}]'
    for name in ("json", "jsonl"):
        result = compress("-", "--format", name, stdin=number)
        assert result.exit_code == 1
        assert "too many digits" in result.stderr
    assert "too many digits" in compress("-", stdin=number).stderr
    assert compress("-", "--max-tokens", "9" * 400, stdin=TALK).exit_code == 2
    half = '[{"role": "user", "content": "um \\ud83d not"}]'
    explained = run("explain", "-", "--model", "heuristic", stdin=half)
    assert explained.exit_code == 0
    assert "\\ud83d" in explained.stdout
    for option in ("--json", "--diff"):
        assert compress("-", option, "--report", tmp_path / "r", stdin=half).exit_code == 0


def test_json_and_diff_are_utf8_whatever_the_input_is() -> None:
    """The result itself keeps the encoding of the input."""
    talk = ("\ufeff" + TALK).encode("utf-16-le")
    assert json.loads(compress("-", "--json", "-q", stdin=talk).stdout_bytes.decode("utf-8"))["text"]
    assert "40 euros" in compress("-", "--diff", "-q", stdin=talk).stdout_bytes.decode("utf-8")
    assert "40 euros" in compress("-", "-q", stdin=talk).stdout_bytes.decode("utf-16")


def test_version_and_info_need_no_installation(tmp_path: Path) -> None:
    """The version of the code that runs; a model without a folder; and clear words for no model."""
    from compressor import __version__

    assert __version__ in run("--version").stdout
    assert "no folder" in run("info", "--model", "heuristic").stdout
    for model, message in (("", "model is ''"), (".", "config.json is missing"), ("~nobody_x/y", "~nobody_x")):
        result = run("info", "--model", model)
        assert (result.exit_code, message in result.stderr) == (1, True), result.output


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"thresholds": []}, r"thresholds is []"),
        ({"thresholds": {"light": 3}}, "thresholds.light is 3"),
        ({"window": float("inf")}, "not a model's config"),
        ({"shape": 3}, "shape is 3"),
        ({}, "not a tokenizer"),
    ],
)
def test_broken_models_are_named(tmp_path: Path, change: dict[str, object], message: str) -> None:
    """Exit 1 with the file and what is wrong in it."""
    from compressor.scoring.weights import model_folder

    config = json.loads((model_folder("default") / "config.json").read_text(encoding="utf-8"))
    (tmp_path / "config.json").write_text(json.dumps({**config, **change}), encoding="utf-8")
    (tmp_path / "tokenizer.json").write_text("{}", encoding="utf-8")
    result = run("compress", "-", "--model", tmp_path, stdin=TALK)
    assert result.exit_code == 1
    assert message in result.stderr


@pytest.mark.parametrize("command", ["compress", "explain"])
def test_a_table_without_text_is_one_line(tmp_path: Path, command: str) -> None:
    """No traceback; the message names options that there are."""
    file = tmp_path / "a.csv"
    file.write_text("x,y\n1,2\n", encoding="utf-8")
    result = run(command, "--model", "heuristic", file)
    assert result.exit_code == 1
    assert result.exception is None or isinstance(result.exception, SystemExit)
    assert result.stderr.startswith(f"{file}: the first row names no column with text")
    assert "compressor batch --text-column" in result.stderr
    assert result.stderr.count("\n") == 1


def test_files_behind_a_table_without_text_are_compressed(tmp_path: Path) -> None:
    """One bad input stops no other, whether the format was found or given."""
    bad, good = tmp_path / "a.csv", tmp_path / "b.txt"
    bad.write_text("x,y\n1,2\n", encoding="utf-8")
    good.write_text(TALK, encoding="utf-8")
    result = compress(bad, good, "-q", "-o", tmp_path / "out/")
    assert result.exit_code == 1
    assert "40 euros" in (tmp_path / "out/b.txt").read_text(encoding="utf-8")
    assert not (tmp_path / "out/a.csv").exists()
    given = compress("--format", "csv", good)
    assert given.exit_code == 1
    assert given.stderr.startswith(f"{good}: the first row")


def test_escapes_that_the_encoding_lacks_stay_escapes(tmp_path: Path) -> None:
    """A file in cp1252 holds an emoji as an escape beside a letter that is none."""
    file = tmp_path / "a.json"
    raw = '[{"role":"user","content":"Well, so, the caf\xe9 costs 40 \\ud83d\\ude00 \\u20ac, you know."}]'
    file.write_bytes(raw.encode("cp1252"))
    result = compress(file, "-q", "--keep-last", 0, "--preset", "tight", "-o", tmp_path / "out.json")
    assert result.exit_code == 0, result.stderr
    written = (tmp_path / "out.json").read_bytes()
    assert b"\\ud83d\\ude00" in written
    assert b"\xe9" in written
    assert len(written) < len(raw)


def test_a_result_that_cannot_be_written_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other inputs go on."""
    from compressor import formats
    from compressor.errors import InputError

    def fail(content: str, transcripts: object) -> str:
        if "Zoe" in content:
            raise InputError("cp1252 has no such thing")
        return content

    monkeypatch.setattr(formats, "write_records", fail)
    bad, good = tmp_path / "a.txt", tmp_path / "b.txt"
    bad.write_text(TALK.replace("Ann", "Zoe"), encoding="utf-8")
    good.write_text(TALK, encoding="utf-8")
    result = compress(bad, good, "-q")
    assert result.exit_code == 1
    assert result.stderr == f"{bad}: cp1252 has no such thing\n"
    assert result.stdout == TALK
