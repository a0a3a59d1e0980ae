"""Sentences with one token and one name label a line, as text with entity labels; the base of the NER readers.

The sets are tokenised (`ca n't`, `( A )`); the text is put together again as people write it, because the model reads
raw text. The other heads have no labels here (NaN).
"""

import io
import random
import re
import tarfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

from compressor.transcript import Transcript, Turn
from compressor.words import segment_text
from training.examples import Example

Token = tuple[str, str]
MASKED = "?"
"""The label of a token of which the set does not say whether it is a name."""

_NO_SPACE_BEFORE = re.compile(r"[.,;:!?%)\]}’”…]+|'(?:s|re|ve|ll|d|m)?|n't|'S")
_NO_SPACE_BEHIND = frozenset("([{$#@£€“‘")
_ROLES = ("user", "speaker", "none", "assistant")


def member(archive: Path, name: str) -> Iterator[str]:
    """The lines of one file of a .tar.xz archive."""
    with tarfile.open(archive, "r:xz") as tar:
        file = tar.extractfile(name)
        if file is None:
            raise FileNotFoundError(f"{archive}: no file {name}")
        yield from io.TextIOWrapper(file, encoding="utf-8", errors="replace")


def sentences(lines: Iterable[str], label_at: int = -1) -> Iterator[list[Token]]:
    """Cut lines of `token ... label` into sentences; an empty line ends one."""
    current: list[Token] = []
    for line in lines:
        fields = line.replace("\ufeff", "").split()
        if len(fields) >= 2 and fields[0] != "-DOCSTART-":
            current.append((fields[0], fields[label_at]))
        elif current:
            yield current
            current = []
    if current:
        yield current


def example(name: str, number: int, tokens: Sequence[Token]) -> Example:
    """One sentence as a turn of a random role (fixed by its number): whose turn it is says nothing about names."""
    text, spans = detokenise(tokens)
    words = tuple(segment_text(text))
    labels = np.full((len(words), 4), np.nan, dtype=np.float32)
    labels[:, 2] = [_label(spans, start, end) for start, end in words]
    role = random.Random(f"{name} {number}").choice(_ROLES)
    return Example(
        id=f"{name}-{number}",
        lang="en",
        source=name,
        transcript=Transcript((Turn(role, None, text),)),
        words=(words,),
        labels=(labels,),
    )


def detokenise(tokens: Sequence[Token]) -> tuple[str, list[tuple[int, int, str]]]:
    """Write tokens as people do.

    Returns:
        The text, and (start, end, label) of each token in it.
    """
    text = ""
    spans: list[tuple[int, int, str]] = []
    open_quote = False
    glue = True
    for token, label in tokens:
        quote = token in ('"', "``", "''")
        written = '"' if quote else token
        if not (glue or _NO_SPACE_BEFORE.fullmatch(written) or (quote and open_quote)):
            text += " "
        spans.append((len(text), len(text) + len(written), label))
        text += written
        open_quote ^= quote
        glue = written in _NO_SPACE_BEHIND or (quote and open_quote)
    return text, spans


def _label(spans: Sequence[tuple[int, int, str]], start: int, end: int) -> float:
    labels = [label for a, b, label in spans if a < end and b > start]
    if any(label not in ("O", MASKED) for label in labels):
        return 1.0
    return float("nan") if MASKED in labels else 0.0
