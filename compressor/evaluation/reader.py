"""A reader that answers a case's question from a transcript, by choosing a letter."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from compressor.evaluation.endpoint import Endpoint
from compressor.evaluation.errors import EvaluationError
from compressor.evaluation.loading import load_callable

PROMPT = (
    "Read the conversation, then answer the question from it alone. Some of its words may have been left out."
    "\n\nConversation:\n{transcript}\n\nQuestion: {question}\n{options}\n\nAnswer with one letter."
)


class Reader(Protocol):
    """Answers questions. `__call__` returns the letter, or the reader's words if they name none."""

    @property
    def name(self) -> str: ...

    def __call__(self, transcript: str, question: str, options: Mapping[str, str]) -> str: ...


@dataclass(frozen=True, slots=True)
class EndpointReader:
    """A chat model as the reader."""

    endpoint: Endpoint

    @property
    def name(self) -> str:
        """The model and where it is asked."""
        return f"{self.endpoint.model} at {self.endpoint.url}"

    def __call__(self, transcript: str, question: str, options: Mapping[str, str]) -> str:
        """Ask, and find the letter in the answer."""
        listed = "\n".join(f"{letter}. {text}" for letter, text in options.items())
        prompt = PROMPT.format(transcript=transcript, question=question, options=listed)
        return letter_of(self.endpoint.ask(prompt, max_tokens=16), options)


@dataclass(frozen=True, slots=True)
class FunctionReader:
    """A user's function (transcript, question, options by letter) → letter, or the text of an option."""

    name: str
    function: Callable[..., Any]

    def __call__(self, transcript: str, question: str, options: Mapping[str, str]) -> str:
        """Call it, and find the letter in what it returns."""
        try:
            answer = self.function(transcript, question, dict(options))
        except Exception as error:  # a user's function may fail in any way
            raise EvaluationError(
                f"reader {self.name} failed on {question!r}: {type(error).__name__}: {error}"
            ) from error
        return letter_of(str(answer), options)


def make_reader(spec: str, model: str | None = None) -> Reader:
    """The reader that a text names: an address, or `module:callable`.

    Raises:
        EvaluationError: An address comes without the name of a model, or the callable cannot be loaded.
    """
    if "://" in spec:
        if not model:
            raise EvaluationError(f"the reader at {spec} needs the name of a model: --reader-model NAME.")
        return EndpointReader(Endpoint(spec, model))
    return FunctionReader(spec, load_callable(spec))


def letter_of(answer: str, options: Mapping[str, str]) -> str:
    """The letter that an answer names: alone, at its start, in it, or by the option's whole text; else the answer."""
    text = answer.strip()
    letters = "".join(map(re.escape, options))
    for pattern in (rf"^\W*([{letters}])\b", rf"\b([{letters}])\b"):
        found = re.search(pattern, text)
        if found:
            return found[1]
    return next((letter for letter, option in options.items() if option.casefold() == text.casefold()), text)
