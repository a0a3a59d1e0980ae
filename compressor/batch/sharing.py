"""Scores that one worker found, for the others: so that equal turns are scored once a run, not once a worker."""

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from compressor.scoring import Scores
from compressor.scoring.cache import CachedScorer

Known = tuple[bytes, bytes]
"""A turn's key in the cache, and its scores: light, tight, entity and pin of each word in turn, as float32."""

BACKLOG = 8 * 2**20
"""Bytes that wait for workers that are busy; what is older is forgotten, and scored again where it is met."""

HEADS = 4


class SharingScorer(CachedScorer):
    """A `CachedScorer` that tells what it scored, and learns what others did."""

    _told: dict[bytes, Scores] | None = None

    def take_new(self) -> list[Known]:
        """What was scored here since the last time this was asked; from the first time on it is kept for that."""
        new, self._told = self._told or {}, {}
        return [(key, _packed(scores)) for key, scores in new.items()]

    def learn(self, known: Iterable[Known]) -> None:
        """Remember what was scored elsewhere."""
        super()._remember({key: _unpacked(content) for key, content in known})

    def _remember(self, new: Mapping[bytes, Scores]) -> None:
        super()._remember(new)
        if self._told is not None and self.max_bytes:
            self._told |= new


@dataclass
class Exchange:
    """What each worker has found, until all others have it."""

    _news: deque[tuple[int, int, list[Known]]] = field(default_factory=deque)  # number, worker, what it found
    _bytes: int = 0
    _last: int = 0
    _heard: dict[int, int] = field(default_factory=dict)  # of each worker: the number of the last that it was told

    def tell(self, worker: int, found: list[Known]) -> None:
        """Take what a worker found."""
        if found:
            self._last += 1
            self._news.append((self._last, worker, found))
            self._bytes += _size(found)
            while self._bytes > BACKLOG:
                self._bytes -= _size(self._news.popleft()[2])

    def hear(self, worker: int) -> list[Known]:
        """What the others found since the last time."""
        since = self._heard.get(worker, 0)
        self._heard[worker] = self._last
        return [known for number, origin, found in self._news if number > since and origin != worker for known in found]


def _packed(scores: Scores) -> bytes:
    return np.stack([scores.light, scores.tight, scores.entity, scores.pin], axis=1).astype(np.float32).tobytes()


def _unpacked(content: bytes) -> Scores:
    rows = np.frombuffer(content, np.float32).reshape(-1, HEADS)
    return Scores(*(rows[:, head] for head in range(HEADS)))


def _size(found: list[Known]) -> int:
    return sum(len(key) + len(content) for key, content in found)
