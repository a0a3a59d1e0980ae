"""Tells a person at a terminal how far a run is, and a signal how to stop it."""

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Self, TextIO

from compressor.batch.engine import Watcher
from compressor.batch.inputs import Input, Inputs
from compressor.batch.showing import shown
from compressor.batch.worker import Problem

SHOWN = 10
"""Failures that are shown as they come; all are in `errors.jsonl`."""


class Terminal(Watcher):
    """A progress bar with rate and remaining time on a terminal, nothing elsewhere; failures in either case.

    The first Ctrl-C or SIGTERM asks for an end in order; the second one ends the process at once, which loses nothing
    either.

    Args:
        stream: Where to write; standard error.
        quiet: Neither bar nor failures.
    """

    def __init__(self, stream: TextIO | None = None, *, quiet: bool = False) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._quiet = quiet
        self._bar: Any = None
        self._failures = 0
        self.signal: int | None = None

    def begin(self, inputs: Inputs, done: int) -> None:
        """See `Watcher.begin`."""
        if self._quiet or not self._stream.isatty():
            return
        try:
            from tqdm import tqdm
        except ImportError:  # it comes with the extra `batch`
            self.note("no progress bar: pip install 'compressor[batch]'")
            return
        self._bar = tqdm(
            total=inputs.size,
            initial=done,
            unit="B",
            unit_scale=True,
            unit_divisor=1024,
            dynamic_ncols=True,
            file=self._stream,
            smoothing=0.1,
        )

    def advance(self, done: int) -> None:
        """See `Watcher.advance`."""
        if self._bar is not None:
            self._bar.update(done - self._bar.n)

    def problem(self, file: Input, problem: Problem) -> None:
        """See `Watcher.problem`."""
        self._failures += 1
        if self._failures <= SHOWN:
            where = f"{file.path}:{problem.line}" if problem.line else str(file.path)
            self.note(shown(f"{where}: {problem.reason}"))
        elif self._failures == SHOWN + 1:
            self.note("further failures are listed in errors.jsonl")

    def stopping(self) -> bool:
        """See `Watcher.stopping`."""
        return self.signal is not None

    def note(self, text: str) -> None:
        """Write a line above the bar."""
        if self._quiet:
            return
        if self._bar is not None:
            self._bar.write(text, file=self._stream)
        else:
            self._stream.write(f"{text}\n")

    def close(self) -> None:
        """Leave the bar as it is."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None

    @contextmanager
    def listening(self) -> Iterator[Self]:
        """Stop in order at SIGINT and SIGTERM meanwhile."""
        kept = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

        def heard(number: int, frame: FrameType | None) -> None:
            self.signal = number
            for each in kept:
                signal.signal(each, signal.SIG_DFL)

        for number in kept:
            signal.signal(number, heard)
        try:
            yield self
        finally:
            for number, handler in kept.items():
                signal.signal(number, handler)
            self.close()
