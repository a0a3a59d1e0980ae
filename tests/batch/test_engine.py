"""A whole run in this process: what comes out, what is listed, and what stops it or makes it go on."""

import bz2
import gzip
import json
import lzma
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from compressor import Compressor, InputError, Policy, PolicyError
from compressor.batch import BatchError, BusyError, ChangedError, FirstFailure, Settings, Watcher, run_batch
from compressor.batch.inputs import STATE
from compressor.batch.lock import locked
from tests.batch.conftest import conversation, lines, made, report_of


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two or three records each, so that small files take many."""
    monkeypatch.setattr("compressor.batch.chunks.CHUNK", 700)


def run(archive: Path, out: Path, settings: Settings, **options):  # type: ignore[no-untyped-def]
    return run_batch([archive], out, settings, workers=1, **options)


def errors(out: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in (out / "errors.jsonl").read_text(encoding="utf-8").splitlines()]


def test_every_record_is_what_compressing_it_alone_gives(archive: Path, tmp_path: Path, settings: Settings) -> None:
    """In its place, with all fields around it as they were."""
    run(archive, tmp_path / "out", settings)
    alone = Compressor.from_pretrained("heuristic", policy=settings.policy)
    written = (tmp_path / "out" / "chats.jsonl").read_text().splitlines()
    read = (archive / "chats.jsonl").read_text().splitlines()
    assert len(written) == len(read) == 16
    for before, after in zip(read, written, strict=True):
        if before.startswith('{"id"'):
            expected = {**json.loads(before), "messages": alone.compress(json.loads(before)["messages"]).messages}
            assert json.loads(after) == expected
            assert after.startswith(before[: before.index('"messages"')])
            assert len(after) < len(before)


def test_results_have_the_shape_of_their_files(archive: Path, tmp_path: Path, settings: Settings) -> None:
    """Names, folders, line ends, indents and compression."""
    run(archive, tmp_path / "out", settings)
    found = made(tmp_path / "out")
    assert set(found) == {
        "chats.jsonl",
        "2024/list.json",
        "2024/may/call.txt",
        "2024/may/more.jsonl.gz",
        "errors.jsonl",
    }
    more = gzip.decompress(found["2024/may/more.jsonl.gz"])
    assert more.count(b"\r\n") == more.count(b"\n") == 6
    assert found["2024/may/call.txt"].count(b"\r\n") == 2
    listed = json.loads(found["2024/list.json"])
    assert [item["id"] for item in listed] == list(range(4))
    assert found["2024/list.json"].startswith(b'[\n  {\n    "id": 0,\n    "score": 1.5,')


def test_bad_records_are_listed_and_stay_as_they_were(archive: Path, tmp_path: Path, settings: Settings) -> None:
    """With file, line, reason and raw text; a file that cannot be read has no result."""
    report = run(archive, tmp_path / "out", settings)
    listed = {(Path(str(entry["file"])).name, entry["line"]): entry for entry in errors(tmp_path / "out")}
    assert set(listed) == {("broken.json", None), ("chats.jsonl", 9), ("chats.jsonl", 16)}
    assert listed["chats.jsonl", 9]["raw"] == '{"messages": [broken\n'
    assert "JSON" in str(listed["chats.jsonl", 9]["reason"])
    assert listed["broken.json", None]["raw"] is None
    assert "cut short" in str(listed["broken.json", None]["reason"])
    written = (tmp_path / "out" / "chats.jsonl").read_text().splitlines()
    assert written[8] == '{"messages": [broken'
    assert written[15] == '{"messages": 7}'
    assert report.complete
    assert report.bad == 3
    assert report.failed == 1


def test_a_run_without_failures_leaves_no_list_of_them(tmp_path: Path, settings: Settings) -> None:
    """An empty file would say nothing."""
    (tmp_path / "a.jsonl").write_text(lines(2))
    report = run(tmp_path / "a.jsonl", tmp_path / "out", settings)
    assert report.bad == 0
    assert set(made(tmp_path / "out")) == {"a.jsonl"}


def test_the_report_adds_up(archive: Path, tmp_path: Path, settings: Settings) -> None:
    """Over formats, roles and rules, as the reports of the single records do."""
    report = run(archive, tmp_path / "out", settings).to_dict()
    alone = Compressor.from_pretrained("heuristic", policy=settings.policy)
    singles = [
        alone.compress(conversation(number)["messages"]).report for number in [*range(14), *range(4), *range(100, 106)]
    ]
    singles.append(alone.compress("Ann: um, so, the fee is 40 euros, okay?\r\nBob: yeah, right, thanks.\r\n").report)
    assert report["conversations"] == len(singles)
    assert report["tokens"]["before"] == sum(single.tokens_before for single in singles)
    assert report["tokens"]["after"] == sum(single.tokens_after for single in singles)
    assert report["protected_words"]["numbers"] == sum(single.kept_by_rule["numbers"] for single in singles)
    assert sum(role["tokens"]["before"] for role in report["by_role"].values()) == report["tokens"]["before"]
    assert sum(each["conversations"] for each in report["by_format"].values()) == len(singles)
    assert set(report["by_format"]) == {"jsonl", "json", "text"}
    assert json.loads((tmp_path / "out" / "report.json").read_text()) == report
    assert report["cache"]["hits"] + report["cache"]["misses"] == report["turns"]


def test_the_summary_can_be_read(archive: Path, tmp_path: Path, settings: Settings) -> None:
    """It names what was saved, what failed and where to look."""
    summary = run(archive, tmp_path / "out", settings).summary()
    for part in (
        "4 of 5 files done, 1 failed",
        "% kept)",
        "protected words by rule",
        "passed over: 2 × hidden",
        "errors.jsonl",
    ):
        assert part in summary


def test_the_cache_changes_nothing_but_the_work(archive: Path, tmp_path: Path, settings: Settings) -> None:
    """The same bytes with and without it."""
    with_cache = run(archive, tmp_path / "with", settings)
    without = run(archive, tmp_path / "without", Settings(settings.policy, "heuristic", cache_bytes=0))
    assert made(tmp_path / "with") == made(tmp_path / "without")
    assert with_cache.total.misses < without.total.misses


@pytest.mark.parametrize(
    ("ending", "pack", "unpack"),
    [
        ("gz", gzip.compress, gzip.decompress),
        ("bz2", bz2.compress, bz2.decompress),
        ("xz", lzma.compress, lzma.decompress),
    ],
)
def test_compressed_files_stay_compressed(tmp_path: Path, settings: Settings, ending: str, pack, unpack) -> None:  # type: ignore[no-untyped-def]
    """With the same content as the result of the file that is not."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.jsonl").write_text(lines(40))
    (tmp_path / "in" / f"b.jsonl.{ending}").write_bytes(pack(lines(40).encode()))
    run(tmp_path / "in", tmp_path / "out", settings)
    found = made(tmp_path / "out")
    assert unpack(found[f"b.jsonl.{ending}"]) == found["a.jsonl"]


