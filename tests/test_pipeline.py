"""compress() end to end, without the model: turns, places, reports, batches."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from compressor import (
    Compressor,
    ContractError,
    InputError,
    ModelError,
    PolicyError,
    ScorerError,
    Transcript,
    Turn,
    compress,
)
from compressor.scoring import Scores
from tests.fakes import FixedScorer

Chat = list[dict[str, Any]]


def test_system_and_last_turns_stay_verbatim(heuristic: Compressor, chat: Chat) -> None:
    """Four turns at the end of a chat by default, and the system turn wherever it stands."""
    output = heuristic.compress(chat, preset="tight").output
    assert [message["content"] for message in output[-4:]] == [message["content"] for message in chat[-4:]]
    assert output[0] == chat[0]


def test_a_given_keep_last_always_counts(heuristic: Compressor, chat: Chat) -> None:
    """Zero means none; more than there are turns keeps everything and says why."""
    assert len(str(heuristic.compress(chat, keep_last=0).output)) < len(str(heuristic.compress(chat).output))
    whole = heuristic.compress(chat, keep_last=99)
    assert whole.output == chat
    assert whole.report.notes == ("nothing was deleted: 1 × system turn, 5 × one of the last 99 turns",)


def test_speakers_and_documents_have_no_last_turns(heuristic: Compressor) -> None:
    """Without a user and an assistant nothing is verbatim by its place."""
    report = heuristic.compress("Ann: um, so, well\nBob: okay, so, well\n").report
    assert [turn.verbatim for turn in report.turns] == ["", ""]


def test_requests_survive_any_budget(heuristic: Compressor, chat: Chat) -> None:
    """A user's request is pinned word for word, whatever the limit, and the report says by how much it is missed."""
    result = heuristic.compress(chat, max_tokens=5, keep_last=0)
    assert "I need 3 chairs delivered to Graz before 9 June, please." in result.output[1]["content"]
    assert "only if Dorotea signs." in result.output[3]["content"]
    assert not result.report.budget_met
    assert result.report.over_budget_by == result.report.tokens_after - 5
    assert f"needs {result.report.over_budget_by} tokens more than the 5 allowed" in result.report.notes[0]


def test_budgets_are_met_and_nested(heuristic: Compressor, chat: Chat) -> None:
    """More tokens keep more words, and never lose one."""
    kept = [
        set(np.flatnonzero(heuristic.compress(chat, max_tokens=limit, keep_last=0).workings.keep))
        for limit in range(0, 100, 7)
    ]
    assert all(smaller <= larger for smaller, larger in pairwise(kept))
    assert len(kept[0]) < len(kept[-1])


def test_emptied_messages_keep_a_word_their_place_or_go(heuristic: Compressor) -> None:
    """The policy decides, and never breaks the alternation of roles."""
    chat: Chat = [
        {"role": "user", "content": "Which pier is closed?"},
        {"role": "assistant", "content": "Thanks so much!"},
        {"role": "assistant", "content": "Pier 3 is not in use."},
        {"role": "user", "content": "And pier 4?"},
    ]

    def contents(mode: str) -> list[str]:
        result = Compressor(FixedScorer(0.0)).compress(chat, keep_last=0, emptied=mode)
        result.verify()
        return [message["content"] for message in result.output]

    assert len(contents("auto")) == 4
    assert 0 < len(contents("word")[1]) < len("Thanks so much!")
    assert contents("empty")[1] == ""
    assert len(contents("drop")) == 3
    assert contents("drop")[1].startswith("Pier 3")


def test_filler_is_released_only_on_request() -> None:
    """A modal in pure courtesy stays by default; released, the report lists it."""
    text = "Ann: Could I help with anything else?\nAnn: The fee may not exceed 40 euros."
    low = FixedScorer(lambda word: 0.9 if word in {"fee", "exceed"} else 0.0)
    kept = Compressor(low).compress(text)
    released = Compressor(low).compress(text, release_filler=True)
    assert "Could" in kept.text
    assert kept.report.released == ()
    assert "Could" not in released.text
    assert (0, "Could") in released.report.released
    assert "may not exceed 40 euros" in released.text
    released.verify()


