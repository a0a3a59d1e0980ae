"""Labels from a teacher, and everything that a teacher does wrong."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from tests.training.labelling.conftest import FILLERS, FakeTeacher, chat, cut_well, records, shorten
from training.corpora.annotated import read_record

Ask = Callable[..., Result]


def one_chat(tmp_path: Path, number: int = 9) -> Path:
    """A file of one chat."""
    path = tmp_path / "one.jsonl"
    path.write_text(json.dumps({"messages": chat(number)}) + "\n", encoding="utf-8")
    return path


def test_a_teacher_labels_every_record(ask: Ask, teacher: FakeTeacher, raw_file: Path, tmp_path: Path) -> None:
    """Both levels, nested; names that occur; turns of the system whole and never sent."""
    ask(raw_file, "-o", tmp_path / "out.jsonl")
    found = records(tmp_path / "out.jsonl")
    assert [one["id"] for one in found] == [f"raw-{n:04d}" for n in range(1, 6)]
    system, user, assistant = found[0]["turns"]
    assert system["text"] == system["light"] == system["tight"]
    assert user["light"] == "can Dr. Vane see me on 1 June? I can't come before noon."
    assert assistant["tight"] == "surgery closed on 1 June, Dr. Vane not in, only Mr. Rao"
    assert found[0]["entities"] == ["Dr. Vane"]
    assert found[0]["labelled_by"] == "teacher fake, prompt 1"
    assert found[0]["quality"] == {"variation": 0.0, "gap": 0.0}
    assert not any("You book visits" in body["messages"][1]["content"] for body, _ in teacher.seen)
    for record in found:
        read_record(record)
    assert not (tmp_path / "out.rejects").exists()


def test_a_second_run_asks_nothing(ask: Ask, teacher: FakeTeacher, raw_file: Path, tmp_path: Path) -> None:
    """What was answered is in the cache, even after a second try; another model asks again."""
    teacher.replies = ["sorry, I'd rather chat"]
    ask(raw_file, "-o", tmp_path / "out.jsonl")
    assert len(teacher.seen) == 6
    first = (tmp_path / "out.jsonl").read_bytes()
    ask(raw_file, "-o", tmp_path / "out.jsonl", "--force")
    assert len(teacher.seen) == 6
    assert (tmp_path / "out.jsonl").read_bytes() == first
    ask(raw_file, "-o", tmp_path / "out.jsonl", "--force", "--body", '{"seed": 2}')
    assert len(teacher.seen) == 11


def test_a_killed_run_goes_on(teacher: FakeTeacher, raw_file: Path, tmp_path: Path) -> None:
    """After SIGKILL there is no output, and the next run asks only for what was not answered."""
    teacher.delay = 0.15
    command = [
        sys.executable, "-c", "from training.labelling.cli import label; label()", str(raw_file), "-o",
        str(tmp_path / "out.jsonl"), "--from", "teacher", "--endpoint", teacher.url, "--model", "fake",
        "--concurrency", "1",
    ]  # fmt: skip
    running = subprocess.Popen(
        command, stderr=subprocess.PIPE, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    )
    cache = tmp_path / "out.answers.sqlite"
    deadline = time.monotonic() + 30
    kept = 0
    while kept < 2 and time.monotonic() < deadline:
        time.sleep(0.02)
        if cache.exists() and len(teacher.seen) > 1:
            kept = sqlite3.connect(cache).execute("SELECT count(*) FROM answers").fetchone()[0]
    running.send_signal(signal.SIGKILL)
    running.wait()
    assert kept >= 2
    assert not (tmp_path / "out.jsonl").exists()
    kept = sqlite3.connect(cache).execute("SELECT count(*) FROM answers").fetchone()[0]
    before = len(teacher.seen)
    teacher.delay = 0
    done = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    )
    assert done.returncode == 0, done.stderr
    assert len(teacher.seen) - before == 5 - kept
    assert len(records(tmp_path / "out.jsonl")) == 5


@pytest.mark.parametrize(
    "reply",
    [
        {"status": 429, "headers": {"Retry-After": "0"}},
        {"status": 500},
        {"status": 503, "raw": b"<html>busy</html>"},
        {"reset": True},
        {"sleep": 1.0},
    ],
    ids=["429", "500", "503", "reset", "timeout"],
)
def test_a_busy_teacher_is_asked_again(
    ask: Ask, teacher: FakeTeacher, tmp_path: Path, reply: dict[str, object]
) -> None:
    """Limits, errors, resets and timeouts pass, and nothing is left out."""
    teacher.replies = [reply, reply]
    ask(one_chat(tmp_path), "-o", tmp_path / "out.jsonl", "--timeout", 0.4)
    assert len(records(tmp_path / "out.jsonl")) == 1
    assert len(teacher.seen) == 3


def test_retry_after_is_honoured(ask: Ask, teacher: FakeTeacher, tmp_path: Path) -> None:
    """A server that asks for a second gets one, though the first wait is shorter."""
    teacher.replies = [{"status": 429, "headers": {"Retry-After": "1"}}]
    ask(one_chat(tmp_path), "-o", tmp_path / "out.jsonl")
    assert teacher.times[1] - teacher.times[0] >= 1


def test_an_endless_retry_after_is_cut(
    ask: Ask, teacher: FakeTeacher, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server cannot make the run sleep for a day."""
    monkeypatch.setattr("training.labelling.client.LONGEST_WAIT", 0)
    teacher.replies = [{"status": 429, "headers": {"Retry-After": "86400"}}]
    ask(one_chat(tmp_path), "-o", tmp_path / "out.jsonl")
    assert len(teacher.seen) == 2


