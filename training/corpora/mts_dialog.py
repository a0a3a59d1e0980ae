"""MTS-Dialog: short talks between a doctor and a patient.

Licence: CC BY 4.0. Address: https://github.com/abachaa/MTS-Dialog.
Source: Ben Abacha et al. (2023), An Empirical Study of Clinical Note Generation from Doctor-Patient Encounters.
Expected: 1,701 talks.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from compressor.transcript import Turn
from training.corpora.plain import members, rows, unlabelled
from training.examples import Example

_LINE = re.compile(r"([A-Z][\w ]{0,30}): ?(.*)")


def read(archive: Path) -> Iterator[Example]:
    """Every talk of mts_dialog.tar.xz."""
    for name, text in members(archive, lambda name: "/Main-Dataset/" in name and name.endswith(".csv")):
        for row in rows(text):
            lines = [match for line in row["dialogue"].splitlines() if (match := _LINE.fullmatch(line.strip()))]
            turns = (Turn("speaker", match[1], match[2]) for match in lines)
            yield unlabelled("mts_dialog", f"{Path(name).stem}-{row['ID']}", "en", turns)
