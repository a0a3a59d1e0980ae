"""One call for one transcript."""

from functools import lru_cache
from pathlib import Path
from typing import Any

from compressor.pipeline import Compressor, load_scorer
from compressor.result import CompressionResult
from compressor.scoring import Scorer
from compressor.tokens import TokenCounter, as_counter


def compress(
    source: Any, *, model: str | Path = "default", token_counter: TokenCounter | str | None = None, **options: Any
) -> CompressionResult:
    """Compress one transcript: delete its low-signal words and nothing else.

    Args:
        source: A string (`Name: text` lines become turns), a list of chat messages (OpenAI or Anthropic), a list of
            strings, or a `Transcript`.
        model: A shipped model, a model folder, or `heuristic`. It is loaded once a process.
        token_counter: How budgets and reports count; see `Compressor`.
        options: Fields of `Policy`: `keep_ratio`, `max_tokens` or `preset`, `keep_last`, ...
    Raises:
        CompressorError: The source, an option or the model cannot be used; the message says what is allowed.

    >>> compress("Ann: um, so, the fee is not refundable.\\nBob: okay, okay, thanks!\\n", model="heuristic").text
    'Ann: the fee is not refundable.\\nBob:\\n'
    """
    counter = (
        _named_counter(token_counter) if token_counter is None or isinstance(token_counter, str) else token_counter
    )
    scorer = _scorer(model) if isinstance(model, (str, Path)) else load_scorer(model)
    return Compressor(scorer, token_counter=counter).compress(source, **options)


@lru_cache(maxsize=4)
def _scorer(model: str | Path) -> Scorer:
    return load_scorer(model)


@lru_cache(maxsize=4)
def _named_counter(name: str | None) -> TokenCounter:
    return as_counter(name)
