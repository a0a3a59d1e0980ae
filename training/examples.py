"""One labelled transcript as one record, and its JSON lines."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from compressor.transcript import Transcript, Turn
from compressor.words import SEGMENTATION
from training.errors import DataError

Labels = NDArray[np.float32]
Range = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Example:
    """A transcript with what a scorer should say of its words.

    Args:
        id: Unique over all corpora.
        lang: `en` or `zh`.
        source: The corpus it comes from.
        transcript: The turns.
        words: (start, end) of the words of each turn.
        labels: 0 to 1 per word and head, NaN where nobody said. One array a turn. Shape: (n_words, 4), heads as in
            `compressor.scoring.weights.HEADS`.
        intents: (turn, start, end) of each sentence that asks, requests or sets a constraint.
    """

    id: str
    lang: str
    source: str
    transcript: Transcript
    words: tuple[tuple[Range, ...], ...]
    labels: tuple[Labels, ...]
    intents: tuple[tuple[int, int, int], ...] = ()

    @property
    def n_words(self) -> int:
        """Words of all turns."""
        return sum(len(words) for words in self.words)


def write_examples(path: Path, examples: Iterable[Example]) -> None:
    """Write one JSON object a line."""
    with path.open("w", encoding="utf-8") as file:
        for example in examples:
            file.write(json.dumps(_record(example), ensure_ascii=False) + "\n")


def read_examples(path: Path) -> Iterator[Example]:
    """Read what `write_examples` wrote.

    Raises:
        DataError: A record was cut by another segmentation, or its words overlap or end behind their turn.
    """
    with path.open(encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            record = json.loads(line)
            _check(record, f"{path}, line {number}")
            yield Example(
                id=record["id"],
                lang=record["lang"],
                source=record["source"],
                transcript=Transcript(tuple(Turn(t["role"], t["speaker"], t["text"]) for t in record["turns"])),
                words=tuple(tuple((a, b) for a, b in turn["words"]) for turn in record["turns"]),
                labels=tuple(_array(turn["labels"]) for turn in record["turns"]),
                intents=tuple((turn, a, b) for turn, a, b in record["intents"]),
            )


def _check(record: Mapping[str, Any], place: str) -> None:
    if record["segmentation"] != SEGMENTATION:
        raise DataError(
            f"{place}: words of segmentation version {record['segmentation']!r}, and this package cuts by version"
            f" {SEGMENTATION!r}; make the labels again."
        )
    for at, turn in enumerate(record["turns"]):
        ends = [0, *(edge for pair in turn["words"] for edge in pair), len(turn["text"])]
        if ends != sorted(ends):
            raise DataError(f"{place}: the words of turn {at} overlap, are out of order, or end behind its text.")


def _record(example: Example) -> dict[str, object]:
    turns = [
        {
            "role": turn.role,
            "speaker": turn.speaker,
            "text": turn.text,
            "words": words,
            "labels": [[None if np.isnan(value) else round(float(value), 4) for value in row] for row in labels],
        }
        for turn, words, labels in zip(example.transcript, example.words, example.labels, strict=True)
    ]
    return {
        "id": example.id,
        "lang": example.lang,
        "source": example.source,
        "segmentation": SEGMENTATION,
        "turns": turns,
        "intents": example.intents,
    }


def _array(rows: list[list[float | None]]) -> Labels:
    values = [[np.nan if value is None else value for value in row] for row in rows]
    return np.array(values, dtype=np.float32).reshape(len(rows), -1 if rows else 4)
