"""The protection rules, on the cases of `tests/cases`: one file a rule, and the failures that are known."""

import json
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from compressor.protection import RULES
from compressor.protection.pleasantries import is_pleasantry
from compressor.protection.view import View
from compressor.transcript import Turn
from compressor.words import segment_text

CASES = Path(__file__).parent / "cases"
THRESHOLDS = {"entity": 0.5, "pin": 0.5}
MARKED = 0.9
HOSTILE = (
    "not " * 25_000,
    "不" * 20_000,
    "a" * 100_000,
    "if, " * 25_000,
    " " * 50_000 + "not",
    "?" * 50_000,
    "5 " * 25_000,
)


def read(path: Path) -> list[dict[str, Any]]:
    """The cases of one file; none where there is no such file."""
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def touched(text: str, part: str) -> list[tuple[int, int]]:
    """The words of the text that the first occurrence of a part touches."""
    start = text.index(part)
    return [span for span in segment_text(text) if span[0] < start + len(part) and span[1] > start]


def view_of(case: dict[str, Any]) -> View:
    """The turn of a case as the rules see it."""
    text = case["text"]
    words = tuple(segment_text(text))
    heads = {}
    for head in ("entity", "pin"):
        marked = {span for part in case.get(head, ()) for span in touched(text, part)}
        heads[head] = np.array([MARKED if span in marked else 0.0 for span in words], dtype=np.float32)
    previous = Turn(role="assistant", text=case["previous"]) if "previous" in case else None
    turn = Turn(role=case.get("role", "assistant"), text=text)
    return View(turn, words, heads["entity"], heads["pin"], THRESHOLDS, previous, case.get("verbatim", ""))


def check(rule: str, case: dict[str, Any]) -> None:
    """The rule protects all words of `protects` and none of `frees`."""
    view = view_of(case)
    ranges = list(RULES[rule](view))
    for start, end in ranges:
        assert 0 <= start < end <= len(view.text)
    kept = {view.words[index] for start, end in ranges for index in view.inside(start, end)}
    for part in case.get("protects", ()):
        missing = [view.text[start:end] for start, end in touched(view.text, part) if (start, end) not in kept]
        assert not missing, f"{rule} lets {missing} of {part!r} go in {view.text!r}"
    for part in case.get("frees", ()):
        caught = [view.text[start:end] for start, end in touched(view.text, part) if (start, end) in kept]
        assert not caught, f"{rule} protects {caught} of {part!r} in {view.text!r}"


CASES_BY_RULE = [(rule, case) for rule in RULES for case in read(CASES / f"{rule}.jsonl")]
KNOWN_FAILURES = [case for path in sorted(CASES.glob("known_failures*.jsonl")) for case in read(path)]


@pytest.mark.parametrize(
    ("rule", "case"), CASES_BY_RULE, ids=[f"{rule}-{case['label']}" for rule, case in CASES_BY_RULE]
)
def test_rule_protects_what_it_should_and_nothing_else(rule: str, case: dict[str, Any]) -> None:
    """Each case names words that its rule must protect, and words that it must leave alone."""
    check(rule, case)


@pytest.mark.parametrize("case", KNOWN_FAILURES, ids=[f"{case['rule']}-{case['label']}" for case in KNOWN_FAILURES])
@pytest.mark.xfail(strict=True, raises=AssertionError)
def test_known_failure_still_fails(case: dict[str, Any]) -> None:
    """A known failure that is mended moves to the cases of its rule."""
    check(case["rule"], case)


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_has_cases_of_both_kinds_in_both_languages(rule: str) -> None:
    """No rule is without a case that fires and one that must not, in English and in Chinese."""
    cases = read(CASES / f"{rule}.jsonl")
    kinds = Counter((case["lang"], kind) for case in cases for kind in ("protects", "frees") if case.get(kind))
    lacking = [(lang, kind) for lang in ("en", "zh") for kind in ("protects", "frees") if not kinds[lang, kind]]
    assert not lacking


@pytest.mark.parametrize("rule", RULES)
def test_labels_are_unique(rule: str) -> None:
    """A label names one case of its rule."""
    labels = Counter(case["label"] for case in read(CASES / f"{rule}.jsonl"))
    assert [label for label, count in labels.items() if count > 1] == []


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(
    "text", ["", " ", "\n\n", "?", "’", "𝒳 not", "不", "İf not 5 İ", "\x00 no \x00", "or", "n't", "以内"]
)
def test_ranges_stay_in_the_text(rule: str, text: str) -> None:
    """Odd and empty turns of every role give ranges inside the text."""
    for role in ("user", "assistant", "speaker", "none", "robot"):
        for start, end in RULES[rule](view_of({"text": text, "role": role})):
            assert 0 <= start < end <= len(text)


@pytest.mark.parametrize("rule", RULES)
def test_hostile_input_takes_linear_time(rule: str) -> None:
    """Long repetitions take time in step with their length."""
    for text in HOSTILE:
        view = view_of({"text": text, "role": "user"})
        began = time.perf_counter()
        list(RULES[rule](view))
        assert time.perf_counter() - began < 5, text[:8]


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("Hi there! How are you today?", True),
        ("Thank you so much, have a lovely evening!", True),
        ("Could I help with anything else?", True),
        ("No problem at all.", True),
        ("谢谢您，再见！", True),
        ("您好，请问有什么可以帮您？", True),
        ("Thank you, but the drill never arrived.", False),
        ("How are you going to pay for it?", False),
        ("没问题的设备有三台。", False),
        ("你好，我想退掉那盏灯。", False),
        ("", False),
        ("...", False),
    ],
)
def test_pleasantries_carry_nothing(sentence: str, expected: bool) -> None:
    """A greeting or thanks alone is a pleasantry; with a request beside it, it is none."""
    assert is_pleasantry(sentence) is expected


def test_acknowledgement_counts_only_on_request() -> None:
    """`Okay` may answer a question, so a caller can leave it out."""
    assert is_pleasantry("Okay, thanks!")
    assert not is_pleasantry("Okay, thanks!", acknowledgements=False)
