"""Remembered scores: the same to the last bit, bounded, and safe between threads."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compressor import Compressor, PolicyError, ScorerError, Transcript, Turn
from compressor.scoring import Scores
from compressor.scoring.cache import ENTRY_BYTES, WORD_BYTES, CachedScorer
from compressor.scoring.heuristic import HeuristicScorer
from compressor.words import by_turn, segment
from tests.fakes import FixedScorer, scattered


class CountingScorer(FixedScorer):
    """Counts the turns that it is asked for."""

    def __init__(self) -> None:
        super().__init__(scattered)
        self.asked: list[Turn] = []

    def score(self, turns, words):  # type: ignore[no-untyped-def]
        self.asked += turns
        return super().score(turns, words)


def scored(scorer, turns):  # type: ignore[no-untyped-def]
    transcript = Transcript(tuple(turns))
    return scorer.score(list(transcript.turns), by_turn(transcript, segment(transcript)))


def same(one: Scores, other: Scores) -> bool:
    return all(
        getattr(one, name).tobytes() == getattr(other, name).tobytes() for name in ("light", "tight", "entity", "pin")
    )


def test_a_turn_is_scored_once() -> None:
    """Within a call and over calls, whoever says it."""
    inner = CountingScorer()
    cache = CachedScorer(inner)
    turns = [Turn("user", "Ann", "thanks a lot"), Turn("user", "Bob", "thanks a lot"), Turn("user", None, "no")]
    scored(cache, turns)
    scored(cache, turns[1:])
    assert [turn.text for turn in inner.asked] == ["thanks a lot", "no"]
    assert (cache.hits, cache.misses, len(cache)) == (3, 2, 2)


@pytest.mark.parametrize(
    "other",
    [
        Turn("assistant", None, "a b c"),
        Turn("user", None, "a b  c"),
        Turn("user", None, "a b c", blocks=((0, 2), (2, 5))),
        Turn("user", None, "ab c", blocks=((0, 1), (1, 4))),
    ],
)
def test_what_differs_in_role_text_or_words_is_another_turn(other: Turn) -> None:
    """The key holds all that scores may depend on."""
    inner = CountingScorer()
    cache = CachedScorer(inner)
    scored(cache, [Turn("user", None, "a b c"), Turn("user", None, "ab c")])
    before = len(inner.asked)
    scored(cache, [other])
    assert len(inner.asked) - before == (0 if other.blocks == ((0, 2), (2, 5)) else 1)


def test_the_least_used_turns_are_forgotten_within_the_bound() -> None:
    """The one that was used in between stays."""
    inner = CountingScorer()
    cache = CachedScorer(inner, max_bytes=2 * (ENTRY_BYTES + WORD_BYTES))
    for text in ("one", "two", "one", "three", "one", "two"):
        scored(cache, [Turn("user", None, text)])
    assert [turn.text for turn in inner.asked] == ["one", "two", "three", "two"]
    assert cache.bytes_used <= cache.max_bytes


def test_a_turn_larger_than_the_cache_is_not_remembered() -> None:
    """Nor does it push the others out."""
    cache = CachedScorer(CountingScorer(), max_bytes=ENTRY_BYTES + 2 * WORD_BYTES)
    scored(cache, [Turn("user", None, "a b")])
    scored(cache, [Turn("user", None, "word " * 50)])
    assert len(cache) == 1


@settings(deadline=None)  # a busy machine is no failure
@given(
    st.lists(st.sampled_from(["a", "b c", "不太可能 so", "", "\ud800 x", "3.5 and/or"]), max_size=12),
    st.integers(0, 9000),
)
def test_scores_are_the_same_with_and_without(texts: list[str], size: int) -> None:
    """To the last bit, whatever fits."""
    cache = CachedScorer(HeuristicScorer(), max_bytes=size)
    turns = [Turn("user", None, text) for text in texts]
    for _ in range(2):
        for one, other in zip(scored(cache, turns), scored(HeuristicScorer(), turns), strict=True):
            assert same(one, other)
    assert cache.bytes_used <= size


def test_the_shipped_model_gives_the_same_with_and_without(shipped: Compressor) -> None:
    """Alone, in company, and remembered."""
    turns = [Turn("user", None, "Move it to Friday, please."), Turn("assistant", None, "Sure, no problem at all.")] * 2
    cache = CachedScorer(shipped.scorer)
    scored(cache, turns[:1])
    for one, other in zip(scored(cache, turns), scored(shipped.scorer, turns), strict=True):
        assert same(one, other)
    assert cache.thresholds(turns[0]) == shipped.scorer.thresholds(turns[0])


def test_threads_share_a_cache() -> None:
    """Every thread gets the right scores, and the counts add up."""
    cache = CachedScorer(HeuristicScorer(), max_bytes=20_000)
    turns = [Turn("user", None, f"word{number % 40} and more") for number in range(400)]
    right = scored(HeuristicScorer(), turns)
    with ThreadPoolExecutor(8) as pool:
        for found in pool.map(lambda _: scored(cache, turns), range(16)):
            assert all(same(one, other) for one, other in zip(found, right, strict=True))
    assert cache.hits + cache.misses == 16 * 400


def test_remembered_scores_cannot_be_changed() -> None:
    """They are shared by all equal turns, and the scorer keeps its own arrays."""
    cache = CachedScorer(HeuristicScorer())
    found = scored(cache, [Turn("user", None, "a b")])[0]
    with pytest.raises(ValueError, match="read-only"):
        found.light[0] = 0


def test_wrong_scores_are_not_remembered() -> None:
    """The error is raised, and the next call asks again."""

    class Wrong(HeuristicScorer):
        def score(self, turns, words):  # type: ignore[no-untyped-def]
            return [Scores(*[np.full(len(own), 2.0, np.float32)] * 4) for own in words]

    cache = CachedScorer(Wrong())
    with pytest.raises(ScorerError):
        scored(cache, [Turn("user", None, "a")])
    assert len(cache) == 0


@pytest.mark.parametrize("size", [-1, 1.5, True, "1"])
def test_a_wrong_size_is_refused(size: object) -> None:
    """With what is allowed."""
    with pytest.raises(PolicyError, match=r"max_bytes is .* allowed"):
        CachedScorer(HeuristicScorer(), max_bytes=size)  # type: ignore[arg-type]
