"""The six promises, on random transcripts of both languages, markup and every kind of Unicode."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compressor import Compressor, ContractError, Transcript, Turn, contract
from compressor.marks import find_marks
from compressor.rendering import render
from compressor.words import segment
from tests.fakes import FixedScorer, char_counter, scattered, word_counter
from tests.strategies import soups, texts, transcripts

many = settings(max_examples=150, deadline=None)


@many
@given(transcripts, st.sampled_from([0.0, 0.3, 0.5, 0.8, 1.0]))
def test_budgets_keep_all_six_promises(transcript: Transcript, ratio: float) -> None:
    """Whatever the text, a compression under a budget passes its own check."""
    compressor = Compressor(FixedScorer(scattered), token_counter=word_counter)
    compressor.compress(transcript, keep_ratio=ratio, keep_last=0).verify()


@many
@given(transcripts)
def test_presets_keep_all_six_promises(transcript: Transcript) -> None:
    """Whatever the text, a compression by a preset passes its own check."""
    Compressor(FixedScorer(scattered)).compress(transcript, preset="tight").verify()


@many
@given(transcripts, st.integers(0, 60))
def test_budget_is_met_unless_protected_words_exceed_it(transcript: Transcript, limit: int) -> None:
    """`budget_met` is false only where nothing unprotected is left to delete."""
    for counter in (word_counter, char_counter, None):
        compressor = Compressor(FixedScorer(scattered), token_counter=counter)
        report = compressor.compress(transcript, max_tokens=limit, keep_last=0, emptied="empty").report
        least = compressor.compress(transcript, max_tokens=0, keep_last=0, emptied="empty").report
        assert report.budget_met == (report.tokens_after <= limit)
        assert report.budget_met or report.tokens_after == least.tokens_after


@many
@given(st.one_of(texts(), soups), st.randoms(use_true_random=False))
def test_any_choice_renders_to_its_own_words(text: str, random: object) -> None:
    """Closing and rendering a random choice gives text whose words are the chosen ones, whole and unfused."""
    transcript = Transcript((Turn(text=text),))
    words = segment(transcript)
    protected = np.zeros(len(words), np.bool_)
    chosen = np.array([random.random() < 0.4 for _ in words], np.bool_)  # type: ignore[attr-defined]
    marks = find_marks(transcript, words, protected)
    keep = marks.close(chosen & ~marks.follows)
    output = render(transcript, words, keep)
    contract.check_subsequence(transcript, output)
    contract.check_whole(transcript, output, words, keep)


@many
@given(texts(), st.randoms(use_true_random=False))
def test_punctuation_grows_with_the_words(text: str, random: object) -> None:
    """Choosing more words never loses a mark."""
    transcript = Transcript((Turn(text=text),))
    words = segment(transcript)
    marks = find_marks(transcript, words, np.zeros(len(words), np.bool_))
    larger = np.array([random.random() < 0.6 for _ in words], np.bool_) & ~marks.follows  # type: ignore[attr-defined]
    smaller = larger & np.array([random.random() < 0.5 for _ in words], np.bool_)  # type: ignore[attr-defined]
    contract.check_nested(marks.close(smaller), marks.close(larger), words)


@many
@given(texts())
def test_words_cover_all_but_white_space(text: str) -> None:
    """Words never overlap, and only white space lies between them."""
    words = segment(Transcript((Turn(text=text),)))
    at = 0
    for word in words:
        assert word.start >= at
        assert word.end > word.start
        assert not text[at : word.start].strip()
        at = word.end
    assert not text[at:].strip()


@pytest.mark.parametrize(
    ("text", "output", "promise"),
    [
        ("a b", "b a", "subsequence"),
        ("3 and 5", "35", "whole"),
        ("do not pay", "do pay", "protected"),
    ],
)
def test_checks_name_the_promise_and_the_place(text: str, output: str, promise: str) -> None:
    """Each check fails on a text that breaks its promise."""

    def check() -> None:
        contract.check_subsequence(source, broken)
        contract.check_whole(source, broken, words, keep)
        contract.check_protected(source, words, np.ones(len(words), np.bool_), keep, np.zeros(len(words), np.bool_))

    source = Transcript((Turn(text=text),))
    broken = Transcript((Turn(text=output),))
    words = segment(source)
    keep = np.array([source.turns[0].text[word.start : word.end] in output for word in words], np.bool_)
    with pytest.raises(ContractError, match=promise):
        check()


def test_checks_of_identity_nesting_and_repetition_fail_when_broken() -> None:
    """The last three promises are checked for real, too."""
    source, other = Transcript((Turn(text="a b"),)), Transcript((Turn(text="a  b"),))
    words = segment(source)
    with pytest.raises(ContractError, match="identity"):
        contract.check_identity(source, other, np.ones(2, np.bool_))
    with pytest.raises(ContractError, match="nested"):
        contract.check_nested(np.array([True, False]), np.array([False, True]), words)
    with pytest.raises(ContractError, match="repeatable"):
        contract.check_repeatable(source, other)
