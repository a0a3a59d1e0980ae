"""Cut a transcript into chunks of turns that fit one request."""

from collections.abc import Iterator
from dataclasses import dataclass

from compressor.structure import sentences
from compressor.tokens import TokenCounter
from compressor.words import segment_text
from training.labelling.records import Raw, is_fixed


@dataclass(frozen=True, slots=True)
class Piece:
    """A turn, or a stretch of one that is too long for a request: characters `start` to `end` (excluded)."""

    turn: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Chunk:
    """What one request asks for, in order.

    Args:
        tokens: Of the texts of all pieces, by the counter that cut them.
    """

    raw: Raw
    pieces: tuple[Piece, ...]
    tokens: int

    def text(self, piece: Piece) -> str:
        """The characters of a piece."""
        return self.raw.transcript.turns[piece.turn].text[piece.start : piece.end]


def chunks(raw: Raw, limit: int, count: TokenCounter) -> Iterator[Chunk]:
    """Put turns together until the next would exceed `limit` tokens.

    Turns that are never altered are left out. A turn that is too long alone is cut between sentences, a sentence that
    is too long between words; only a single word can exceed the limit.
    """
    held: list[Piece] = []
    used = 0
    for number, turn in enumerate(raw.transcript):
        if is_fixed(turn):
            continue
        for start, end in _stretches(turn.text, limit, count):
            cost = count(turn.text[start:end])
            if held and used + cost > limit:
                yield Chunk(raw, tuple(held), used)
                held, used = [], 0
            held.append(Piece(number, start, end))
            used += cost
    if held:
        yield Chunk(raw, tuple(held), used)


def _stretches(text: str, limit: int, count: TokenCounter) -> Iterator[tuple[int, int]]:
    if count(text) <= limit:
        yield 0, len(text)
        return
    begin = at = used = 0
    for end in _cuts(text, limit, count):
        cost = count(text[at:end])
        if begin < at and used + cost > limit:
            yield begin, at
            begin, used = at, 0
        at, used = end, used + cost
    yield begin, len(text)


def _cuts(text: str, limit: int, count: TokenCounter) -> Iterator[int]:
    """Where the text may be cut: after each sentence; inside one that is too long, after each word."""
    ends = [end for _, end in segment_text(text)]
    known = set(ends)
    for start, end in sentences(text):
        if count(text[start:end]) > limit:
            yield from (stop for stop in ends if start < stop < end)
        if end in known:  # a mark may be one word with what follows the sentence
            yield end
