"""VCSum: Chinese meetings and panels, as a recogniser wrote them down.

Licence: MIT (the meetings are third parties'). Address: https://github.com/hahahawu/VCSum.
Source: Wu et al. (2023), VCSum: A Versatile Chinese Meeting Summarization Dataset.
Expected: 271 segments.
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from compressor.transcript import Turn
from training.corpora.plain import members, unlabelled
from training.examples import Example

LONGEST = 300
"""Characters of a turn after which the next sentence of the same speaker begins another."""


def read(archive: Path) -> Iterator[Example]:
    """Every segment of vcsum_zh.tar.xz."""
    for _, text in members(archive, lambda name: name.endswith(("/short_dev.txt", "/short_test.txt"))):
        for line in text.splitlines():
            record = json.loads(line)
            turns = (
                Turn("speaker", str(speaker), part)
                for speaker, sentences in zip(record["speaker"], record["context"], strict=True)
                for part in _parts(sentences)
            )
            yield unlabelled("vcsum", record["id"], "zh", turns)


def _parts(sentences: Sequence[str]) -> Iterator[str]:
    part = ""
    for sentence in sentences:
        if part and len(part) + len(sentence) > LONGEST:
            yield part
            part = ""
        part += sentence
    if part:
        yield part
