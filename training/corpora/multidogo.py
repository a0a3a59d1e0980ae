"""MultiDoGO: what customers write to an airline, a bank, a shop; their side alone.

Licence: CDLA-Permissive 1.0. Address: https://github.com/awslabs/multi-domain-goal-oriented-dialogues-dataset.
Source: Peskov et al. (2019), Multi-Domain Goal-Oriented Dialogues (MultiDoGO).
Expected: 14,500 customers or so; those annotated a turn at a time are read.
"""

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from compressor.transcript import Turn
from training.corpora.plain import members, rows, unlabelled
from training.examples import Example


def read(archive: Path) -> Iterator[Example]:
    """Every customer of multidogo.tar.xz, in the order of the files."""
    for _, text in members(archive, lambda name: "at_turn_level/" in name and name.endswith(".tsv")):
        said: dict[str, list[Turn]] = defaultdict(list)
        for row in rows(text, "\t"):
            said[row["conversationId"]].append(Turn("user", None, row["utterance"] or ""))
        for name, turns in said.items():
            yield unlabelled("multidogo", name, "en", turns)
