"""A growing conversation: steps and what stays between them, pins, overflow, bad input, threads."""

import json
import threading
from typing import Any

import pytest

from compressor import Compressor, InputError, Policy, PolicyError, Session, SessionError
from compressor.scoring.cache import CachedScorer
from compressor.scoring.heuristic import HeuristicScorer
from tests.fakes import word_counter

COMPRESSOR = Compressor(HeuristicScorer(), token_counter=word_counter)
REPLY = "Well, I was just thinking about it, you know, and honestly it is all quite lovely, the blue room {} too."


def session_of(max_tokens: int | None = 60, keep_last: int = 2, **options: Any) -> Session:
    """A session that counts words, on the heuristic scorer."""
    policy = Policy(max_tokens=max_tokens, keep_last=keep_last, floor="masks")
    return Session(compressor=COMPRESSOR, policy=policy, **options)


def talk(rounds: int, pinned: bool = True) -> list[dict[str, Any]]:
    """A conversation of questions, or of small talk, and replies that are mostly filler."""
    said = "Where is room {}?" if pinned else "I went to see room {} again today and it was all so lovely in the sun."
    return [
        message
        for number in range(rounds)
        for message in (
            {"role": "user", "content": said.format(number)},
            {"role": "assistant", "content": REPLY.format(number)},
        )
    ]


def contents(messages: list[dict[str, Any]]) -> list[str]:
    return [message["content"] for message in messages]


def test_nothing_changes_until_the_budget_is_exceeded() -> None:
    """Then one step goes down to the target, and earlier bytes stay until the next one."""
    session = session_of(max_tokens=400, keep_last=0)
    before: list[dict[str, Any]] = []
    steps = 0
    for message in talk(20, pinned=False):
        session.append(message)
        after = session.messages()
        if len(session.report.steps) == steps:
            assert after[: len(before)] == before
        else:
            steps += 1
            assert session.report.tokens_after <= 280 or session._state.slack == 0
            assert session.report.steps[-1].tokens_before > 400
        before = after
    assert 1 < steps < 8
    assert session.report.steps[0].tokens_after <= 280
    assert session.report.budget_met


@pytest.mark.parametrize("headroom", [0.5, 0.9, 1.0])
def test_a_step_aims_at_the_headroom(headroom: float) -> None:
    """A larger share means more steps and more text."""
    session = session_of(max_tokens=140, keep_last=0, headroom=headroom)
    session.extend(talk(4, pinned=False))
    assert session.report.tokens_after <= headroom * 140
    assert len(session.report.steps) == 1


def test_turns_only_move_down() -> None:
    """Over many steps, each level is at or below the one before."""
    session = session_of(max_tokens=120)
    before: tuple[str, ...] = ()
    order = {name: at for at, name in enumerate(("verbatim", "light", "tight", "protected", "omitted"))}
    for message in talk(15, pinned=False):
        session.append(message)
        after = session.levels
        assert all(order[new] >= order[old] for old, new in zip(before, after, strict=False))
        before = after
    assert set(before) > {"verbatim"}


def test_pinned_turns_system_turns_and_the_last_turns_stay_verbatim() -> None:
    """However small the budget is."""
    system = {"role": "system", "content": "You know, well, you help with rooms."}
    messages = [system, *talk(10)]
    session = session_of(max_tokens=1, keep_last=3)
    for message in messages:
        session.append(message)
    output = session.messages()
    assert len(output) == len(messages)
    for number, (message, source) in enumerate(zip(output, messages, strict=True)):
        same = message == source
        assert same == (source["role"] != "assistant" or number >= len(messages) - 3)
    assert not session.report.budget_met
    assert session.report.over_budget_by == session.report.tokens_after - 1
    assert "budget not met" in session.report.notes[0]
    assert session.report.pinned == 10


def test_moving_out_of_the_window_changes_nothing_by_itself() -> None:
    """Only a step does."""
    session = session_of(max_tokens=10_000, keep_last=1)
    for message in talk(5, pinned=False):
        session.append(message)
    assert session.messages() == session.originals()
    assert session.report.steps == ()


def test_a_budget_that_cannot_be_met_does_not_change_earlier_turns_at_every_append() -> None:
    """The turns are lowered once, then again only when that saves a good part of the budget."""
    session = session_of(max_tokens=60, keep_last=0)
    session.extend(talk(12))
    assert not session.report.budget_met
    before = session.messages()
    changes = 0
    for message in talk(12)[:8]:
        session.append(message)
        after = session.messages()
        changes += after[: len(before)] != before
        before = after
    assert changes <= 3


