"""The one place where text is cut into words.

A word is a run without spaces. The punctuation at the outer edges of a run is a word of its own (equal marks in a row
are one: `...`, `**`), so that a sentence can lose its last words and keep its full stop. Nothing inside a run is ever cut:
`3.5`, `don't`, `foo(bar)`, `-5`, `user@host` are one word each. Where a script is written without spaces (Chinese,
Japanese, Thai, ...) the words are the pieces that the shipped Unigram tokenizer cuts, and its punctuation stands alone.
"""

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from tokenizers import Tokenizer

from compressor.errors import ModelError
from compressor.transcript import Transcript

SEGMENTATION = "1"
"""Version of the rules below and of the pieces; a model trained with another one is refused."""

# Han, kana, Thai, Lao, Khmer, Myanmar, Tibetan: scripts that put no space between words.
UNSPACED = (
    "\u0e00-\u0eff\u0f00-\u0fff\u1000-\u109f\u1780-\u17ff\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3031-\u3035"
    "\u3038-\u303b\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua9e0-\ua9ff\uaa60-\uaa7f\uf900-\ufaff"
    "\uff66-\uff9f\U00020000-\U0003ffff"
)
# Punctuation of those scripts, full-width forms included: each mark is a word of its own wherever it stands.
WIDE_MARKS = "\u3001-\u3003\u3008-\u3020\u3030\u303d\uff01\uff08\uff09\uff0c\uff1a\uff1b\uff1f\uff3b\uff3d\uff5b\uff5d\uff5f-\uff65"
# What stands at the edge of a run without being part of it. Signs that change what they touch (- + # @ $ % / ~) do not.
OPENING = "([{\"'“‘«‹„‚*_`¿¡…—\u2066\u2067\u2068\u202a\u202b\u202d\u202e"
CLOSING = ",.;:!?…—)]}\"'”’»›*_`।؟،؛\u2069\u202c"
BRACKETS = {")": "(", "]": "[", "}": "{"}
_LEADING = OPENING + "."  # the two dots of an ellipsis open a run as well

_RUN = re.compile(r"\S+")
_PART = re.compile(f"(?P<wide>[{WIDE_MARKS}])(?P=wide)*|(?P<unspaced>[{UNSPACED}]+)|[^{UNSPACED}{WIDE_MARKS}]+")
_WIDE_MARK = re.compile(f"[{WIDE_MARKS}]")
_MARK_CATEGORIES = frozenset("Pc Pd Ps Pe Pi Pf Po Sm Sk Cf Cc Zs Zl Zp".split())
_UNSPACED = re.compile(f"[{UNSPACED}]")
# An apostrophe that opens a word belongs to it: ’24, 'tis, and the 's of corpora that write contractions apart.
_ELISION = re.compile(
    r"['’‘](?:\d\ds?\b|(?:tis|twas|twere|til|em|cause|bout|round|n|nuff|kay)\b|(?-i:s|re|ll|ve|m|d|t)(?![\w'’]))",
    re.IGNORECASE,
)
_SURROGATE = re.compile("[\ud800-\udfff]")
_JOINERS = frozenset("\u200c\u200d\ufe0e\ufe0f\u20e3")


class Word(NamedTuple):
    """A word: characters `start` to `end` (excluded) of turn number `turn`."""

    turn: int
    start: int
    end: int


@lru_cache(maxsize=4)
def load_tokenizer(path: Path) -> Tokenizer:
    """The tokenizer of a model folder, loaded once; text that looks like a special token is plain text to it.

    Raises:
        ModelError: The file is no tokenizer.
    """
    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as error:  # tokenizers raises nothing more precise
        raise ModelError(f"{path}: not a tokenizer ({error}); copy or export the model again.") from error
    tokenizer.encode_special_tokens = True
    return tokenizer


@lru_cache(maxsize=1)
def shipped_tokenizer() -> Tokenizer:
    """The tokenizer in the package, whose pieces are the words of scripts without spaces."""
    from compressor.scoring.weights import model_folder  # the folder's place is known there alone

    return load_tokenizer(model_folder("default") / "tokenizer.json")


def encodable(text: str) -> str:
    """The text with half surrogate pairs replaced, which tokenizers refuse; as long as before."""
    return _SURROGATE.sub("\ufffd", text)


def segment(transcript: Transcript) -> tuple[Word, ...]:
    """Cut every turn into words, in order.

    Returns:
        The words of all turns, by turn and start. They never overlap, and only white space lies between them. A word
        never crosses the edge of a text block.
    """
    words: list[Word] = []
    for index, turn in enumerate(transcript.turns):
        for block_start, block_end in turn.blocks or ((0, len(turn.text)),):
            cut = segment_text(turn.text[block_start:block_end])
            words.extend(Word(index, block_start + start, block_start + end) for start, end in cut)
    return tuple(words)


