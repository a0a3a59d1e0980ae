"""A session's turns and sums as plain values, and back: exactly, or scored anew without moving any turn up."""

from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from itertools import pairwise
from typing import Any

import numpy as np

from compressor.policy import Policy
from compressor.rendering import render
from compressor.scoring import Scorer, Scores, checked
from compressor.selection import Mask
from compressor.session.levels import LEVELS, Cuts, Level, blocks_of, cut, view_of
from compressor.session.protocol import Calls, wire_of
from compressor.session.report import CallReport, Outputs, StepReport
from compressor.session.state import State
from compressor.structure import Range
from compressor.tokens import TokenCounter
from compressor.transcript import Transcript, Turn
from compressor.words import Word, segment


def pack(state: State) -> dict[str, Any]:
    """The turns and sums of a session as plain values."""
    gone = set(range(len(state.cuts))) - set(state.present)
    return {
        "turns": [
            _pack_turn(cuts, level, number in gone)
            for number, (cuts, level) in enumerate(zip(state.cuts, state.levels, strict=True))
        ],
        "candidates": state.candidates,
        "frozen": state.frozen,
        "exhausted": state.exhausted,
        "note": state.note,
        "note_tokens": state.note_tokens,
        "steps": [asdict(step) for step in state.steps],
        "sent": [list(key) for key in state.outputs.sent],
        "sent_note": state.outputs.note,
        "calls": [asdict(call) for call in state.outputs.calls],
    }


def unpack(
    state: State, saved: Mapping[str, Any], messages: Sequence[Mapping[str, Any]], turns: Sequence[Turn], scorer: Scorer
) -> None:
    """Fill an empty state as it was saved.

    Args:
        messages, turns: The originals.
        scorer: Tells the thresholds.
    """
    words = [segment(Transcript((turn,), "messages")) for turn in turns]
    for number, (turn, own, one) in enumerate(zip(turns, words, saved["turns"], strict=True)):
        before = turns[number - 1] if number else None
        state.cuts.append(_unpack_turn(turn, own, one, before, scorer))
    _fill(state, saved, messages)
    state.candidates = [int(number) for number in saved["candidates"]]
    state.slack = sum(state.spare(number, state.levels[number]) for number in state.candidates)
    state.note_tokens = int(saved["note_tokens"])
    _sum(state)


def rescore(
    state: State,
    saved: Mapping[str, Any],
    messages: Sequence[Mapping[str, Any]],
    turns: Sequence[Turn],
    scorer: Scorer,
    counter: TokenCounter,
) -> None:
    """Fill an empty state with turns that are scored anew. No word comes back that was deleted, and no turn moves up."""
    policy: Policy = state.rules.policy
    words = [segment(Transcript((turn,), "messages")) for turn in turns]
    own: list[Sequence[Word]] = list(words)
    scores = checked(scorer.name, scorer.score(turns, own), own)
    for number, (turn, places, scored, one) in enumerate(zip(turns, words, scores, saved["turns"], strict=True)):
        view = view_of(turn, places, scored, scorer.thresholds(turn), turns[number - 1] if number else None)
        level = Level(LEVELS.index(one["level"]))
        limit = None
        if level > Level.VERBATIM and "kept" in one:
            limit = _limit(turn, places, [tuple(span) for span in one["kept"][level - 1]])
        cuts = cut(view, places, scored, policy, counter, number=number, limit=limit)
        state.cuts.append(replace(cuts, pinned=cuts.pinned or bool(one["pinned"])))
    _fill(state, saved, messages)
    outside = range(state.frozen, max(0, len(turns) - state.rules.keep_last))
    if policy.max_tokens is not None:
        state.candidates = [number for number in outside if state.spare(number, state.levels[number])]
    state.slack = sum(state.spare(number, state.levels[number]) for number in state.candidates)
    state.note_tokens = state.count(state.note) if state.noted and state.note else 0
    _sum(state)


