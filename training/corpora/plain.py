"""Transcripts that nobody labelled, as examples: the base of the readers of public conversations.

Their words have no label (NaN) until a teacher says what it thinks of them (`training.teacher`).
"""

import csv
import io
import json
import re
import tarfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from compressor.scoring.weights import HEADS
from compressor.transcript import Transcript, Turn
from compressor.words import segment_text
from training.corpora.conll import detokenise
from training.examples import Example

_MARK = re.compile(r"\{[a-z]+\}")
_LOOSE_HYPHEN = re.compile(r"(?<=\w) - (?=\w)")


def members(archive: Path, wanted: Callable[[str], bool]) -> Iterator[tuple[str, str]]:
    """(name, text) of the files of a .tar.xz archive that are wanted, sorted by name: an archive's order means nothing."""
    with tarfile.open(archive, "r:xz") as tar:
        found = {}
        for member in tar:
            if member.isfile() and wanted(member.name):
                file = tar.extractfile(member)
                if file is not None:
                    found[member.name] = file.read().decode("utf-8-sig", errors="replace")
    if not found:
        raise FileNotFoundError(f"{archive}: none of the files that this corpus is made of")
    yield from sorted(found.items())


def json_members(archive: Path, wanted: Callable[[str], bool]) -> Iterator[tuple[str, Any]]:
    """(name, value) of JSON files."""
    return ((name, json.loads(text)) for name, text in members(archive, wanted))


def rows(text: str, delimiter: str = ",") -> Iterator[dict[str, str]]:
    """The rows of a table with a heading; in a table with tabs a quotation mark is a letter like any other."""
    lines = io.StringIO(text)
    if delimiter == "\t":
        yield from csv.DictReader(lines, delimiter=delimiter, quoting=csv.QUOTE_NONE)
    else:
        yield from csv.DictReader(lines, delimiter=delimiter)


def unlabelled(source: str, name: str, lang: str, turns: Iterable[Turn]) -> Example:
    """A transcript without labels; turns without words are left out."""
    kept = [(turn, tuple(segment_text(turn.text))) for turn in turns]
    kept = [(turn, words) for turn, words in kept if words]
    return Example(
        id=f"{source}/{name}",
        lang=lang,
        source=source,
        transcript=Transcript(tuple(turn for turn, _ in kept)),
        words=tuple(words for _, words in kept),
        labels=tuple(np.full((len(words), len(HEADS)), np.nan, dtype=np.float32) for _, words in kept),
    )


def written(text: str) -> str:
    """Text with spaces around its punctuation (`it 's , {pause} well`) as people write it."""
    tokens = [(token, "") for token in _MARK.sub(" ", text).split()]
    return detokenise([(_LOOSE_HYPHEN.sub("-", token), label) for token, label in tokens])[0].replace(" - ", "-")
