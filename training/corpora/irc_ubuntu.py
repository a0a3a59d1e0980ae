"""IRC disentanglement: a channel where people help each other with a computer.

Licence: CC BY 4.0. Address: https://github.com/jkkummerfeld/irc-disentanglement.
Source: Kummerfeld et al. (2019), A Large-Scale Corpus for Conversation Disentanglement.
Expected: 120 logs.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from compressor.transcript import Turn
from training.corpora.plain import members, unlabelled
from training.examples import Example

_LINE = re.compile(r"\[\d\d:\d\d(?::\d\d)?\] <([^>]+)> (.*)")


def read(archive: Path) -> Iterator[Example]:
    """Every log of irc_ubuntu.tar.xz; what the server says is left out."""
    for name, text in members(archive, lambda name: name.endswith(".ascii.txt")):
        lines = [match for line in text.splitlines() if (match := _LINE.fullmatch(line.strip()))]
        turns = (Turn("speaker", match[1], match[2]) for match in lines)
        yield unlabelled("irc_ubuntu", Path(name).name.removesuffix(".ascii.txt"), "en", turns)