def test_other_encodings_come_back_in_them_and_are_reported(tmp_path: Path, settings: Settings) -> None:
    """A file with a mark of UTF-16, and one without any."""
    text = "Zoë: um, well, the fee für Übung is 40 €, okay?\r\nBjörn: ja, ça va, thanks.\r\n"
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.txt").write_bytes(b"\xff\xfe" + text.encode("utf-16-le"))
    (tmp_path / "in" / "b.txt").write_bytes(text.encode("cp1252"))
    report = run(tmp_path / "in", tmp_path / "out", settings)
    found = made(tmp_path / "out")
    assert found["a.txt"].startswith(b"\xff\xfe")
    assert found["a.txt"][2:].decode("utf-16-le") == found["b.txt"].decode("cp1252")
    assert "40 €" in found["b.txt"].decode("cp1252")
    assert [facts.file for facts in report.noted] == ["b.txt"]
    assert "cp1252" in report.noted[0].notes[0]


@pytest.mark.parametrize("content", [b"", b"\n", b"\xef\xbb\xbf", b"[]", b"[]\n"])
@pytest.mark.parametrize("name", ["a.txt", "a.jsonl", "a.json"])
def test_files_of_nothing_come_back(tmp_path: Path, settings: Settings, content: bytes, name: str) -> None:
    """Byte for byte, or, where they are not allowed in their format, listed and unchanged."""
    (tmp_path / name).write_bytes(content)
    report = run(tmp_path / name, tmp_path / "out", settings)
    assert report.complete
    assert made(tmp_path / "out")[name] == content


