"""What is labelled and what comes out: raw transcripts, which of their words each edit keeps, records of JSON."""

import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from compressor import formats
from compressor.errors import InputError
from compressor.rendering import render
from compressor.transcript import VERBATIM_ROLES, Transcript, Turn
from compressor.words import Word, has_unspaced, segment_text
from training.labelling.errors import LabelError
from training.labelling.quality import Quality

Mask = NDArray[np.bool_]
Range = tuple[int, int]
KINDS = ("question", "request", "constraint")
"""What an intent can be."""


@dataclass(frozen=True, slots=True)
class Raw:
    """A transcript without labels.

    Args:
        id: Unique within a run: the file's name and the number of the line.
        lang: `en` or `zh`.
        transcript: Its turns; a turn of several text blocks is one text here.
        where: File and line, for messages.
        file: The file it was read from.
    """

    id: str
    lang: str
    transcript: Transcript
    where: str
    file: Path

    def words(self, turn: int) -> list[Range]:
        """(start, end) of the words of one turn."""
        return segment_text(self.transcript.turns[turn].text)


@dataclass(frozen=True, slots=True)
class Cut:
    """Which words of one turn each edit keeps. Every array has shape (n_words,).

    Args:
        light, tight: True where the word stays.
        known_light, known_tight: False where nobody said, so that nothing should be learned from it.
    """

    light: Mask
    tight: Mask
    known_light: Mask
    known_tight: Mask

    @classmethod
    def of(cls, light: Mask, tight: Mask, known_light: Mask | None = None, known_tight: Mask | None = None) -> "Cut":
        """A cut whose edits are nested: what `tight` keeps, `light` keeps too."""
        everything = np.ones(len(light), np.bool_)
        return cls(
            light | tight,
            tight,
            everything if known_light is None else known_light,
            everything if known_tight is None else known_tight,
        )


@dataclass(frozen=True, slots=True)
class Intent:
    """A sentence of a turn that asks, requests or sets a constraint."""

    turn: int
    text: str
    kind: str


@dataclass(frozen=True, slots=True)
class Labelled:
    """A transcript with its labels.

    Args:
        cuts: One a turn.
        origin: Who said so: `teacher NAME, prompt 1`, `pairs`, `edits`, `weak NAME`.
        quality: How well a rewritten text could be placed; None where nothing had to be placed.
    """

    raw: Raw
    cuts: tuple[Cut, ...]
    entities: tuple[str, ...]
    quotes: tuple[str, ...]
    intents: tuple[Intent, ...]
    origin: str
    quality: Quality | None = None

    def to_record(self, source: str, domain: str) -> dict[str, Any]:
        """The record of the annotation format; `unsure` lists the characters of words that nobody judged."""
        record: dict[str, Any] = {
            "id": self.raw.id,
            "lang": self.raw.lang,
            "domain": domain,
            "source": source,
            "turns": [_turn_record(turn, cut) for turn, cut in zip(self.raw.transcript, self.cuts, strict=True)],
            "entities": list(self.entities),
            "quotes": list(self.quotes),
            "intents": [{"turn": one.turn, "text": one.text, "kind": one.kind} for one in self.intents],
            "labelled_by": self.origin,
        }
        return record | ({"quality": self.quality.to_dict()} if self.quality else {})


def whole(turn: Turn) -> Cut:
    """Every word stays: turns of tools and systems are never altered."""
    every = np.ones(len(segment_text(turn.text)), np.bool_)
    return Cut.of(every, every)


def is_fixed(turn: Turn) -> bool:
    """Whether a turn is never altered, or has no word to delete."""
    return turn.role in VERBATIM_ROLES or not turn.text.strip()


