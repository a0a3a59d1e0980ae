"""What a teacher is asked: the packaged wording, its version, and the messages of one request."""

import json
import tomllib
from functools import lru_cache
from pathlib import Path

from training.labelling.chunks import Chunk

PROMPT = "1"
"""Version of the wording: the file in `prompts/`; part of the key under which answers are cached."""

Messages = list[dict[str, str]]


def messages(chunk: Chunk) -> Messages:
    """The messages that ask for one chunk; its pieces are numbered from 0."""
    turns = [
        {"n": number, **_who(chunk, piece.turn), "text": chunk.text(piece)} for number, piece in enumerate(chunk.pieces)
    ]
    return [
        {"role": "system", "content": _wording("system")},
        {"role": "user", "content": json.dumps({"turns": turns}, ensure_ascii=False)},
    ]


def again(asked: Messages, reason: str) -> Messages:
    """The messages of a second try, after an answer that was refused."""
    return [*asked, {"role": "user", "content": _wording("again").format(reason=reason)}]


def _who(chunk: Chunk, turn: int) -> dict[str, str]:
    spoken = chunk.raw.transcript.turns[turn]
    return {"role": spoken.role} | ({"speaker": spoken.speaker} if spoken.speaker else {})


@lru_cache(maxsize=2)
def _wording(name: str) -> str:
    path = Path(__file__).parent / "prompts" / f"{PROMPT}.toml"
    return str(tomllib.loads(path.read_text(encoding="utf-8"))[name]).strip()