def test_a_second_run_does_nothing(archive: Path, tmp_path: Path, settings: Settings) -> None:
    """It finds everything done, reports the same, and touches no result."""
    run(archive, tmp_path / "out", settings)
    first, report = made(tmp_path / "out"), report_of(tmp_path / "out")
    times = {name: (tmp_path / "out" / name).stat().st_mtime_ns for name in first if name != "errors.jsonl"}
    again = run(archive, tmp_path / "out", settings)
    assert again.resumed
    assert made(tmp_path / "out") == first
    assert report_of(tmp_path / "out") == report
    assert {name: (tmp_path / "out" / name).stat().st_mtime_ns for name in times} == times


def test_new_files_are_added_to_a_run_that_was_done(archive: Path, tmp_path: Path, settings: Settings) -> None:
    """A folder that grows is compressed as it grows."""
    run(archive, tmp_path / "out", settings)
    (archive / "new.jsonl").write_text(lines(3))
    report = run(archive, tmp_path / "out", settings)
    assert "new.jsonl" in made(tmp_path / "out")
    assert report.files == 6


def test_a_file_that_failed_is_tried_again(archive: Path, tmp_path: Path, settings: Settings) -> None:
    """Once it is mended it has its result, and its old failure is gone from the list."""
    run(archive, tmp_path / "out", settings)
    (archive / "broken.json").write_text(json.dumps([conversation(1)]))
    report = run(archive, tmp_path / "out", settings)
    assert report.failed == 0
    assert "broken.json" in made(tmp_path / "out")
    assert {entry["line"] for entry in errors(tmp_path / "out")} == {9, 16}


@pytest.mark.parametrize("done", [True, False])
def test_a_changed_input_is_noticed(archive: Path, tmp_path: Path, settings: Settings, done: bool) -> None:
    """Whether its result is whole or half, and named; --restart begins anew."""
    if done:
        run(archive, tmp_path / "out", settings)
    else:
        run(archive, tmp_path / "out", settings, watcher=StopAfter(1))
    file = archive / ("chats.jsonl")
    file.write_text(file.read_text().replace("order 3 ", "order 4 "))
    os.utime(file, ns=(1, 1))
    with pytest.raises(ChangedError, match=r"chats.jsonl: changed since the run .* --restart"):
        run(archive, tmp_path / "out", settings)
    assert run(archive, tmp_path / "out", settings, restart=True).complete
    run(archive, tmp_path / "fresh", settings)
    assert made(tmp_path / "out") == made(tmp_path / "fresh")


def test_an_input_that_was_only_touched_is_the_same(archive: Path, tmp_path: Path, settings: Settings) -> None:
    """Its content says so."""
    run(archive, tmp_path / "out", settings)
    os.utime(archive / "chats.jsonl", ns=(1, 1))
    assert run(archive, tmp_path / "out", settings).complete


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (Settings(Policy(keep_last=0, keep_ratio=0.5), "heuristic"), "policy keep_ratio was None and is 0.5"),
        (Settings(Policy(keep_last=0), "default"), "model was 'heuristic-1' and is "),
        (Settings(Policy(keep_last=0), "heuristic", format="jsonl"), "format was None and is 'jsonl'"),
        (Settings(Policy(keep_last=0), "heuristic", options={"column": "x"}), "option column was None and is 'x'"),
    ],
)
def test_a_changed_model_policy_or_option_is_noticed(
    archive: Path, tmp_path: Path, settings: Settings, other: Settings, message: str
) -> None:
    """By what it was and what it is."""
    run(archive, tmp_path / "out", settings)
    before = made(tmp_path / "out")
    with pytest.raises(ChangedError, match=message):
        run(archive, tmp_path / "out", other)
    assert made(tmp_path / "out") == before