def read_raw(
    paths: Sequence[Path], format: str | None = None, lang: str | None = None, *, empty: bool = False
) -> Iterator[Raw | LabelError]:
    """Read every conversation of every file, in any format that the library reads; folders are read file by file.

    Args:
        format: A name in `compressor.formats.FORMATS`. None: found by the ending or the content of each file.
        lang: `en` or `zh` for all. None: by the script of each transcript.
        empty: Whether a transcript without words is one.
    Yields:
        The transcripts in order, or the error of one that cannot be read, which names file and line.
    """
    files = [file for path in paths for file in _files(path)]
    names = Counter(file.name for file in files)
    taken: set[str] = set()
    for file in files:
        stem = f"{file.parent.name}-{file.name}" if names[file.name] > 1 else file.name
        stem = stem.split(".")[0] or file.name
        try:
            content, _, name = formats.load(file, format)
        except (OSError, InputError) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            yield LabelError(f"{file}: {reason}")
            continue
        for line, found in formats.read_records(content, name):
            where = f"{file}, line {line}"
            if isinstance(found, InputError):
                yield LabelError(f"{where}: {found}")
                continue
            transcript = plain(found)
            if not empty and not any(turn.text.strip() for turn in transcript):
                yield LabelError(f"{where}: the transcript has no words; allowed: at least one turn with text.")
                continue
            id_ = _unique(f"{stem}-{line:04d}", taken)
            yield Raw(id_, lang or language_of(transcript), transcript, where, file)


def plain(transcript: Transcript) -> Transcript:
    """The turns alone, each as one text."""
    return Transcript(tuple(Turn(turn.role, turn.speaker, turn.text) for turn in transcript))


def language_of(transcript: Transcript) -> str:
    """`zh` where scripts without spaces carry at least as much as spaced words, else `en`."""
    words = [turn.text[a:b] for turn in transcript for a, b in segment_text(turn.text)]
    unspaced = sum(map(has_unspaced, words))
    spaced = sum(any(char.isalpha() for char in word) and not has_unspaced(word) for word in words)
    return "zh" if unspaced and unspaced >= spaced else "en"


def write_lines(path: Path, records: Iterable[Mapping[str, Any]]) -> int:
    """Write one JSON object a line; the file appears under its name when it is whole. Returns the number of lines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.part")
    count = 0
    with part.open("w", encoding="utf-8", errors="surrogatepass") as file:
        for record in records:
            file.write(json.dumps(record, ensure_ascii=False) + "\n")
            count += 1
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)
    return count


def _turn_record(turn: Turn, cut: Cut) -> dict[str, Any]:
    words = segment_text(turn.text)
    record: dict[str, Any] = {
        "role": turn.role,
        "speaker": turn.speaker,
        "text": turn.text,
        "light": rendered(turn.text, words, cut.light),
        "tight": rendered(turn.text, words, cut.tight),
    }
    unsure = {
        name: [list(span) for span in runs(words, ~known)]
        for name, known in (("light", cut.known_light), ("tight", cut.known_tight))
        if not known.all()
    }
    return record | ({"unsure": unsure} if unsure else {})


def rendered(text: str, words: Sequence[Range], keep: Mask) -> str:
    """The kept words of a text, with the spaces that the library would leave between them."""
    one = Transcript((Turn(text=text),))
    return render(one, [Word(0, start, end) for start, end in words], keep).turns[0].text


def runs(words: Sequence[Range], chosen: Mask) -> list[Range]:
    """(start, end) characters of each run of chosen words."""
    found: list[Range] = []
    last = -2
    for number in np.flatnonzero(chosen).tolist():
        start, end = words[number]
        if number == last + 1:
            found[-1] = (found[-1][0], end)
        else:
            found.append((start, end))
        last = number
    return found


def _files(path: Path) -> list[Path]:
    if path.is_dir():
        found = sorted(file for file in path.rglob("*") if file.is_file() and not file.name.startswith("."))
        if not found:
            raise LabelError(f"{path}: the folder holds no file; allowed: files that `compressor formats` lists.")
        return found
    return [path]


def _unique(name: str, taken: set[str]) -> str:
    number, candidate = 1, name
    while candidate in taken:
        number += 1
        candidate = f"{name}-{number}"
    taken.add(candidate)
    return candidate