def test_a_ratio_lowers_a_turn_once_when_it_leaves_the_last_turns() -> None:
    """To the loosest level within the share, for good."""
    session = Session(compressor=COMPRESSOR, policy=Policy(keep_ratio=0.8, keep_last=2, floor="masks"))
    seen: dict[int, set[str]] = {}
    for message in talk(8, pinned=False):
        session.append(message)
        for number, text in enumerate(contents(session.messages())):
            seen.setdefault(number, set()).add(text)
    assert {len(texts) for number, texts in seen.items() if number < 14} == {2}
    assert session.levels[-2:] == ("verbatim", "verbatim")
    for number, level in enumerate(session.levels[:-2]):
        cuts = session._state.cuts[number]
        kept = cuts.tokens[session._state.levels[number]]
        assert kept <= 0.8 * cuts.tokens[0] or level == "protected"


@pytest.mark.parametrize("preset", ["light", "tight"])
def test_a_preset_lowers_a_turn_to_its_level(preset: str) -> None:
    """As `compress` would, turn by turn."""
    messages = talk(4, pinned=False)
    session = Session(compressor=COMPRESSOR, policy=Policy(preset=preset, keep_last=2))
    session.extend(messages)
    assert set(session.levels[:-2]) <= {"verbatim", preset}
    assert session.messages() == COMPRESSOR.compress(messages, preset=preset, keep_last=2).messages


def test_append_only_never_changes_what_was_sent() -> None:
    """Not even when the budget is exceeded; what was not sent yet may still be lowered."""
    session = session_of(max_tokens=50, keep_last=0, append_only=True)
    session.extend(talk(2, pinned=False))
    first = session.messages()
    session.extend(talk(3, pinned=False))
    second = session.messages()
    assert second[: len(first)] == first
    assert set(session.levels[len(first) :]) == {"protected"}


def test_the_levels_do_not_depend_on_what_was_said_later() -> None:
    """A turn's cuts are made when it is appended, from it and the turn before."""
    whole, grown = session_of(max_tokens=40), session_of(max_tokens=40)
    whole.extend(talk(6, pinned=False))
    for message in talk(6, pinned=False):
        grown.append(message)
    for one, other in zip(whole._state.cuts, grown._state.cuts, strict=True):
        assert [turn.text for turn in one.turns] == [turn.text for turn in other.turns]


def test_prefix_stable_bytes_are_those_of_the_json() -> None:
    """For every call: counted on the serialised messages, across steps, omissions and the note."""
    session = session_of(max_tokens=70, keep_last=1, on_overflow="omit", note_missing=True)
    before = b""
    for message in [{"role": "system", "content": "你好"}, *talk(12), *talk(6, pinned=False)]:
        session.append(message)
        after = json.dumps(session.messages(), ensure_ascii=False).encode()
        shared = next((at for at, (one, two) in enumerate(zip(before, after, strict=False)) if one != two), None)
        call = session.report.calls[-1]
        assert call.bytes == len(after)
        assert call.prefix_stable_bytes == (min(len(before), len(after)) if shared is None else shared)
        before = after
    assert session.report.steps[-1].omitted or session.memory.missing
    assert session.report.prefix_stable_bytes == session.report.calls[-1].prefix_stable_bytes
    assert 0 < session.report.stable_share < 1
    assert json.loads(json.dumps(session.report.to_dict()))["turns"] == len(session)


def test_overflow_that_raises_names_the_turn_and_changes_nothing() -> None:
    """The message is refused; the session goes on."""
    session = session_of(max_tokens=20, keep_last=0, on_overflow="raise")
    session.append({"role": "user", "content": "Where is the blue room?"})
    before = (session.messages(), session.levels, len(session))
    with pytest.raises(SessionError, match=r"turn 1 cannot be added.*max_tokens is\s+20"):
        session.append(
            {"role": "user", "content": "Please do not rent out any of the 14 rooms before 9 June 2031, " * 3}
        )
    assert (session.messages(), session.levels, len(session)) == before
    session.append({"role": "assistant", "content": "Upstairs."})
    assert len(session) == 2