def test_batches_come_out_as_single_calls(heuristic: Compressor, chat: Chat) -> None:
    """A stream of transcripts gives what each gives alone, in order."""
    sources: list[Any] = [chat, "Ann: um, the fee is 40 euros.", [], "", chat[:3]] * 9
    together = list(heuristic.compress_many(sources, preset="tight"))
    assert [result.output for result in together] == [
        heuristic.compress(source, preset="tight").output for source in sources
    ]


@pytest.mark.parametrize(
    "source",
    ["", "   ", [], [""], Transcript(), Transcript((Turn(), Turn(text="\n"))), [{"role": "user", "content": ""}]],
)
def test_empty_sources_come_back_as_they_are(heuristic: Compressor, source: Any) -> None:
    """Nothing to delete is no error."""
    result = heuristic.compress(source)
    assert result.output == source
    assert result.report.kept_ratio == 1.0
    result.verify()


def test_restore_gives_the_original(heuristic: Compressor, chat: Chat) -> None:
    """In the shape of the input."""
    assert heuristic.compress(chat, preset="tight").restore() == chat
    assert heuristic.compress("Ann: um, hi\n").restore() == "Ann: um, hi\n"


def test_explain_lists_every_word(heuristic: Compressor) -> None:
    """Where it stands, its scores, its rules and its fate."""
    result = heuristic.compress("Ann: um, you must not pay.")
    words = {word.text: word for word in result.explain()}
    assert not words["um"].kept
    assert words["must"].kept
    assert "modals" in words["must"].rules
    assert "negation" in words["not"].rules
    assert result.source.turns[0].text[words["pay"].start : words["pay"].end] == "pay"
    assert 0 <= words["um"].score <= 1


def test_diff_shows_deletions_in_place(heuristic: Compressor) -> None:
    """The whole source is there, with marks around what went; markup in the text is escaped on a page."""
    result = heuristic.compress("Ann: um, <b> must not pay.")
    page = result.diff("html")
    assert "<del>um" in page
    assert "&lt;b&gt;" in page
    ansi = result.diff()
    plain = ansi.replace("\x1b[9;31m", "").replace("\x1b[0m", "").replace("\x1b[1m", "")
    assert plain == "Ann: um, <b> must not pay."
    with pytest.raises(PolicyError, match="diff format is 'pdf'"):
        result.diff("pdf")


def test_report_is_plain_data(heuristic: Compressor, chat: Chat) -> None:
    """Numbers as numbers, and a few lines for a terminal."""
    report = heuristic.compress(chat, keep_ratio=0.6, keep_last=1).report
    record = report.to_dict()
    assert record["tokens_before"] == sum(turn["tokens_before"] for turn in record["turns"])
    assert record["words_after"] == sum(turn["words_after"] for turn in record["turns"])
    assert record["scorer"] == "heuristic-1"
    assert "tokens" in report.summary()


def test_verify_names_a_broken_promise(heuristic: Compressor) -> None:
    """A result that was tampered with does not pass."""
    from dataclasses import replace

    result = heuristic.compress("Ann: um, you must not pay.")
    forged = replace(result, transcript=result.source.with_turns([result.source.turns[0].with_text("you must pay.")]))
    with pytest.raises(ContractError, match="whole"):
        forged.verify()


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (7, "int"),
        (None, "None"),
        ([{"content": "x"}], "turn 0.*role"),
        ([{"role": "user", "content": "x"}, {"role": "user", "content": 5}], "turn 1.*content"),
        ([["x"]], "turn 0"),
    ],
)
def test_bad_sources_name_the_turn_and_the_field(source: Any, message: str) -> None:
    """One clear error."""
    with pytest.raises(InputError, match=message):
        compress(source, model="heuristic")


