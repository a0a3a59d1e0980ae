"""Transcripts that annotators shortened by hand: `training/data/synthetic/` and any file of the same format.

Licence: `synthetic/` Apache-2.0, written for this project. Annotated public transcripts are not in the repository
(`real/`: QMSum, ChitChat, VCSum MIT; IRC-Ubuntu, MTS-Dialog, ACI-Bench CC BY 4.0; CrossWOZ Apache-2.0).
Expected: `synthetic/` 228 transcripts (160 en, 68 zh), 57 files; `real/` 168 transcripts (133 en, 35 zh), 24 files.

One JSON object a line: `id`, `lang`, `turns` of `role`, `speaker`, `text`, `light`, `tight`, and `entities`, `intents`.
A record without the key `entities` or `intents` teaches nothing of names or pins; an empty list says there are none.
A turn may list under `unsure` the words (start, end) whose `light` or `tight` nobody vouches for; they teach nothing.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from compressor.scoring.weights import LANGUAGES
from compressor.transcript import Transcript, Turn
from compressor.words import SEGMENTATION, segment_text
from training.errors import DataError
from training.examples import Example
from training.labels import AlignmentError, entity_words, find_intent, inside, kept_words


class CorpusError(DataError):
    """A record cannot be read; the message names file, line and reason."""


def annotated_files(folder: Path) -> list[Path]:
    """The .jsonl files of a folder in the order of their names; a file is itself.

    Raises:
        CorpusError: There is no such folder, or no such file in it.
    """
    if not folder.exists():
        raise CorpusError(f"{folder}: no such folder or file")
    files = sorted(folder.glob("*.jsonl")) if folder.is_dir() else [folder]
    if not files:
        raise CorpusError(f"{folder}: no .jsonl file in it")
    return files


def read_folder(folder: Path) -> Iterator[Example]:
    """Read every .jsonl file of a folder, in the order of their names. Blank lines are passed over.

    Raises:
        CorpusError: A record cannot be read, or has the id of one before it.
    """
    seen: dict[str, str] = {}
    for file in annotated_files(folder):
        for number, line in enumerate(file.read_bytes().split(b"\n"), 1):
            if not line.strip():
                continue
            place = f"{file}, line {number}"
            try:
                example = read_record(json.loads(line.decode("utf-8-sig")))
            except (KeyError, IndexError) as error:
                raise CorpusError(f"{place}: {type(error).__name__}: {error} is missing") from error
            except (TypeError, ValueError, AttributeError, RecursionError) as error:
                raise CorpusError(f"{place}: {type(error).__name__}: {error}") from error
            if example.id in seen:
                raise CorpusError(f"{place}: the id {example.id!r} is that of {seen[example.id]} already")
            seen[example.id] = place
            yield example


def read_record(record: Mapping[str, Any]) -> Example:
    """Label one annotated transcript.

    Raises:
        CorpusError: It is for words of another segmentation, in another language, or without a turn.
        AlignmentError: A shortened text is no subsequence, or an intent is not in its turn.
        KeyError, TypeError: A field is missing, or of another type.
    """
    _check(record)
    turns = tuple(Turn(turn["role"], turn.get("speaker"), turn["text"]) for turn in record["turns"])
    words = tuple(tuple(segment_text(turn.text)) for turn in turns)
    intents = tuple(_intents(record.get("intents", ()), turns))
    labels = []
    for number, (turn, source, cut) in enumerate(zip(turns, record["turns"], words, strict=True)):
        label = np.empty((len(cut), 4), dtype=np.float32)
        try:
            label[:, :2] = kept_words(turn.text, source["light"], source["tight"], cut)
        except AlignmentError as error:
            raise AlignmentError(f"record {record['id']!r}, turn {number}: {error}") from error
        for column, level in enumerate(("light", "tight")):
            label[inside(source.get("unsure", {}).get(level, ()), cut) > 0, column] = np.nan
        label[:, 2] = entity_words(turn.text, record["entities"], cut) if "entities" in record else np.nan
        own = [(start, end) for at, start, end in intents if at == number]
        label[:, 3] = inside(own, cut) if "intents" in record else np.nan
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


def _check(record: Mapping[str, Any]) -> None:
    if not isinstance(record, Mapping):
        raise CorpusError(f"{type(record).__name__} instead of an object")
    if not isinstance(record["id"], str) or not record["id"]:
        raise CorpusError(f"the id is {record['id']!r}; allowed: a text that is not empty")
    name = f"record {record['id']!r}"
    if record.get("segmentation", SEGMENTATION) != SEGMENTATION:
        raise CorpusError(
            f"{name}: labelled for words of segmentation version {record['segmentation']!r}, and this package cuts by"
            f" version {SEGMENTATION!r}; label it again"
        )
    if record["lang"] not in LANGUAGES:
        raise CorpusError(f"{name}: lang is {record['lang']!r}; allowed: {', '.join(LANGUAGES)}")
    if not isinstance(record["turns"], list) or not record["turns"]:
        raise CorpusError(f"{name}: it has no turns")
    for number, turn in enumerate(record["turns"]):
        for field in ("role", "text", "light", "tight"):
            if not isinstance(turn, Mapping) or not isinstance(turn.get(field), str):
                raise CorpusError(f"{name}, turn {number}: {field} is missing or no text")
    entities = record.get("entities", [])
    if not isinstance(entities, list) or not all(isinstance(each, str) for each in entities):
        raise CorpusError(f"{name}: entities is no list of texts")


def _intents(records: Sequence[Mapping[str, Any]], turns: Sequence[Turn]) -> Iterator[tuple[int, int, int]]:
    for record in records:
        if not 0 <= record["turn"] < len(turns):
            raise AlignmentError(f"intent {record['text']!r} is of turn {record['turn']}, and there are {len(turns)}")
        found = find_intent(turns[record["turn"]].text, record["text"])
        if found is None:
            raise AlignmentError(f"intent {record['text']!r} is not in turn {record['turn']}")
        yield (record["turn"], *found)