def segment_text(text: str) -> list[tuple[int, int]]:
    """The words of one text as (start, end) characters, in order."""
    if text.isascii():  # where all text is spaced, and a run has one part
        return [word for run in _RUN.finditer(text) for word in _peel(text, run.start(), run.end(), False)]
    parts: list[tuple[int, int, bool]] = []
    for run in _RUN.finditer(text):
        for part in _PART.finditer(text, run.start(), run.end()):
            if part["unspaced"]:
                parts.append((part.start(), part.end(), True))
            elif part["wide"]:
                parts.append((part.start(), part.end(), False))
            else:
                behind = part.start() > run.start()  # of text without spaces, whose marks may be half-width
                parts.extend((start, end, False) for start, end in _peel(text, part.start(), part.end(), behind))
    pieces = iter(_pieces([text[start:end] for start, end, unspaced in parts if unspaced]))
    words: list[tuple[int, int]] = []
    for start, end, unspaced in parts:
        if unspaced:
            words.extend((start + a, start + b) for a, b in next(pieces))
        else:
            words.append((start, end))
    return words


def by_turn(transcript: Transcript, words: Sequence[Word]) -> list[list[Word]]:
    """The words of each turn."""
    own: list[list[Word]] = [[] for _ in transcript.turns]
    for word in words:
        own[word.turn].append(word)
    return own


def is_mark(word: str) -> bool:
    """Whether a word is punctuation alone: no letter, digit, currency sign, emoji, nor a character that is not known."""
    return all(unicodedata.category(char) in _MARK_CATEGORIES for char in word)


def closes(char: str) -> bool:
    """Whether a mark belongs to what stands before it, as a comma or a closing bracket does."""
    return char in CLOSING or _WIDE_MARK.match(char) is not None


def has_unspaced(text: str) -> bool:
    """Whether any character is of a script that puts no spaces between words."""
    return _UNSPACED.search(text) is not None


def is_narrow(word: str) -> bool:
    """Whether a word is of a script with spaces, or a mark of its: two of them must not meet where no space was."""
    return _UNSPACED.search(word) is None and _WIDE_MARK.match(word) is None


def _peel(text: str, start: int, end: int, behind: bool) -> list[tuple[int, int]]:
    """Take the punctuation off both edges of a run; `behind` unspaced text its marks may stand at the left edge."""
    if text[end - 1] not in CLOSING and text[start] not in _LEADING and not behind:
        return [(start, end)]  # most words
    left, right = start, end
    leading: list[tuple[int, int]] = []
    while (
        left < right
        and (text[left] in OPENING or text.startswith("..", left, right) or (behind and text[left] in CLOSING))
        and not _ELISION.match(text, left, right)
    ):
        stop = left + 1
        while stop < right and text[stop] == text[left] and text[stop] not in "([{)]}":
            stop += 1
        leading.append((left, stop))
        left = stop
    trailing: list[tuple[int, int]] = []
    surplus: dict[str, int] = {}
    counted = right
    while left < right and text[right - 1] in CLOSING:
        mark, first = text[right - 1], right - 1
        if mark in BRACKETS:
            if mark not in surplus:
                surplus[mark] = text.count(mark, left, counted) - text.count(BRACKETS[mark], left, counted)
            if surplus[mark] <= 0:  # `foo(bar)` owns its bracket: the partner is inside the run
                break
            surplus[mark] -= 1
        else:
            while first > left and text[first - 1] == mark:
                first -= 1
        trailing.append((first, right))
        right = first
    core = [(left, right)] if left < right else []
    return [*leading, *core, *reversed(trailing)]


def _pieces(texts: Sequence[str]) -> list[list[tuple[int, int]]]:
    """Cut each text where the shipped tokenizer does, never before a combining mark or inside a joined character."""
    if not texts:
        return []
    encodings = shipped_tokenizer().encode_batch(list(texts), add_special_tokens=False)
    result = []
    for text, encoding in zip(texts, encodings, strict=True):
        cuts = sorted(
            {
                start
                for (start, end), piece in zip(encoding.offsets, encoding.tokens, strict=True)
                if end > start and piece != "▁"
            }
        )
        cuts = [cut for cut in cuts if 0 < cut < len(text) and not _inside(text, cut)]
        edges = [0, *cuts, len(text)]
        result.append(list(pairwise(edges)))
    return result


def _inside(text: str, cut: int) -> bool:
    return unicodedata.category(text[cut])[0] == "M" or text[cut] in _JOINERS or text[cut - 1] in _JOINERS