def _fill(state: State, saved: Mapping[str, Any], messages: Sequence[Mapping[str, Any]]) -> None:
    """What does not depend on the scores."""
    state.wires = [wire_of(message, number) for number, message in enumerate(messages)]
    state.calls.merge(Calls().after(state.wires, 0))
    state.levels = [Level(LEVELS.index(one["level"])) for one in saved["turns"]]
    state.present = [number for number, one in enumerate(saved["turns"]) if not one["gone"]]
    state.frozen, state.exhausted, state.note = int(saved["frozen"]), bool(saved["exhausted"]), str(saved["note"])
    state.steps = [StepReport(**step) for step in saved["steps"]]
    calls = [CallReport(**call) for call in saved["calls"]]
    state.outputs = Outputs([(int(number), int(level)) for number, level in saved["sent"]], calls, saved["sent_note"])
    state.measure(range(len(state.cuts)))


def _sum(state: State) -> None:
    state.total = sum(state.cuts[number].tokens[state.levels[number]] for number in state.present) + state.note_tokens
    state.tokens_before = sum(cuts.tokens[0] for cuts in state.cuts)


def _pack_turn(cuts: Cuts, level: Level, gone: bool) -> dict[str, Any]:
    plain: dict[str, Any] = {
        "level": LEVELS[level],
        "gone": gone,
        "pinned": cuts.pinned,
        "tokens": list(cuts.tokens),
    }
    if cuts.carried:
        plain["carried"] = cuts.carried
    if not cuts.fixed and cuts.view.words:
        scores = np.stack([cuts.scores.light, cuts.scores.tight, cuts.scores.entity, cuts.scores.pin])
        plain["scores"] = b64encode(scores.astype("<f4").tobytes()).decode("ascii")
        plain["kept"] = [_spans(cuts.view.words, mask) for mask in cuts.masks[1:]]
    return plain


def _unpack_turn(
    turn: Turn, words: Sequence[Word], one: Mapping[str, Any], before: Turn | None, scorer: Scorer
) -> Cuts:
    tokens = tuple(int(count) for count in one["tokens"])
    if "scores" in one:
        values = np.frombuffer(b64decode(one["scores"]), "<f4").astype(np.float32).reshape(4, len(words))
    else:
        values = np.zeros((4, len(words)), np.float32)
    values.setflags(write=False)
    scores = Scores(*values)
    everything = np.ones(len(words), np.bool_)
    masks = [everything, *(_mask(words, [tuple(span) for span in spans]) for spans in one.get("kept", ()))]
    masks += [everything] * (len(LEVELS) - len(masks))
    transcript = Transcript((turn,), "messages")
    cuts = [turn]
    for before_mask, mask in pairwise(masks):
        cuts.append(cuts[-1] if np.array_equal(mask, before_mask) else render(transcript, words, mask).turns[0])
    view = view_of(turn, words, scores, scorer.thresholds(turn), before)
    mass = tuple(float(scores.keep[mask].sum()) for mask in masks)
    return Cuts(view, scores, tuple(masks), tuple(cuts), tokens, mass, bool(one["pinned"]), int(one.get("carried", 0)))


def _spans(words: Sequence[Range], mask: Mask) -> list[list[int]]:
    """The characters of the kept words, those of neighbours as one range."""
    spans: list[list[int]] = []
    last = -2
    for index in np.flatnonzero(mask).tolist():
        if index == last + 1:
            spans[-1][1] = words[index][1]
        else:
            spans.append(list(words[index]))
        last = index
    return spans


def _mask(words: Sequence[Word], spans: Sequence[tuple[int, ...]]) -> Mask:
    """True for the words that lie inside one of some ranges of characters, in order. Shape: (n_words,)."""
    starts = np.array([start for start, _ in spans], np.int64)
    ends = np.array([end for _, end in spans], np.int64)
    if not len(starts):
        return np.zeros(len(words), np.bool_)
    first = np.array([word.start for word in words], np.int64)
    last = np.array([word.end for word in words], np.int64)
    place = np.searchsorted(starts, first, "right") - 1
    return (place >= 0) & (last <= ends[np.maximum(place, 0)])


def _limit(turn: Turn, words: Sequence[Word], spans: Sequence[tuple[int, ...]]) -> Mask:
    """The words of ranges that were cut into other words; of a text block where none fits, those that touch one."""
    if not words:
        return np.zeros(0, np.bool_)
    limit, blocks = _mask(words, spans), blocks_of(turn, words)
    full = np.zeros(int(blocks[-1]) + 1, np.bool_)
    full[blocks[limit]] = True
    touching = [any(start < word.end and word.start < end for start, end in spans) for word in words]
    return limit | (np.array(touching, np.bool_) & ~full[blocks])
