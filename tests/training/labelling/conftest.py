"""A teacher on 127.0.0.1 that cuts as asked, and fails as told; raw transcripts; the command in process."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

FILLERS = frozenset("hi um well so really just you know please thanks".split())

Reply = Callable[["FakeTeacher", dict[str, Any], list[dict[str, Any]]], dict[str, Any] | None]
"""From a request and its turns to a script of the response; None answers well."""


def shorten(text: str, drop: frozenset[str] = FILLERS) -> str:
    """The text without some words."""
    return " ".join(word for word in text.split() if word.strip(",.!?").lower() not in drop)


def cut_well(turns: list[dict[str, Any]]) -> dict[str, Any]:
    """The answer of a teacher who does as told."""
    edits = [
        {"n": turn["n"], "light": shorten(turn["text"]), "tight": shorten(turn["text"], FILLERS | {"the", "is", "a"})}
        for turn in turns
    ]
    return {"turns": edits, "entities": ["Dr. Vane", "Nobody Atall"], "intents": []}


@dataclass
class FakeTeacher:
    """A local endpoint of chat completions.

    Args:
        replies: What to do with the next requests, in order; afterwards all are answered well.
        delay: Seconds before each answer.
        seen: The requests that came: body and headers.
    """

    replies: list[Any] = field(default_factory=list)
    delay: float = 0.0
    seen: list[tuple[dict[str, Any], dict[str, str]]] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    most_at_once: int = 0
    url: str = ""
    _now: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def take(self, body: dict[str, Any], headers: dict[str, str]) -> Any:
        with self._lock:
            self.seen.append((body, headers))
            self.times.append(time.monotonic())
            return self.replies.pop(0) if self.replies else None

    def enter(self, by: int) -> None:
        with self._lock:
            self._now += by
            self.most_at_once = max(self.most_at_once, self._now)


def _handler(teacher: FakeTeacher) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            reply = teacher.take(body, dict(self.headers))
            teacher.enter(1)
            try:
                time.sleep(teacher.delay)
                self._answer(
                    body, reply if isinstance(reply, dict) else {"content": reply} if reply is not None else {}
                )
            finally:
                teacher.enter(-1)

        def _answer(self, body: dict[str, Any], reply: dict[str, Any]) -> None:
            if reply.get("reset"):
                self.connection.close()
                return
            if "sleep" in reply:
                time.sleep(reply["sleep"])
            status = reply.get("status", 200)
            content = reply.get("content")
            if content is None:
                turns = json.loads(body["messages"][1]["content"])["turns"]
                content = json.dumps(cut_well(turns), ensure_ascii=False)
            elif callable(content):
                content = content(json.loads(body["messages"][1]["content"])["turns"])
            choice = {
                "message": {"role": "assistant", "content": content},
                "finish_reason": reply.get("finish", "stop"),
            }
            answer = {"choices": [choice], "usage": {"prompt_tokens": 100, "completion_tokens": 50}}
            data = reply["raw"] if "raw" in reply else json.dumps(answer).encode()
            try:
                self.send_response(status)
                for name, value in reply.get("headers", {}).items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)
            except OSError:
                pass  # the client has given up

        def log_message(self, *args: Any) -> None:
            pass

    return Handler


@pytest.fixture
def teacher() -> Iterator[FakeTeacher]:
    """A running endpoint."""
    found = FakeTeacher()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(found))
    server.daemon_threads = True
    found.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    yield found
    server.shutdown()
    server.server_close()


TURNS = [
    {"role": "system", "content": "You book visits."},
    {"role": "user", "content": "Hi, um, can Dr. Vane see me on 9 June? I can't come before noon."},
    {"role": "assistant", "content": "Well, the surgery is closed on 9 June, so Dr. Vane is not in, only Mr. Rao is."},
]


def chat(number: int) -> list[dict[str, str]]:
    """A short chat that differs from others in its dates."""
    return [{**turn, "content": turn["content"].replace("9 June", f"{number} June")} for turn in TURNS]


@pytest.fixture
def raw_file(tmp_path: Path) -> Path:
    """Five chats, one a line."""
    path = tmp_path / "raw.jsonl"
    path.write_text("".join(json.dumps({"messages": chat(n + 1)}) + "\n" for n in range(5)), encoding="utf-8")
    return path


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """The command `label`, in process; retries wait for milliseconds."""
    from training.labelling import client
    from training.labelling.cli import label

    monkeypatch.setattr(client, "WAIT", 0.01)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)

    def run(*arguments: object, code: int | None = 0) -> Result:
        result = CliRunner().invoke(label, [str(one) for one in arguments])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        assert code is None or result.exit_code == code, result.output
        return result

    return run


@pytest.fixture
def ask(run: Callable[..., Result], teacher: FakeTeacher) -> Callable[..., Result]:
    """The command `label --from teacher`, of the local endpoint."""

    def ask(*arguments: object, code: int | None = 0) -> Result:
        return run("--from", "teacher", "--endpoint", teacher.url, "--model", "fake", *arguments, code=code)

    return ask


def records(path: Path) -> list[dict[str, Any]]:
    """The objects of a JSON-lines file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