def test_omission_takes_unpinned_turns_first_then_the_oldest_pins() -> None:
    """Each is listed verbatim; what is left meets the budget."""
    session = session_of(max_tokens=50, keep_last=1, on_overflow="omit")
    messages = talk(10)
    for message in messages:
        session.append(message)
    report = session.report
    assert report.budget_met
    assert report.tokens_after <= 50
    missing = session.memory.missing
    assert [slot.turn for slot in missing] == sorted(slot.turn for slot in missing)
    for slot in missing:
        assert slot.text == messages[slot.turn]["content"]
        assert slot.kind == ("pinned" if messages[slot.turn]["role"] == "user" else "turn")
    pins = [slot.turn for slot in missing if slot.kind == "pinned"]
    kept = [number for number in range(0, 20, 2) if number not in pins]
    assert pins
    assert kept
    assert max(pins) < min(kept)
    assert all(slot.turn in {entry.turn for entry in missing} for slot in missing)
    assert set(range(1, 18, 2)) <= {slot.turn for slot in missing}


def test_pins_go_only_as_far_as_the_budget_asks() -> None:
    """Unpinned turns go down to the target; a pin only when all of them are not enough."""
    session = session_of(max_tokens=70, keep_last=0, on_overflow="omit")
    session.extend(talk(6))
    assert not [slot for slot in session.memory.missing if slot.kind == "pinned"]
    assert session.report.tokens_after <= 70


def test_a_turn_that_parts_two_others_keeps_one_word() -> None:
    """Leaving it out would put two user messages next to each other."""
    session = session_of(max_tokens=20, keep_last=0, on_overflow="omit")
    session.extend([*talk(2), {"role": "user", "content": "Where is room 9?"}])
    output = session.messages()
    assert [message["role"] for message in output] == ["user", "assistant", "user", "assistant", "user"]
    assert all(len(message["content"].split()) == 1 for message in output if message["role"] == "assistant")
    assert session.levels == ("verbatim", "omitted", "verbatim", "omitted", "verbatim")


def test_tool_calls_go_with_their_results_and_are_listed() -> None:
    """What a call held besides text is in the detail of the slot."""
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"room": 7}'}}
    messages = [
        {"role": "user", "content": "Where is room 7?"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "row " * 50},
        {"role": "assistant", "content": "Upstairs."},
        {"role": "user", "content": "Where is room 8?"},
    ]
    session = session_of(max_tokens=25, keep_last=1, on_overflow="omit")
    session.extend(messages)
    assert session.messages() == [messages[0], messages[3], messages[4]]
    called, result = session.memory.missing
    assert (called.kind, called.turn, result.kind, result.turn) == ("tool_call", 1, "tool_result", 2)
    assert "look" in called.detail
    assert "room" in called.detail
    assert result.text == "row " * 50


