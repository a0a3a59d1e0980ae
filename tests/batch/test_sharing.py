"""Scores go from worker to worker: the same bits, each once, and no more of them than the bound."""

from pathlib import Path

import pytest

from compressor import Compressor, Turn
from compressor.batch import Settings, run_batch
from compressor.batch.sharing import Exchange, SharingScorer
from compressor.scoring.heuristic import HeuristicScorer
from tests.batch.conftest import lines
from tests.batch.test_cache import CountingScorer, same, scored

TURNS = [Turn("user", None, text) for text in ("the fee, um, is 3.5", "", "不太可能 no", "so what")]


def test_what_one_scored_another_knows(shipped: Compressor) -> None:
    """To the last bit, with the shipped model, without asking it again."""
    one, other = SharingScorer(shipped.scorer), SharingScorer(CountingScorer())
    one.take_new()
    expected = scored(one, TURNS)
    other.learn(one.take_new())
    assert all(same(left, right) for left, right in zip(scored(other, TURNS), expected, strict=True))
    assert other.misses == 0


def test_scores_are_told_once_and_only_those_found_here() -> None:
    """What was learned is not told again."""
    one, other = SharingScorer(HeuristicScorer()), SharingScorer(HeuristicScorer())
    assert one.take_new() == other.take_new() == []
    scored(one, TURNS[:3])
    told = one.take_new()
    assert len(told) == 3
    other.learn(told)
    scored(other, TURNS)
    assert len(other.take_new()) == 1
    assert one.take_new() == []


def test_a_cache_of_nothing_tells_nothing() -> None:
    """Nobody would keep it."""
    cache = SharingScorer(HeuristicScorer(), max_bytes=0)
    cache.take_new()
    scored(cache, TURNS)
    assert cache.take_new() == []


def test_each_worker_hears_of_all_others_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A new one hears of all that is kept; what does not fit is forgotten, the oldest first."""
    exchange = Exchange()
    exchange.tell(1, [(b"a", b"1")])
    exchange.tell(2, [(b"b", b"2")])
    assert exchange.hear(1) == [(b"b", b"2")]
    assert exchange.hear(1) == []
    assert exchange.hear(2) == [(b"a", b"1")]
    assert exchange.hear(3) == [(b"a", b"1"), (b"b", b"2")]
    monkeypatch.setattr("compressor.batch.sharing.BACKLOG", 4)
    exchange.tell(1, [(b"c", b"3")])
    assert exchange.hear(4) == [(b"b", b"2"), (b"c", b"3")]


def test_equal_turns_are_scored_once_a_run(tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """But for those that two workers meet in the same moment."""
    monkeypatch.setattr("compressor.batch.chunks.CHUNK", 1500)
    (tmp_path / "a.jsonl").write_text(lines(40) + lines(40))
    report = run_batch([tmp_path / "a.jsonl"], tmp_path / "out", settings, workers=2)
    assert report.total.turns == 240
    # 40 different user turns in each half, and two others; every chunk under way may meet what another one just met.
    assert 42 <= report.total.misses <= 56
