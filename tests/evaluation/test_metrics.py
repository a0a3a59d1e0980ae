"""Each metric on an example that can be counted by hand."""

import numpy as np
import pytest

from compressor.evaluation.bootstrap import Bootstrap
from compressor.evaluation.cases import Dialogue
from compressor.evaluation.coverage import coverage, gold_items, lost_items, reference_items, survival
from compressor.evaluation.deletion import (
    align,
    auc,
    average_precision,
    calibration_error,
    deletion_scores,
    kept_words,
    labels_of,
)
from compressor.evaluation.matching import count, inside_word, lost_in_order, survives
from compressor.evaluation.outputs import Output, as_output
from compressor.evaluation.probes import answerability, flip_scores, read_answers, reader_scores
from compressor.evaluation.reader import letter_of
from compressor.evaluation.reference import count_forces
from compressor.transcript import Transcript, Turn

BOOTSTRAP = Bootstrap(seed=1, resamples=200)


def output_of(dialogue: Dialogue, *texts: str) -> Output:
    """An output with the source's other turns as they are."""
    rest = [turn.text for turn in dialogue.transcript][len(texts) :]
    return as_output(dialogue.transcript, [*texts, *rest])


@pytest.mark.parametrize(
    ("text", "needle", "times"),
    [
        ("not refundable", "not", 1),
        ("nothing, notice", "not", 0),
        ("I can't", "can", 0),
        ("Ann's fee", "Ann", 1),
        ("at 3.5 pm", "5", 0),
        ("at 3.5 pm", "3", 0),
        ("costs 3, 5 or 2.", "2", 1),
        ("他不太可能来", "不太可能", 1),
        ("约40元", "40", 1),
        ("(up to 4)", "up to", 1),
    ],
)
def test_words_are_found_whole(text: str, needle: str, times: int) -> None:
    """A string inside a longer word or number is not found."""
    assert count(text, needle) == times


def test_a_line_break_between_words_is_a_space() -> None:
    """Deletion may join lines, which changes no word."""
    assert survives("is\nnot", "it is\nnot so", "is not")
    assert not survives("not", "is not", "knot")


def test_an_offset_at_the_edge_is_inside_no_word() -> None:
    """The two ends of a text cut nothing."""
    assert not inside_word("ab", 0)
    assert not inside_word("ab", 2)
    assert inside_word("ab", 1)


def test_stretches_must_survive_in_their_order() -> None:
    """A stretch counts as lost if it stands only before the one that precedes it."""
    assert lost_in_order(["a", "b", "c"], "a b c") == 0
    assert lost_in_order(["a", "b", "c"], "b a c") == 1


def test_survival_counts_strings_and_intact_counts_cases(flip: Dialogue) -> None:
    """Of two needed strings one is left: survival one half, no case intact."""
    half = output_of(flip, "the fee is not refundable pm")
    figures, intact = flip_scores([flip, flip], [half, output_of(flip)], BOOTSTRAP)
    assert figures["survival"]["value"] == 0.75
    assert figures["survival"]["n"] == 4
    assert figures["intact"] == {"value": 0.5, "low": 0.0, "high": 1.0, "n": 2, "n_cases": 2}
    assert intact.tolist() == [0, 1]
    assert figures["kind"]["negation"]["intact"]["value"] == 0.5


def test_needed_words_in_another_turn_do_not_count(flip: Dialogue) -> None:
    """The turn is part of the meaning: who said it."""
    moved = Output(("um", "the fee is not refundable 3.5 pm", "", ""), aligned=True, rewrites=True)
    assert flip_scores([flip], [moved], BOOTSTRAP)[0]["survival"]["value"] == 0


def test_another_number_of_turns_is_searched_as_a_whole_and_rewrites(flip: Dialogue) -> None:
    """A summary of one turn is graded by what it holds, and marked."""
    summary = as_output(flip.transcript, "The fee is not refundable after 3.5 pm.")
    assert (summary.aligned, summary.rewrites) == (False, True)
    assert flip_scores([flip], [summary], BOOTSTRAP)[0]["survival"]["value"] == 1