def test_another_version_of_the_policy_is_noticed(
    archive: Path, tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rules may have changed meanwhile."""
    run(archive, tmp_path / "out", settings)
    monkeypatch.setattr("compressor.batch.identity.POLICY_VERSION", "next")
    with pytest.raises(ChangedError, match="policy version"):
        run(archive, tmp_path / "out", settings)


def test_a_file_that_would_be_cut_otherwise_is_begun_anew(
    archive: Path, tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counting its pieces would miss some; it fails, and the next start reads it from its beginning."""
    (archive / "broken.json").unlink()
    run(archive, tmp_path / "out", settings, watcher=StopAfter(1))
    monkeypatch.setattr("compressor.batch.sources.sniff", lambda head: "text")
    monkeypatch.setattr("compressor.batch.sources.FORMATS", {})
    report = run(archive, tmp_path / "out", settings)
    assert report.failed == 1
    assert "was read as jsonl, utf-8 and is text, utf-8 now" in str(errors(tmp_path / "out")[0]["reason"])
    monkeypatch.undo()
    assert run(archive, tmp_path / "out", settings).failed == 0
    assert (tmp_path / "out" / "chats.jsonl").read_text().count("\n") == 16


def test_a_restart_replaces_results_only_when_the_new_ones_are_whole(
    archive: Path, tmp_path: Path, settings: Settings
) -> None:
    """Stopped in between, the old ones stand; going on needs no second --restart."""
    run(archive, tmp_path / "out", settings)
    old = made(tmp_path / "out")
    other = Settings(Policy(keep_last=0, keep_ratio=0.2, floor="masks"), "heuristic")
    run(archive, tmp_path / "out", other, restart=True, watcher=StopAfter(1))
    assert made(tmp_path / "out")["chats.jsonl"] == old["chats.jsonl"]
    assert run(archive, tmp_path / "out", other).complete
    run(archive, tmp_path / "fresh", other)
    assert made(tmp_path / "out") == made(tmp_path / "fresh")
    assert made(tmp_path / "out")["chats.jsonl"] != old["chats.jsonl"]


def test_files_of_others_are_not_overwritten(archive: Path, tmp_path: Path, settings: Settings) -> None:
    """Unless it is asked for."""
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "chats.jsonl").write_text("precious")
    with pytest.raises(ChangedError, match="no run here has made it"):
        run(archive, tmp_path / "out", settings)
    assert (tmp_path / "out" / "chats.jsonl").read_text() == "precious"
    assert run(archive, tmp_path / "out", settings, restart=True).complete


def test_a_result_that_is_gone_is_noticed(archive: Path, tmp_path: Path, settings: Settings) -> None:
    """A run that says it is done must have its results."""
    run(archive, tmp_path / "out", settings)
    (tmp_path / "out" / "2024" / "list.json").unlink()
    with pytest.raises(ChangedError, match=r"list.json: made by the run here and gone since"):
        run(archive, tmp_path / "out", settings)


def test_fail_fast_stops_at_the_first_failure(archive: Path, tmp_path: Path, settings: Settings) -> None:
    """By name and line, and going on later gives what one run gives."""
    (archive / "broken.json").unlink()
    with pytest.raises(FirstFailure, match=r"chats.jsonl:9: .*JSON"):
        run(archive, tmp_path / "out", settings, fail_fast=True)
    assert "chats.jsonl" not in made(tmp_path / "out")
    run(archive, tmp_path / "out", settings)
    run(archive, tmp_path / "fresh", settings)
    assert made(tmp_path / "out") == made(tmp_path / "fresh")


class StopAfter(Watcher):
    """Stops a run after some chunks."""

    def __init__(self, chunks: int) -> None:
        self.left = chunks

    def advance(self, done: int) -> None:
        self.left -= 1

    def stopping(self) -> bool:
        return self.left <= 0


def test_a_run_that_is_stopped_again_and_again_comes_to_the_same_end(
    archive: Path, tmp_path: Path, settings: Settings
) -> None:
    """After every chunk."""
    run(archive, tmp_path / "whole", settings)
    starts = 0
    while not run(archive, tmp_path / "out", settings, watcher=StopAfter(1)).complete:
        starts += 1
    assert starts > 5
    assert made(tmp_path / "out") == made(tmp_path / "whole")
    assert report_of(tmp_path / "out") == report_of(tmp_path / "whole")