def truncated(turns: list[dict[str, object]]) -> str:
    """The head of a good answer."""
    return json.dumps(cut_well(turns))[:40]  # type: ignore[arg-type]


def rewriting(turns: list[dict[str, object]]) -> str:
    """A summary in the teacher's own words."""
    text = "The customer enquires whether their physician has availability that morning and states a preference"
    return json.dumps({"turns": [{"n": turn["n"], "light": text, "tight": text} for turn in turns]})


def shuffled(turns: list[dict[str, object]]) -> str:
    """All words of the text, in alphabetical order."""
    return json.dumps(
        {
            "turns": [
                {"n": turn["n"], "light": (words := " ".join(sorted(str(turn["text"]).split()))), "tight": words}
                for turn in turns
            ]
        }
    )


def missing_turn(turns: list[dict[str, object]]) -> str:
    """One turn too few."""
    return json.dumps({"turns": cut_well(turns)["turns"][1:]})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("Here is a summary: the user wants a visit.", "prose"),
        ("", "prose"),
        ("{{{{{{{{", "no JSON object"),
        ('{"turns": [{"n": 0, "light": "can', "JSON"),
        ('{"edits": []}', 'no list "turns"'),
        ('{"turns": [{"n": 0, "light": 3, "tight": ""}, {"n": 1, "light": "", "tight": ""}]}', "as a string"),
        ('{"turns": [{"n": 7, "light": "", "tight": ""}]}', "allowed: 0 to 1"),
        ('{"turns": [{"n": 0, "light": "", "tight": ""}, {"n": 0, "light": "", "tight": ""}]}', "twice"),
        ({"content": missing_turn}, "1 of 2 turns are missing"),
        ({"content": rewriting}, "rewritten"),
        ({"content": shuffled}, "rewritten"),
        ({"content": truncated, "finish": "length"}, "cut off after"),
        ({"raw": b"not json at all"}, "no chat completion"),
        ({"raw": b'{"choices": []}'}, "no chat completion"),
        ({"status": 400, "raw": b'{"error": "context too long"}'}, "context too long"),
    ],
)
def test_a_useless_answer_is_asked_for_once_more(
    ask: Ask, teacher: FakeTeacher, raw_file: Path, tmp_path: Path, reply: object, reason: str
) -> None:
    """A good second answer is taken; two bad ones leave the record out, named with the reason, and the rest goes on."""
    teacher.replies = [reply]
    ask(raw_file, "-o", tmp_path / "out.jsonl", "--concurrency", 1)
    assert len(records(tmp_path / "out.jsonl")) == 5
    assert len(teacher.seen) == 6
    teacher.replies = [reply, reply]
    result = ask(raw_file, "-o", tmp_path / "again.jsonl", "--concurrency", 1, code=1)
    assert [one["id"] for one in records(tmp_path / "again.jsonl")] == [f"raw-{n:04d}" for n in range(2, 6)]
    (reject,) = records(tmp_path / "again.rejects")
    assert "raw-0001" in reject["reason"]
    assert "line 1" in reject["reason"]
    assert reason in reject["reason"]
    assert reject["reason"] in result.output


