"""A session comes back from its file exactly as it was, or not at all."""

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import compressor.session.saving as saving
from compressor import Compressor, Policy, PolicyError, Session, SessionError
from compressor.contract import is_subsequence
from compressor.scoring.heuristic import HeuristicScorer
from tests.fakes import FixedScorer, scattered, word_counter
from tests.session.conversations import check, conversations
from tests.session.test_session import talk

COMPRESSOR = Compressor(HeuristicScorer(), token_counter=word_counter)


def everything(session: Session) -> tuple[Any, ...]:
    """All that a caller can see, but the calls of `messages()`."""
    report = session.report.to_dict()
    return session.originals(), session.levels, session.memory, session.note, {**report, "cached_turns": 0}


@settings(max_examples=12, deadline=None)
@given(
    messages=conversations("openai"),
    cut_at=st.integers(0, 20),
    max_tokens=st.integers(5, 80),
    options=st.sampled_from(
        [{}, {"on_overflow": "omit", "note_missing": True}, {"append_only": True}, {"headroom": 0.5}]
    ),
)
def test_a_loaded_session_goes_on_exactly_where_it_was(
    tmp_path_factory: pytest.TempPathFactory,
    messages: list[dict[str, Any]],
    cut_at: int,
    max_tokens: int,
    options: dict[str, Any],
) -> None:
    """Also in the middle of tool calls; what follows comes out the same, to the byte counts."""
    path = tmp_path_factory.mktemp("sessions") / "s.json"
    policy = Policy(max_tokens=max_tokens, keep_last=2, also_protect=[re.compile("hotel", re.IGNORECASE), "numbers"])
    session = Session(compressor=COMPRESSOR, policy=policy, **options)
    for message in messages[:cut_at]:
        session.append(message)
        session.messages()
    session.save(path)
    loaded = Session.load(path, compressor=COMPRESSOR)
    assert everything(loaded) == everything(session)
    for message in messages[cut_at:]:
        for one in (session, loaded):
            one.append(message)
        assert loaded.messages() == session.messages()
    assert everything(loaded) == everything(session)
    assert loaded.policy == session.policy
    again = path.with_name("again.json")
    session.save(path)
    loaded.save(again)
    assert again.read_bytes() == path.read_bytes()


def saved(tmp_path: Path, compressor: Compressor = COMPRESSOR, policy: Policy | None = None) -> tuple[Path, Session]:
    session = Session(compressor=compressor, policy=policy or Policy(max_tokens=120, keep_last=1, floor="masks"))
    session.extend(talk(8, pinned=False))
    session.messages()
    session.save(tmp_path / "s.json")
    return tmp_path / "s.json", session


def test_half_surrogates_and_every_line_end_come_back(tmp_path: Path) -> None:
    """What no encoding takes is escaped in the file."""
    session = Session(model="heuristic", policy=Policy(max_tokens=9))
    message = {"role": "user", "content": "a\ud800b \u2028 \x00 \r\n 你好 🏳️‍🌈", "name": "王"}
    session.append(message)
    session.save(tmp_path / "s.json")
    assert Session.load(tmp_path / "s.json").originals() == [message]


def test_the_model_and_the_counter_come_from_the_file(tmp_path: Path) -> None:
    """Where they have names; else they have to be given."""
    session = Session(model="heuristic", policy=Policy(max_tokens=9))
    session.save(tmp_path / "s.json")
    assert Session.load(tmp_path / "s.json").report.scorer == "heuristic-1"
    path, _ = saved(tmp_path)
    with pytest.raises(SessionError, match="give compressor or model"):
        Session.load(path)
    with pytest.raises(SessionError, match="'word_counter', which no file can hold"):
        Session.load(path, model="heuristic")
    assert len(Session.load(path, model="heuristic", token_counter=word_counter)) == 16


