"""What the tests of batch runs share: small archives, settings without a model, and what a run has made."""

import gzip
import json
from pathlib import Path

import pytest

from compressor import Policy
from compressor.batch import Settings
from compressor.batch.inputs import REPORT, STATE


def conversation(number: int) -> dict[str, object]:
    """A chat with fields that only pass through, of which each number makes another one."""
    return {
        "id": number,
        "score": 1.50,
        "messages": [
            {"role": "system", "content": "You help with orders."},
            {
                "role": "user",
                "content": f"Hi there, um, I need order {number} before 9 June, okay? So, yeah, thanks a lot!",
            },
            {
                "role": "assistant",
                "content": "Well, basically, it is really just the usual thing, you know. It costs 45 euros.",
            },
        ],
    }


def lines(count: int, first: int = 0, end: str = "\n") -> str:
    """JSON lines of conversations."""
    return "".join(json.dumps(conversation(number)) + end for number in range(first, first + count))


@pytest.fixture
def settings() -> Settings:
    """No model, and a cut of all chats to their last turn but the protected words."""
    return Settings(Policy(keep_last=0), model="heuristic")


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """A folder of files of several formats, some below each other, one hidden, with bad records among the good ones."""
    folder = tmp_path / "logs"
    (folder / "2024" / "may").mkdir(parents=True)
    (folder / "2024" / ".cache").mkdir()
    bad = lines(8) + '{"messages": [broken\n' + lines(6, 8) + '{"messages": 7}\n'
    (folder / "chats.jsonl").write_text(bad, encoding="utf-8")
    (folder / "2024" / "list.json").write_text(json.dumps([conversation(n) for n in range(4)], indent=2))
    (folder / "2024" / "may" / "call.txt").write_bytes(
        b"Ann: um, so, the fee is 40 euros, okay?\r\nBob: yeah, right, thanks.\r\n"
    )
    with gzip.open(folder / "2024" / "may" / "more.jsonl.gz", "wb") as packed:
        packed.write(lines(6, 100, "\r\n").encode())
    (folder / "broken.json").write_bytes(gzip.compress(lines(20).encode())[:60])
    (folder / ".hidden.jsonl").write_text(lines(1))
    (folder / "2024" / ".cache" / "x.txt").write_text("x")
    return folder


def made(out: Path) -> dict[str, bytes]:
    """All files that a run has made but its report, which tells times."""
    return {
        path.relative_to(out).as_posix(): path.read_bytes()
        for path in sorted(out.rglob("*"))
        if path.is_file() and STATE not in path.parts and path.name != REPORT
    }


def report_of(out: Path) -> dict[str, object]:
    """The report of a run without what differs between two runs of the same."""
    report = json.loads((out / REPORT).read_text())

    def timeless(value: object) -> object:
        if isinstance(value, dict):
            timed = (
                "seconds",
                "processor_seconds",
                "wall_seconds",
                "model_share",
                "cache",
                "slowest",
                "workers",
                "resumed",
            )
            return {key: timeless(item) for key, item in value.items() if key not in timed}
        return [timeless(item) for item in value] if isinstance(value, list) else value

    return timeless(report)  # type: ignore[return-value]