def test_a_refusal_is_explained_to_the_teacher(ask: Ask, teacher: FakeTeacher, tmp_path: Path) -> None:
    """The second request quotes the reason; after a cut-off answer it asks the same with twice the room."""
    teacher.replies = ["prose"]
    ask(one_chat(tmp_path), "-o", tmp_path / "out.jsonl")
    assert "prose" in teacher.seen[1][0]["messages"][-1]["content"]
    teacher.replies = [{"content": truncated, "finish": "length"}]
    ask(one_chat(tmp_path), "-o", tmp_path / "again.jsonl")
    first, second = (body for body, _ in teacher.seen[2:])
    assert first["messages"] == second["messages"]
    assert second["max_tokens"] == 2 * first["max_tokens"]


@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_hopeless_teacher_stops_the_run(
    ask: Ask, teacher: FakeTeacher, raw_file: Path, tmp_path: Path, status: int
) -> None:
    """A wrong key or name is said once, not for every record; no output, and no key in the message."""
    teacher.replies = [{"status": status, "raw": b'{"error": "sk-secret is wrong"}'}] * 10
    os.environ["LABEL_TEST_KEY"] = "sk-secret"
    try:
        result = ask(
            raw_file, "-o", tmp_path / "out.jsonl", "--key-variable", "LABEL_TEST_KEY", "--concurrency", 1, code=1
        )
    finally:
        del os.environ["LABEL_TEST_KEY"]
    assert f"status {status}" in result.output
    assert "sk-secret" not in result.output
    assert len(teacher.seen) <= 2
    assert teacher.seen[0][1]["Authorization"] == "Bearer sk-secret"
    assert not (tmp_path / "out.jsonl").exists()
    assert b"sk-secret" not in (tmp_path / "out.answers.sqlite").read_bytes()


def test_a_teacher_that_is_gone_stops_the_run(ask: Ask, teacher: FakeTeacher, raw_file: Path, tmp_path: Path) -> None:
    """After three requests without an answer the rest is not tried; what came before is in the cache."""
    teacher.replies = [None] + [{"status": 500}] * 50
    result = ask(raw_file, "-o", tmp_path / "out.jsonl", "--retries", 0, "--concurrency", 1, code=1)
    assert "run the command again" in result.output
    assert len(teacher.seen) == 4
    teacher.replies = []
    ask(raw_file, "-o", tmp_path / "out.jsonl", "--concurrency", 1)
    assert len(teacher.seen) == 8


def test_small_changes_are_repaired(ask: Ask, teacher: FakeTeacher, tmp_path: Path) -> None:
    """A word that the teacher added falls away, a changed one keeps its source, and `not` returns to light from tight."""

    def sloppy(turns: list[dict[str, object]]) -> str:
        user = "Can Dr. Vane kindly see me on 9 June? I can't come before noon."
        assistant = "surgery closed on 9 June, Dr. Vane in, only Mr. Rao is."
        tight = "surgery close on 9 June, Dr. Vane not in, only Mr. Rao."
        edits = [{"n": 0, "light": user, "tight": user}, {"n": 1, "light": assistant, "tight": tight}]
        return "Sure:\n```json\n" + json.dumps({"turns": edits}) + "\n```"

    teacher.replies = [{"content": sloppy}]
    ask(one_chat(tmp_path), "-o", tmp_path / "out.jsonl", "--drop-worst", 0)
    (record,) = records(tmp_path / "out.jsonl")
    _, user, assistant = record["turns"]
    assert user["light"] == "can Dr. Vane see me on 9 June? I can't come before noon."
    assert assistant["light"] == "surgery closed on 9 June, Dr. Vane not in, only Mr. Rao is."
    assert assistant["tight"] == "surgery closed on 9 June, Dr. Vane not in, only Mr. Rao."
    assert 0 < record["quality"]["variation"] < 0.1