def test_the_watcher_is_told_how_far_the_run_is(archive: Path, tmp_path: Path, settings: Settings) -> None:
    """In bytes of the inputs, never back, and to the end."""

    class Told(Watcher):
        def __init__(self) -> None:
            self.heard: list[int] = []

        def begin(self, inputs, done):  # type: ignore[no-untyped-def]
            self.heard.append(done)
            self.size = inputs.size

        def advance(self, done: int) -> None:
            self.heard.append(done)

    told = Told()
    run(archive, tmp_path / "out", settings, watcher=told)
    assert told.heard == sorted(told.heard)
    assert (told.heard[0], told.heard[-1]) == (0, told.size)


def test_a_file_that_vanishes_or_changes_meanwhile_fails_alone(
    archive: Path, tmp_path: Path, settings: Settings
) -> None:
    """The others have their results; no half file stands under a final name."""

    class Meddler(Watcher):
        def advance(self, done: int) -> None:
            (archive / "2024" / "list.json").unlink(missing_ok=True)
            with open(archive / "chats.jsonl", "a") as file:
                file.write("more\n")

    report = run(archive, tmp_path / "out", settings, watcher=Meddler())
    reasons = {Path(str(entry["file"])).name: str(entry["reason"]) for entry in errors(tmp_path / "out")}
    assert "No such file" in reasons["list.json"]
    assert "changed while it was read" in reasons["chats.jsonl"]
    assert report.failed == 3
    assert set(made(tmp_path / "out")) == {"2024/may/call.txt", "2024/may/more.jsonl.gz", "errors.jsonl"}


