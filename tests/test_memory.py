"""The slots beside a transcript: slices of turns, linked by wording alone, safe to print."""

import html
import json
import re
from dataclasses import fields
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compressor import Compressor, Memory, Transcript, Turn
from compressor.memory import Slot
from compressor.scoring.heuristic import HeuristicScorer
from tests.fakes import FixedScorer, scattered, word_counter
from tests.strategies import texts

COMPRESSOR = Compressor(HeuristicScorer(), token_counter=word_counter)


def memory_of(*turns: tuple[str, str], compressor: Compressor = COMPRESSOR) -> Memory:
    messages = [{"role": role, "content": text} for role, text in turns]
    return compressor.compress(messages).memory


def slots_of(memory: Memory) -> list[Slot]:
    return [slot for field in fields(Memory) for slot in getattr(memory, field.name)]


def said(slots: tuple[Slot, ...]) -> list[str]:
    return [slot.text for slot in slots]


BOOKING = (
    ("system", "You book tables. Never quote prices above 99 euros."),
    ("user", "Hello there! Please book a table for 4 at Chez Dorotea. At most 90 euros, please. Is it open on Friday?"),
    ("assistant", 'Thanks for asking! The owner said "no dogs", and Chez Dorotea has 31 seats.'),
    ("user", "Thank you so much."),
)


def test_every_kind_of_slot_is_found() -> None:
    """Pleasantries and system turns give none."""
    memory = memory_of(*BOOKING)
    assert [(slot.kind, slot.text) for slot in memory.intents] == [
        ("request", "Please book a table for 4 at Chez Dorotea."),
        ("request", "At most 90 euros, please."),
        ("question", "Is it open on Friday?"),
    ]
    assert said(memory.constraints) == ["At most 90 euros, please."]
    assert "Chez Dorotea" in said(memory.entities)
    assert [slot.mentions for slot in memory.entities if slot.text == "Chez Dorotea"] == [2]
    assert said(memory.quotes) == ['"no dogs"']
    assert said(memory.numbers) == ["4", "At most 90 euros", "Friday", "31 seats"]
    assert memory.missing == ()
    assert all(slot.turn != 0 for slot in slots_of(memory))


def test_memory_is_that_of_the_source_whatever_is_kept_verbatim() -> None:
    """The window of the last turns changes nothing."""
    messages = [{"role": role, "content": text} for role, text in BOOKING]
    memories = [COMPRESSOR.compress(messages, keep_last=count).memory for count in (0, 2, 9)]
    assert memories[0] == memories[1] == memories[2]


LINKED = [
    (["At most 5 of them.", "Scrap that, at most 3."], 0),
    (["It must cost less than 60 euros.", "Also, at most 3 bags.", "No, make it 80 euros."], 0),
    (["The deadline is 5 May.", "No, make it 7 May."], 0),
    (["Keep it under 300 words.", "Make it under 200 words instead."], 0),
    (["Don't use tables in the report.", "I changed my mind, use tables in it."], 0),
    (["Never call me before 9 am.", "Call only before noon.", "On second thought, not before 10 am."], 1),
    (["No more than 40 guests, please.", "Scratch that. At most 60 guests."], 0),
    (["预算不超过500元。", "算了，改成最多800元。"], 0),
    (["最多5个人。", "不对，最多6个人。"], 0),
]


@pytest.mark.parametrize(("turns", "older"), LINKED)
def test_a_constraint_that_replaces_another_is_linked(turns: list[str], older: int) -> None:
    """Both stay, in order; the newer one is current and points to the older."""
    constraints = memory_of(*(("user", text) for text in turns)).constraints
    newer = constraints[-1]
    assert newer.turn == len(turns) - 1
    assert newer.replaces == older
    assert newer.current
    assert constraints[older].replaced_by == len(constraints) - 1
    assert not constraints[older].current
    assert [slot.turn for slot in constraints] == sorted(slot.turn for slot in constraints)


UNLINKED = [
    ["At most 5 chairs.", "At most 3 lamps."],
    ["It must cost less than 60 euros.", "Scrap that idea with the garden. It must not be red."],
    ["It must arrive by Friday.", "At most 3 bags instead of the trunk."],
    ["It must be blue.", "Scrap that, at most 3."],
    ["最多5个人。", "最多6个人。"],
    ["At most 3 chairs.", "We can talk about the weather instead."],
]


PARTLY = [
    ["I need chairs, at most 5 of them.", "Scrap that, at most 3."],
    ["No hostels, and at most 3 stops.", "Make that 2."],
    ["No nuts or shrimp in the salad.", "I changed my mind, nuts are fine."],
    ["At most 3 stops by Friday.", "Make it 2 stops."],
    ["At most 300 euros for the train, at most 500 euros for the hotel.", "Make it 600 euros."],
    ["必须是靠窗的座位,不要超过600元。", "算了,最多1500元。"],
]


