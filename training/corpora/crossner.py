"""CrossNER: names in encyclopedia sentences of five domains.

Licence: MIT. Address: https://github.com/zliucr/CrossNER (commit 2e7ba2a).
Source: Liu et al. (2021), CrossNER: Evaluating Cross-Domain Named Entity Recognition.
Expected sentences: train 700 and dev 2,121 together (both are learned from), test 2,506.

Many of its types are terms rather than names (`field`, `task`, `musicgenre`): those tokens are masked.
"""

from collections.abc import Iterator
from pathlib import Path

from training.corpora.conll import MASKED, example, member, sentences
from training.examples import Example

DOMAINS = ("politics", "science", "music", "literature", "ai")
TERMS = frozenset(
    "field task algorithm metrics misc musicgenre musicalinstrument literarygenre discipline theory chemicalelement"
    " chemicalcompound enzyme protein election programlang product event".split()
)


def read(archive: Path, split: str = "train") -> Iterator[Example]:
    """The sentences of one split (`train`, `dev`, `test`) of all domains from crossner.tar.xz."""
    for domain in DOMAINS:
        for number, tokens in enumerate(sentences(member(archive, f"crossner/ner_data/{domain}/{split}.txt"))):
            marked = [(token, MASKED if label[2:] in TERMS else label) for token, label in tokens]
            yield example(f"crossner-{domain}-{split}", number, marked)
