"""Words that stay for the sake of the shape: turns keep their place, and no name moves to where a label would stand."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence

import numpy as np

from compressor.formats import drop, removable
from compressor.formats.labels import choose, match_label
from compressor.policy import Policy
from compressor.selection import Choice, Mask, best_of_each
from compressor.transcript import Transcript
from compressor.words import Word, is_mark

_MESSAGES = frozenset({"messages", "json", "jsonl"})
_LINE = re.compile(r"[^\r\n]+")
_COLON = re.compile("[:：]")


def keep_places(transcript: Transcript, words: Sequence[Word], choice: Choice, released: Mask, policy: Policy) -> Mask:
    """The best word of each block that must not become empty and of which no rule keeps a word.

    A released word is no such word: the `no` of `no problem` would stand for something else. Where a block has no other,
    nothing of it is released.

    Returns:
        True for those words. Shape: (n_words,).
    """
    free = _free(transcript, policy)
    needs_word = [index not in free for index in range(len(transcript))]
    groups = np.zeros(len(words), np.int64)
    needy: list[bool] = []
    at = 0
    for index, turn in enumerate(transcript.turns):
        for _, end in turn.blocks or ((0, len(turn.text)),):
            while at < len(words) and words[at].turn == index and words[at].start < end:
                groups[at] = len(needy)
                at += 1
            needy.append(needs_word[index])
    empty = np.array(needy, np.bool_)
    empty[groups[choice.base]] = False
    best = best_of_each(groups, empty, choice.scores, choice.candidates & ~released)
    empty[groups[best]] = False
    return best | (released & empty[groups])


def keep_labels_apart(transcript: Transcript, words: Sequence[Word]) -> Mask:
    """The word before a speaker's name and colon inside a text: `I told Bob: wait` must not begin a turn of Bob's.

    Returns:
        True for that word and the name. Shape: (n_words,).
    """
    kept = np.zeros(len(words), np.bool_)
    names = {turn.speaker for turn in transcript.turns if turn.speaker}
    if transcript.format != "text":
        return kept
    name = re.compile(f"(?:{'|'.join(map(re.escape, sorted(names, key=len, reverse=True)))})\\s*[:：]")
    starts = np.array([(word.turn, word.start) for word in words], np.int64).reshape(-1, 2)
    for index, turn in enumerate(transcript.turns):
        first, last = np.searchsorted(starts[:, 0], (index, index + 1))
        own = starts[first:last, 1]
        if names:
            places = [found.span() for found in name.finditer(turn.text)]
        else:
            places = _hidden_labels(turn.text, own.tolist()) if len(transcript) == 1 else []
        for start, end in places:
            inside = np.arange(*(first + np.searchsorted(own, (start, end))))
            if not len(inside):
                continue
            before = inside[0] - 1
            while (
                before >= 0
                and words[before].turn == index
                and is_mark(turn.text[words[before].start : words[before].end])
            ):
                before -= 1
            if before >= 0 and words[before].turn == index:
                kept[[before, *inside]] = True
    return kept


def _hidden_labels(text: str, own: Sequence[int]) -> list[tuple[int, int]]:
    """Where labels stand inside the lines of a text without speakers, if they would make it a dialogue at their heads.

    Args:
        text: The text.
        own: Where its words begin, in order.
    """
    at_heads, hidden = [], []
    for start, end in (line.span() for line in _LINE.finditer(text)):
        if not _COLON.search(text, start, end):
            continue
        head = match_label(text, start, end)
        if head is not None:
            at_heads.append(head)
            continue
        inside = own[bisect_right(own, start) : bisect_left(own, end)]
        found = [label for at in inside if (label := match_label(text, at, end)) is not None]
        if found:
            hidden.append(next((label for label in found if label.strength != "weak"), found[0]))
    both = sorted([*at_heads, *hidden], key=lambda label: label.start)
    chosen = {label.start for label in choose(both, len(both))} if hidden else set()
    return [(label.start, label.end) for label in hidden if label.start in chosen]


def drop_emptied(output: Transcript, policy: Policy) -> Transcript:
    """Mark the emptied messages that go, where the policy lets them."""
    if policy.emptied != "drop":
        return output
    free = _free(output, policy)
    return output.with_turns(
        drop(turn) if index in free and not turn.text else turn for index, turn in enumerate(output.turns)
    )


def _free(transcript: Transcript, policy: Policy) -> frozenset[int]:
    """The turns that may become empty."""
    everything = frozenset(range(len(transcript)))
    messages = frozenset(index for index in everything if _is_message(transcript, index))
    mode = policy.emptied
    if mode == "auto":
        return everything - messages
    if mode == "word":
        return frozenset()
    if mode == "empty":
        return everything
    free: set[int] = set()
    for index in range(len(transcript)):
        # Never two in a row: each was judged as if its neighbours stayed.
        if index not in messages or (index - 1 not in free and removable(transcript, index)):
            free.add(index)
    return frozenset(free)


def _is_message(transcript: Transcript, index: int) -> bool:
    """Whether a turn is written as a message, whose text providers do not allow to be empty."""
    return transcript.format in _MESSAGES or "message" in transcript.turns[index].extra
