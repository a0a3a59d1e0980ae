"""The promises as checks, for the tests, the evaluation and `compressor compress --check` alike.

1. subsequence  the output is the source with words deleted; turns keep their order and speaker
2. whole        each surviving word is whole, and no two are fused
3. protected    a protected word is kept, unless it is listed as released
4. identity     keeping everything returns the source
5. nested       a larger budget keeps a superset of what a smaller one keeps
6. repeatable   the same input gives the same output
"""

from collections.abc import Sequence

import numpy as np

from compressor.errors import ContractError
from compressor.selection import Mask
from compressor.transcript import Transcript, Turn
from compressor.words import Word, by_turn, has_unspaced, is_mark, segment_text


def is_subsequence(shorter: str, longer: str) -> bool:
    """Whether the characters of one text occur in the other in the same order."""
    at = 0
    for char in shorter:
        at = longer.find(char, at) + 1
        if at == 0:
            return False
    return True


def check_subsequence(source: Transcript, output: Transcript) -> None:
    """Promise 1, for two transcripts of as many turns.

    Raises:
        ContractError: A turn is missing, has another role or speaker, or holds text that its source does not.
    """
    if len(source) != len(output):
        raise ContractError(f"subsequence: the source has {len(source)} turns, the output {len(output)}.")
    for index, (before, after) in enumerate(zip(source, output, strict=True)):
        if (before.role, before.speaker) != (after.role, after.speaker):
            raise ContractError(
                f"subsequence: turn {index} was said by {before.speaker or before.role}, the output says {after.speaker or after.role}."
            )
        if not is_subsequence(after.text, before.text):
            raise ContractError(
                f"subsequence: turn {index} holds text that its source does not: {_excerpt(after.text)}."
            )


def check_whole(source: Transcript, output: Transcript, words: Sequence[Word], keep: Mask) -> None:
    """Promise 2: cutting the output into words again gives the kept words, as far as they are written with spaces.

    Raises:
        ContractError: A word is cut, fused, missing or new.
    """
    kept = by_turn(source, [word for word, stays in zip(words, keep, strict=True) if stays])
    for index, (before, turn, own) in enumerate(zip(source, output, kept, strict=True)):
        expected = [before.text[word.start : word.end] for word in own]
        found = _turn_words(turn)
        if any(has_unspaced(word) for word in expected):
            # Pieces of unspaced script may be cut otherwise once their neighbours have gone; the rest may not.
            if "".join(expected) != "".join(found):
                raise ContractError(
                    f"whole: turn {index} should read {_excerpt(''.join(expected))}, but holds {_excerpt(''.join(found))}."
                )
            expected, found = (
                [word for word in some if not has_unspaced(word) and not is_mark(word)] for some in (expected, found)
            )
        for place, (one, other) in enumerate(zip(expected, found, strict=False)):
            if one != other:
                raise ContractError(f"whole: word {place} of turn {index} should be {one!r}, the output has {other!r}.")
        if len(expected) != len(found):
            raise ContractError(f"whole: turn {index} should have {len(expected)} words, the output has {len(found)}.")


def check_protected(transcript: Transcript, words: Sequence[Word], protected: Mask, keep: Mask, released: Mask) -> None:
    """Promise 3.

    Raises:
        ContractError: A protected word is gone and not listed as released.
    """
    lost = np.flatnonzero(protected & ~keep & ~released)
    if len(lost):
        word = words[lost[0]]
        text = transcript.turns[word.turn].text[word.start : word.end]
        raise ContractError(
            f"protected: {text!r} in turn {word.turn} at character {word.start} is protected, but was deleted."
        )


def check_identity(source: Transcript, output: Transcript, keep: Mask) -> None:
    """Promise 4, where it applies.

    Raises:
        ContractError: Every word is kept, but a text differs from its source.
    """
    if keep.all():
        for index, (before, after) in enumerate(zip(source, output, strict=True)):
            if before.text != after.text:
                raise ContractError(
                    f"identity: every word is kept, but the text of turn {index} differs from its source."
                )


def check_nested(smaller: Mask, larger: Mask, words: Sequence[Word]) -> None:
    """Promise 5, for the choices under a smaller and a larger budget.

    Raises:
        ContractError: The larger budget lost a word that the smaller one keeps.
    """
    lost = np.flatnonzero(smaller & ~larger)
    if len(lost):
        word = words[lost[0]]
        raise ContractError(
            f"nested: the word at character {word.start} of turn {word.turn} is kept under a smaller budget, but not under a larger one."
        )


def check_repeatable(first: Transcript, second: Transcript) -> None:
    """Promise 6, for the outputs of two runs.

    Raises:
        ContractError: They differ.
    """
    for index, (one, other) in enumerate(zip(first, second, strict=True)):
        if one.text != other.text:
            raise ContractError(f"repeatable: turn {index} came out differently in a second run.")


def _turn_words(turn: Turn) -> list[str]:
    return [
        turn.text[start:end][a:b]
        for start, end in turn.blocks or ((0, len(turn.text)),)
        for a, b in segment_text(turn.text[start:end])
    ]


def _excerpt(text: str) -> str:
    return repr(text if len(text) <= 80 else f"{text[:60]}…{text[-18:]}")
