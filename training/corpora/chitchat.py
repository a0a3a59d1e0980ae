"""ChitChat: strangers who type to each other, a line at a time.

Licence: MIT. Address: https://github.com/BYU-PCCL/chitchat-dataset.
Source: Myers, Etchart, Fulda (2020), Conversational Scaffolding.
Expected: 7,168 chats.
"""

from collections.abc import Iterator
from pathlib import Path

from compressor.transcript import Turn
from training.corpora.plain import json_members, unlabelled
from training.examples import Example


def read(archive: Path) -> Iterator[Example]:
    """Every chat of chitchat.tar.xz; lines sent in a row are one turn."""
    for _, chats in json_members(archive, lambda name: name.endswith("/dataset.json")):
        for name, chat in chats.items():
            letters: dict[str, str] = {}
            turns = []
            for lines in chat["messages"]:
                letter = letters.setdefault(lines[0]["sender"], chr(ord("A") + len(letters)))
                turns.append(Turn("speaker", letter, " ".join(line["text"] for line in lines)))
            yield unlabelled("chitchat", name, "en", turns)