def test_a_record_that_nobody_foresaw_fails_alone(
    tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Any exception is of the record, not of the run."""
    (tmp_path / "a.jsonl").write_text(lines(3))
    whole = Compressor.compress

    def compress(self, source, **options):  # type: ignore[no-untyped-def]
        if "order 1 " in source.turns[1].text:
            raise ZeroDivisionError("what a surprise")
        return whole(self, source, **options)

    monkeypatch.setattr(Compressor, "compress", compress)
    run(tmp_path / "a.jsonl", tmp_path / "out", settings)
    assert [(entry["line"], entry["reason"]) for entry in errors(tmp_path / "out")] == [
        (2, "ZeroDivisionError: what a surprise")
    ]
    assert (tmp_path / "out" / "a.jsonl").read_text().splitlines()[1] == lines(3).splitlines()[1]


def test_lines_that_cannot_be_read_inside_a_conversation_are_listed(tmp_path: Path, settings: Settings) -> None:
    """A file of one message a line is one conversation; its bad line stays and the rest is compressed."""
    messages = [*conversation(1)["messages"], *conversation(2)["messages"]]  # type: ignore[misc]
    content = [json.dumps(message) for message in messages]
    content[1] = '{"role": "user", "content"'
    (tmp_path / "a.jsonl").write_text("\n".join(content) + "\n")
    run(tmp_path / "a.jsonl", tmp_path / "out", settings)
    assert [(entry["line"], entry["raw"].strip()) for entry in errors(tmp_path / "out")] == [(2, content[1])]  # type: ignore[attr-defined]
    written = (tmp_path / "out" / "a.jsonl").read_text().splitlines()
    assert written[1] == content[1]
    assert len(written) == len(content)
    assert len(written[2]) < len(content[2])


def test_check_verifies_every_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A broken promise makes a record fail."""
    from compressor import ContractError
    from compressor.result import CompressionResult

    (tmp_path / "a.jsonl").write_text(lines(2))

    def verify(self: CompressionResult) -> None:
        raise ContractError("a promise is broken")

    monkeypatch.setattr(CompressionResult, "verify", verify)
    settings = Settings(Policy(keep_last=0), "heuristic", check=True)
    assert run(tmp_path / "a.jsonl", tmp_path / "out", settings).total.bad == 2


def test_two_runs_in_one_folder_are_refused(archive: Path, tmp_path: Path, settings: Settings) -> None:
    """The second one says which process holds it."""
    (tmp_path / "out" / STATE).mkdir(parents=True)
    with (
        locked(tmp_path / "out" / STATE / "lock"),
        pytest.raises(BusyError, match=rf"another run \(process {os.getpid()}\) is at work"),
    ):
        run(archive, tmp_path / "out", settings)
    assert run(archive, tmp_path / "out", settings).complete


@pytest.mark.parametrize("what", ["journal.jsonl", "manifest.json"])
def test_a_damaged_journal_is_refused(archive: Path, tmp_path: Path, settings: Settings, what: str) -> None:
    """Guessing could lose records; a restart mends it."""
    run(archive, tmp_path / "out", settings)
    file = tmp_path / "out" / STATE / what
    content = file.read_bytes()
    file.write_bytes(b"{}x" + content[3:])
    with pytest.raises(BatchError, match=r"damaged .*--restart"):
        run(archive, tmp_path / "out", settings)
    assert run(archive, tmp_path / "out", settings, restart=True).complete


def test_a_part_that_lost_bytes_is_refused(archive: Path, tmp_path: Path, settings: Settings) -> None:
    """Such as by a disk that forgot what it had confirmed."""
    (archive / "broken.json").unlink()
    run(archive, tmp_path / "out", settings, watcher=StopAfter(1))
    for part in (tmp_path / "out" / STATE / "parts").glob("*.part"):
        os.truncate(part, 5)
    with pytest.raises(BatchError, match=r"has 5 bytes"):
        run(archive, tmp_path / "out", settings)


def test_a_folder_of_nothing_is_refused(tmp_path: Path, settings: Settings) -> None:
    """And makes no output."""
    (tmp_path / "in" / ".hidden").mkdir(parents=True)
    with pytest.raises(PolicyError, match="there is no file to compress"):
        run(tmp_path / "in", tmp_path / "out", settings)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("workers", [0, -1, 1.5, True])
def test_a_wrong_number_of_workers_is_refused(
    archive: Path, tmp_path: Path, settings: Settings, workers: object
) -> None:
    """With what is allowed."""
    with pytest.raises(PolicyError, match=r"workers is .* allowed"):
        run_batch([archive], tmp_path / "out", settings, workers=workers)  # type: ignore[arg-type]


def test_an_archive_that_moved_goes_on(archive: Path, tmp_path: Path, settings: Settings) -> None:
    """The journal speaks of names below the input, not of where it lies."""
    run(archive, tmp_path / "out", settings, watcher=StopAfter(2))
    moved = tmp_path / "elsewhere"
    shutil.move(archive, moved)
    assert run(moved, tmp_path / "out", settings).complete


def refuse_to_write(monkeypatch: pytest.MonkeyPatch, refused: Callable[[str], bool]) -> None:
    """An encoding that does not take some texts."""
    from compressor.formats import opening

    encode = opening.encode_text

    def encode_text(text: str, *rest: object) -> bytes:
        if refused(text):
            raise InputError("cp1252 has no '\\u2014'; the text can be written in UTF-8 instead.")
        return encode(text, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(opening, "encode_text", encode_text)


def test_a_result_that_cannot_be_encoded_is_a_failed_record(
    archive: Path, tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The record stays as it was, the others and the other files go on, and a second start is no worse."""
    (archive / "broken.json").unlink()
    raw = lines(1, 5)
    refuse_to_write(monkeypatch, lambda text: '"id": 5,' in text and text != raw)
    for _ in range(2):
        report = run(archive, tmp_path / "out", settings)
        assert report.complete
        assert (report.bad, report.failed) == (3, 0)
        assert [entry["line"] for entry in errors(tmp_path / "out")] == [6, 9, 16]
        assert errors(tmp_path / "out")[0]["raw"] == raw
        assert "cp1252 has no" in str(errors(tmp_path / "out")[0]["reason"])
    written = (tmp_path / "out" / "chats.jsonl").read_text().splitlines()
    assert written[5] == raw.rstrip("\n")
    assert len(written) == 16
    assert report.total.records == 14 - 1 + 4 + 6 + 1


def test_a_record_that_cannot_be_written_at_all_fails_its_file_alone(
    archive: Path, tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even as it was: the file has no result, all others have theirs."""
    (archive / "broken.json").unlink()
    refuse_to_write(monkeypatch, lambda text: '"id": 5,' in text)
    for _ in range(2):
        report = run(archive, tmp_path / "out", settings)
        assert report.complete
        assert (report.bad, report.failed) == (1, 1)
        assert "line 6 cannot be written back" in str(errors(tmp_path / "out")[0]["reason"])
        assert "chats.jsonl" not in made(tmp_path / "out")
        assert "2024/may/more.jsonl.gz" in made(tmp_path / "out")


@pytest.mark.parametrize("whole_file", [False, True])
def test_fail_fast_lists_and_counts_its_failure(
    archive: Path, tmp_path: Path, settings: Settings, whole_file: bool
) -> None:
    """Whether it is a record or a file; the run is not complete."""
    if not whole_file:
        (archive / "broken.json").unlink()
    for _ in range(2):
        with pytest.raises(FirstFailure):
            run(archive, tmp_path / "out", settings, fail_fast=True)
        report = json.loads((tmp_path / "out" / "report.json").read_text())
        listed = errors(tmp_path / "out")
        assert [entry["line"] for entry in listed] == [None if whole_file else 9]
        assert (report["errors"], report["complete"]) == (1, False)


def test_fail_fast_at_the_last_file_is_not_complete(tmp_path: Path, settings: Settings) -> None:
    """Though nothing is left to do."""
    (tmp_path / "a.json").write_bytes(gzip.compress(lines(20).encode())[:60])
    with pytest.raises(FirstFailure):
        run(tmp_path / "a.json", tmp_path / "out", settings, fail_fast=True)
    assert json.loads((tmp_path / "out" / "report.json").read_text())["complete"] is False


def test_numbers_and_errors_are_of_the_inputs_of_this_call(archive: Path, tmp_path: Path, settings: Settings) -> None:
    """With fewer inputs than before: list, counts and status agree, the others are named, and come back when given."""
    run(archive, tmp_path / "out", settings)
    before = made(tmp_path / "out"), report_of(tmp_path / "out")
    kept = archive / "2024" / "may"
    moved = tmp_path / "moved"
    for name in ("chats.jsonl", "broken.json"):
        moved.mkdir(exist_ok=True)
        shutil.move(archive / name, moved / name)
    report = run(archive, tmp_path / "out", settings)
    assert kept.exists()
    assert (report.files, report.bad, report.complete) == (3, 0, True)
    assert not (tmp_path / "out" / "errors.jsonl").exists()
    assert report.total.records == 4 + 1 + 6
    assert set(report.formats) == {"json", "jsonl", "text"}
    assert report.others == (("broken.json", "failed"), ("chats.jsonl", "published"))
    assert "not among the inputs now: 2 (broken.json, chats.jsonl); their results stay" in report.summary()
    told = json.loads((tmp_path / "out" / "report.json").read_text())
    assert [entry["file"] for entry in told["files"]["others"]] == ["broken.json", "chats.jsonl"]
    assert told["errors"] == 0
    for name in ("chats.jsonl", "broken.json"):
        shutil.move(moved / name, archive / name)
    run(archive, tmp_path / "out", settings)
    assert (made(tmp_path / "out"), report_of(tmp_path / "out")) == before


def test_an_unfinished_file_that_is_not_given_is_not_counted(archive: Path, tmp_path: Path, settings: Settings) -> None:
    """Its bad records neither; it goes on when it is given again."""
    (archive / "broken.json").unlink()
    assert run(archive, tmp_path / "out", settings, watcher=StopAfter(4)).bad == 1
    report = run_batch([archive / "2024" / "may"], tmp_path / "out", settings, workers=1)
    assert report.others == (("chats.jsonl", "open"),)
    assert (report.bad, report.total.records) == (0, 7)
    assert not (tmp_path / "out" / "errors.jsonl").exists()
    assert run(archive, tmp_path / "out", settings).bad == 2
    run(archive, tmp_path / "fresh", settings)
    assert made(tmp_path / "out")["chats.jsonl"] == made(tmp_path / "fresh")["chats.jsonl"]


def test_a_restart_names_the_results_of_inputs_that_are_gone(archive: Path, tmp_path: Path, settings: Settings) -> None:
    """They stay, and every later start names them, until they are deleted or made again."""
    run(archive, tmp_path / "out", settings)
    content = (archive / "chats.jsonl").read_text()
    (archive / "chats.jsonl").unlink()
    for restart in (True, False, True):
        report = run(archive, tmp_path / "out", settings, restart=restart)
        assert report.others == (("chats.jsonl", "of a run before --restart"),)
        assert "not among the inputs now: 1 (chats.jsonl)" in report.summary()
        assert (tmp_path / "out" / "chats.jsonl").exists()
    (archive / "chats.jsonl").write_text(content)
    assert run(archive, tmp_path / "out", settings).others == ()


def test_a_check_is_part_of_the_run(archive: Path, tmp_path: Path, settings: Settings) -> None:
    """Asking for it later would check nothing of what is done; the report tells whether there was one."""
    assert run(archive, tmp_path / "out", settings).made_with["check"] is False
    checked = Settings(settings.policy, "heuristic", check=True)
    with pytest.raises(ChangedError, match="check was False and is True"):
        run(archive, tmp_path / "out", checked)
    report = run(archive, tmp_path / "out", checked, restart=True)
    assert report.to_dict()["made_with"]["check"] is True
    assert "each result was checked" in report.summary()


@pytest.mark.parametrize("damage", ["cut", "changed"])
def test_a_result_that_was_damaged_is_noticed(archive: Path, tmp_path: Path, settings: Settings, damage: str) -> None:
    """By its size or its content; another time of change alone is no damage."""
    run(archive, tmp_path / "out", settings)
    result = tmp_path / "out" / "2024" / "list.json"
    os.utime(result, ns=(1, 1))
    assert run(archive, tmp_path / "out", settings).complete
    content = result.read_bytes()
    result.write_bytes(content[:-5] if damage == "cut" else content.replace(b"order", b"0rder"))
    with pytest.raises(ChangedError, match=r"list.json: made by the run here and changed since"):
        run(archive, tmp_path / "out", settings)
    result.write_bytes(content)
    assert run(archive, tmp_path / "out", settings).complete


def test_a_journal_without_stamps_of_results_is_gone_on_with(archive: Path, tmp_path: Path, settings: Settings) -> None:
    """As it was written before there were any."""
    run(archive, tmp_path / "out", settings)
    journal = tmp_path / "out" / STATE / "journal.jsonl"
    entries = [json.loads(line) for line in journal.read_text().splitlines()]
    for entry in entries:
        for change in entry.values():
            del change["is"]["result"]
    journal.write_text("".join(json.dumps(entry) + "\n" for entry in entries))
    assert run(archive, tmp_path / "out", settings).complete


def test_a_link_that_leads_nowhere_is_a_failure(archive: Path, tmp_path: Path, settings: Settings) -> None:
    """Listed and counted: what it stood for is missing."""
    (archive / "2024" / "gone.jsonl").symlink_to(tmp_path / "nowhere")
    report = run(archive, tmp_path / "out", settings)
    listed = {Path(str(entry["file"])).name: entry for entry in errors(tmp_path / "out")}
    assert listed["gone.jsonl"]["line"] is None
    assert "No such file" in str(listed["gone.jsonl"]["reason"])
    assert report.bad == 4
    assert [Path(entry["file"]).name for entry in report.to_dict()["files"]["unreadable"]] == ["gone.jsonl"]


@pytest.mark.parametrize("content", [b"", b"\n", b"\xef\xbb\xbf", b"\xef\xbb\xbf\r\n  \r\n"])
@pytest.mark.parametrize("ending", ["txt", "jsonl", "json", "csv", "tsv", "srt", "vtt", "md", "html", "parquet"])
def test_an_empty_file_of_any_format_is_done(tmp_path: Path, settings: Settings, content: bytes, ending: str) -> None:
    """With nothing to do, nothing counted and nothing wrong."""
    (tmp_path / f"a.{ending}").write_bytes(content)
    report = run(tmp_path / f"a.{ending}", tmp_path / "out", settings)
    assert (report.complete, report.bad, report.total.records) == (True, 0, 0)
    assert made(tmp_path / "out") == {f"a.{ending}": content}
