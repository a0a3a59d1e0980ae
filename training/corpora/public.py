"""All public conversations that a student may learn from, out of their archives.

The licences allow it: MIT, Apache-2.0, CC BY 4.0, CDLA-Permissive (each reader names its own). Share-alike corpora are
not here.
"""

import random
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from compressor.transcript import Transcript
from compressor.words import has_unspaced
from training.corpora import (
    aci_bench,
    chitchat,
    crosswoz,
    irc_ubuntu,
    mts_dialog,
    multidogo,
    qmsum,
    taskmaster,
    vcsum,
)
from training.examples import Example

READERS: dict[str, Callable[[Path], Iterator[Example]]] = {
    "qmsum.tar.xz": qmsum.read,
    "aci_bench.tar.xz": aci_bench.read,
    "mts_dialog.tar.xz": mts_dialog.read,
    "chitchat.tar.xz": chitchat.read,
    "irc_ubuntu.tar.xz": irc_ubuntu.read,
    "taskmaster.tar.xz": taskmaster.read,
    "multidogo.tar.xz": multidogo.read,
    "crosswoz.tar.xz": crosswoz.read,
    "vcsum_zh.tar.xz": vcsum.read,
}

PASSAGE = 10
"""Letters-and-digits words in a row (characters in scripts without spaces: twice as many) that no judged transcript may share."""


STRETCH = 20
"""Turns that are drawn together."""


def read_public(folder: Path) -> Iterator[Example]:
    """The transcripts of every archive that is in the folder."""
    for name, read in READERS.items():
        if (folder / name).is_file():
            yield from read(folder / name)


def apart(examples: Iterable[Example], judged: Sequence[Example]) -> Iterator[Example]:
    """The transcripts that share no passage with those that a model is judged on, however it was punctuated."""
    seen = {passage for example in judged for turn in example.transcript for passage in _passages(turn.text)}
    for example in examples:
        if not any(passage in seen for turn in example.transcript for passage in _passages(turn.text)):
            yield example


def sample(examples: Iterable[Example], words: int, seed: int) -> list[Example]:
    """Stretches of transcripts, as many words of each corpus as there are, up to `words` together."""
    stretches: dict[str, list[Example]] = defaultdict(list)
    for example in examples:
        for start in range(0, len(example.words), STRETCH):
            stretches[example.source].append(_stretch(example, start))
    found: list[Example] = []
    for rest, source in zip(range(len(stretches), 0, -1), sorted(stretches, key=_words_of(stretches)), strict=True):
        # The small corpora first: what they lack is shared by the larger ones.
        budget = (words - sum(example.n_words for example in found)) // rest
        random.Random(f"{seed} {source}").shuffle(stretches[source])
        for example in stretches[source]:
            if example.n_words > budget:
                break
            budget -= example.n_words
            found.append(example)
    return found


def _words_of(stretches: Mapping[str, Sequence[Example]]) -> Callable[[str], int]:
    return lambda source: sum(example.n_words for example in stretches[source])


def _stretch(example: Example, start: int) -> Example:
    part = slice(start, start + STRETCH)
    return replace(
        example,
        id=f"{example.id}#{start}",
        transcript=Transcript(example.transcript.turns[part]),
        words=example.words[part],
        labels=example.labels[part],
    )


def _passages(text: str) -> Iterator[str]:
    lowered = text.lower()
    if has_unspaced(lowered):
        items, size = [char for char in lowered if char.isalnum()], 2 * PASSAGE
    else:
        items, size = re.findall(r"[^\W_]+", lowered), PASSAGE
    for start in range(len(items) - size + 1):
        yield " ".join(items[start : start + size])