def test_unknown_roles_are_kept_with_a_warning(heuristic: Compressor) -> None:
    """The role goes through as it is."""
    with pytest.warns(UserWarning, match="narrator"):
        output = heuristic.compress([{"role": "narrator", "content": "um, it must rain"}]).output
    assert output[0]["role"] == "narrator"


def test_scorers_are_held_to_their_protocol() -> None:
    """Arrays of a wrong length or outside 0 to 1 are refused, with the scorer's name."""

    class Short(FixedScorer):
        def score(self, turns: Any, words: Any) -> list[Scores]:
            return [Scores(*(np.zeros(1, np.float32) for _ in range(4))) for _ in turns]

    with pytest.raises(ScorerError, match="fixed returned light of shape"):
        Compressor(Short()).compress("two words")
    with pytest.raises(ScorerError, match="outside 0 to 1"):
        Compressor(FixedScorer(2.0)).compress("two words")


def test_names_do_not_become_labels() -> None:
    """A speaker's name inside a turn never comes to stand where it would open a turn of its own."""
    source = "Ann: um, so, well Bob: wait\nBob: okay, so, hmm\nAnn: I told Bob: wait\nBob: yes\n"
    result = Compressor(FixedScorer(lambda word: 0.9 if word in {"Bob", "wait"} else 0.0)).compress(source)
    assert "Bob: , " not in result.text
    again = Compressor(FixedScorer(0.0)).compress(result.text).source
    assert [turn.speaker for turn in again] == [turn.speaker for turn in result.source]


@pytest.mark.parametrize("size", [1, 2, 32])
def test_results_before_a_bad_source_come_out_first(
    heuristic: Compressor, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    """Then the error names the source; so it is with a stream that fails itself."""
    monkeypatch.setattr("compressor.pipeline.BATCH", size)
    results = heuristic.compress_many(["one", "two", [{"role": "user", "content": 5}], "four"])
    assert [next(results).text, next(results).text] == ["one", "two"]
    with pytest.raises(InputError, match='source 2: turn 0: "content" is int'):
        next(results)

    def stream() -> Any:
        yield "one"
        raise KeyError("gone")

    results = heuristic.compress_many(stream())
    assert next(results).text == "one"
    with pytest.raises(KeyError, match="gone"):
        next(results)


@pytest.mark.parametrize("sources", [None, 7, "abc", b"abc", {"messages": []}, Transcript()])
def test_one_source_is_not_taken_for_several(heuristic: Compressor, sources: Any) -> None:
    """A string is not read character by character."""
    with pytest.raises(InputError, match=r"the sources are .*; allowed: several sources"):
        heuristic.compress_many(sources)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [({"scorer": "default"}, "scorer is 'default'"), ({"policy": {"keep_ratio": 0.5}}, "policy is {'keep_ratio'")],
)
def test_wrong_arguments_of_a_compressor_are_named(arguments: dict[str, Any], message: str) -> None:
    """With what is allowed instead."""
    with pytest.raises(PolicyError, match=message):
        Compressor(**{"scorer": FixedScorer(), **arguments})


@pytest.mark.parametrize("model", [[], {}, None, "", "~nobody_x/y", "x" * 5000])
def test_models_that_are_none_are_named(model: Any) -> None:
    """Whatever is given."""
    with pytest.raises(ModelError, match=r"model is|no model folder at"):
        compress("hello", model=model)


@pytest.mark.parametrize("threads", ["x", 0, True, 1.5])
def test_threads_are_a_whole_number(threads: Any) -> None:
    """One or more."""
    with pytest.raises(PolicyError, match="threads is"):
        Compressor.from_pretrained("heuristic", threads=threads)


def test_a_message_of_filler_alone_is_not_emptied_by_the_release() -> None:
    """Providers refuse empty messages; where every word is released, nothing is."""
    messages = [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": "You can always!"},
        {"role": "user", "content": "What is due?"},
    ]
    compressor = Compressor(FixedScorer(0.01))
    result = compressor.compress(messages, keep_last=0, release_filler=True, keep_ratio=0.0, floor="masks")
    assert all(message["content"].strip() for message in result.messages)