@pytest.mark.parametrize("turns", PARTLY)
def test_a_constraint_that_says_more_than_what_is_replaced_stays_current(turns: list[str]) -> None:
    """The link tells which part is newer; nothing is struck."""
    memory = memory_of(*(("user", text) for text in turns))
    assert [(slot.current, slot.replaces, slot.replaced_by) for slot in memory.constraints] == [
        (True, None, 1),
        (True, 0, None),
    ]
    assert "partly replaced in turn 1" in memory.to_markdown()
    assert "~~" not in memory.to_markdown()


def test_a_number_of_another_measure_replaces_nothing() -> None:
    """Neither in a sentence of its own, nor where the one before has inherited its measure."""
    texts = "Our budget is at most 900 euros.", "Scrap that, at most 700 instead.", "Make it 4 nights instead of 7."
    constraints = memory_of(*(("user", text) for text in texts)).constraints
    assert [slot.current for slot in constraints] == [False, True, True]
    assert [slot.replaced_by for slot in constraints] == [1, None, None]
    again = memory_of(*(("user", text) for text in (*texts, "Sorry, make it 800 euros."))).constraints
    assert [slot.replaces for slot in again] == [None, 0, None, 1]


def test_a_revision_that_names_a_value_is_a_constraint() -> None:
    """Also where what it replaces set none."""
    assert said(memory_of(("user", "会议定在3月1日。"), ("user", "改到3月8日。")).constraints) == ["改到3月8日。"]


NUMBERS = [
    ("会议改到上午9点半。", ["上午9点半"]),
    ("两点三刻见。", ["两点三刻"]),
    ("十点一刻开会。", ["十点一刻"]),
    ("两张去上海。", ["两张"]),
    ("I want at most 3 of these.", ["at most 3"]),
    ("Make it 4 nights instead.", ["4 nights"]),
    ("Monday works for me.", ["Monday"]),
    ("On second thought, one of them is fine.", []),
]


@pytest.mark.parametrize(("text", "numbers"), NUMBERS)
def test_a_number_ends_with_its_unit(text: str, numbers: list[str]) -> None:
    """Neither within a time of day nor behind a word that it does not count."""
    assert said(memory_of(("user", text)).numbers) == numbers


def test_units_and_stressed_words_are_no_names() -> None:
    """Nor is the verb that takes something back."""
    text = "Scrap that, at most 3 MB and 5 USD. I am SO happy with Dorotea."
    assert said(memory_of(("user", text)).entities) == ["Dorotea"]


@pytest.mark.parametrize(
    "text",
    ["I can't thank you enough.", "You must be joking.", "I must say, this is great!", "No more questions.", "Only kidding!"],
)  # fmt: skip
def test_sayings_set_no_constraint(text: str) -> None:
    """Though they hold a word that does elsewhere."""
    assert memory_of(("user", text)).constraints == ()


@pytest.mark.parametrize("turns", UNLINKED)
def test_no_constraint_is_linked_on_a_guess(turns: list[str]) -> None:
    """Without a wording that takes something back, or without one of the same kind before."""
    assert all(slot.current and slot.replaces is None for slot in memory_of(*(("user", t) for t in turns)).constraints)


def test_only_a_user_revises() -> None:
    """What an assistant proposes replaces nothing."""
    memory = memory_of(("user", "At most 5 chairs."), ("assistant", "Scrap that, at most 3 chairs."))
    assert [slot.current for slot in memory.constraints] == [True]


def test_a_chain_of_revisions_has_one_current_end() -> None:
    """Each replaces the one before."""
    memory = memory_of(*(("user", text) for text in ("At most 5.", "Scrap that, at most 4.", "No, at most 3.")))
    assert [slot.current for slot in memory.constraints] == [False, False, True]
    assert [slot.replaces for slot in memory.constraints] == [None, 0, 1]


def test_meetings_have_slots_too() -> None:
    """Turns of named speakers: questions, requests and commitments."""
    text = "Ann: Could you please send the 3 files to Dorotea by Friday?\nBob: Yes, I will. We must not miss the deadline of 9 June.\n"
    memory = COMPRESSOR.compress(text).memory
    assert [slot.kind for slot in memory.intents] == ["question"]
    assert "9 June" in said(memory.numbers)
    assert {slot.role for slot in slots_of(memory)} == {"speaker"}


