"""CrossWOZ: somebody plans a day in Beijing, in Chinese.

Licence: Apache-2.0. Address: https://github.com/thu-coai/CrossWOZ.
Source: Zhu et al. (2020), CrossWOZ: A Large-Scale Chinese Cross-Domain Task-Oriented Dialogue Dataset.
Expected: 1,000 dialogues.
"""

from collections.abc import Iterator
from pathlib import Path

from compressor.transcript import Turn
from training.corpora.plain import json_members, unlabelled
from training.examples import Example

_ROLES = {"usr": "user", "sys": "assistant"}


def read(archive: Path) -> Iterator[Example]:
    """Every dialogue of crosswoz.tar.xz."""
    for _, dialogues in json_members(archive, lambda name: name in ("crosswoz/val.json", "crosswoz/test.json")):
        for name, dialogue in dialogues.items():
            turns = (Turn(_ROLES[said["role"]], None, said["content"]) for said in dialogue["messages"])
            yield unlabelled("crosswoz", name, "zh", turns)
