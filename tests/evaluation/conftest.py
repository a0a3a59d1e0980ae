"""Small cases that every test of the evaluation shares."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from compressor.evaluation.cases import Dialogue, read_annotated, read_flips

FLIP: dict[str, Any] = {
    "id": "fee",
    "lang": "en",
    "kind": "negation",
    "domain": "finance",
    "turns": [
        {"role": "user", "speaker": None, "text": "Well, um, the fee is not refundable unless we cancel by 3.5 pm."},
        {"role": "assistant", "speaker": None, "text": "Okay, so thanks, I really see that."},
        {"role": "user", "speaker": None, "text": "Great, thanks a lot for the help."},
        {"role": "assistant", "speaker": None, "text": "You are welcome, of course."},
    ],
    "turn": 0,
    "needs": ["not refundable", "3.5 pm"],
    "question": "Is the fee refundable?",
    "options": {"A": "Yes", "B": "No"},
    "answer": "B",
    "flipped": "A",
}

ANNOTATED: dict[str, Any] = {
    "id": "ann",
    "lang": "en",
    "domain": "finance",
    "turns": [
        {
            "role": "user",
            "speaker": None,
            "text": "Hi, so Ann Lee must pay 40 euros, she must, she said.",
            "light": "Ann Lee must pay 40 euros, she said.",
            "tight": "Ann Lee must pay 40 euros",
        },
        {"role": "assistant", "speaker": None, "text": "Okay, noted, thanks.", "light": "noted", "tight": ""},
    ],
    "entities": ["Ann Lee"],
    "quotes": [],
    "intents": [],
    "probes": [
        {"q": "What does Ann pay?", "a": "40 euros", "needs": ["must pay", "40 euros"], "turn": 0},
        {"q": "Who?", "a": "Ann", "needs": ["Ann Lee"], "turn": 0},
    ],
}


@pytest.fixture
def write_cases(tmp_path: Path) -> Callable[..., Path]:
    """Writes records, or raw lines, as a case file."""

    def write(*records: Any, name: str = "cases.jsonl") -> Path:
        path = tmp_path / name
        lines = [record if isinstance(record, str) else json.dumps(record, ensure_ascii=False) for record in records]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return path

    return write


@pytest.fixture
def flip(write_cases: Callable[..., Path]) -> Dialogue:
    """One flip case, whose right answer is B."""
    return read_flips([write_cases(FLIP)])[0]


@pytest.fixture
def annotated(write_cases: Callable[..., Path]) -> Dialogue:
    """One annotated transcript of two turns."""
    return read_annotated([write_cases(ANNOTATED, name="annotated.jsonl")])[0]
