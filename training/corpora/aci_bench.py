"""ACI-Bench: visits to a doctor, played and written down.

Licence: CC BY 4.0. Address: https://github.com/wyim/aci-bench.
Source: Yim et al. (2023), ACI-BENCH: a Novel Ambient Clinical Intelligence Dataset.
Expected: 207 visits.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from compressor.transcript import Turn
from training.corpora.plain import members, rows, unlabelled, written
from training.examples import Example

_LINE = re.compile(r"\[(\w+)\] ?(.*)")


def read(archive: Path) -> Iterator[Example]:
    """Every visit of aci_bench.tar.xz."""
    for _, text in members(
        archive, lambda name: "/challenge_data/" in name and re.search(r"(\d|n|d)\.csv$", name) is not None
    ):
        for row in rows(text):
            lines = [match for line in row["dialogue"].splitlines() if (match := _LINE.fullmatch(line.strip()))]
            turns = (Turn("speaker", match[1], written(match[2])) for match in lines)
            yield unlabelled("aci_bench", row["encounter_id"], "en", turns)
