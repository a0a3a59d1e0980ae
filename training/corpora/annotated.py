"""Transcripts that annotators shortened by hand: `training/data/synthetic/` and any file of the same format.

Licence: `synthetic/` Apache-2.0, written for this project. Annotated public transcripts are not in the repository
(`real/`: QMSum, ChitChat, VCSum MIT; IRC-Ubuntu, MTS-Dialog, ACI-Bench CC BY 4.0; CrossWOZ Apache-2.0).
Expected: `synthetic/` 228 transcripts (160 en, 68 zh), 57 files; `real/` 168 transcripts (133 en, 35 zh), 24 files.

One JSON object a line: `id`, `lang`, `turns` of `role`, `speaker`, `text`, `light`, `tight`, and `entities`, `intents`.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from compressor.transcript import Transcript, Turn
from compressor.words import segment_text
from training.examples import Example
from training.labels import AlignmentError, entity_words, find_intent, inside, kept_words


class CorpusError(ValueError):
    """A record cannot be read; the message names file, line and reason."""


def read_folder(folder: Path) -> Iterator[Example]:
    """Read every .jsonl file of a folder, in the order of their names."""
    files = sorted(folder.glob("*.jsonl")) if folder.is_dir() else [folder]
    if not files:
        raise CorpusError(f"{folder}: no .jsonl file in it")
    for file in files:
        with file.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                try:
                    yield read_record(json.loads(line))
                except (KeyError, TypeError, AlignmentError, json.JSONDecodeError) as error:
                    raise CorpusError(f"{file}, line {number}: {type(error).__name__}: {error}") from error


def read_record(record: Mapping[str, Any]) -> Example:
    """Label one annotated transcript."""
    turns = tuple(Turn(turn["role"], turn.get("speaker"), turn["text"]) for turn in record["turns"])
    words = tuple(tuple(segment_text(turn.text)) for turn in turns)
    intents = tuple(_intents(record.get("intents", ()), turns))
    labels = []
    for number, (turn, source, cut) in enumerate(zip(turns, record["turns"], words, strict=True)):
        label = np.empty((len(cut), 4), dtype=np.float32)
        label[:, :2] = kept_words(turn.text, source["light"], source["tight"], cut)
        label[:, 2] = entity_words(turn.text, record.get("entities", ()), cut)
        label[:, 3] = inside([(start, end) for at, start, end in intents if at == number], cut)
        labels.append(label)
    source_name = record.get("source", "annotated")
    return Example(
        id=record["id"],
        lang=record["lang"],
        source="synthetic" if source_name == "written for this project" else source_name,
        transcript=Transcript(turns),
        words=words,
        labels=tuple(labels),
        intents=intents,
    )


def _intents(records: Sequence[Mapping[str, Any]], turns: Sequence[Turn]) -> Iterator[tuple[int, int, int]]:
    for record in records:
        found = find_intent(turns[record["turn"]].text, record["text"])
        if found is None:
            raise AlignmentError(f"intent {record['text']!r} is not in turn {record['turn']}")
        yield (record["turn"], *found)
