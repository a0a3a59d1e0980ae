"""Sessions for callers that hand over the whole conversation at every call."""

import subprocess
import sys
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compressor import Policy, PolicyError
from compressor.integrations.conversations import Call, Conversations, Said
from compressor.integrations.options import policy_of, policy_options
from tests.integrations.scripts import ANSWER, PINNED, compressor, is_subsequence, said

IDS = st.sampled_from(["", "a", "b"])
TEXTS = st.lists(
    st.sampled_from(["", "um", PINNED, ANSWER, said(1), said(2), "你好，多少钱？", "\ud800 x"]), max_size=2
)
TURNS = st.builds(
    Said,
    st.sampled_from(["user", "assistant", "tool", "tool", "system", "developer", "critic"]),
    TEXTS.map(tuple),
    st.lists(st.builds(Call, IDS), max_size=2).map(tuple),
    st.none() | IDS,
    more=st.booleans(),
    thoughts=st.booleans(),
)
SHARED = compressor(max_tokens=60, keep_last=2)


@settings(max_examples=60, deadline=None)
@given(st.lists(TURNS, max_size=12), st.sampled_from(["report", "omit"]), st.data())
def test_any_conversation_is_shortened_the_same_way_in_one_go_and_step_by_step(
    turns: list[Said], on_overflow: str, data: st.DataObject
) -> None:
    """Wrong roles, repeated ids, orphaned results: texts are subsequences, and no pair of call and result is torn."""
    at_once = Conversations(compressor=SHARED, on_overflow=on_overflow).shorten(turns)  # type: ignore[arg-type]
    growing = Conversations(compressor=SHARED, on_overflow=on_overflow)  # type: ignore[arg-type]
    stops = sorted(data.draw(st.sets(st.integers(0, len(turns)), max_size=4)) | {len(turns)})
    for stop in stops:
        grown = growing.shorten(turns[:stop])
    assert grown == at_once
    assert len(at_once.texts) == len(turns)
    for turn, texts in zip(turns, at_once.texts, strict=True):
        if texts is not None:
            assert len(texts) == len(turn.texts)
            assert all(is_subsequence(new, old) for new, old in zip(texts, turn.texts, strict=True))
            assert all(bool(new) == bool(old) for new, old in zip(texts, turn.texts, strict=True))
            assert turn.role in ("user", "assistant") or texts == turn.texts
        else:
            assert on_overflow == "omit"
            assert not turn.more
    for number, turn in enumerate(turns):
        if turn.role == "tool" and number and turns[number - 1].role in ("assistant", "tool"):
            caller = next((at for at in range(number, -1, -1) if turns[at].role != "tool"), None)
            if caller is not None and turns[caller].role == "assistant" and turns[caller].calls:
                assert (at_once.texts[caller] is None) == (at_once.texts[number] is None)


def talk(name: str, rounds: int) -> list[Said]:
    """A conversation of a user and an assistant."""
    pairs = [(Said("user", (f"{said(n)} {name}",)), Said("assistant", (ANSWER,))) for n in range(rounds)]
    return [turn for pair in pairs for turn in pair]


def test_a_forgotten_session_is_built_again_and_comes_out_the_same() -> None:
    """With room for one session, two conversations in turns give what they give with room for both."""
    outputs = []
    for room in (1, 8):
        conversations = Conversations(compressor=SHARED, max_sessions=room)
        outputs.append([conversations.shorten(talk(name, rounds)) for rounds in range(1, 7) for name in "ab"])
    assert outputs[0] == outputs[1]


def test_a_conversation_goes_on_in_its_session() -> None:
    """It is the same session that grows, until its past is edited; a repeated call adds nothing."""
    conversations = Conversations(compressor=SHARED)
    turns = talk("a", 4)
    session = conversations.session(turns[:5])
    conversations.shorten(turns)
    conversations.shorten(turns)
    assert conversations.session(turns) is session
    assert len(session) == 8
    edited = [Said("user", ("Something else.",)), *turns[1:]]
    assert conversations.session(edited) is not session
    assert conversations.shorten(edited).texts[0] == ("Something else.",)


def test_a_budget_of_a_call_has_its_own_session() -> None:
    """The same conversation under two budgets, in turns."""
    conversations = Conversations(compressor=SHARED)
    turns = talk("a", 6)
    tight, loose = conversations.shorten(turns, max_tokens=1), conversations.shorten(turns, max_tokens=10_000)
    assert loose.texts == tuple(turn.texts for turn in turns)
    assert tight != loose
    assert conversations.shorten(turns, max_tokens=1) == tight


def test_texts_that_stand_for_others_lead_to_their_session() -> None:
    """A caller may replace its list by what came out; the next step is cut from the originals all the same."""
    conversations = Conversations(compressor=SHARED)
    turns = talk("a", 6)
    expected = Conversations(compressor=SHARED).shorten(turns)
    first = conversations.shorten(turns[:8])
    replaced = [Said(turn.role, texts or ()) for turn, texts in zip(turns, first.texts, strict=False)]
    conversations.rename(turns[:8], replaced)
    assert conversations.shorten([*replaced, *turns[8:]]) == expected


def test_threads_share_conversations_safely() -> None:
    """Eight threads that ask for the same growing conversation all get what one would get."""
    conversations = Conversations(compressor=SHARED)
    expected = [Conversations(compressor=SHARED).shorten(talk("a", rounds)) for rounds in range(1, 8)]
    found: list[object] = []

    def run() -> None:
        found.append([conversations.shorten(talk("a", rounds)) for rounds in range(1, 8)])

    workers = [threading.Thread(target=run) for _ in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert found == [expected] * 8


def test_options_are_checked_at_once() -> None:
    """The error names the option."""
    for options, named in (
        ({"max_sessions": 0}, "max_sessions"),
        ({"on_overflow": "omit"}, "on_overflow"),
        ({"policy": 3}, "policy"),
        ({"token_counter": 3}, "token_counter"),
    ):
        with pytest.raises(PolicyError, match=named):
            Conversations(model="heuristic", **options)  # type: ignore[arg-type]


def test_a_policy_is_written_as_options_and_read_again() -> None:
    """What is the default is left out; what cannot be written is refused."""
    policy = Policy(keep_ratio=0.5, also_protect=("code", "quotes"), keep_last=3)
    assert policy_options(policy) == {"keep_ratio": 0.5, "keep_last": 3, "also_protect": ["code", "quotes"]}
    assert policy_of(policy_options(policy)) == policy
    assert policy_of(policy_options(None)) is None
    assert policy_options(Policy()) == {}
    with pytest.raises(PolicyError, match="also_protect"):
        policy_options(Policy(also_protect=lambda view: []))
    with pytest.raises(PolicyError, match="policy is 3"):
        policy_of(3)


def test_a_missing_framework_names_its_extra() -> None:
    """And the package itself imports none of them."""
    program = """
import sys
import compressor
for framework, adapter in (("langchain", "langchain"), ("llama_index", "llamaindex"), ("openai", "openai"), ("anthropic", "anthropic")):
    assert framework not in sys.modules
    sys.modules[framework] = None
    try:
        __import__("compressor.integrations." + adapter)
    except ImportError as error:
        assert f"compressor[{adapter}]" in str(error), error
    else:
        raise AssertionError(adapter)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
