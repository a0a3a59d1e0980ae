"""All sets that the entity head learns names from, out of their archives."""

from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from training.corpora import crossner, ner_collection, wnut17
from training.examples import Example

ARCHIVES = ("wnut17.tar.xz", "ner_collection.tar.xz", "crossner.tar.xz")


def read_names(folder: Path) -> Iterator[Example]:
    """Every sentence to learn from, of the three archives in a folder. The test splits are left for tests."""
    wnut, collection, cross = (folder / name for name in ARCHIVES)
    return chain(
        wnut17.read(wnut, "train"),
        ner_collection.read(collection, "btc"),
        ner_collection.read(collection, "wikigold"),
        ner_collection.read(collection, "sec"),
        crossner.read(cross, "train"),
        crossner.read(cross, "dev"),
    )
