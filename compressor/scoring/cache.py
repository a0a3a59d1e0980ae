"""Remembers the scores of turns by their content, so that equal turns are scored once."""

from array import array
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import fields
from hashlib import blake2b
from itertools import chain
from threading import Lock

from compressor.errors import PolicyError
from compressor.scoring import Scorer, Scores, checked
from compressor.transcript import Turn
from compressor.words import Word

MAX_BYTES = 64 * 2**20
"""Memory of a cache by default: some 35,000 turns of 20 words."""

ENTRY_BYTES = 1500
"""What an entry takes beside the values of its words: the key, five arrays, a place in the table; measured, rounded up."""

WORD_BYTES = 4 * 4
"""Four float32 a word."""


class CachedScorer:
    """A `Scorer` that asks another one only for turns that it has not met, or has forgotten.

    What it returns is what the other one returned, to the last bit: a turn's scores depend on its role, its text and
    where its words are cut, and on nothing else (`Scorer`). The speaker's name is no part of that. The turns that were
    used least recently are forgotten first. Safe to share between threads.

    Args:
        scorer: Scores what is not known yet.
        max_bytes: Most memory that the remembered scores may take, 0 or more. A turn that is larger is not remembered.
    Raises:
        PolicyError: `max_bytes` is not allowed.
    """

    def __init__(self, scorer: Scorer, *, max_bytes: int = MAX_BYTES) -> None:
        if isinstance(max_bytes, bool) or not isinstance(max_bytes, int) or max_bytes < 0:
            raise PolicyError(f"max_bytes is {max_bytes!r}; allowed: a whole number of bytes, 0 or more.")
        self.name = scorer.name
        self.scorer = scorer
        self.max_bytes = max_bytes
        self.hits = 0
        self.misses = 0
        self._entries: OrderedDict[bytes, Scores] = OrderedDict()
        self._bytes = 0
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def bytes_used(self) -> int:
        """Memory of the remembered scores, about."""
        return self._bytes

    def thresholds(self, turn: Turn) -> Mapping[str, float]:
        """See `Scorer.thresholds`."""
        return self.scorer.thresholds(turn)

    def score(self, turns: Sequence[Turn], words: Sequence[Sequence[Word]]) -> list[Scores]:
        """See `Scorer.score`. A turn that occurs twice in one call counts as a miss and a hit."""
        keys = [_key(turn, own) for turn, own in zip(turns, words, strict=True)]
        found: dict[bytes, Scores] = {}
        with self._lock:
            for key in keys:
                if key in self._entries:
                    self._entries.move_to_end(key)
                    found[key] = self._entries[key]
            new: dict[bytes, int] = {}
            for at, key in enumerate(keys):
                if key not in found:
                    new.setdefault(key, at)
            self.hits += len(keys) - len(new)
            self.misses += len(new)
        if new:
            places = list(new.values())
            asked = [words[at] for at in places]
            # Checked before it is remembered: what a scorer gets wrong once must not come back later as known.
            scored = checked(self.name, self.scorer.score([turns[at] for at in places], asked), asked)
            fresh = {key: _frozen(scores) for key, scores in zip(new, scored, strict=True)}
            self._remember(fresh)
            found |= fresh
        return [found[key] for key in keys]

    def clear(self) -> None:
        """Forget all scores; the counts stay."""
        with self._lock:
            self._entries.clear()
            self._bytes = 0

    def _remember(self, new: Mapping[bytes, Scores]) -> None:
        with self._lock:
            for key, scores in new.items():
                size = _size(scores)
                if key in self._entries or size > self.max_bytes:  # another thread may have been faster
                    continue
                self._entries[key] = scores
                self._bytes += size
            while self._bytes > self.max_bytes:
                self._bytes -= _size(self._entries.popitem(last=False)[1])


def _key(turn: Turn, words: Sequence[Word]) -> bytes:
    """What a turn's scores depend on, in 20 bytes."""
    text = turn.text.encode("utf-8", "surrogatepass")
    role = turn.role.encode("utf-8", "surrogatepass")
    digest = blake2b(b"%d %d " % (len(role), len(text)), digest_size=20)
    digest.update(role)
    digest.update(text)
    digest.update(array("Q", chain.from_iterable((word.start, word.end) for word in words)))
    return digest.digest()


def _size(scores: Scores) -> int:
    return ENTRY_BYTES + WORD_BYTES * len(scores.light)


def _frozen(scores: Scores) -> Scores:
    """Scores that nobody can change any more, since all equal turns share them."""
    arrays = [getattr(scores, field.name) for field in fields(Scores)]
    if not any(values.flags.writeable for values in arrays):
        return scores
    arrays = [values.copy() for values in arrays]
    for values in arrays:
        values.setflags(write=False)
    return Scores(*arrays)
