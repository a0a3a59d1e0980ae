"""What can be graded: ours, a user's function, a summariser behind an endpoint, and the baselines."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

import numpy as np

from compressor import formats
from compressor.errors import CompressorError
from compressor.evaluation.baselines import CHOOSERS, run_baseline
from compressor.evaluation.endpoint import Endpoint
from compressor.evaluation.errors import EvaluationError, SystemFailure
from compressor.evaluation.loading import load_callable
from compressor.evaluation.matching import flat
from compressor.evaluation.outputs import Output, as_output, tokens
from compressor.pipeline import Compressor
from compressor.policy import PRESETS, Policy
from compressor.result import CompressionResult
from compressor.transcript import Transcript

ALLOWED = (
    "light, tight, keep_ratio=0.5, max_tokens=300 (further options behind commas: light,keep_last=4), none,"
    " truncation=0.5, random=0.5, stopwords, sentences=0.5, summariser=0.5, or module:callable"
)

SUMMARISE = (
    "Shorten the conversation below to about {percent} % of its length. A reader will answer questions from it."
    " Keep one line a turn, in the same order and with the same labels. Answer with that alone.\n\n"
)


class System(Protocol):
    """A compressor under test. `family` is ours, baseline, callable or summariser."""

    @property
    def name(self) -> str: ...

    @property
    def family(self) -> str: ...

    def run(self, source: Transcript, key: str) -> Output:
        """Compress one transcript; `key` names it in errors and seeds random numbers."""
        ...


@dataclass(frozen=True, slots=True)
class Ours:
    """This library under one policy. `keep_last` is 0 unless it is given, so that every turn is put to the test."""

    name: str
    policy: Policy
    compressor: Compressor
    family: str = "ours"

    def run(self, source: Transcript, key: str) -> Output:
        """See `System.run`."""
        start, cpu_start = time.perf_counter(), time.process_time()
        try:
            result = self.compressor.compress(source)
        except CompressorError as error:
            raise SystemFailure(f"{self.name} failed on {key}: {error}") from error
        seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - cpu_start
        return Output(
            turns=tuple(turn.text for turn in result.transcript),
            aligned=True,
            rewrites=False,
            seconds=seconds,
            keep=result.workings.keep,
            scores=result.workings.scores,
            protected=protected_runs(result),
            cpu_seconds=cpu_seconds,
        )


@dataclass(frozen=True, slots=True)
class Baseline:
    """A baseline that keeps at most `ratio` of the source's tokens; `none` keeps all."""

    name: str
    method: str
    ratio: float
    seed: int
    family: str = "baseline"

    def run(self, source: Transcript, key: str) -> Output:
        """See `System.run`."""
        if self.method == "none":
            return Output(tuple(turn.text for turn in source), aligned=True, rewrites=False)
        start = time.perf_counter()
        limit = self.ratio * sum(tokens(turn.text) for turn in source)
        output = run_baseline(self.method, source, limit, f"{self.seed} {key}")
        return Output(output.turns, True, False, time.perf_counter() - start, output.keep)


@dataclass(frozen=True, slots=True)
class Function:
    """A user's function. It gets chat messages (role, content, and name for a speaker) and returns the shorter ones."""

    name: str
    function: Callable[..., Any]
    family: str = "callable"

    def run(self, source: Transcript, key: str) -> Output:
        """See `System.run`."""
        start = time.perf_counter()
        try:
            returned = self.function(formats.as_messages(source))
            return as_output(source, returned, time.perf_counter() - start)
        except Exception as error:  # a user's function may fail in any way
            raise SystemFailure(f"{self.name} failed on {key}: {type(error).__name__}: {error}") from error


@dataclass(frozen=True, slots=True)
class Summariser:
    """A chat model that is asked for a shorter text."""

    name: str
    endpoint: Endpoint
    ratio: float
    family: str = "summariser"

    def run(self, source: Transcript, key: str) -> Output:
        """See `System.run`."""
        start = time.perf_counter()
        prompt = SUMMARISE.format(percent=round(100 * self.ratio)) + labelled(source)
        longest = 64 + 2 * sum(tokens(turn.text) for turn in source)
        return as_output(source, self.endpoint.ask(prompt, longest), time.perf_counter() - start)


def make_system(spec: str, model: str = "default", summariser: Endpoint | None = None, seed: int = 0) -> System:
    """The system that a text names.

    Args:
        spec: See ALLOWED.
        model: For ours: a shipped model, a folder, or `heuristic`.
        summariser: Where `summariser=RATIO` asks.
    Raises:
        EvaluationError: There is no such system, or it cannot be loaded.
        CompressorError: The model or an option of ours is not allowed.
    """
    method, _, value = spec.partition("=")
    if method in ("none", *CHOOSERS) and method not in ("truncation", "random", "sentences"):
        return Baseline(spec, method, 1.0, seed)
    if method in CHOOSERS:
        return Baseline(spec, method, _ratio(spec, value), seed)
    if method == "summariser":
        if summariser is None:
            raise EvaluationError("summariser needs an endpoint: --summariser URL --summariser-model NAME.")
        return Summariser(spec, summariser, _ratio(spec, value))
    if ":" in spec:
        return Function(spec, load_callable(spec))
    options = _options(spec)
    policy = Policy.of(**({"keep_last": 0} | options))
    return Ours(spec, policy, with_policy(load_model(model), policy))


def with_policy(compressor: Compressor, policy: Policy) -> Compressor:
    """The same scorer and counter under another policy."""
    return Compressor(compressor.scorer, policy=policy, token_counter=compressor.counter)


@lru_cache(maxsize=4)
def load_model(model: str) -> Compressor:
    """A compressor with a model, loaded once a process."""
    return Compressor.from_pretrained(model)


def labelled(source: Transcript) -> str:
    """The transcript as `Name: text` lines, for a model to read."""
    return "\n".join(f"{turn.speaker or turn.role}: {turn.text}" for turn in source)


def protected_runs(result: CompressionResult) -> tuple[tuple[str, ...], ...]:
    """For each turn the stretches of neighbouring words that rules protect, in order."""
    mask, words = result.workings.protection.mask & ~result.workings.released, result.workings.words
    runs: list[list[str]] = [[] for _ in result.source.turns]
    edges = np.flatnonzero(np.diff(np.concatenate(([False], mask, [False])).astype(np.int8)))
    for start, stop in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
        first = start
        for number in range(start + 1, stop + 1):  # a stretch ends with its turn
            if number == stop or words[number].turn != words[first].turn:
                turn = words[first].turn
                runs[turn].append(flat(result.source.turns[turn].text[words[first].start : words[number - 1].end]))
                first = number
    return tuple(map(tuple, runs))


def _options(spec: str) -> dict[str, Any]:
    options: dict[str, Any] = {}
    for part in spec.split(","):
        name, equals, value = part.strip().partition("=")
        if not equals and name in PRESETS:
            options["preset"] = name
        elif equals and name and value:
            options[name] = _value(value)
        else:
            raise EvaluationError(f"there is no system {spec!r}; allowed: {ALLOWED}.")
    return options


def _value(text: str) -> Any:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _ratio(spec: str, value: str) -> float:
    try:
        ratio = float(value)
    except ValueError:
        ratio = -1.0
    if not 0 <= ratio <= 1:
        raise EvaluationError(
            f"{spec!r} needs the share of tokens to keep, 0 to 1, as in {spec.partition('=')[0]}=0.5."
        )
    return ratio
