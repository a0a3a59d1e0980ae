"""QMSum: meetings of researchers, product teams and parliament committees, written down with their hesitations.

Licence: MIT. Address: https://github.com/Yale-LILY/QMSum.
Source: Zhong et al. (2021), QMSum: A New Benchmark for Query-based Multi-domain Meeting Summarization.
Expected: 232 meetings.
"""

from collections.abc import Iterator
from pathlib import Path

from compressor.transcript import Turn
from training.corpora.plain import json_members, unlabelled, written
from training.examples import Example


def read(archive: Path) -> Iterator[Example]:
    """Every meeting of qmsum.tar.xz."""
    for name, meeting in json_members(archive, lambda name: "/data/ALL/" in name and name.endswith(".json")):
        turns = (Turn("speaker", said["speaker"], written(said["content"])) for said in meeting["meeting_transcripts"])
        yield unlabelled("qmsum", Path(name).stem, "en", turns)
