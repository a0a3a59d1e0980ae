"""Growing conversations: how they are made, and what is counted while they grow."""

from dataclasses import dataclass

from compressor.evaluation.cases import Dialogue
from compressor.evaluation.drift import changed_share, drift, first_turns, grow
from compressor.evaluation.outputs import Output, as_output
from compressor.evaluation.systems import make_system
from compressor.transcript import Transcript


@dataclass(frozen=True)
class Halving:
    """Keeps the first half of the words of each turn: it never settles until one word is left."""

    name: str = "halving"
    family: str = "callable"

    def run(self, source: Transcript, key: str) -> Output:
        texts = [turn.text.split() for turn in source]
        return as_output(source, [" ".join(words[: (len(words) + 1) // 2]) for words in texts])


@dataclass(frozen=True)
class LastTurn:
    """Summarises to the last turn."""

    name: str = "last"
    family: str = "callable"

    def run(self, source: Transcript, key: str) -> Output:
        return as_output(source, source.turns[-1].text)


def test_a_conversation_grows_out_of_short_ones_and_probes_move_along(flip: Dialogue, annotated: Dialogue) -> None:
    """Exactly as many turns as asked for; each probe still finds its words; the order follows the seed."""
    grown = grow([flip, annotated], 6, seed=1)
    assert len(grown.transcript) == len(grown.labels) == 6
    assert len(grown.probes) == 3
    for probe in grown.probes:
        assert all(need in grown.transcript.turns[probe.turn].text for need in probe.needs)
    assert grow([flip, annotated], 6, seed=1) == grown
    assert len(first_turns(grown, 1).probes) < 3


def test_the_share_of_changed_bytes_counts_from_the_first_difference() -> None:
    """A prompt cache loses all that follows."""
    assert changed_share("", "abcd") == 0
    assert changed_share("abcd", "abcdef") == 0
    assert changed_share("abcd", "abXdef") == 0.5
    assert changed_share("abcd", "ab") == 0.5


def test_ours_loses_nothing_and_changes_nothing(flip: Dialogue, annotated: Dialogue) -> None:
    """With a fixed preset, in both modes; a second pass finds nothing to delete."""
    result = drift(make_system("light", "heuristic"), grow([flip, annotated], 6, 0), step=2)
    assert [row["turn"] for row in result["fresh"]] == [2, 4, 6]
    worst = result["worst"]
    assert worst["fresh"]["protected_lost"] == worst["progressive"]["protected_lost"] == 0
    assert worst["fresh"]["changed"] == 0
    assert worst["again_deleted"] <= 0.02
    assert worst["fixed_point"] is not None


def test_what_does_not_settle_is_seen(flip: Dialogue) -> None:
    """Halving again and again: early bytes change, and no fixed point comes before single words."""
    result = drift(Halving(), flip, step=2)
    worst = result["worst"]
    assert worst["fresh"]["protected_lost"] is None
    assert worst["fresh"]["changed"] == 0
    assert worst["progressive"]["changed"] > 0
    assert worst["progressive"]["reference_lost"] > 0
    assert 0.3 < worst["again_deleted"] < 0.6
    assert worst["fixed_point"] == 4


def test_a_rewriter_with_other_turns_is_searched_as_a_whole(flip: Dialogue) -> None:
    """It is graded, not crashed, in both modes."""
    result = drift(LastTurn(), flip, step=2)
    assert result["worst"]["progressive"]["answerable"] == 0
    assert result["worst"]["fresh"]["changed"] == 1
