"""Which files are compressed, where their results go, and what is refused before anything is written."""

import os
import socket
from pathlib import Path

import pytest

from compressor.batch.inputs import Selection, find_inputs
from compressor.errors import PolicyError


def names(*given: Path | str, out: Path) -> list[str]:
    return [file.name for file in find_inputs(given, out).files]


def test_a_folder_is_mirrored_by_name(archive: Path, tmp_path: Path) -> None:
    """Hidden files and folders are passed over, and said so."""
    found = find_inputs([archive], tmp_path / "out")
    assert [file.name for file in found.files] == [
        "broken.json",
        "chats.jsonl",
        "2024/list.json",
        "2024/may/call.txt",
        "2024/may/more.jsonl.gz",
    ]
    assert {(Path(path).name, reason) for path, reason in found.skipped} == {
        (".hidden.jsonl", "hidden"),
        (".cache", "hidden"),
    }


def test_of_several_inputs_folders_keep_their_own_name(archive: Path, tmp_path: Path) -> None:
    """So that equal names in two folders do not meet; a file goes directly into the output."""
    found = names(archive / "2024" / "may", archive / "chats.jsonl", out=tmp_path / "out")
    assert found == ["may/call.txt", "may/more.jsonl.gz", "chats.jsonl"]


def test_a_hidden_file_that_is_named_is_taken(archive: Path, tmp_path: Path) -> None:
    """It was meant."""
    assert names(archive / ".hidden.jsonl", out=tmp_path / "out") == [".hidden.jsonl"]


@pytest.mark.parametrize(
    ("include", "exclude", "expected"),
    [
        (("*.jsonl",), (), ["chats.jsonl"]),
        (("*.jsonl", "*.jsonl.gz"), (), ["chats.jsonl", "2024/may/more.jsonl.gz"]),
        (("2024/*",), ("*.gz",), ["2024/list.json", "2024/may/call.txt"]),
        ((), ("2024/may/*", "broken.json"), ["chats.jsonl", "2024/list.json"]),
        (("*.JSONL", "2024/may/call.tx?"), (), ["2024/may/call.txt"]),
    ],
)
def test_files_of_a_folder_are_chosen_by_name_or_path(
    archive: Path, tmp_path: Path, include: tuple[str, ...], exclude: tuple[str, ...], expected: list[str]
) -> None:
    """What was not chosen is listed with the reason; what was named itself is taken."""
    found = find_inputs([archive], tmp_path / "out", Selection(include, exclude))
    assert [file.name for file in found.files] == expected
    reasons = {reason for _, reason in found.skipped} - {"hidden"}
    assert reasons <= {"excluded", "not included"}
    assert len(found.skipped) == 2 + 5 - len(expected)
    named = find_inputs([archive / "broken.json"], tmp_path / "out", Selection(include, ("*",)))
    assert [file.name for file in named.files] == ["broken.json"]


def test_a_choice_of_nothing_is_refused(archive: Path, tmp_path: Path) -> None:
    """With what became of the files; and a pattern must be one."""
    with pytest.raises(PolicyError, match=r"no file to compress in .*; passed over: hidden, not included"):
        find_inputs([archive], tmp_path / "out", Selection(include=("*.parquet",)))
    for wrong in (("",), "*.json", (3,)):
        with pytest.raises(PolicyError, match="include is"):
            Selection(include=wrong)  # type: ignore[arg-type]


def test_an_input_given_twice_is_taken_once(archive: Path, tmp_path: Path) -> None:
    """By any of its names."""
    file = archive / "chats.jsonl"
    assert names(file, archive / "2024" / ".." / "chats.jsonl", out=tmp_path / "out") == ["chats.jsonl"]


def test_the_output_inside_the_input_is_passed_over(archive: Path) -> None:
    """A second run must not compress the results of the first."""
    out = archive / "2024" / "out"
    out.mkdir()
    (out / "list.json").write_text("[]")
    found = find_inputs([archive], out)
    assert not any("out" in file.name for file in found.files)
    assert (str(out), "the output folder") in found.skipped