@settings(max_examples=60, deadline=None)
@given(
    turns=st.lists(
        st.tuples(
            st.sampled_from(["user", "assistant", "speaker", "none", "tool"]),
            st.one_of(
                texts(),
                st.lists(st.sampled_from((*BOOKING, ("", "Scrap that, at most 3."))), max_size=3).map(
                    lambda some: " ".join(text for _, text in some)
                ),
            ),
        ),
        max_size=4,
    )
)
def test_every_text_is_a_slice_of_its_turn(turns: list[tuple[str, str]]) -> None:
    """For any text: extraction, never generation; and the schema, the JSON and the Markdown hold."""
    source = Transcript(tuple(Turn(role=role, text=text) for role, text in turns))
    memory = Compressor(FixedScorer(scattered, entity=0.4, pin=0.9), token_counter=word_counter).compress(source).memory
    for slot in slots_of(memory):
        assert source.turns[slot.turn].text[slot.start : slot.end] == slot.text != ""
        assert slot.role == source.turns[slot.turn].role
    assert json.loads(json.dumps(memory.to_dict())) == json.loads(json.dumps(memory.to_dict()))
    validate(json.loads(json.dumps(memory.to_dict())))
    assert_safe(memory)


def validate(plain: dict[str, Any]) -> None:
    """Check a document against the schema, by hand."""
    schema = Memory.json_schema()
    slot = schema["$defs"]["slot"]
    types = {"string": str, "integer": int, "boolean": bool, "null": type(None)}
    assert plain.keys() == set(schema["required"]) == schema["properties"].keys()
    for name, slots in plain.items():
        kinds = schema["properties"][name]["items"]["allOf"][1]["properties"]["kind"]["enum"]
        for one in slots:
            assert one.keys() == set(slot["required"]) == slot["properties"].keys()
            assert one["kind"] in kinds
            assert one["kind"] in slot["properties"]["kind"]["enum"]
            for key, rule in slot["properties"].items():
                allowed = rule.get("type", "string")
                kinds_of = [allowed] if isinstance(allowed, str) else allowed
                assert any(type(one[key]) is types[kind] for kind in kinds_of)
                assert one[key] is None or "minimum" not in rule or one[key] >= rule["minimum"]


def assert_safe(memory: Memory) -> None:
    """Every line of the Markdown is one that the writer made, and every text comes back from it."""
    lines = memory.to_markdown().split("\n")
    assert "\n".join(lines).splitlines() == lines[:-1] or lines == [""]
    items = [line for line in lines if line.startswith("- ")]
    assert all(re.match(r"(?:- \(turn \d|## [A-Z]|$)", line) for line in lines)
    assert len(items) == len(slots_of(memory))
    for line, slot in zip(items, slots_of(memory), strict=True):
        body = line.partition(") ")[2] if slot.text.strip() else ""
        plain = html.unescape(re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", body.removeprefix("~~").removesuffix("~~")))
        if not re.search("[\x00-\x1f\x7f-\x9f\ud800-\udfff]", slot.text):  # those are references that HTML refuses
            assert plain == slot.text.rstrip()


def test_a_text_cannot_break_out_of_its_line() -> None:
    """Headings, lists, code fences, links, tables, HTML and line ends of every kind are shown, not obeyed."""
    hostile = "Please do # x\u2028- y `z` [a](b) <script>&amp; **b** | c ~~d~~ _e_ 1. f"
    memory = Memory(intents=(Slot("request", hostile, 0, 0, len(hostile), "user"),), missing=(
        Slot("tool_result", "a\r\n## b\n```", 1, 0, 9, "tool", detail="{\n}"),))  # fmt: skip
    assert_safe(memory)
    text = memory.to_markdown()
    assert "<script>" not in text
    assert len(text.splitlines()) == 7
    assert "&#10;" in text


def test_the_markdown_shows_what_was_replaced() -> None:
    """Struck out, with the turn of the newer one."""
    text = memory_of(("user", "At most 5 chairs."), ("user", "Scrap that, at most 3.")).to_markdown()
    assert r"- (turn 0, user, replaced in turn 1) ~~At most 5 chairs\.~~" in text
    assert r"- (turn 1, user, replaces turn 0) Scrap that, at most 3\." in text


class LooseScorer(FixedScorer):
    """Takes words for names from a low probability on, as the shipped model does."""

    def thresholds(self, turn: Turn) -> dict[str, float]:
        return {**super().thresholds(turn), "entity": 0.1}


@pytest.mark.parametrize(("probability", "names"), [(0.3, []), (0.7, ["tarnkit"])])
def test_only_sure_names_are_listed(probability: float, names: list[str]) -> None:
    """The rule protects words at a low probability, not to miss any; a list of names is no place for those."""
    compressor = Compressor(LooseScorer(0.0, entity=probability))
    assert said(memory_of(("user", "tarnkit"), compressor=compressor).entities) == names
    assert compressor.compress("tarnkit").report.kept_by_rule["entities"] == 1
