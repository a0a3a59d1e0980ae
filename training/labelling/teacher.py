"""Labels from a teacher model: what it would cost, the requests, a second try for an answer that is of no use."""

import logging
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from compressor.tokens import TokenCounter
from training.labelling.answers import Answer, read_answer
from training.labelling.cache import Cache, key_of
from training.labelling.chunks import Chunk, chunks
from training.labelling.client import Client
from training.labelling.errors import AnswerError, BusyError, LabelError, TeacherError
from training.labelling.opinion import quotes_of
from training.labelling.prompt import PROMPT, Messages, again, messages
from training.labelling.quality import total
from training.labelling.records import Cut, Labelled, Raw, whole

ROOM, ROOM_TURN = 3.0, 60
"""Tokens that an answer may have: times those of the texts, and for each turn."""
EXPECTED, EXPECTED_TURN = 1.17, 25
"""Tokens that an answer is expected to have: annotators keep .65 and .52 of the words; JSON around each turn."""
GONE = 3
"""Requests in a row without any answer after which the teacher counts as gone."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a run would cost, before any request.

    Args:
        requests: To be sent; `cached` more are answered already.
        prompt_tokens, completion_tokens: Of all requests to be sent, by the library's own count, without second tries.
    """

    requests: int
    cached: int
    prompt_tokens: int
    completion_tokens: int

    def price(self, prompt: float, completion: float) -> float:
        """What that costs, from the prices of a million tokens."""
        return (self.prompt_tokens * prompt + self.completion_tokens * completion) / 1e6


class Teacher:
    """Asks a teacher for the labels of transcripts.

    Args:
        client: Where to ask.
        cache: Keeps the answers.
        count: Counts tokens.
        chunk_tokens: Tokens of the texts of one request.
        concurrency: Requests at the same time.
    """

    def __init__(
        self, client: Client, cache: Cache, count: TokenCounter, *, chunk_tokens: int = 1500, concurrency: int = 4
    ) -> None:
        self.client, self.cache, self.count = client, cache, count
        self.chunk_tokens, self.concurrency = chunk_tokens, concurrency
        self.sent: Counter[str] = Counter()
        self._lock = threading.Lock()
        self._gone = 0

    def estimate(self, raws: Sequence[Raw]) -> Estimate:
        """What labelling would cost."""
        requests = cached = prompt = completion = 0
        for chunk in (chunk for raw in raws for chunk in chunks(raw, self.chunk_tokens, self.count)):
            asked = messages(chunk)
            if self.cache.get(key_of(asked, self.client.options(_room(chunk)))) is not None:
                cached += 1
                continue
            requests += 1
            prompt += sum(self.count(message["content"]) for message in asked)
            completion += round(chunk.tokens * EXPECTED) + EXPECTED_TURN * len(chunk.pieces)
        return Estimate(requests, cached, prompt, completion)

    def label(self, raws: Sequence[Raw], tick: Callable[[], None] = lambda: None) -> Iterator[Labelled | LabelError]:
        """Label each transcript, in order; the error of one that the teacher could not label names it.

        Args:
            tick: Called after each transcript.
        Raises:
            TeacherError: The teacher refuses every request, or is gone. What it answered is in the cache.
        """
        with ThreadPoolExecutor(self.concurrency) as pool:
            waiting = [
                (raw, [pool.submit(self._ask, chunk) for chunk in chunks(raw, self.chunk_tokens, self.count)])
                for raw in raws
            ]
            try:
                for raw, answers in waiting:
                    try:
                        yield self._join(raw, answers)
                    except TeacherError as error:
                        if not isinstance(error, BusyError):
                            raise
                        yield LabelError(f"{raw.id} ({raw.where}): {error}")
                    except LabelError as error:
                        yield LabelError(f"{raw.id} ({raw.where}): {error}")
                    tick()
            finally:
                pool.shutdown(wait=False, cancel_futures=True)

    def _join(self, raw: Raw, waiting: Sequence["Future[tuple[Chunk, Answer]]"]) -> Labelled:
        """One transcript from the answers to its chunks."""
        answers = [future.result() for future in waiting]
        light, tight = ([np.zeros(len(raw.words(n)), np.bool_) for n in range(len(raw.transcript))] for _ in range(2))
        touched: set[int] = set()
        for chunk, answer in answers:
            for piece, (kept_light, kept_tight) in zip(chunk.pieces, answer.cuts, strict=True):
                words = raw.words(piece.turn)
                first = sum(end <= piece.start for _, end in words)
                light[piece.turn][first : first + len(kept_light)] = kept_light
                tight[piece.turn][first : first + len(kept_tight)] = kept_tight
                touched.add(piece.turn)
        dropped = sum(answer.dropped for _, answer in answers)
        if dropped:
            logger.info("%s: %d names or sentences of the teacher occur nowhere and are left out", raw.id, dropped)
        return Labelled(
            raw,
            tuple(
                Cut.of(light[number], tight[number]) if number in touched else whole(turn)
                for number, turn in enumerate(raw.transcript)
            ),
            tuple(dict.fromkeys(name for _, answer in answers for name in answer.entities)),
            quotes_of(raw),
            tuple(intent for _, answer in answers for intent in answer.intents),
            f"teacher {self.client.model}, prompt {PROMPT}",
            total(answer.quality for _, answer in answers),
        )

    def _ask(self, chunk: Chunk) -> tuple[Chunk, Answer]:
        """The answer to a chunk, from the cache or the teacher; a second try if the first is of no use."""
        first, room = messages(chunk), _room(chunk)
        key = key_of(first, self.client.options(room))
        known = self.cache.get(key)
        if known is not None:
            try:
                return chunk, read_answer(known, chunk)
            except AnswerError:
                logger.info("%s: a cached answer is refused by now and asked for again", chunk.raw.id)
        turns = f"turns {chunk.pieces[0].turn} to {chunk.pieces[-1].turn}"
        try:
            text, answer = self._try(first, room, chunk)
        except AnswerError as error:
            logger.info("%s, %s: asked again: %s", chunk.raw.id, turns, error)
            truncated = isinstance(error, _TruncatedError)
            asked, room = (first, 2 * room) if truncated else (again(first, str(error)), room)
            try:
                text, answer = self._try(asked, room, chunk)
            except AnswerError as second:
                raise AnswerError(f"the teacher's answers for {turns} cannot be used: {second}") from second
        self.cache.put(key, text)
        return chunk, answer

    def _try(self, asked: Messages, room: int, chunk: Chunk) -> tuple[str, Answer]:
        text = self._complete(asked, room)
        return text, read_answer(text, chunk)

    def _complete(self, asked: Messages, room: int) -> str:
        if self._gone >= GONE:
            raise TeacherError(
                f"{self.client.address}: no answer to {GONE} requests in a row; run the command again later."
            )
        try:
            completion = self.client.complete(asked, room)
        except BusyError:
            with self._lock:
                self._gone += 1
            raise
        with self._lock:
            self._gone = 0
            self.sent.update(
                requests=1, prompt_tokens=completion.prompt_tokens, completion_tokens=completion.completion_tokens
            )
        if completion.finish == "length":
            raise _TruncatedError(f"the answer was cut off after {room} tokens.")
        return completion.text


class _TruncatedError(AnswerError):
    """The answer ended for lack of room, not because it was finished."""


def _room(chunk: Chunk) -> int:
    return round(chunk.tokens * ROOM) + ROOM_TURN * len(chunk.pieces) + 200
