"""Options, budgets and token counts."""

import re
from typing import Any

import numpy as np
import pytest

from compressor import Compressor, PolicyError, compress
from compressor.selection import Choice, best_of_each
from compressor.tokens import EstimatedTokens, as_counter
from tests.fakes import FixedScorer, word_counter


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"keep_ratio": 1.5}, r"keep_ratio is 1\.5; allowed: a number from 0 to 1"),
        ({"keep_ratio": -0.1}, "keep_ratio is -0.1"),
        ({"keep_ratio": float("nan")}, "keep_ratio is nan"),
        ({"keep_ratio": "half"}, "keep_ratio is 'half'"),
        ({"keep_ratio": True}, "keep_ratio is True"),
        ({"max_tokens": -120}, "max_tokens is -120, which is negative"),
        ({"max_tokens": 2.5}, "max_tokens is 2.5; allowed: a whole number"),
        ({"keep_last": -1}, "keep_last is -1"),
        ({"keep_ratio": 0.5, "max_tokens": 10}, "keep_ratio and max_tokens are given together"),
        ({"preset": "light", "keep_ratio": 0.5}, "preset and keep_ratio are given together"),
        ({"preset": "hard"}, "preset is 'hard'; allowed: None, 'light', 'tight'"),
        ({"emptied": "gone"}, "emptied is 'gone'"),
        ({"also_protect": "names"}, "also_protect is 'names'"),
        ({"also_protect": [7]}, "also_protect holds 7"),
        ({"also_protect": 7}, "also_protect is 7"),
        ({"release_filler": "yes"}, "release_filler is 'yes'"),
        ({"ratio": 0.5}, "unknown option 'ratio'; the options are preset, keep_ratio"),
    ],
)
def test_wrong_options_are_named_with_what_is_allowed(options: dict[str, Any], message: str) -> None:
    """One clear error, from the call as from the policy."""
    with pytest.raises(PolicyError, match=message):
        compress("hello there", model="heuristic", **options)


def test_a_policy_can_add_rules() -> None:
    """A pattern, a function and a name are all accepted, and the report counts them."""
    shout = lambda view: [(0, 3)]  # noqa: E731
    compressor = Compressor(FixedScorer(0.0), token_counter=word_counter)
    result = compressor.compress("aaa bbb ccc ddd", also_protect=[re.compile("c+"), shout, "numbers"])
    assert result.text == "aaa ccc"
    assert result.report.kept_by_rule["pattern c+"] == 1
    assert result.report.kept_by_rule["<lambda>"] == 1


def test_choice_stops_at_the_first_word_that_does_not_fit() -> None:
    """The second-best word is too dear, so the third is not taken in its place."""
    choice = Choice(
        scores=np.array([0.9, 0.8, 0.7, 0.1], np.float32),
        costs=np.array([2, 5, 1, 1]),
        base=np.array([False, False, False, True]),
        candidates=np.array([True, True, True, False]),
        close=lambda keep: keep,
    )
    assert choice.within(4).tolist() == [True, False, False, True]
    assert choice.within(0).tolist() == [False, False, False, True]
    assert choice.within(8).tolist() == [True, True, False, True]
    assert choice.within(9).all()


def test_equal_scores_go_to_the_earlier_word() -> None:
    """Ties are broken from the front."""
    same = np.full(3, 0.5, np.float32)
    free = np.ones(3, np.bool_)
    choice = Choice(same, np.ones(3, np.int64), ~free, free, lambda keep: keep)
    assert choice.within(2).tolist() == [True, True, False]


def test_best_of_each_needy_group() -> None:
    """One word a group that needs one: the best-scored, the earliest of equals."""
    groups = np.array([0, 0, 1, 1, 2])
    scores = np.array([0.1, 0.9, 0.5, 0.5, 0.7], np.float32)
    chosen = best_of_each(groups, np.array([True, True, False]), scores, np.ones(5, np.bool_))
    assert chosen.tolist() == [False, True, True, False, False]


def test_estimate_adds_up_over_words() -> None:
    """The count of a text is the sum of the counts of its words."""
    count = EstimatedTokens()
    assert count("") == 0
    assert count("Hello, world") == count("Hello") + count(",") + count("world")
    assert count("不太可能") >= 1


@pytest.mark.parametrize("given", [7, "words", object()])
def test_unknown_counters_are_refused(given: object) -> None:
    """The error names what is allowed."""
    with pytest.raises(PolicyError, match=r"token_counter is .*allowed"):
        as_counter(given)  # type: ignore[arg-type]


@pytest.mark.parametrize("count", [-1, 1.5, "3", None])
def test_counters_must_return_whole_numbers(count: object) -> None:
    """A counter of one's own that returns nonsense is named, not believed."""
    with pytest.raises(PolicyError, match="token counter returned"):
        compress("hello there", model="heuristic", token_counter=lambda text: count)  # type: ignore[arg-type, return-value]


def _raises(view: object) -> list[tuple[int, int]]:
    raise KeyError("gone")


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (_raises, "the rule _raises raised KeyError for turn 1: 'gone'"),
        (lambda view: None, "the rule <lambda> returned None for turn 1"),
        (lambda view: [1, 2], "returned 1 in its list for turn 1"),
        (lambda view: [(0, "2")], "returned .* in its list for turn 1"),
        (lambda view: "abc", "returned 'abc' for turn 1"),
        (lambda: [], "raised TypeError for turn 1"),
        (re.compile(b"a"), "matches bytes; allowed: a pattern of str"),
    ],
)
def test_rules_of_the_caller_are_held_to_their_protocol(rule: Any, message: str) -> None:
    """The error names the rule and the turn."""
    with pytest.raises(PolicyError, match=message):
        compress(["", "hello there"], model="heuristic", also_protect=rule)


def test_two_patterns_of_the_same_text_both_count() -> None:
    """Their flags may differ."""
    patterns = [re.compile("bbb", re.IGNORECASE), re.compile("bbb")]
    assert Compressor(FixedScorer(0.0)).compress("aaa BBB ccc", also_protect=patterns).text == "BBB"


@pytest.mark.parametrize("name", ["max_tokens", "keep_last", "keep_ratio"])
def test_numbers_without_end_are_refused(name: str) -> None:
    """They cannot even be printed."""
    with pytest.raises(PolicyError, match=f"{name} (has more than 18 digits|is of type int)"):
        compress("hello there", model="heuristic", **{name: 10**5000})


def test_counters_that_raise_are_named() -> None:
    """With what they raised."""
    with pytest.raises(PolicyError, match="the token counter int raised ValueError for a text of 5 characters"):
        compress("hello there", model="heuristic", token_counter=int)  # type: ignore[arg-type]