def test_the_worst_are_left_out_with_their_reason(
    ask: Ask, teacher: FakeTeacher, raw_file: Path, tmp_path: Path
) -> None:
    """The record with the most new words goes to the rejects, whole."""

    def sloppy(turns: list[dict[str, object]]) -> str:
        found = cut_well(turns)  # type: ignore[arg-type]
        found["turns"][0]["light"] += " certainly indeed"
        return json.dumps(found)

    teacher.replies = [None, {"content": sloppy}]
    result = ask(raw_file, "-o", tmp_path / "out.jsonl", "--concurrency", 1, "--drop-worst", 0.2)
    assert [one["id"] for one in records(tmp_path / "out.jsonl")] == ["raw-0001", "raw-0003", "raw-0004", "raw-0005"]
    (reject,) = records(tmp_path / "out.rejects")
    assert reject["record"]["id"] == "raw-0002"
    assert "variation rate" in reject["reason"]
    assert "1 left out as the worst" in result.output


def test_chunks_hold_whole_turns_and_long_turns_are_cut(ask: Ask, teacher: FakeTeacher, tmp_path: Path) -> None:
    """A long transcript takes several requests, and every word of it comes back in its place."""
    long = [
        " ".join(f"Well, invoice {n} of the {mill} mill is due on {n % 28 + 1} May, really." for n in range(60))
        for mill in ("Harrow", "Oakham")
    ]
    messages = [
        {"role": role, "content": text} for text in long for role, text in (("user", text), ("assistant", "um so"))
    ]
    path = tmp_path / "long.json"
    path.write_text(json.dumps(messages), encoding="utf-8")
    ask(path, "-o", tmp_path / "out.jsonl", "--chunk-tokens", 300)
    (record,) = records(tmp_path / "out.jsonl")
    assert len(teacher.seen) >= 6
    assert [turn["light"] for turn in record["turns"]] == [shorten(turn["text"]) for turn in record["turns"]]
    asked = [turn["text"] for body, _ in teacher.seen for turn in json.loads(body["messages"][1]["content"])["turns"]]
    assert sorted(" ".join(asked).split()) == sorted(" ".join(turn["text"] for turn in record["turns"]).split())


def test_requests_run_at_the_same_time(ask: Ask, teacher: FakeTeacher, raw_file: Path, tmp_path: Path) -> None:
    """As many as asked for."""
    teacher.delay = 0.1
    ask(raw_file, "-o", tmp_path / "out.jsonl", "--concurrency", 3)
    assert teacher.most_at_once == 3


def test_the_price_is_known_before(ask: Ask, teacher: FakeTeacher, raw_file: Path, tmp_path: Path) -> None:
    """--estimate sends nothing; a run above the limit needs --yes; what is in the cache costs nothing."""
    cache = tmp_path / "answers.sqlite"
    result = ask(raw_file, "--estimate", "--price", 2, 8, "--cache", cache)
    assert "5 requests (0 more are in the cache)" in result.output
    assert "price about 0.0" in result.output
    assert not teacher.seen
    refused = ask(
        raw_file, "-o", tmp_path / "out.jsonl", "--price", 2, 8, "--ask-above", 0.001, "--cache", cache, code=2
    )
    assert "--yes" in refused.output
    assert not teacher.seen
    ask(raw_file, "-o", tmp_path / "out.jsonl", "--price", 2, 8, "--ask-above", 0.001, "--cache", cache, "--yes")
    assert len(teacher.seen) == 5
    result = ask(raw_file, "--estimate", "--cache", cache)
    assert "0 requests (5 more are in the cache)" in result.output


def test_extra_fields_reach_the_endpoint(ask: Ask, teacher: FakeTeacher, tmp_path: Path) -> None:
    """--body adds fields, and null leaves one out, for endpoints that know other names."""
    ask(one_chat(tmp_path), "-o", tmp_path / "out.jsonl", "--body", '{"temperature": null, "seed": 7}')
    body = teacher.seen[0][0]
    assert "temperature" not in body
    assert body["seed"] == 7


