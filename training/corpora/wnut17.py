"""WNUT-17: emerging and rare names in tweets, comments and forum posts.

Licence: CC BY 4.0. Address: https://github.com/leondz/emerging_entities_17 (commit e52a2d2).
Source: Derczynski et al. (2017), Results of the WNUT2017 Shared Task on Novel and Emerging Entity Recognition.
Expected sentences: train 3,394; dev 1,009; test 1,287.

Handles (`@name`) and tags (`#name`) are no names to its annotators and are to others: they are masked.
"""

from collections.abc import Iterator
from pathlib import Path

from training.corpora.conll import MASKED, example, member, sentences
from training.examples import Example

FILES = {"train": "wnut17train.conll", "dev": "emerging.dev.conll", "test": "emerging.test.annotated"}


def read(archive: Path, split: str = "train") -> Iterator[Example]:
    """The sentences of one split (`train`, `dev`, `test`) from wnut17.tar.xz."""
    for number, tokens in enumerate(sentences(member(archive, f"wnut17/{FILES[split]}"))):
        marked = [(token, MASKED if token[0] in "@#" and label == "O" else label) for token, label in tokens]
        yield example(f"wnut17-{split}", number, marked)