def test_links_to_folders_are_not_followed_and_links_to_files_are(archive: Path, tmp_path: Path) -> None:
    """A circle of folders ends; a circle of files cannot be read, for the system's reason."""
    (archive / "2024" / "up").symlink_to(archive)
    (archive / "alias.jsonl").symlink_to(archive / "chats.jsonl")
    (archive / "loop").symlink_to(archive / "loop")
    found = find_inputs([archive], tmp_path / "out")
    reasons = {Path(path).name: reason for path, reason in found.skipped}
    assert reasons["up"] == "a link to a folder"
    assert [Path(path).name for path, reason in found.unreadable if "symbolic links" in reason] == ["loop"]
    assert "alias.jsonl" in [file.name for file in found.files]


def test_what_is_no_regular_file_is_passed_over_inside_a_folder(archive: Path, tmp_path: Path) -> None:
    """Reading a pipe would wait for ever."""
    os.mkfifo(archive / "pipe")
    with socket.socket(socket.AF_UNIX) as made:
        here = Path.cwd()
        os.chdir(archive)  # the name of a socket is short
        made.bind("socket")
        os.chdir(here)
        found = find_inputs([archive], tmp_path / "out")
    assert {reason for path, reason in found.skipped if Path(path).name in ("pipe", "socket")} == {"a pipe", "a socket"}


def test_a_folder_that_cannot_be_listed_is_told(archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its files would be missing without a word."""
    listed = os.scandir

    def scandir(path: str) -> object:
        if str(path).endswith("may"):
            raise PermissionError(13, "Permission denied", str(path))
        return listed(path)

    monkeypatch.setattr(os, "scandir", scandir)
    found = find_inputs([archive], tmp_path / "out")
    assert found.unreadable == ((str(archive / "2024" / "may"), "Permission denied"),)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("-", "standard input"),
        ("missing.jsonl", "No such file"),
        ("", "the input is ''"),
        ("a\0b", "allowed: files and folders"),
        ("pipe", "a pipe, which cannot be read twice"),
        ("loop", "symbolic links"),
    ],
)
def test_an_input_that_cannot_be_read_is_refused(tmp_path: Path, given: str, message: str) -> None:
    """Before the run begins, with the reason."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    whole = given if given in ("-", "") else str(tmp_path / given)
    with pytest.raises(PolicyError, match=message):
        find_inputs([whole], tmp_path / "out")


def test_two_results_of_one_name_are_refused(tmp_path: Path) -> None:
    """Both inputs are named."""
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "x.txt").write_text(folder)
    with pytest.raises(PolicyError, match=r"a/x.txt and .*b/x.txt would both be written"):
        find_inputs([tmp_path / "a" / "x.txt", tmp_path / "b" / "x.txt"], tmp_path / "out")


@pytest.mark.parametrize("link", [False, True])
def test_a_result_never_overwrites_an_input(tmp_path: Path, link: bool) -> None:
    """Neither by its name nor through a link."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "x.txt").write_text("a")
    out = tmp_path / "in"
    if link:
        out = tmp_path / "out"
        out.mkdir()
        (out / "x.txt").symlink_to(tmp_path / "in" / "x.txt")
    with pytest.raises(PolicyError, match="which would be overwritten"):
        find_inputs([tmp_path / "in" / "x.txt"], out)


@pytest.mark.parametrize("name", ["errors.jsonl", "report.json", ".compressor-batch"])
def test_the_names_of_the_runs_own_files_are_refused(tmp_path: Path, name: str) -> None:
    """One would overwrite the other."""
    (tmp_path / name).write_text("a")
    with pytest.raises(PolicyError, match="where the run writes its own"):
        find_inputs([tmp_path / name], tmp_path / "out")


def test_an_output_that_is_a_file_is_refused(tmp_path: Path) -> None:
    """The output is a folder."""
    (tmp_path / "x.txt").write_text("a")
    with pytest.raises(PolicyError, match="is a file; allowed: a folder"):
        find_inputs([tmp_path / "x.txt"], tmp_path / "x.txt")
