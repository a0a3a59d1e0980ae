"""Words of one turn to windows of subwords, and values of subwords back to words.

The raw text of the turn is tokenised, and each subword finds its words by character offsets, so that no text is ever
rebuilt from subwords. Training and inference both come through here: the same words, the same windows.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from compressor.transcript import ROLES
from compressor.words import encodable, load_tokenizer

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]

WINDOW = 256
"""Subwords that one forward pass sees, the marks of start and end included."""
STRIDE = 192
"""Subwords from the start of one window to the start of the next."""
SUBWORDS_A_WORD = 32
"""Subwords of one word that enter the model; what follows them in the word is left out."""

START, PAD, END, UNKNOWN = 0, 1, 2, 3
"""Ids of `<s>`, `<pad>`, `</s>` and `<unk>` in every tokenizer of the XLM-R family."""

_SPACES = np.array([code for code in range(0x3001) if chr(code).isspace()], dtype=np.uint32)
_SAME_ROLE = {"developer": "system", "function": "tool"}


@dataclass(frozen=True, slots=True)
class Window:
    """What one forward pass sees.

    Args:
        ids: The subwords between `<s>` and `</s>`. Shape: (length,), int64.
        inner: First and last (excluded) place in `ids` of the subwords whose value is taken from this window.
        owned: The same subwords as places among all subwords of the turn.
    """

    ids: IntArray
    inner: tuple[int, int]
    owned: tuple[int, int]


@dataclass(frozen=True, slots=True)
class EncodedTurn:
    """The windows of one turn, and which subword belongs to which word.

    Args:
        windows: In order; their `owned` ranges cover every subword once. Empty if the text has no subword.
        subwords: A subword's number, once for each word that it overlaps. Shape: (n_pairs,).
        words: The word's number that it overlaps, in step with `subwords`. Shape: (n_pairs,).
        n_subwords: Subwords of the turn that enter the model.
        n_words: Words of the turn.
    """

    windows: tuple[Window, ...]
    subwords: IntArray
    words: IntArray
    n_subwords: int
    n_words: int

    def pool(self, values: FloatArray, empty: Sequence[float]) -> FloatArray:
        """Average the values of subwords over each word.

        Args:
            values: One row a subword. Shape: (n_subwords, n_heads).
            empty: What a word without a subword gets. Length: n_heads.
        Returns:
            Shape: (n_words, n_heads).
        """
        counts = np.bincount(self.words, minlength=self.n_words)
        out = np.empty((self.n_words, values.shape[1]), dtype=np.float64)
        for head, default in enumerate(empty):
            sums = np.bincount(self.words, weights=values[self.subwords, head], minlength=self.n_words)
            out[:, head] = np.where(counts > 0, sums / np.maximum(counts, 1), default)
        return out

    def spread(self, values: FloatArray) -> FloatArray:
        """Give each subword the mean of its words' values, NaN where it belongs to none.

        Args:
            values: One row a word; NaN means unknown. Shape: (n_words, n_heads).
        Returns:
            Shape: (n_subwords, n_heads).
        """
        counts = np.bincount(self.subwords, minlength=self.n_subwords)
        out = np.full((self.n_subwords, values.shape[1]), np.nan)
        for head in range(values.shape[1]):
            sums = np.bincount(self.subwords, weights=values[self.words, head], minlength=self.n_subwords)
            out[:, head] = np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)
        return out


class TurnEncoder:
    """Encodes turns with the tokenizer of a model folder.

    Args:
        tokenizer: The tokenizer.json.
        window: Subwords of a window, `<s>` and `</s>` included.
        stride: Subwords from window to window; less than `window - 2`.
    """

    def __init__(self, tokenizer: Path, window: int = WINDOW, stride: int = STRIDE) -> None:
        self._tokenizer = load_tokenizer(tokenizer)
        self._room = window - 2
        self._stride = stride

    def encode(self, text: str, words: Sequence[tuple[int, int]]) -> EncodedTurn:
        """Encode one turn.

        Args:
            text: The raw text of the turn.
            words: (start, end) of each word, in order, never overlapping.
        """
        encoding = self._tokenizer.encode(encodable(text), add_special_tokens=False)
        ids = np.asarray(encoding.ids, dtype=np.int64)
        starts, ends = _strip(text, np.asarray(encoding.offsets, dtype=np.int64).reshape(-1, 2))
        edges = np.asarray(words, dtype=np.int64).reshape(-1, 2)
        # The words that a subword overlaps: from the first that ends behind its start to the last before its end.
        first = np.searchsorted(edges[:, 1], starts, side="right")
        last = np.searchsorted(edges[:, 0], ends, side="left")
        counts = np.where(starts < ends, np.maximum(last - first, 0), 0)
        kept = _capped(first, counts)
        ids, first, counts = ids[kept], first[kept], counts[kept]
        ids[ids < UNKNOWN] = UNKNOWN  # `<s>` written in the text is no start mark
        subwords = np.repeat(np.arange(len(ids), dtype=np.int64), counts)
        step = np.arange(len(subwords), dtype=np.int64) - np.repeat(np.cumsum(counts) - counts, counts)
        return EncodedTurn(
            windows=tuple(self._windows(ids)),
            subwords=subwords,
            words=np.repeat(first, counts) + step,
            n_subwords=len(ids),
            n_words=len(edges),
        )

    def _windows(self, ids: IntArray) -> list[Window]:
        """Cut into overlapping windows; an overlap is owned half by the window before it and half by the one behind."""
        total = len(ids)
        begins = list(range(0, max(total - self._room, 0) + self._stride, self._stride)) if total else []
        windows: list[Window] = []
        own_start = 0
        for number, begin in enumerate(begins):
            end = min(begin + self._room, total)
            own_end = total if number + 1 == len(begins) else (begins[number + 1] + end) // 2
            content = np.concatenate(([START], ids[begin:end], [END])).astype(np.int64)
            inner = (own_start - begin + 1, own_end - begin + 1)
            windows.append(Window(ids=content, inner=inner, owned=(own_start, own_end)))
            own_start = own_end
        return windows


def role_id(role: str) -> int:
    """The number of a role in `ROLES`; a role that is not there counts as `none`."""
    role = _SAME_ROLE.get(role, role)
    return ROLES.index(role) if role in ROLES else ROLES.index("none")


def gather(encoded: EncodedTurn, outputs: Sequence[NDArray[np.float32]]) -> FloatArray:
    """Take each subword's value from the window in which it is most central.

    Args:
        encoded: The turn.
        outputs: One array a window. Shape: (length, n_heads), the marks of start and end included.
    Returns:
        Shape: (n_subwords, n_heads).
    """
    parts = [out[window.inner[0] : window.inner[1]] for window, out in zip(encoded.windows, outputs, strict=True)]
    return np.concatenate(parts).astype(np.float64)


def _strip(text: str, offsets: IntArray) -> tuple[IntArray, IntArray]:
    """Move the starts of subwords past the space that their offsets may include."""
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    # next_char[i]: the first character at i or behind that is no space.
    next_char = np.where(np.isin(codes, _SPACES), len(codes), np.arange(len(codes)))
    next_char = np.append(np.minimum.accumulate(next_char[::-1])[::-1], len(codes)).astype(np.int64)
    return np.minimum(next_char[offsets[:, 0]], offsets[:, 1]), offsets[:, 1]


def _capped(first: IntArray, counts: IntArray) -> NDArray[np.bool_]:
    """True for all subwords but those behind the first `SUBWORDS_A_WORD` of one word."""
    group = np.where(counts > 0, first, -1)
    begins = np.flatnonzero(np.diff(group, prepend=-2))
    lengths = np.diff(begins, append=len(group))
    rank = np.arange(len(group)) - np.repeat(begins, lengths)
    return (rank < SUBWORDS_A_WORD) | (group < 0)