def test_chinese_is_cut_by_characters(ask: Ask, teacher: FakeTeacher, tmp_path: Path) -> None:
    """Half-width marks of a teacher fit full-width ones; a name and a negation stay."""
    text = "你好，嗯，孔令秋的押金 9 号还不能退，因为合同没到期。"
    path = tmp_path / "zh.json"
    path.write_text(json.dumps([{"role": "user", "content": text}], ensure_ascii=False), encoding="utf-8")
    answer = {
        "n": 0,
        "light": "孔令秋的押金 9 号还不能退,因为合同没到期。",
        "tight": "孔令秋押金 9 号不能退,合同没到期。",
    }
    teacher.replies = [json.dumps({"turns": [answer], "entities": ["孔令秋"]}, ensure_ascii=False)]
    ask(path, "-o", tmp_path / "out.jsonl")
    (record,) = records(tmp_path / "out.jsonl")
    assert record["lang"] == "zh"
    assert record["turns"][0]["light"] == "孔令秋的押金 9 号还不能退，因为合同没到期。"
    assert record["turns"][0]["tight"] == "孔令秋押金 9 号不能退，合同没到期。"
    assert record["quality"]["variation"] == 0


def test_intents_are_sentences_of_their_turn(ask: Ask, teacher: FakeTeacher, tmp_path: Path) -> None:
    """A sentence that the teacher reworded, or that overlaps another, is left out."""

    def asking(turns: list[dict[str, object]]) -> str:
        found = cut_well(turns)  # type: ignore[arg-type]
        found["intents"] = [
            {"n": 0, "text": "I can't come before noon.", "kind": "constraint"},
            {"n": 0, "text": "can't come", "kind": "constraint"},
            {"n": 0, "text": "He cannot come.", "kind": "constraint"},
            {"n": 0, "text": "can Dr. Vane see me on 9 June?", "kind": "plea"},
        ]
        return json.dumps(found)

    teacher.replies = [{"content": asking}]
    ask(one_chat(tmp_path), "-o", tmp_path / "out.jsonl")
    (record,) = records(tmp_path / "out.jsonl")
    assert [(one["turn"], one["text"], one["kind"]) for one in record["intents"]] == [
        (1, "can Dr. Vane see me on 9 June?", "request"),
        (1, "I can't come before noon.", "constraint"),
    ]
    read_record(record)


def test_thinking_aloud_and_half_characters_do_no_harm(ask: Ask, teacher: FakeTeacher, tmp_path: Path) -> None:
    """Braces before the object, a code fence around it, and half a surrogate pair in it."""

    def thinking(turns: list[dict[str, object]]) -> str:
        found = cut_well(turns)  # type: ignore[arg-type]
        found["entities"] = ["\ud83d", "Mr. Rao"]
        return '<think>a set {1, 2} and {"n": 3}</think>\n```json\n' + json.dumps(found) + "\n```\nDone {:"

    teacher.replies = [{"content": thinking}]
    ask(one_chat(tmp_path), "-o", tmp_path / "out.jsonl")
    ask(one_chat(tmp_path), "-o", tmp_path / "out.jsonl", "--force")
    assert len(teacher.seen) == 1
    assert records(tmp_path / "out.jsonl")[0]["entities"] == ["Mr. Rao"]


def test_a_file_that_is_no_cache_is_refused(ask: Ask, teacher: FakeTeacher, tmp_path: Path) -> None:
    """Another file is not overwritten with answers."""
    wrong = tmp_path / "notes.txt"
    wrong.write_text("my notes " * 200, encoding="utf-8")
    result = ask(one_chat(tmp_path), "-o", tmp_path / "out.jsonl", "--cache", wrong, code=1)
    assert "not a cache" in result.output
    assert wrong.read_text(encoding="utf-8") == "my notes " * 200


def test_fillers_are_what_the_tests_say() -> None:
    """The fake teacher never deletes a negation, which the tests rely on."""
    assert not FILLERS & {"not", "no", "can't"}