def test_other_versions_are_refused_or_rescored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each by its name; after rescoring no turn has moved up and no deleted word is back."""
    path, session = saved(tmp_path)
    before = session.messages()
    other = Compressor(FixedScorer(scattered), token_counter=word_counter)
    with pytest.raises(SessionError, match="scorer 'heuristic-1', here 'fixed'"):
        Session.load(path, compressor=other)
    monkeypatch.setattr(saving, "POLICY_VERSION", "99")
    monkeypatch.setattr(saving, "SEGMENTATION", "98")
    with pytest.raises(SessionError, match=r"policy_version '1', here '99'; segmentation '1', here '98'"):
        Session.load(path, compressor=COMPRESSOR)
    loaded = Session.load(path, compressor=other, on_version="rescore")
    assert loaded.levels == session.levels
    after = loaded.messages()
    assert all(is_subsequence(one["content"], two["content"]) for one, two in zip(after, before, strict=True))
    assert loaded.report.tokens_after <= session.report.tokens_after
    assert loaded.report.scorer == "fixed"
    loaded.extend(talk(4, pinned=False))
    assert loaded.originals()[:16] == session.originals()


@settings(max_examples=12, deadline=None)
@given(messages=conversations("anthropic"), max_tokens=st.integers(3, 60), seed=st.integers(1, 9))
def test_rescoring_never_moves_a_turn_up(
    tmp_path_factory: pytest.TempPathFactory, messages: list[dict[str, Any]], max_tokens: int, seed: int
) -> None:
    """Whatever the other model says: text only goes, and the result is still what the provider takes."""
    path = tmp_path_factory.mktemp("sessions") / "s.json"
    session = Session(
        compressor=COMPRESSOR, policy=Policy(max_tokens=max_tokens, keep_last=1, floor="masks"), on_overflow="omit"
    )
    session.extend(messages)
    session.save(path)
    other = Compressor(
        FixedScorer(lambda text: scattered(text * seed), pin=0.9 * (seed % 2)), token_counter=word_counter
    )
    loaded = Session.load(path, compressor=other, on_version="rescore")
    assert loaded.levels == session.levels
    check(loaded.messages(), "anthropic")
    for number in loaded._state.present:
        old, new = (one._state.cuts[number].turns[one._state.levels[number]] for one in (session, loaded))
        assert is_subsequence(new.text, old.text)


def test_a_function_in_the_policy_cannot_be_saved(tmp_path: Path) -> None:
    """It is named; nothing is written."""

    def my_rule(view: object) -> list[tuple[int, int]]:
        return []

    session = Session(model="heuristic", policy=Policy(also_protect=my_rule))
    with pytest.raises(SessionError, match="my_rule"):
        session.save(tmp_path / "s.json")
    assert list(tmp_path.iterdir()) == []


def test_damaged_files_are_refused(tmp_path: Path) -> None:
    """Cut short, changed by hand, of another kind or version: each with the path and what is wrong."""
    path, _ = saved(tmp_path)
    whole = path.read_text(encoding="utf-8")
    for text, error in (
        ("", "no session, or a damaged one"),
        (whole[: len(whole) // 2], "no session, or a damaged one"),
        ("[]", "no session"),
        ('{"format": "x"}', "no session"),
        (whole.replace('"version": 1', '"version": 2', 1), "the layout has version 2"),
        (whole.replace("lovely", "lively", 1), "does not fit its checksum"),
    ):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(SessionError, match=f"{re.escape(str(path))}.*{error}"):
            Session.load(path, compressor=COMPRESSOR)
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SessionError, match="damaged"):
        Session.load(path, compressor=COMPRESSOR)
    with pytest.raises(OSError, match="absent"):
        Session.load(tmp_path / "absent.json")
    with pytest.raises(PolicyError, match="on_version is 'maybe'"):
        Session.load(path, on_version="maybe")  # type: ignore[arg-type]


@pytest.mark.parametrize("part", ["versions", "model", "policy", "options", "messages", "state"])
def test_a_file_without_a_part_is_damaged(tmp_path: Path, part: str) -> None:
    """Even if its checksum fits: a clear error, no traceback of another kind."""
    path, _ = saved(tmp_path)
    content = json.loads(path.read_text(encoding="utf-8"))["session"]
    del content[part]
    path.write_text(saving.serialise(content), encoding="utf-8")
    with pytest.raises(SessionError, match="damaged"):
        Session.load(path, model="heuristic", token_counter=word_counter)


def test_a_failed_save_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever goes wrong on the way, and nothing lies about afterwards."""
    path, session = saved(tmp_path)
    old = path.read_bytes()

    def broken(*_: object) -> None:
        raise OSError("disk full")

    session.append({"role": "user", "content": "And?"})
    for name in ("fsync", "replace"):
        with monkeypatch.context() as patch:
            patch.setattr(os, name, broken)
            with pytest.raises(OSError, match="disk full"):
                session.save(path)
        assert path.read_bytes() == old
        assert list(tmp_path.iterdir()) == [path]
    path.chmod(0o640)
    session.save(path)
    assert path.read_bytes() != old
    assert path.stat().st_mode & 0o777 == 0o640


def test_saving_through_a_link_changes_the_file_behind_it(tmp_path: Path) -> None:
    """The link stays a link."""
    path, session = saved(tmp_path)
    link = tmp_path / "link.json"
    link.symlink_to(path)
    session.append({"role": "user", "content": "And?"})
    session.save(link)
    assert link.is_symlink()
    assert len(Session.load(path, compressor=COMPRESSOR)) == 17
