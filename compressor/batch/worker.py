"""Compresses the records of one chunk, in this process or in one of its own."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from compressor.batch.identity import Settings
from compressor.batch.sharing import SharingScorer
from compressor.batch.tables import COLUMN, TablePiece, compress_piece
from compressor.batch.tally import Tally
from compressor.errors import CompressorError
from compressor.formats import faults, read
from compressor.formats.pieces import read_piece, write_piece
from compressor.formats.sniffing import sniff
from compressor.formats.splitting import Piece
from compressor.pipeline import Compressor, load_scorer
from compressor.result import CompressionResult
from compressor.scoring import Scorer, Scores
from compressor.transcript import Transcript, Turn
from compressor.words import Word


@dataclass(frozen=True, slots=True)
class Job:
    """A record to compress.

    Args:
        piece: The record as it stands in its file.
        format: How it is read.
    """

    piece: Piece | TablePiece
    format: str


@dataclass(frozen=True, slots=True)
class Problem:
    """A record that failed.

    Args:
        line: The line of its file where it begins, from 1; in a table the number of its row, from 1.
        reason: Why.
        raw: The record as it stands there.
    """

    line: int
    reason: str
    raw: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a record.

    Args:
        content: What is written in its place: the compressed record, or the record as it was if it failed.
        problems: Why it failed, or what in it; several in a piece of a table.
        tally: What was counted, time included.
    """

    content: str | bytes
    problems: tuple[Problem, ...]
    tally: Tally


class Worker:
    """One compressor with one thread and a cache of scores."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._timed = _TimedScorer(load_scorer(settings.model, threads=1))
        self.cache = SharingScorer(self._timed, max_bytes=settings.cache_bytes)
        self._compressor = Compressor(self.cache, policy=settings.policy, token_counter=settings.tokens)

    def run(self, jobs: Sequence[Job]) -> list[Outcome]:
        """Compress some records, each as if it were alone."""
        return [self._one(job) for job in jobs]

    def compress(self, piece: Piece, format: str) -> CompressionResult:
        """Compress one record of text and look at the result.

        Raises:
            CompressorError: It cannot be read or compressed.
        """
        return self._compressor.compress(self._read(piece, format))

    def compress_value(self, value: Any) -> CompressionResult:
        """Compress a conversation that is a plain value, such as a row of a table; a string is read by its content.

        Raises:
            CompressorError: It cannot be read or compressed.
        """
        if isinstance(value, str):
            value = read(value, self._settings.format or sniff(value))
        return self._compressor.compress(value)

    def _one(self, job: Job) -> Outcome:
        hits, misses, model = self.cache.hits, self.cache.misses, self._timed.seconds
        start = time.thread_time()
        outcome = self._table(job.piece) if isinstance(job.piece, TablePiece) else self._text(job.piece, job.format)
        tally = outcome.tally
        tally.hits, tally.misses = self.cache.hits - hits, self.cache.misses - misses
        tally.spend("model", self._timed.seconds - model)
        # What is not reading, scoring or writing is rules, selection and rendering.
        tally.spend("compress", time.thread_time() - start - sum(tally.seconds.values()))
        return outcome

    def _text(self, piece: Piece, format: str) -> Outcome:
        tally = Tally(characters=len(piece.raw))
        start = time.thread_time()
        try:
            transcript = self._read(piece, format)
            tally.spend("parse", time.thread_time() - start)
            result = self._compressor.compress(transcript)
            if self._settings.check:
                result.verify()
            start = time.thread_time()
            content = write_piece(result.transcript)
            tally.spend("write", time.thread_time() - start)
        except Exception as error:  # one record that no one foresaw must not end a run of millions: it stays as it was
            tally.bad = 1
            return Outcome(piece.raw, (Problem(piece.line, reason(error), piece.raw),), tally)
        tally.count(result.report)
        # Lines that cannot be read, inside a conversation that can, stand in the content as they were.
        problems = tuple(Problem(fault.line, reason(fault.error), fault.raw) for fault in faults(transcript))
        tally.bad += len(problems)
        return Outcome(content, problems, tally)

    def _table(self, piece: TablePiece) -> Outcome:
        tally = Tally()
        column = (self._settings.options or {}).get("column", COLUMN)
        try:
            content, found = compress_piece(piece, self._compressor, column, self._settings.format, tally)
        except Exception as error:  # as above; rows have their own errors, so this one is of them all
            problems = tuple(Problem(line, reason(error), "") for line in piece.lines)
            return Outcome(piece.raw, problems, Tally(bad=piece.rows, characters=piece.size))
        return Outcome(content, tuple(Problem(line, reason(error), raw) for line, error, raw in found), tally)

    def _read(self, piece: Piece, format: str) -> Transcript:
        return read_piece(piece, format, **(self._settings.options or {}))


def reason(error: BaseException) -> str:
    """Why something failed, in words; what is no error of this package's own is named by its kind."""
    if isinstance(error, CompressorError):
        return str(error)
    if isinstance(error, OSError):
        return error.strerror or str(error)
    return f"{type(error).__name__}: {error}"


class _TimedScorer:
    """A scorer that adds up the processor time of its calls."""

    def __init__(self, scorer: Scorer) -> None:
        self.name = scorer.name
        self.seconds = 0.0
        self._scorer = scorer

    def thresholds(self, turn: Turn) -> Mapping[str, float]:
        return self._scorer.thresholds(turn)

    def score(self, turns: Sequence[Turn], words: Sequence[Sequence[Word]]) -> list[Scores]:
        start = time.thread_time()
        try:
            return self._scorer.score(turns, words)
        finally:
            self.seconds += time.thread_time() - start


def serve(connection: Any, settings: Settings) -> None:
    """The life of a worker process: load, say so, then outcomes for each list of jobs, until it is ended.

    With the jobs come scores that other workers found, with the outcomes go those that this one found.
    """
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches every process of the group; the main one decides
    try:
        worker = Worker(settings)
    except Exception as error:  # told to the main process, which raises it
        connection.send(reason(error))
        return
    worker.cache.take_new()
    connection.send(None)
    while True:
        try:
            jobs, known = connection.recv()
            worker.cache.learn(known)
            connection.send((worker.run(jobs), worker.cache.take_new()))
        except (EOFError, BrokenPipeError, ConnectionResetError):  # the main process is gone
            return
