"""What each word should have been scored: from the annotators' texts, names and sentences to numbers per word.

An annotator writes `light` as the text with words deleted, and `tight` as `light` with words deleted. Which of two
equal words was kept is not written down; of all alignments the one with the fewest runs of kept words is taken, the
earliest on a tie, because people cut stretches and not every other word.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from compressor.words import has_unspaced, segment_text
from training.errors import DataError

Labels = NDArray[np.float32]
Range = tuple[int, int]


class AlignmentError(DataError):
    """A shorter text is no subsequence of the longer one."""


def align(source: Sequence[str], kept: Sequence[str]) -> list[int]:
    """Place a subsequence in its source, in the fewest runs, the earliest of those.

    Args:
        source: Words or characters of the longer text.
        kept: Those of the shorter text.
    Returns:
        The index in `source` of each item of `kept`, rising.
    Raises:
        AlignmentError: `kept` is no subsequence of `source`.
    """
    if not kept:
        return []
    size, far = len(source), np.int32(2**30)
    items = np.array(source, dtype=object)
    # cost[j, i]: further runs that kept[j + 1:] needs when kept[j] stands at source[i]; best: the least of all i' >= i.
    cost = np.full((len(kept), size), far, dtype=np.int32)
    best = np.full((len(kept), size + 2), far, dtype=np.int32)
    for j in range(len(kept) - 1, -1, -1):
        match = items == kept[j]
        if j == len(kept) - 1:
            cost[j, match] = 0
        else:
            joined = np.append(cost[j + 1, 1:], far)
            apart = np.minimum(best[j + 1, 2:], far - 1) + 1
            cost[j, match] = np.minimum(joined, apart)[match]
        best[j, :size] = np.minimum.accumulate(cost[j, ::-1])[::-1]
    if best[0, 0] >= far:
        raise AlignmentError("the shorter text is no subsequence of the longer one")
    places = [int(np.argmax(cost[0] == best[0, 0]))]
    for j in range(1, len(kept)):
        here, need = places[-1], cost[j - 1, places[-1]]
        if here + 1 < size and cost[j, here + 1] == need:
            places.append(here + 1)
        else:
            places.append(here + 2 + int(np.argmax(cost[j, here + 2 :] == need - 1)))
    return places


def kept_words(text: str, light: str, tight: str, words: Sequence[Range]) -> NDArray[np.float32]:
    """How much of each word survives the two edits.

    Words are aligned; where the text has words without spaces between them, or an edit cuts inside a word, characters
    are, and a word gets the mean of its characters.

    Returns:
        Columns light and tight, tight never above light. Shape: (n_words, 2).
    Raises:
        AlignmentError: An edit is no subsequence.
    """
    out = np.zeros((len(words), 2), dtype=np.float32)
    if not has_unspaced(text):
        try:
            first = align([text[a:b] for a, b in words], _words(light))
            second = align(_words(light), _words(tight))
        except AlignmentError:
            pass  # an edit inside a word: characters can tell
        else:
            out[first, 0] = 1
            out[[first[place] for place in second], 1] = 1
            return out
    solid = [place for place, char in enumerate(text) if not char.isspace()]
    first = align([text[place] for place in solid], _characters(light))
    second = align(_characters(light), _characters(tight))
    chars = np.zeros((len(text), 2), dtype=np.float32)
    chars[[solid[place] for place in first], 0] = 1
    chars[[solid[first[place]] for place in second], 1] = 1
    for number, (start, end) in enumerate(words):
        out[number] = chars[start:end].mean(axis=0)
    return out


def entity_words(text: str, entities: Sequence[str], words: Sequence[Range]) -> NDArray[np.float32]:
    """1 for each word that any occurrence of any name touches, else 0. Shape: (n_words,).

    A name counts where it is not part of a longer word: `Al` is not in `Also`.
    """
    return inside([span for name in entities for span in _occurrences(text, name)], words)


def inside(spans: Sequence[Range], words: Sequence[Range]) -> NDArray[np.float32]:
    """1 for each word that a span touches, else 0. Shape: (n_words,)."""
    out = np.zeros(len(words), dtype=np.float32)
    for start, end in spans:
        for number, (a, b) in enumerate(words):
            if a < end and b > start:
                out[number] = 1
    return out


def find_intent(text: str, intent: str) -> Range | None:
    """Where an annotated sentence stands in its turn, without the white space around it."""
    intent = intent.strip()
    start = text.find(intent) if intent else -1
    return None if start < 0 else (start, start + len(intent))


def _words(text: str) -> list[str]:
    return [text[a:b] for a, b in segment_text(text)]


def _characters(text: str) -> list[str]:
    return [char for char in text if not char.isspace()]


def _occurrences(text: str, name: str) -> list[Range]:
    found: list[Range] = []
    at = text.find(name) if name else -1
    while at >= 0:
        end = at + len(name)
        if not (_glued(text, at) or _glued(text, end)):
            found.append((at, end))
        at = text.find(name, at + 1)
    return found


def _glued(text: str, cut: int) -> bool:
    """Whether a cut falls inside a word that is written with spaces around it."""
    if not 0 < cut < len(text):
        return False
    pair = text[cut - 1 : cut + 1]
    return pair.isalnum() and not has_unspaced(pair)
