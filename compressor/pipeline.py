"""The whole way from a source to its compression: read, segment, score, protect, select, render, report."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import numpy as np

from compressor import formats
from compressor.errors import PolicyError
from compressor.places import drop_emptied
from compressor.policy import Policy
from compressor.protection import View, views_of
from compressor.rendering import render
from compressor.report import Workings, build_report
from compressor.result import CompressionResult
from compressor.scoring import Scorer, Scores, checked
from compressor.selection import Mask
from compressor.tokens import TokenCounter, as_counter
from compressor.transcript import VERBATIM_ROLES, Transcript
from compressor.weighing import weigh
from compressor.words import Word, by_turn, segment

BATCH = 32
"""Transcripts that are read and scored together by `compress_many`."""


class Compressor:
    """Compresses transcripts with one scorer, one policy and one token counter.

    Args:
        scorer: Scores the words. Default: the shipped model.
        policy: How much to keep and what to protect.
        token_counter: None or `estimate`, `tiktoken`, `tiktoken:ENCODING`, or a function from a text to its tokens.
    """

    def __init__(
        self,
        scorer: Scorer | None = None,
        *,
        policy: Policy | None = None,
        token_counter: TokenCounter | str | None = None,
    ) -> None:
        self.scorer = load_scorer("default") if scorer is None else _checked_scorer(scorer)
        if policy is not None and not isinstance(policy, Policy):
            raise PolicyError(f"policy is {policy!r}; allowed: None or a Policy, such as Policy(keep_ratio=0.5).")
        self.policy = policy or Policy()
        self.counter = as_counter(token_counter)

    @classmethod
    def from_pretrained(
        cls,
        model: str | Path = "default",
        *,
        policy: Policy | None = None,
        token_counter: TokenCounter | str | None = None,
        backend: Literal["onnx", "torch"] = "onnx",
        threads: int | None = None,
    ) -> "Compressor":
        """A compressor with the model of a folder.

        Args:
            model: The name of a shipped model, a path to a model folder, or `heuristic` for no model at all.
            backend: `onnx`, or `torch` with the extra of that name.
            threads: Threads that score in parallel. Default: as many as there are cores.
        Raises:
            ModelError: The folder cannot be used.
        """
        return cls(load_scorer(model, backend, threads), policy=policy, token_counter=token_counter)

    def compress(self, source: Any, **options: Any) -> CompressionResult:
        """Compress one transcript.

        Args:
            source: A string, a list of chat messages, a list of strings, or a `Transcript`.
            options: Fields of `Policy`, for this call instead of the compressor's policy.
        Raises:
            InputError: The source cannot be read.
            PolicyError: An option is not allowed.
        """
        return next(self._run(iter([[formats.read(source)]]), self._policy(options)))

    def compress_many(self, sources: Iterable[Any], **options: Any) -> Iterator[CompressionResult]:
        """Compress a stream of transcripts, a batch at a time; each comes out as if it were compressed alone.

        Raises:
            InputError: A source cannot be read; names its number, from 0, once the results before it are out.
            PolicyError: An option is not allowed.
        """
        return self._run(formats.read_batches(sources, BATCH), self._policy(options))

    def _policy(self, options: dict[str, Any]) -> Policy:
        return Policy.of(**options) if options else self.policy

    def _run(self, batches: Iterator[list[Transcript]], policy: Policy) -> Iterator[CompressionResult]:
        for batch in batches:
            words = [segment(transcript) for transcript in batch]
            for transcript, own, scores in zip(batch, words, self._score(batch, words), strict=True):
                yield self._compress(transcript, own, scores, policy)

    def _compress(
        self, transcript: Transcript, words: Sequence[Word], scores: list[Scores], policy: Policy
    ) -> CompressionResult:
        """From the scores of each turn to the result."""
        views = views_of(
            transcript,
            words,
            scores,
            [self.scorer.thresholds(turn) for turn in transcript.turns],
            verbatim(transcript, policy),
        )
        weighed = weigh(transcript, words, views, scores, policy, self.counter)
        ledger, choice = weighed.ledger, weighed.choice

        def at_budget(limit: float) -> Mask:
            def fits(keep: Mask) -> bool:
                return sum(ledger.after(render(transcript, words, keep))) <= limit

            return choice.within(ledger.word_limit(limit), fits)

        budget = ledger.total * policy.keep_ratio if policy.keep_ratio is not None else policy.max_tokens
        keep = choice.where(above_threshold(views, scores, policy)) if budget is None else at_budget(budget)
        workings = Workings(
            words=words,
            views=views,
            scores=weighed.scores,
            protection=weighed.protection,
            released=weighed.released & ~keep,
            keep=keep,
            policy=policy,
            budget=budget,
            at_budget=at_budget,
            again=lambda: self._again(transcript, policy),
        )
        output = drop_emptied(render(transcript, words, keep), policy)
        report = build_report(ledger, output, workings, self.scorer.name)
        return CompressionResult(transcript, output, report, workings)

    def _score(self, transcripts: Sequence[Transcript], words: Sequence[Sequence[Word]]) -> Iterator[list[Scores]]:
        """The scores of each turn of each transcript, from one call of the scorer."""
        turns = [turn for transcript in transcripts for turn in transcript.turns]
        own = [
            words_of
            for transcript, all_words in zip(transcripts, words, strict=True)
            for words_of in by_turn(transcript, all_words)
        ]
        scores = checked(self.scorer.name, self.scorer.score(turns, own), own)
        stream = iter(scores)
        return (list(islice(stream, len(transcript))) for transcript in transcripts)

    def _again(self, transcript: Transcript, policy: Policy) -> CompressionResult:
        words = segment(transcript)
        return self._compress(transcript, words, next(self._score([transcript], [words])), policy)


def load_scorer(model: str | Path, backend: Literal["onnx", "torch"] = "onnx", threads: int | None = None) -> Scorer:
    """The scorer of a model folder, or the heuristic one; what each needs is imported when it is asked for."""
    if threads is not None and (type(threads) is not int or threads < 1):
        raise PolicyError(f"threads is {threads!r}; allowed: None or a whole number, 1 or more.")
    if isinstance(model, str) and model == "heuristic":
        from compressor.scoring.heuristic import HeuristicScorer

        return HeuristicScorer()
    from compressor.scoring.classifier import ClassifierScorer

    return ClassifierScorer.from_folder(model, backend=backend, threads=threads)


def _checked_scorer(scorer: Scorer) -> Scorer:
    if isinstance(scorer, type) or not all(callable(getattr(scorer, name, None)) for name in ("score", "thresholds")):
        raise PolicyError(
            f"scorer is {scorer!r}; allowed: None or an object with name, score() and thresholds(). A model is loaded by "
            "its name or folder with Compressor.from_pretrained(model)."
        )
    return scorer


def verbatim(transcript: Transcript, policy: Policy) -> list[str]:
    """Why each turn is kept whole: its role, or its place among the last ones; an empty string for all others."""
    last = policy.keep_last if policy.keep_last is not None else 4 if transcript.is_chat else 0
    first = len(transcript) - last
    return [
        f"{turn.role} turn"
        if turn.role in VERBATIM_ROLES
        else f"one of the last {last} turns"
        if index >= first
        else ""
        for index, turn in enumerate(transcript.turns)
    ]


def above_threshold(views: Sequence[View], scores: Sequence[Scores], policy: Policy) -> Mask:
    """The words that a preset keeps by their score. Shape: (n_words,)."""
    head = policy.preset or "light"
    masks = [getattr(scored, head) >= view.thresholds[head] for view, scored in zip(views, scores, strict=True)]
    return np.concatenate([np.zeros(0, np.bool_), *masks])