@pytest.mark.parametrize(
    ("returned", "aligned", "rewrites"),
    [
        ("Ann: the fee\nBob: ok\n", True, False),
        (["the fee", "ok"], True, False),
        ([{"role": "x", "content": "fee"}, {"role": "y", "content": [{"type": "text", "text": "ok"}]}], True, False),
        ({"messages": [{"content": "fee"}, {"content": None}]}, True, False),
        (Transcript((Turn(text="the"), Turn(text=""))), True, False),
        (["a fee", "ok"], True, True),
        (["the fee"], False, True),
        ("the fee", False, True),
    ],
)
def test_whatever_is_returned_becomes_an_output(returned: object, aligned: bool, rewrites: bool) -> None:
    """Text, strings, messages and transcripts are read; what is no subsequence rewrites."""
    source = Transcript((Turn("speaker", "Ann", "well the fee"), Turn("speaker", "Bob", "ok then")))
    output = as_output(source, returned)
    assert (output.aligned, output.rewrites) == (aligned, rewrites)


def test_gold_items_are_what_the_annotators_kept(annotated: Dialogue) -> None:
    """The second `must` is cut in `light`, so one counts; the reference counter alone counts both."""
    gold = gold_items([annotated])
    assert sorted((item.kind, item.text) for item in gold) == [
        ("entities", "Ann Lee"),
        ("modals", "must"),
        ("numbers", "40"),
    ]
    assert sum(item.text == "must" for item in reference_items([annotated])) == 2


def test_coverage_is_counted_by_kind_role_and_third(annotated: Dialogue) -> None:
    """The name is lost, the modal and the number survive."""
    gold = gold_items([annotated])
    hits = survival(gold, [output_of(annotated, "Ann must pay 40 euros")])
    table = coverage(gold, hits, 1, BOOTSTRAP)
    assert {kind: one["value"] for kind, one in table["kind"].items()} == {"modals": 1, "numbers": 1, "entities": 0}
    assert table["all"]["n"] == 3
    assert table["role"]["user"]["value"] == pytest.approx(2 / 3, abs=1e-4)
    assert table["third"]["last"]["n"] == 0
    assert lost_items(gold, hits, [annotated]) == {"entities": {"n": 1, "items": ["ann:0: Ann Lee"]}}


def test_equal_items_survive_as_often_as_the_output_holds_them(annotated: Dialogue) -> None:
    """One of two `must` is left: one of two survives."""
    items = [item for item in reference_items([annotated]) if item.text == "must"]
    assert survival(items, [output_of(annotated, "Ann Lee must pay 40 euros")]).tolist() == [True, False]


def test_probes_need_all_their_words(annotated: Dialogue) -> None:
    """The first probe has lost its modal, the second still has its name."""
    figure, hits = answerability([annotated], [output_of(annotated, "Ann Lee pay 40 euros")], BOOTSTRAP)
    assert (figure["value"], figure["n"], hits.tolist()) == (0.5, 2, [1])


def found(text: str, lang: str) -> list[tuple[str, str]]:
    """What the reference counter finds."""
    return [(kind, text[start:end]) for kind, start, end in count_forces(text, lang)]


def test_the_reference_counter_finds_english_forces() -> None:
    """One of each kind, and a contraction that is both modal and negation."""
    text = 'They can\'t send up to 40 kg unless "urgent" to Ann Lee, not on 5 May.'
    assert found(text, "en") == [
        ("modals", "can't"),
        ("quantifiers", "up to"),
        ("negations", "can't"),
        ("negations", "not"),
        ("conditions", "unless"),
        ("numbers", "40"),
        ("numbers", "5"),
        ("quotes", '"urgent"'),
        ("entities", "Ann Lee"),
        ("entities", "May"),
    ]


def test_the_reference_counter_finds_chinese_forces() -> None:
    """A negation is taken with its next character; a courtesy and a classifier are none."""
    assert found("他不太可能来，没关系，一只猫，最多4.2元，除非「好」", "zh") == [
        ("modals", "可能"),
        ("quantifiers", "最多"),
        ("negations", "不太"),
        ("conditions", "除非"),
        ("numbers", "4.2"),
        ("quotes", "「好」"),
    ]


def test_the_reference_counter_leaves_out_list_numbers_and_set_phrases() -> None:
    """`1.` at the head of a line counts an entry; `not at all` has no quantifier."""
    assert found("1. pay\n2) go", "en") == []
    assert found("not at all", "en") == [("negations", "not")]


def test_the_fewest_stretches_place_a_subsequence() -> None:
    """Of two equal words the one beside its neighbour was kept."""
    assert align(["a", "b", "a", "c"], ["a", "c"]) == [2, 3]
    assert align(["a", "b", "c"], []) == []
    assert align(["a", "b"], ["b", "a"]) is None
    assert align(["a"], ["a", "a"]) is None


