"""Taskmaster (TM-4, part): orders at a coffee shop.

Licence: CC BY 4.0. Address: https://github.com/google-research-datasets/Taskmaster.
Source: Byrne et al. (2019), Taskmaster-1: Toward a Realistic and Diverse Dialog Dataset.
Expected: 1,900 orders.
"""

from collections.abc import Iterator
from pathlib import Path

from compressor.transcript import Turn
from training.corpora.plain import json_members, unlabelled
from training.examples import Example


def read(archive: Path) -> Iterator[Example]:
    """Every order of taskmaster.tar.xz."""
    for _, orders in json_members(archive, lambda name: "/data/" in name and name.endswith(".json")):
        for order in orders:
            turns = (Turn(said["speaker"], None, said["text"]) for said in order["utterances"])
            yield unlabelled("taskmaster", order["conversation_id"], "en", turns)
