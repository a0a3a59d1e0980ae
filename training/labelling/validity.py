"""Whether labelled records keep to the annotation format: every breach, with file, line, record and turn."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from compressor.contract import is_subsequence
from compressor.words import SEGMENTATION, segment_text
from training.corpora.annotated import CorpusError, read_record
from training.examples import Example
from training.labelling.errors import LabelError
from training.labels import AlignmentError

Record = Mapping[str, Any]
Place = tuple[str, Record]
"""A record and where it stands: file, line and id."""


def read_records(paths: Sequence[Path]) -> Iterator[tuple[str, Record | LabelError]]:
    """Every record of labelled `.jsonl` files and folders, with its place, or the error of a line that is none.

    Raises:
        LabelError: A path holds no such file.
    """
    for path in paths:
        files = sorted(path.rglob("*.jsonl")) if path.is_dir() else [path]
        if not files:
            raise LabelError(f"{path}: no .jsonl file in it.")
        for file in files:
            try:
                lines = file.read_text(encoding="utf-8-sig").split("\n")
            except (OSError, UnicodeDecodeError) as error:
                yield str(file), LabelError(f"{file}: {error}")
                continue
            for number, line in enumerate(lines, 1):
                if not line.strip():
                    continue
                where = f"{file}, line {number}"
                try:
                    record = json.loads(line)
                except (ValueError, RecursionError) as error:
                    yield where, LabelError(f"{where}: no JSON ({error}).")
                    continue
                if isinstance(record, dict):
                    yield f"{where}, record {record.get('id')!r}", record
                else:
                    yield where, LabelError(f"{where}: {type(record).__name__}; allowed: a JSON object.")


def breaches(where: str, record: Record) -> list[str]:
    """What is wrong with one record, a line each; empty if nothing is."""
    found = list(_fields(record)) or list(_turns(record)) or [*_intents(record), *_entities(record)]
    return [f"{where}: {message}" for message in found]


def set_breaches(places: Sequence[Place], examples: Sequence[Example]) -> list[str]:
    """What is wrong with the records together: none at all, one id twice, a label of one class."""
    if not places:
        return ["there is no record; allowed: at least one."]
    ids = Counter(str(record["id"]) for _, record in places)
    found = [
        f"{where}: the id is taken by {ids[record['id']] - 1} other records."
        for where, record in places
        if ids[record["id"]] > 1
    ]
    for column, name in enumerate(("light", "tight")):
        labels = [turn[:, column] for one in examples for turn in one.labels]
        values = np.concatenate(labels) if labels else np.zeros(0, np.float32)
        known = values[~np.isnan(values)]
        if not len(known):
            found.append(f"{name}: no word of any record has a label.")
        elif (known >= 0.5).all() or not (known >= 0.5).any():
            class_ = "kept" if known[0] >= 0.5 else "deleted"
            found.append(f"{name}: every word of all {len(places)} records is {class_}; a model needs both.")
    return found


def to_example(where: str, record: Record) -> Example:
    """The example of a record without breaches.

    Raises:
        LabelError: It cannot be read all the same.
    """
    try:
        return read_record(record)
    except (CorpusError, AlignmentError, KeyError, TypeError) as error:
        raise LabelError(f"{where}: {error}") from error


def _fields(record: Record) -> Iterator[str]:
    if not isinstance(record.get("id"), str) or not record["id"]:
        yield f'"id" is {record.get("id")!r}; allowed: a string.'
    if record.get("lang") not in ("en", "zh"):
        yield f'"lang" is {record.get("lang")!r}; allowed: "en", "zh".'
    if "segmentation" in record and str(record["segmentation"]) != SEGMENTATION:
        yield f"made for segmentation version {record['segmentation']!r}; this package cuts words by {SEGMENTATION!r}."
    if not isinstance(record.get("turns"), list) or not record["turns"]:
        yield '"turns" is missing or empty; allowed: a list of turns.'
    for name in ("entities", "intents"):
        if not isinstance(record.get(name, []), list):
            yield f'"{name}" is {type(record[name]).__name__}; allowed: a list.'


def _turns(record: Record) -> Iterator[str]:
    for number, turn in enumerate(record["turns"]):
        if not isinstance(turn, dict):
            yield f"turn {number} is {type(turn).__name__}; allowed: an object."
            continue
        wrong = [name for name in ("role", "text", "light", "tight") if not isinstance(turn.get(name), str)]
        if wrong:
            yield f'turn {number}: "{wrong[0]}" is {turn.get(wrong[0])!r}; allowed: a string.'
            continue
        words = segment_text(turn["text"])
        for longer, shorter in (("text", "light"), ("light", "tight")):
            if not is_subsequence(_solid(turn[shorter]), _solid(turn[longer])):
                yield (
                    f'turn {number}: "{shorter}" is not "{longer}" with words deleted; the first words that do not fit: '
                    f"{_misfit(turn[longer], turn[shorter])!r}."
                )
        yield from _unsure(number, turn, words)


def _solid(text: str) -> str:
    return "".join(text.split())


def _misfit(longer: str, shorter: str) -> str:
    """What of the shorter text follows the longest head that the longer one holds."""
    at = 0
    for place, char in enumerate(shorter):
        if char.isspace():
            continue
        at = longer.find(char, at) + 1
        if not at:
            start = max(shorter.rfind(" ", 0, place) + 1, place - 20)
            return shorter[start : place + 30]
    return shorter[:30]


def _unsure(number: int, turn: Record, words: Sequence[tuple[int, int]]) -> Iterator[str]:
    unsure = turn.get("unsure", {})
    if not isinstance(unsure, dict) or not set(unsure) <= {"light", "tight"}:
        yield f'turn {number}: "unsure" is {unsure!r}; allowed: an object with "light" and "tight".'
        return
    edges = {start for start, _ in words}, {end for _, end in words}
    for name, spans in unsure.items():
        at = 0
        for span in spans if isinstance(spans, list) else [spans]:
            where = f'turn {number}: "unsure", {name}: {span!r}'
            if not isinstance(span, list) or len(span) != 2 or any(type(edge) is not int for edge in span):
                yield f"{where}; allowed: [start, end], in characters of the text."
            elif span[0] not in edges[0] or span[1] not in edges[1]:
                yield f"{where}; allowed: the edges of words of segmentation version {SEGMENTATION}."
            elif span[0] < at:
                yield f"{where} overlaps the span before it or is out of order."
            else:
                at = span[1]


def _intents(record: Record) -> Iterator[str]:
    taken: list[tuple[int, int, int, str]] = []
    for intent in record.get("intents", []):
        number, text = (intent.get("turn"), intent.get("text")) if isinstance(intent, dict) else (None, None)
        if type(number) is not int or not 0 <= number < len(record["turns"]) or not isinstance(text, str):
            yield f'intent {intent!r}; allowed: an object with the number of a "turn" and a "text".'
            continue
        text = text.strip()
        start = record["turns"][number]["text"].find(text) if text else -1
        if start < 0:
            yield f"turn {number} does not hold the intent {text!r}."
            continue
        span = start, start + len(text)
        other = next((one for turn, a, b, one in taken if turn == number and a < span[1] and b > span[0]), None)
        if other is not None:
            yield f"turn {number}: the intents {other!r} and {text!r} overlap."
        taken.append((number, *span, text))


def _entities(record: Record) -> Iterator[str]:
    texts = [turn["text"] for turn in record["turns"]]
    for name in record.get("entities", []):
        if not isinstance(name, str) or not name.strip():
            yield f"entity {name!r}; allowed: a string."
        elif not any(name in text for text in texts):
            yield f"no turn holds the entity {name!r}."
