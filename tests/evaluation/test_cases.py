"""Case files: what ships, and what is said of a malformed one."""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from compressor.evaluation.cases import KINDS, read_annotated, read_flips, read_split
from compressor.evaluation.errors import CaseError
from compressor.evaluation.matching import count, flat
from tests.evaluation.conftest import ANNOTATED, FLIP

TRAINING = Path(__file__).resolve().parents[2] / "training" / "data" / "synthetic"
SHINGLE = 13


def test_two_hundred_flip_cases_ship_in_equal_shares() -> None:
    """Fifteen English and five Chinese cases of each of ten kinds, in twelve domains."""
    cases = read_flips()
    assert Counter((case.lang, case.kind) for case in cases) == {
        **{("en", kind): 15 for kind in KINDS},
        **{("zh", kind): 5 for kind in KINDS},
    }


def test_shipped_cases_put_what_is_needed_in_the_first_half_and_drift_after_it() -> None:
    """The compressor must not be saved by keeping the end; every needed string stands once, as whole words."""
    for case in read_flips():
        probe, source = case.probes[0], case.transcript
        assert 5 <= len(source) <= 12
        assert probe.turn < len(source) / 2, case.id
        for need in probe.needs:
            assert count(flat(source.turns[probe.turn].text), flat(need)) == 1, (case.id, need)


def shingles(text: str, lang: str) -> Iterator[str]:
    """Every 13 words in a row (for Chinese, 13 characters), without punctuation."""
    units = re.findall(r"[\u4e00-\u9fff]|[a-z0-9]+" if lang == "zh" else r"[a-z0-9']+", text.lower())
    return (" ".join(units[at : at + SHINGLE]) for at in range(len(units) - SHINGLE + 1))


@pytest.mark.skipif(not TRAINING.is_dir(), reason="the training data is not in this checkout")
def test_no_flip_case_overlaps_the_training_data() -> None:
    """No case shares 13 words in a row with any transcript that the model may have learned from."""
    trained = {
        gram for one in read_annotated([TRAINING]) for turn in one.transcript for gram in shingles(turn.text, one.lang)
    }
    shared = [
        (case.id, gram)
        for case in read_flips()
        for turn in case.transcript
        for gram in shingles(turn.text, case.lang)
        if gram in trained
    ]
    assert shared == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"needs": ["refundible"]}, "needs holds 'refundible', which turn 0 does not"),
        ({"needs": []}, "needs is empty"),
        ({"turn": 9}, "turn is 9; allowed: 0 to 3"),
        ({"answer": "E"}, "answer is 'E'; allowed: A, B"),
        ({"flipped": "B"}, "answer and flipped are both 'B'"),
        ({"options": {"A": "Yes"}}, "at least two answers"),
        ({"kind": "mood"}, "kind is 'mood'; allowed: verb, modal"),
        ({"turns": []}, "turns is empty"),
        ({"turns": [{"role": "user"}]}, "turn 0 needs a role and a text"),
        ({"question": None}, "question is None"),
    ],
)
def test_a_malformed_case_is_named_with_file_line_and_id(
    write_cases: Callable[..., Path], change: dict[str, Any], message: str
) -> None:
    """The error says where the case stands and what is wrong with it."""
    path = write_cases({**FLIP, "id": "first"}, {**FLIP, **change})
    with pytest.raises(CaseError, match=message) as caught:
        read_flips([path])
    assert str(caught.value).startswith(f"{path}:2: case fee: ")


def test_a_line_that_is_no_json_is_named(write_cases: Callable[..., Path]) -> None:
    """Broken lines, other values than objects and missing ids are named by file and line."""
    with pytest.raises(CaseError, match=r"cases\.jsonl:1: no JSON"):
        read_flips([write_cases("{")])
    with pytest.raises(CaseError, match=r"cases\.jsonl:1: list instead of an object"):
        read_flips([write_cases("[]")])
    with pytest.raises(CaseError, match=r"cases\.jsonl:1: a case without id: id is None"):
        read_flips([write_cases({**FLIP, "id": None})])


def test_an_id_twice_is_an_error(write_cases: Callable[..., Path]) -> None:
    """The second one is named together with the place of the first."""
    with pytest.raises(CaseError, match=r":2: case fee: the id is already that of .*cases\.jsonl:1"):
        read_flips([write_cases(FLIP, FLIP)])


def test_a_missing_file_or_an_empty_folder_is_an_error(tmp_path: Path) -> None:
    """The message names the path."""
    with pytest.raises(CaseError, match=r"nowhere\.jsonl: no such file"):
        read_flips([tmp_path / "nowhere.jsonl"])


def test_a_split_chooses_transcripts(write_cases: Callable[..., Path], tmp_path: Path) -> None:
    """Only the ids of one part are read; an unknown part, and a part that matches nothing, are errors."""
    path = write_cases(ANNOTATED, {**ANNOTATED, "id": "other"})
    split = tmp_path / "splits.json"
    split.write_text('{"test": ["other"], "dev": ["third"]}')
    assert [one.id for one in read_annotated([path], read_split(split, "test"))] == ["other"]
    with pytest.raises(CaseError, match="there is no part 'train'; the parts are: test, dev"):
        read_split(split, "train")
    with pytest.raises(CaseError, match="none of the 2 transcripts"):
        read_annotated([path], read_split(split, "dev"))


def test_a_deletion_set_needs_light_alone(write_cases: Callable[..., Path]) -> None:
    """Public deletion sets have no names, probes or second edit."""
    turns = [{"role": "none", "text": "a b c", "light": "a c"}]
    assert read_annotated([write_cases({"id": "x", "lang": "en", "turns": turns})])[0].labels == (("a c", "a c"),)
    with pytest.raises(CaseError, match="case x: turn 0 needs light"):
        read_annotated([write_cases({"id": "x", "lang": "en", "turns": [{"role": "none", "text": "a"}]})])