def with_result(content: Any) -> list[dict[str, Any]]:
    """A conversation of Anthropic's with one tool result."""
    return [
        {"role": "user", "content": "Where is room 7?"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "look", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": content}]},
        {"role": "assistant", "content": "Upstairs."},
        {"role": "user", "content": "Where is room 8?"},
    ]


@pytest.mark.parametrize("content", ["row " * 50, [{"type": "text", "text": "row " * 50}]])
def test_results_in_blocks_count_and_are_listed(content: Any) -> None:
    """As those in messages of their own: in all sums, and verbatim in the memory."""
    session = session_of(max_tokens=100, keep_last=1)
    session.extend(with_result(content))
    assert session.report.tokens_before == session.report.tokens_after == 62
    session = session_of(max_tokens=25, keep_last=1, on_overflow="omit")
    session.extend(with_result(content))
    assert session.report.tokens_before == 62
    assert session.report.tokens_after == 12
    assert [(slot.kind, slot.text) for slot in session.memory.missing] == [
        ("tool_call", ""),
        ("tool_result", "row " * 50),
    ]


def test_no_system_message_is_put_between_blocks_of_anthropic() -> None:
    """Its API refuses one; the note stays to be had, and costs nothing."""
    session = session_of(max_tokens=25, keep_last=1, on_overflow="omit", note_missing=True)
    session.extend(with_result("row " * 50))
    assert session.note
    assert [message["role"] for message in session.messages()] == ["user", "assistant", "user"]
    assert session.report.tokens_after == 12


def test_images_are_never_left_out() -> None:
    """Only their words go."""
    image = {"type": "image_url", "image_url": {"url": "https://x.example/a.png"}}
    parts = [{"type": "text", "text": "I saw this room today and it was all so lovely in the evening sun."}, image]
    session = session_of(max_tokens=8, keep_last=0, on_overflow="omit")
    session.extend([{"role": "user", "content": parts}, *talk(2)[1:]])
    assert session.messages()[0]["content"][1] == image


def test_the_note_lists_the_omitted_turns_in_one_line_and_counts() -> None:
    """Behind the system messages at the head, only if asked; it belongs to the budget."""
    system = {"role": "system", "content": "You help."}
    session = session_of(max_tokens=90, keep_last=1, on_overflow="omit", note_missing=True)
    for message in [system, *talk(12)]:
        session.append(message)
    output = session.messages()
    assert output[0] == system
    assert output[1] == {"role": "system", "content": session.note}
    assert "\n" not in session.note
    assert "turns 1-" in session.note
    assert sum(word_counter(message["content"]) for message in output) == session.report.tokens_after <= 90
    plain = session_of(max_tokens=90, keep_last=1, on_overflow="omit")
    plain.extend([system, *talk(12)])
    assert sum(message["role"] == "system" for message in plain.messages()) == 1
    assert plain.note


BAD: list[tuple[list[Any], str]] = [
    ([{"role": "tool", "tool_call_id": "x", "content": "1"}], r"turn 2 holds a result .*'x', which no turn"),
    ([{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "x", "content": "1"}]}], r"turn 2 .*'x'"),
    ([{"role": "assistant", "content": None, "tool_calls": [{"id": "a"}, {"id": "a"}]}], r"turn 2 makes two tool calls"),
    ([{"role": "assistant", "content": "", "tool_calls": [{"id": "a"}]}, {"role": "user", "content": "And?"}], r"turn 3 \(user\) .*'a' of turn 2"),
    (
        [
            {"role": "assistant", "content": "", "tool_calls": [{"id": "a"}]},
            {"role": "tool", "tool_call_id": "a", "content": "1"},
            {"role": "tool", "tool_call_id": "a", "content": "1"},
        ],
        r"turn 4 .*has its result already",
    ),
    (
        [
            {"role": "assistant", "content": "", "tool_calls": [{"id": "a"}]},
            {"role": "tool", "tool_call_id": "a", "content": "1"},
            {"role": "assistant", "content": "", "tool_calls": [{"id": "a"}]},
        ],
        r"turn 4 makes a tool call with the id 'a', as turn 2",
    ),
    ([{"role": "tool", "tool_call_id": 7, "content": "1"}], r"turn 2: the id of a tool result is 7"),
    ([{"role": "user"}], r'turn 2: "content" is missing'),
    ([{"content": "x"}], r'turn 2: "role" is missing'),
    ([{"role": 5, "content": "x"}], r'turn 2: "role" is int'),
    ([{"role": "user", "content": {}}], r'turn 2: "content" is dict'),
    ([{"role": "user", "content": object()}], r"turn 2 holds what JSON cannot"),
    (["hello"], r"turn 2 is str"),
    ([None], r"turn 2 is None"),
]  # fmt: skip


@pytest.mark.parametrize(("messages", "error"), BAD)
def test_bad_messages_are_refused_with_the_turn_and_nothing_changes(messages: list[Any], error: str) -> None:
    """All of the call or nothing of it."""
    session = session_of()
    session.extend(talk(1))
    before = (session.messages(), session.levels, session.report.tokens_after, session.memory)
    with pytest.raises((SessionError, InputError), match=error):
        session.extend([*messages])
    assert (session.messages(), session.levels, session.report.tokens_after, session.memory) == before
    session.extend(messages[:-1])
    with pytest.raises((SessionError, InputError), match=error):
        session.append(messages[-1])
    assert len(session) == 1 + len(messages)


@pytest.mark.parametrize("given", ["text", b"x", {"role": "user", "content": "x"}, 5, None])
def test_extend_takes_a_list_of_messages(given: Any) -> None:
    """One message alone is for append."""
    with pytest.raises(InputError, match="allowed: a list of messages"):
        session_of().extend(given)


def test_changing_an_appended_message_changes_nothing() -> None:
    """It was copied, and so is what comes back."""
    message = {"role": "user", "content": [{"type": "text", "text": "Where is room 5?"}]}
    session = session_of()
    session.append(message)
    message["content"][0]["text"] = "changed"  # type: ignore[index]
    session.messages()[0]["content"][0]["text"] = "changed"
    session.originals()[0]["content"][0]["text"] = "changed"
    assert session.messages()[0]["content"][0]["text"] == "Where is room 5?"