def test_labels_fall_on_words(annotated: Dialogue) -> None:
    """Hi , so | Ann Lee must pay 40 euros , she | must , she | said . in the fewest stretches, the earliest."""
    labels = labels_of(annotated)
    first = [bool(keep) for keep in labels.light[:16]]
    assert first == [False] * 3 + [True] * 8 + [False] * 3 + [True] * 2
    assert int(labels.tight.sum()) == 6
    assert labels.known.all()


def test_an_edit_that_is_no_subsequence_has_no_label() -> None:
    """Such a turn is left out instead of guessed at."""
    assert kept_words("a b", "c", [(0, 1), (2, 3)]) is None


def test_chinese_labels_are_placed_by_characters() -> None:
    """A word of which most characters stay is kept."""
    assert kept_words("我们去吧", "我们去", [(0, 2), (2, 4)]) is not None
    mask = kept_words("我们去吧", "我们", [(0, 2), (2, 4)])
    assert mask is not None
    assert mask.tolist() == [True, False]


def test_f1_against_the_annotators(annotated: Dialogue) -> None:
    """Everything kept: recall 1, precision the annotators' share."""
    figures = deletion_scores([annotated], [labels_of(annotated)], [output_of(annotated)], BOOTSTRAP)
    kept, n = 11, 22  # of 16 + 6 words
    assert figures["light"]["kept_by_annotators"]["value"] == kept / n
    assert figures["light"]["f1"]["value"] == pytest.approx(2 * kept / (kept + n), abs=1e-4)
    assert "auc" not in figures["light"]


def test_ranking_and_calibration_by_hand() -> None:
    """Three of four pairs are in order; precision 1 and 2/3 at the two hits; one full bin is off by 0.3."""
    gold = np.array([True, False, True, False])
    scores = np.array([0.9, 0.8, 0.7, 0.1])
    assert auc(gold, scores) == 0.75
    assert average_precision(gold, scores) == pytest.approx((1 + 2 / 3) / 2)
    assert auc(gold, np.full(4, 0.5)) == 0.5
    assert average_precision(gold, np.full(4, 0.5)) == 0.5
    assert calibration_error(np.array([True, True]), np.array([0.7, 0.7])) == pytest.approx(0.3)


def test_a_bootstrap_interval_is_seeded_and_pairs_cases() -> None:
    """The same seed gives the same interval; a constant difference has no width; nothing counted is no number."""
    hits, totals = [1, 0, 1, 1, 0, 1], [1] * 6
    first, second = (Bootstrap(seed=3).share(hits, totals) for _ in range(2))
    assert first == second
    assert first.low < first.value < first.high
    assert (first.n, first.n_cases) == (6, 6)
    paired = Bootstrap().difference([2, 1, 2], [1, 0, 1], [2, 2, 2])
    assert (paired.value, paired.low, paired.high) == (0.5, 0.5, 0.5)
    assert Bootstrap().share([0], [0]).to_dict() == {"value": None, "low": None, "high": None, "n": 0, "n_cases": 0}


class LiteralReader:
    """Reads literally: with `not` the answer is B, without it A, and without a fee nothing."""

    name = "literal"

    def __call__(self, transcript: str, question: str, options: object) -> str:
        return "?" if "fee" not in transcript else "B" if " not " in transcript else "A"


def test_a_reader_answers_right_flipped_or_other(flip: Dialogue) -> None:
    """One case of each; only the first is answered as from the uncompressed transcript."""
    cases, reader = [flip] * 3, LiteralReader()
    outputs = [output_of(flip), output_of(flip, "the fee is refundable"), output_of(flip, "um")]
    answers = read_answers(cases, outputs, reader)
    assert answers == ["B", "A", "?"]
    figures = reader_scores(cases, answers, ["B", "B", "B"], BOOTSTRAP)
    third = pytest.approx(1 / 3, abs=1e-4)
    assert [figures[name]["value"] for name in ("right", "flipped", "other", "consistency")] == [third] * 4
    assert figures["right_minus_uncompressed"]["value"] == pytest.approx(-2 / 3, abs=1e-4)


@pytest.mark.parametrize(
    ("answer", "letter"),
    [("B", "B"), ("B. No", "B"), ("**A**", "A"), ("The answer is B.", "B"), ("no", "B"), ("unclear", "unclear")],
)
def test_the_letter_is_found_in_an_answer(answer: str, letter: str) -> None:
    """Alone, with marks, in a sentence, or as the option's text."""
    assert letter_of(answer, {"A": "Yes", "B": "No"}) == letter
