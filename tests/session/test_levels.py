"""The levels of one turn are nested, whole, and never lose what is protected."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compressor import Compressor, Policy, Transcript, Turn
from compressor.contract import check_whole, is_subsequence
from compressor.scoring.heuristic import HeuristicScorer
from compressor.session.levels import Cuts, Level, cut, view_of
from compressor.session.steps import lower
from compressor.words import segment
from tests.fakes import FixedScorer, scattered, word_counter
from tests.strategies import texts


def cuts_of(turn: Turn, scorer: object = None, previous: Turn | None = None, policy: Policy | None = None) -> Cuts:
    """A turn at every level, in words."""
    scorer = scorer or FixedScorer(scattered)
    words = segment(Transcript((turn,)))
    scores = scorer.score([turn], [words])[0]  # type: ignore[attr-defined]
    view = view_of(turn, words, scores, scorer.thresholds(turn), previous)  # type: ignore[attr-defined]
    return cut(view, words, scores, policy or Policy(max_tokens=1), word_counter)


MIXED = st.one_of(
    texts(),
    st.lists(
        st.sampled_from("嗯嗯，那个 其实我觉得 不太可能 没有付款 谢谢您！ 如果超过200元 就先别买。 好的，".split()),
        max_size=12,
    ).map("".join),
)


@settings(max_examples=80, deadline=None)
@given(
    text=MIXED,
    role=st.sampled_from(["user", "assistant"]),
    floor=st.sampled_from(["sure", "masks"]),
    release=st.booleans(),
)
def test_each_level_is_a_subsequence_of_the_one_before(text: str, role: str, floor: str, release: bool) -> None:
    """In words and in characters, in both languages, with whole words at every level."""
    turn = Turn(role=role, text=text)
    policy = Policy(max_tokens=1, floor=floor, release_filler=release)
    cuts = cuts_of(turn, policy=policy)
    words = segment(Transcript((turn,)))
    assert cuts.turns[0] is turn
    for upper in range(4):
        assert not np.any(cuts.masks[upper + 1] & ~cuts.masks[upper])
        assert is_subsequence(cuts.turns[upper + 1].text, cuts.turns[upper].text)
        assert cuts.mass[upper + 1] <= cuts.mass[upper] + 1e-6
    for level in range(4):
        check_whole(Transcript((turn,)), Transcript((cuts.turns[level],)), words, cuts.masks[level])
    if text.strip():
        assert cuts.turns[Level.OMITTED].text.strip()


@settings(max_examples=40, deadline=None)
@given(parts=st.lists(texts(max_words=8), min_size=1, max_size=3))
def test_every_text_block_keeps_a_word_and_stays_within_itself(parts: list[str]) -> None:
    """Messages of several text parts: none becomes empty at any level, and no word moves to another part."""
    edges = np.cumsum([0, *(len(part) + 2 for part in parts)]).tolist()
    blocks = tuple((start, start + len(part)) for start, part in zip(edges, parts, strict=False))
    turn = Turn(role="assistant", text="\n\n".join(parts), blocks=blocks)
    for shorter in cuts_of(turn).turns:
        if not shorter.blocks:
            assert len(parts) == 1 or shorter is turn
            continue
        kept = [shorter.text[start:end] for start, end in shorter.blocks]
        assert len(kept) == len(parts)
        for one, part in zip(kept, parts, strict=True):
            assert is_subsequence(one, part)
            assert bool(one.strip()) == bool(part.strip())


def test_a_turn_of_protected_words_alone_is_what_the_floor_says() -> None:
    """With the floor of the masks the level `protected` holds the protected words and their marks."""
    turn = Turn(role="assistant", text="Well, I was just thinking, the fee is 40 euros and it is not refundable.")
    low = cuts_of(turn, HeuristicScorer(), policy=Policy(max_tokens=1, floor="masks")).turns[Level.PROTECTED].text
    assert "40 euros" in low
    assert "not refundable" in low
    assert "Well" not in low


@pytest.mark.parametrize(
    ("text", "previous", "pinned"),
    [
        ("Please book a table for 4.", None, True),
        ("It must not cost more than 90 euros.", None, True),
        ("What does it cost?", None, True),
        ("Scrap that, at most 3.", None, True),
        (
            "I changed my mind, tables are nice after all, and I really think that they would suit it all quite well now.",
            None,
            True,
        ),
        ("改成最多3个人。", None, True),
        ("帮我订一张去上海的票。", None, True),
        ("Friday", "Which day suits you?", True),
        ("Friday", None, False),
        ("Thanks a lot!", None, False),
        (
            "I had a look at the old house again and it was lovely in the evening sun, I really liked it a lot there.",
            None,
            False,
        ),
    ],
)
def test_user_turns_that_ask_request_or_set_a_constraint_are_pinned(
    text: str, previous: str | None, pinned: bool
) -> None:
    """By the rule for turns, and where the wording takes something back and sets a bound."""
    before = Turn(role="assistant", text=previous) if previous else None
    cuts = cuts_of(Turn(role="user", text=text), HeuristicScorer(), before)
    assert cuts.pinned == pinned
    assert cuts.floor == (Level.VERBATIM if pinned else Level.PROTECTED)


def test_a_turn_with_a_pinned_sentence_is_pinned_whole() -> None:
    """However much stands around it."""
    filler = "I had a look at the old house again and it was lovely in the evening sun. " * 8
    assert cuts_of(Turn(role="user", text=f"{filler}Please call me. {filler}"), HeuristicScorer()).pinned


@pytest.mark.parametrize("role", ["system", "developer", "tool", "function"])
def test_turns_of_verbatim_roles_have_one_level(role: str) -> None:
    """They are never shortened, only left out."""
    cuts = cuts_of(Turn(role=role, text="Well, um, you know, 3 rows."), HeuristicScorer())
    assert len(set(cuts.turns)) == 1
    assert cuts.fixed
    assert cuts.next_below(Level.VERBATIM) is None


def test_of_equal_turns_the_oldest_is_lowered_first() -> None:
    """Age decides where nothing else does; a step stops once enough is saved."""
    text = "Well, I was just thinking about it, you know, and it is all quite lovely, really."
    cuts = [cuts_of(Turn(role="assistant", text=text), HeuristicScorer()) for _ in range(4)]
    spare = cuts[0].tokens[0] - cuts[0].tokens[1]
    new, saved = lower(range(4), cuts, [Level.VERBATIM] * 4, spare)
    assert new == {0: Level.LIGHT}
    assert saved == spare
    new, saved = lower(range(4), cuts, [Level.VERBATIM] * 4, 10**6)
    assert len(new) == 4
    assert saved == sum(one.tokens[0] - min(one.tokens[: Level.PROTECTED + 1]) for one in cuts)


def test_filler_goes_before_content_and_a_user_after_an_assistant() -> None:
    """Score mass and role decide among turns of about the same age."""
    filler = cuts_of(Turn(role="assistant", text="Um, uh, er, well, okay, sure, thanks, great."), HeuristicScorer())
    content = cuts_of(
        Turn(role="assistant", text="Copper boilers whistle beneath ancient stairways quietly."), FixedScorer(0.4)
    )
    new, _ = lower(range(2), [content, filler], [Level.VERBATIM] * 2, 1)
    assert list(new) == [1]


def test_a_failing_rule_names_the_turn() -> None:
    """A rule of the caller's sees one turn at a time; the error counts within the conversation."""

    def broken(view: object) -> list[tuple[int, int]]:
        raise RuntimeError("no")

    from compressor import PolicyError, Session

    session = Session(
        compressor=Compressor(HeuristicScorer(), token_counter=word_counter), policy=Policy(also_protect=broken)
    )
    session.append({"role": "system", "content": ""})
    with pytest.raises(PolicyError, match="turn 1"):
        session.append({"role": "user", "content": "Hi."})
    assert len(session) == 1
