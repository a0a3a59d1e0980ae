"""What a trained model says of transcripts, as their labels; each turn is asked once and remembered on disk."""

import hashlib
import logging
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from compressor.scoring.classifier import ClassifierScorer
from compressor.scoring.weights import HEADS, required
from compressor.transcript import VERBATIM_ROLES, Turn
from compressor.words import Word
from training.evaluate import as_array
from training.examples import Example, Labels

log = logging.getLogger(__name__)

SHARD = 4096
"""Turns that are asked, and written to disk, at a time: what a kill can lose."""

Range = tuple[int, int]


class Teacher:
    """A model folder with a memory.

    Args:
        model: Folder of the model.
        memory: Folder for what it said; what another model said is not found there.
    """

    def __init__(self, model: Path, memory: Path) -> None:
        self._scorer = ClassifierScorer.from_folder(model)
        weights = hashlib.sha256(required(model, "model.onnx").read_bytes()).hexdigest()
        self._folder = memory / weights[:16]
        self._folder.mkdir(parents=True, exist_ok=True)
        self._known: dict[str, NDArray[np.float16]] = {}
        for shard in sorted(self._folder.glob("*.npz")):
            with np.load(shard) as stored:
                ends = np.cumsum(stored["sizes"])[:-1]
                self._known.update(zip(stored["keys"].tolist(), np.split(stored["values"], ends), strict=True))

    def label(self, examples: Sequence[Example]) -> list[Example]:
        """The examples with the teacher's probabilities for labels; turns that are never altered stay without."""
        turns = {
            _key(turn, words): (turn, words)
            for example in examples
            for turn, words in zip(example.transcript, example.words, strict=True)
            if turn.role not in VERBATIM_ROLES
        }
        # By length, so that a shard takes about as long as its share of the text.
        asked = sorted((key for key in turns if key not in self._known), key=lambda key: len(turns[key][0].text))
        log.info("the teacher is asked about %d turns and remembers %d", len(asked), len(turns) - len(asked))
        for start in tqdm(range(0, len(asked), SHARD), desc="teacher", unit="shard", disable=None):
            self._ask({key: turns[key] for key in asked[start : start + SHARD]})
        return [replace(example, labels=tuple(self._labels(example))) for example in examples]

    def _ask(self, turns: dict[str, tuple[Turn, tuple[Range, ...]]]) -> None:
        words = [[Word(0, start, end) for start, end in cut] for _, cut in turns.values()]
        scores = self._scorer.score([turn for turn, _ in turns.values()], words)
        values = [as_array(said).astype(np.float16) for said in scores]
        path = self._folder / f"{len(self._known):08}.npz"
        draft = path.with_suffix(".tmp")
        with draft.open("wb") as file:
            np.savez(file, keys=list(turns), sizes=[len(each) for each in values], values=np.concatenate(values))
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
        self._known.update(zip(turns, values, strict=True))

    def _labels(self, example: Example) -> Iterator[Labels]:
        for turn, words, labels in zip(example.transcript, example.words, example.labels, strict=True):
            known = None if turn.role in VERBATIM_ROLES else self._known[_key(turn, words)]
            yield np.full_like(labels, np.nan) if known is None else known.astype(np.float32)


def blend(hard: Sequence[Example], soft: Sequence[Example], share: float) -> list[Example]:
    """The labels of annotators and of a teacher as one: `share` of the former where there are both."""
    return [
        replace(
            one,
            labels=tuple(
                np.where(np.isnan(own), said, share * own + (1 - share) * said).astype(np.float32)
                for own, said in zip(one.labels, other.labels, strict=True)
            ),
        )
        for one, other in zip(hard, soft, strict=True)
    ]


def only_confident(examples: Sequence[Example], distance: float) -> list[Example]:
    """Take away the labels that are nearer to 0.5 than this."""
    return [
        replace(
            example,
            labels=tuple(
                np.where(np.abs(labels - 0.5) >= distance, labels, np.nan).astype(np.float32)
                for labels in example.labels
            ),
        )
        for example in examples
    ]


def _key(turn: Turn, words: Sequence[Range]) -> str:
    record = f"{turn.role}\0{turn.text}\0{len(words)} {len(HEADS)}"
    return hashlib.sha256(record.encode("utf-8", "surrogatepass")).hexdigest()[:32]