def test_sync_adds_what_is_new_and_refuses_an_edited_past() -> None:
    """The application hands its whole list each time."""
    messages = talk(3)
    session = session_of()
    assert session.sync(messages[:3]) == 3
    assert session.sync(messages) == 3
    assert session.sync(messages) == 0
    assert session.originals() == messages
    with pytest.raises(SessionError, match=r"turn 2 \(user\) was edited"):
        session.sync([*messages[:2], {"role": "user", "content": "Where?"}, *messages[3:]])
    with pytest.raises(SessionError, match="turn 4 is missing"):
        session.sync(messages[:4])
    assert session.originals() == messages


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"policy": 5}, "policy is 5"),
        ({"policy": Policy(emptied="empty")}, "emptied is 'empty'"),
        ({"policy": Policy(emptied="drop")}, "emptied is 'drop'"),
        ({"on_overflow": "drop"}, "on_overflow is 'drop'"),
        ({"policy": Policy(keep_ratio=0.5), "on_overflow": "raise"}, "without max_tokens"),
        ({"headroom": 0}, "headroom is 0"),
        ({"headroom": 1.5}, "headroom is 1.5"),
        ({"headroom": True}, "headroom is True"),
        ({"note_missing": "yes"}, "note_missing is 'yes'"),
        ({"append_only": 1}, "append_only is 1"),
        ({"compressor": "default"}, "compressor is 'default'"),
    ],
)
def test_options_that_are_not_allowed(options: dict[str, Any], error: str) -> None:
    """Named with their value and what is allowed."""
    with pytest.raises(PolicyError, match=error):
        Session(**({"model": "heuristic", "policy": Policy(max_tokens=10)} | options))


def test_a_failing_token_counter_leaves_the_session_as_it_was() -> None:
    """Whether it fails on a turn or, during an omission, on the note."""
    fail = False

    def count(text: str) -> int:
        if fail or (text.startswith("[Left out") and "20" in text):
            raise RuntimeError("no")
        return word_counter(text)

    session = Session(
        compressor=Compressor(HeuristicScorer(), token_counter=count), policy=Policy(max_tokens=30, keep_last=1), on_overflow="omit", note_missing=True,
    )  # fmt: skip
    refused = 0
    for message in talk(14):
        before = (session.messages(), session.levels, len(session), session.note)
        try:
            session.append(message)
        except (PolicyError, RuntimeError):
            refused += 1
            assert (session.messages(), session.levels, len(session), session.note) == before
    fail = True
    with pytest.raises(PolicyError, match="RuntimeError"):
        session.append(talk(1)[0])


def test_equal_turns_are_scored_once() -> None:
    """The report says how many were known, also of a cache that is shared."""
    scorer = CachedScorer(HeuristicScorer())
    session = Session(compressor=Compressor(scorer, token_counter=word_counter), policy=Policy(max_tokens=50))
    session.extend(talk(2))
    session.extend(talk(2))
    assert session.report.cached_turns == 4
    assert scorer.misses == 4


def test_an_unknown_role_is_named_once() -> None:
    """As in compress(): it is kept as it is."""
    session = session_of()
    with pytest.warns(UserWarning, match="turn 0: unknown role 'narrator'"):
        session.append({"role": "narrator", "content": "Night falls."})
    session.append({"role": "narrator", "content": "Day breaks."})


def test_threads_may_share_a_session() -> None:
    """Every message arrives once; every output is a state that a single thread could have seen."""
    session = session_of(max_tokens=200, keep_last=1)
    errors: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for turn in range(15):
                session.append({"role": "user", "content": f"Where is room {number}-{turn}?"})
                output = session.messages()
                assert all(message["content"].startswith("Where is room") for message in output)
                assert len(session.levels) >= len(output)
                assert session.memory.intents
                assert session.report.turns
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    said = contents(session.originals())
    assert len(said) == len(set(said)) == 60
    for number in range(4):
        own = [text for text in said if f" {number}-" in text]
        assert own == [f"Where is room {number}-{turn}?" for turn in range(15)]
    assert len(session.report.calls) == 60


def test_an_append_costs_the_new_turn_alone() -> None:
    """Texts that are counted and scored per append, late as early, steps included."""
    counted: list[str] = []

    def count(text: str) -> int:
        counted.append(text)
        return word_counter(text)

    scorer = CachedScorer(HeuristicScorer())
    session = Session(
        compressor=Compressor(scorer, token_counter=count),
        policy=Policy(max_tokens=600, keep_last=2, floor="masks"),
        on_overflow="omit",
    )
    costs = []
    for number, message in enumerate(talk(60, pinned=False)):
        counted.clear()
        session.append(message)
        costs.append(len([text for text in counted if not text.startswith("[")]))
        assert scorer.misses == number + 1
    assert max(costs[60:]) <= max(costs[:20])
    assert len(session._state.present) < 120
    assert len(session.report.steps) < 30


def test_the_examples_of_the_docstrings_run() -> None:
    """Those of the session."""
    import doctest

    import compressor.session.session as module

    assert doctest.testmod(module).failed == 0
