"""Scores words with the trained classifier: windows of each turn through a backend, and back to words.

Every window is one forward pass of its own, without padding, so that a turn's scores are the same to the last bit alone
and in any company. Passes run side by side on threads instead of in batches.
"""

import os
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from compressor.errors import ModelError, ScorerError
from compressor.scoring import Scores
from compressor.scoring.encoding import EncodedTurn, FloatArray, IntArray, TurnEncoder, gather, role_id
from compressor.scoring.weights import HEADS, ModelConfig, model_folder, read_config, required
from compressor.transcript import VERBATIM_ROLES, Turn
from compressor.words import Word

UNSCORED = (1.0, 1.0, 0.0, 0.0)
"""Light, tight, entity and pin of a word that the model does not see: it is kept, and protected by no head."""

HAN_SHARE = 0.2
"""A text of which more than this share of the letters is Han counts as Chinese."""


class Backend(Protocol):
    """Runs the network. Safe to call from several threads at once if `concurrent` is true."""

    name: str
    concurrent: bool

    def __call__(self, input_ids: IntArray, attention_mask: IntArray, role_ids: IntArray) -> NDArray[np.float32]:
        """One forward pass. All inputs (batch, length), int64 → logits (batch, length, n_heads), float32."""
        ...


class ClassifierScorer:
    """A `Scorer` over a model folder.

    Args:
        backend: Runs the network.
        encoder: Cuts turns into windows.
        config: What the model folder says of itself.
        threads: Forward passes at a time; None takes the processors that this process may use.
    """

    def __init__(
        self, backend: Backend, encoder: TurnEncoder, config: ModelConfig, *, threads: int | None = None
    ) -> None:
        self.name = f"classifier-{config.version}"
        self.config = config
        self._backend = backend
        self._encoder = encoder
        self._threads = max(1, threads or default_threads()) if backend.concurrent else 1

    @classmethod
    def from_folder(
        cls,
        name: str | Path = "default",
        *,
        backend: Literal["onnx", "torch"] = "onnx",
        device: str = "cpu",
        threads: int | None = None,
    ) -> "ClassifierScorer":
        """Load a shipped model by its name, or a model folder by its path.

        Args:
            backend: `onnx` needs nothing more; `torch` needs torch and the file model.safetensors.
            device: Where torch runs: `cpu`, `cuda`.
        Raises:
            ModelError: The folder is missing, incomplete, or made for another segmentation; or the backend is unknown.
        """
        folder = model_folder(name)
        config = read_config(folder)
        encoder = TurnEncoder(required(folder, "tokenizer.json"), config.window, config.stride)
        return cls(_load(folder, config, backend, device), encoder, config, threads=threads)

    def thresholds(self, turn: Turn) -> dict[str, float]:
        """See `Scorer.thresholds`: they depend on the language of the turn."""
        spoken = language(turn.text)
        return {head: float(self.config.thresholds[head][spoken]) for head in HEADS}

    def score(self, turns: Sequence[Turn], words: Sequence[Sequence[Word]]) -> list[Scores]:
        """Score the words of each turn; see `Scorer`.

        Turns of verbatim roles and turns without words are not run. Equal turns are run once.

        Raises:
            ScorerError: There are not as many lists of words as turns.
        """
        if len(turns) != len(words):
            raise ScorerError(
                f"{self.name}: {len(turns)} turns and words of {len(words)}; give the words of each turn."
            )
        keys = [self._key(turn, cut) for turn, cut in zip(turns, words, strict=True)]
        encoded = {key: self._encoder.encode(key[1], key[2]) for key in dict.fromkeys(keys) if key is not None}
        values = self._run(list(encoded.values()), [key[0] for key in encoded])
        scored = dict(zip(encoded, map(_scores, values), strict=True))
        return [
            scored[key] if key is not None else _scores(np.tile(np.array(UNSCORED), (len(cut), 1)))
            for key, cut in zip(keys, words, strict=True)
        ]

    def _key(self, turn: Turn, words: Sequence[Word]) -> tuple[int, str, tuple[tuple[int, int], ...]] | None:
        """What a turn's scores depend on; None if it is not run."""
        if turn.role in VERBATIM_ROLES or not words:
            return None
        return role_id(turn.role), turn.text, tuple((word.start, word.end) for word in words)

    def _run(self, encoded: Sequence[EncodedTurn], roles: Sequence[int]) -> Iterable[FloatArray]:
        """Probabilities of the words of each turn. Shape of each: (n_words, 4)."""
        passes = [(window.ids, role) for turn, role in zip(encoded, roles, strict=True) for window in turn.windows]
        if self._threads == 1 or len(passes) < 2:
            outputs = [self._forward(ids, role) for ids, role in passes]
        else:
            # The longest first, so that no thread is left alone with a long one at the end.
            order = sorted(range(len(passes)), key=lambda number: -len(passes[number][0]))
            with ThreadPoolExecutor(min(self._threads, len(passes))) as pool:
                done = dict(
                    zip(order, pool.map(self._forward, *zip(*(passes[n] for n in order), strict=True)), strict=True)
                )
            outputs = [done[number] for number in range(len(passes))]
        at = 0
        for turn in encoded:
            mine = outputs[at : at + len(turn.windows)]
            at += len(turn.windows)
            subwords = _sigmoid(gather(turn, mine)) if mine else np.empty((0, len(HEADS)))
            yield turn.pool(subwords, UNSCORED)

    def _forward(self, ids: IntArray, role: int) -> NDArray[np.float32]:
        row = ids[np.newaxis]
        logits = self._backend(row, np.ones_like(row), np.full_like(row, role))
        return logits.reshape(len(ids), -1)


def language(text: str) -> str:
    """`zh` if more than a fifth of the letters are Han, else `en`."""
    if text.isascii():
        return "en"
    letters = sum(char.isalpha() for char in text)
    han = sum("\u4e00" <= char <= "\u9fff" or "\u3400" <= char <= "\u4dbf" for char in text)
    return "zh" if han > HAN_SHARE * letters else "en"


def _load(folder: Path, config: ModelConfig, backend: str, device: str) -> Backend:
    if backend == "onnx":
        from compressor.scoring.onnx_backend import OnnxBackend

        return OnnxBackend(required(folder, "model.onnx"))
    if backend == "torch":
        from compressor.scoring.torch_backend import TorchBackend

        return TorchBackend(required(folder, "model.safetensors"), config, device)
    raise ModelError(f"backend is {backend!r}; allowed: 'onnx', 'torch'.")


def _scores(values: FloatArray) -> Scores:
    columns = np.clip(values, 0.0, 1.0).astype(np.float32)
    columns.setflags(write=False)  # equal turns share their arrays
    return Scores(*(columns[:, head] for head in range(len(HEADS))))


def _sigmoid(logits: FloatArray) -> FloatArray:
    return 1.0 / (1.0 + np.exp(-np.clip(logits, -60.0, 60.0)))


def default_threads() -> int:
    """The processors that this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1
