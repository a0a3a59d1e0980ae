"""A shorter text finds its place in the source, whoever changed it on the way."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compressor.words import segment_text
from training.labelling import alignment
from training.labelling.alignment import place, place_nested
from training.labelling.errors import LabelError
from training.labelling.quality import Quality, worst
from training.labelling.records import rendered
from training.labels import kept_words

WORDS = st.sampled_from("the fee is not due , . until 9 June Rao no 不能 退 押金 。 “x” don't".split())
TEXTS = st.lists(WORDS, max_size=14).map(" ".join)


def kept(text: str, answer: str) -> str:
    """The words of the text that an answer keeps, with single spaces."""
    words = segment_text(text)
    mask = place(text, words, answer).keep
    return " ".join(text[a:b] for (a, b), stays in zip(words, mask, strict=True) if stays)


@pytest.mark.parametrize(
    ("text", "answer", "expected"),
    [
        ("the fee is not due", "fee not due", "fee not due"),
        ("the fee is not due", "Fee is NOT due", "fee is not due"),
        ("the fee is not due", "the annual fee is not due yet", "the fee is not due"),
        ("the fee is not due", "", ""),
        ("the fee is not due", "completely different words", ""),
        ("they cancelled the order", "they cancel order", "they cancelled order"),
        ("twenty-six cats came", "twenty cats", "twenty-six cats"),
        ("it’s “fine”, he said", 'it\'s "fine" he said', "it’s “ fine ” he said"),
        ("we paid 25 euros, then 30", "we paid 30 then 25", "we paid 30"),
        ("Ann came, Bo left", "Bo left, Ann came", "Bo left"),
        ("no no no fee", "no fee", "no fee"),
        ("", "anything", ""),
        ("押金还不能退", "押金不能退", "押 金 不能 退"),
    ],
)
def test_what_the_source_does_not_hold_falls_away(text: str, answer: str, expected: str) -> None:
    """Case, width and quotation marks do not matter; a changed word keeps its source; moved ones keep one place."""
    assert kept(text, answer).split() == expected.split()


@settings(max_examples=150, deadline=None)
@given(TEXTS, st.data())
def test_a_clean_deletion_is_placed_as_the_labels_are(text: str, data: st.DataObject) -> None:
    """Whatever words are deleted, the choice agrees with `training.labels`, nothing counts as new, and text comes back."""
    words = segment_text(text)
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=len(words), max_size=len(words))), np.bool_)
    shorter = rendered(text, words, mask)
    placed = place(text, words, shorter)
    assert placed.quality.added == 0
    assert placed.quality.placed == placed.quality.answer
    expected = kept_words(text, shorter, shorter, words)[:, 0] >= 0.5
    own = [text[a:b] for (a, b), stays in zip(words, mask, strict=True) if stays]
    if own == [shorter[a:b] for a, b in segment_text(shorter)] and not any(char >= "\u4e00" for char in text):
        assert placed.keep.tolist() == expected.tolist()
    again = place(text, words, rendered(text, words, placed.keep))
    assert again.quality.added == 0


@settings(max_examples=150, deadline=None)
@given(TEXTS, TEXTS, TEXTS)
def test_the_levels_are_nested_whatever_the_answer(text: str, light: str, tight: str) -> None:
    """Any two texts give words of the source, tight within light, and rates between 0 and 1."""
    words = segment_text(text)
    outer, inner, quality = place_nested(text, words, light, tight)
    assert len(outer) == len(inner) == len(words)
    assert not (inner & ~outer).any()
    assert 0 <= quality.variation <= 1
    assert 0 <= quality.lost <= 1
    assert quality.gap >= 0


def test_the_rates_are_those_of_the_paper() -> None:
    """Two of ten words are new; of the other eight one has moved: hitting 8/10, matching 7/10 of ten source words."""
    text = "a b c d e f g h i j"
    words = segment_text(text)
    quality = place(text, words, "a b c d e g f new words h").quality
    assert (quality.source, quality.answer, quality.added, quality.placed) == (10, 10, 2, 7)
    assert quality.variation == pytest.approx(0.2)
    assert quality.gap == pytest.approx(0.1)


def test_a_conversation_too_long_to_align_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rather than taking all memory."""
    monkeypatch.setattr(alignment, "MOST_CELLS", 10)
    with pytest.raises(LabelError, match="too many to align"):
        place("a b c d", segment_text("a b c d"), "d c b a")


def test_the_worst_are_those_with_something_wrong() -> None:
    """By each rate the worst share; a perfect record never, and a small set loses none."""
    good, new, moved = Quality(10, 5, 0, 5), Quality(10, 5, 2, 3), Quality(10, 5, 0, 3)
    found = worst([good] * 8 + [new, moved], 0.1)
    assert set(found) == {8, 9}
    assert "variation" in found[8]
    assert "gap" in found[9]
    assert worst([good] * 10, 0.5) == {}
    assert worst([new] * 9, 0.1) == {}
