"""What text costs the reading LLM, in tokens."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from compressor.errors import CompressorError, PolicyError
from compressor.transcript import Transcript, Turn
from compressor.words import Word, encodable, segment_text, shipped_tokenizer

Costs = NDArray[np.int64]


class TokenCounter(Protocol):
    """Counts the tokens of a text; any function from str to int serves."""

    def __call__(self, text: str) -> int: ...


class EstimatedTokens:
    """Tokens by the shipped tokenizer: the pieces of each word, added up.

    It stands in for the tokenizer of the reading LLM, which is not known here; `benchmarks/` states its error. The
    count of a text is the sum over its words, so that a budget over words is a budget over the text.
    """

    name = "estimate"

    def __init__(self) -> None:
        self._known: dict[str, int] = {}

    def __call__(self, text: str) -> int:
        return int(self.of_words([text[start:end] for start, end in segment_text(text)]).sum())

    def of_words(self, words: Sequence[str]) -> Costs:
        """The pieces of each word, at least 1. Shape: (n_words,)."""
        new = [word for word in dict.fromkeys(words) if word not in self._known]
        if new:
            if len(self._known) > 200_000:  # bound the memory of a long-lived process
                self._known.clear()
                new = list(dict.fromkeys(words))
            encodings = shipped_tokenizer().encode_batch([encodable(word) for word in new], add_special_tokens=False)
            for word, encoding in zip(new, encodings, strict=True):
                self._known[word] = max(1, sum(piece != "▁" for piece in encoding.tokens))
        return np.array([self._known[word] for word in words], np.int64)


def tiktoken_counter(encoding: str = "o200k_base") -> TokenCounter:
    """Exact counts for models that read tiktoken's encodings.

    Raises:
        PolicyError: The package tiktoken is not installed, or cannot load the encoding.
    """
    try:
        import tiktoken
    except ImportError as error:
        raise PolicyError(
            "the package tiktoken is not installed: pip install tiktoken, or pass any function from str to int."
        ) from error
    try:
        encoder = tiktoken.get_encoding(encoding)
    except (ValueError, OSError) as error:  # an unknown name, or a file that cannot be fetched
        raise PolicyError(f"token_counter is 'tiktoken:{encoding}', which tiktoken cannot load: {error}") from error

    def count(text: str) -> int:
        return len(encoder.encode(text, disallowed_special=()))

    count.__name__ = f"tiktoken:{encoding}"
    return count


def counter_name(counter: TokenCounter) -> str:
    """What a report calls a counter."""
    return str(getattr(counter, "name", None) or getattr(counter, "__name__", type(counter).__name__))


def as_counter(given: "TokenCounter | str | None") -> TokenCounter:
    """The counter that an option names: None or `estimate`, `tiktoken`, `tiktoken:ENCODING`, or a function.

    Raises:
        PolicyError: No such counter.
    """
    if given is None or given == "estimate":
        return EstimatedTokens()
    if isinstance(given, str) and given.partition(":")[0] == "tiktoken":
        return tiktoken_counter(given.partition(":")[2] or "o200k_base")
    if callable(given):
        return given
    raise PolicyError(
        f"token_counter is {given!r}; allowed: 'estimate', 'tiktoken', 'tiktoken:ENCODING' or a function from str to int."
    )


@dataclass(frozen=True, slots=True)
class Ledger:
    """What one transcript costs.

    Args:
        counter: Counts the tokens of a text.
        before: The tokens of each turn, labels of speakers included. Length: n_turns.
        costs: The tokens that each word adds. Shape: (n_words,).
        labels: The tokens of all labels, which no deletion saves.
        turns: What was counted.
    """

    counter: TokenCounter
    before: tuple[int, ...]
    costs: Costs
    labels: int
    turns: tuple[Turn, ...]

    @classmethod
    def of(cls, transcript: Transcript, words: Sequence[Word], counter: TokenCounter) -> "Ledger":
        """Count a transcript."""
        labels = [_label_tokens(turn, counter) for turn in transcript.turns]
        costs = _word_costs(transcript, words, counter)
        if isinstance(counter, EstimatedTokens):  # what a text has is what its words have, and those are counted
            sums = np.bincount([word.turn for word in words], costs, len(transcript)).astype(np.int64).tolist()
            own = [_tokens(turn.text, counter) if turn.blocks else sums[at] for at, turn in enumerate(transcript.turns)]
        else:
            own = [_tokens(turn.text, counter) for turn in transcript.turns]
        before = tuple(label + text for label, text in zip(labels, own, strict=True))
        return cls(counter, before, costs, sum(labels), transcript.turns)

    @property
    def total(self) -> int:
        """The tokens of the source."""
        return sum(self.before)

    def after(self, output: Transcript) -> tuple[int, ...]:
        """The tokens of each turn of a compressed transcript."""
        return tuple(
            before if turn is source else _label_tokens(turn, self.counter) + _tokens(turn.text, self.counter)
            for turn, source, before in zip(output.turns, self.turns, self.before, strict=True)
        )

    def word_limit(self, limit: float) -> float:
        """A limit for the whole transcript, in the currency of `costs`, whose sum may differ from the count of the text."""
        limit = min(limit, sys.maxsize)  # more than any text has, and still a float
        text = self.total - self.labels
        scale = float(self.costs.sum()) / text if text else 1.0
        return (limit - self.labels) * scale + 1e-6


def _word_costs(transcript: Transcript, words: Sequence[Word], counter: TokenCounter) -> Costs:
    texts = [transcript.turns[word.turn].text for word in words]
    if isinstance(counter, EstimatedTokens):
        return counter.of_words([text[word.start : word.end] for text, word in zip(texts, words, strict=True)])
    known: dict[str, int] = {}
    costs = np.empty(len(words), np.int64)
    for index, (text, word) in enumerate(zip(texts, words, strict=True)):
        spaced = word.start > 0 and text[word.start - 1] == " "  # most tokenizers count a word with the space before it
        piece = text[word.start - spaced : word.end]
        if piece not in known:
            known[piece] = _tokens(piece, counter)
        costs[index] = known[piece]
    return costs


def _label_tokens(turn: Turn, counter: TokenCounter) -> int:
    return _tokens(f"{turn.speaker}:", counter) if turn.speaker and turn.role == "speaker" else 0


def _tokens(text: str, counter: TokenCounter) -> int:
    if not text:
        return 0
    try:
        count: Any = counter(text)
    except CompressorError:
        raise
    except Exception as error:  # a function of the caller's may raise anything
        raise PolicyError(
            f"the token counter {counter_name(counter)} raised {type(error).__name__} for a text of {len(text)} characters: "
            f"{error}; allowed: a function from str to int."
        ) from error
    if isinstance(count, bool) or not isinstance(count, (int, np.integer)) or count < 0:
        raise PolicyError(
            f"the token counter returned {count!r} for a text of {len(text)} characters; allowed: a whole number, 0 or more."
        )
    return int(count)
