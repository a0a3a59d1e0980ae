"""The rows of CSV and TSV files, read as a stream; each knows where its cells stand, so that one alone can be replaced."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TextIO

from compressor.errors import InputError
from compressor.formats.splitting import chunks

LONGEST = 1 << 24
"""Characters after which a quoted cell counts as never closed."""

_LINE_END = re.compile(r"\r\n|\n|\r(?!\Z)")


@dataclass(frozen=True, slots=True)
class Row:
    """One row.

    Args:
        raw: Its characters, with its line end.
        line: The number of its first line, from 1.
        cells: Where each cell stands in `raw`, quotes included.
        error: Why it cannot be read; it is one line then, and has no cells.
    """

    raw: str
    line: int
    cells: tuple[tuple[int, int], ...] = ()
    error: str = ""

    @property
    def is_blank(self) -> bool:
        """Whether it is an empty line."""
        return len(self.cells) == 1 and not self.raw.strip("\ufeff \t\r\n")

    def value(self, column: int) -> str:
        """What a cell says, without its quotes."""
        return unquoted(self.raw[slice(*self.cells[column])])


def unquoted(cell: str) -> str:
    """What a cell says that stands like this in the file."""
    return cell[1:-1].replace('""', '"') if cell.startswith('"') and len(cell) > 1 else cell


def like(cell: str, text: str, delimiter: str) -> str:
    """A cell that says a text, in quotes if the other cell has them or the text needs them."""
    if cell.startswith('"') or text.startswith('"') or any(mark in text for mark in (delimiter, "\n", "\r")):
        return '"' + text.replace('"', '""') + '"'
    return text


def rows(stream: Iterable[str] | TextIO, delimiter: str, line: int = 1) -> Iterator[Row]:
    """The rows of a file; together they are the file.

    A quote that is never closed, or has text behind it, makes its line a row with an error; reading goes on behind it.

    Args:
        stream: The characters.
        delimiter: What stands between two cells.
        line: The number of the first line.
    """
    waiting: list[str] = []  # lines to be read again, the next one last
    source = lines(stream)
    plain = re.compile(f"[^{re.escape(delimiter)}\r\n]*")
    while True:
        first = waiting.pop() if waiting else next(source, None)
        if first is None:
            return
        if '"' not in first:
            yield Row(first, line, _cells(first, delimiter))
            line += 1
            continue
        taken = [first]
        scan = _Scan(delimiter, plain)
        scan.add(first)
        while scan.is_open and scan.length < LONGEST:
            more = waiting.pop() if waiting else next(source, None)
            if more is None:
                break
            taken.append(more)
            scan.add(more)
        if scan.is_open or scan.error:
            error = scan.error or "a quote is opened and never closed"
            yield Row(first, line, (), f"{error}; allowed: cells in quotes that hold quotes twice")
            waiting += reversed(taken[1:])
            line += 1
            continue
        yield Row("".join(taken), line, tuple(scan.cells))
        line += len(taken)


def lines(stream: Iterable[str] | TextIO) -> Iterator[str]:
    """The lines, with their ends: CR LF, LF or CR."""
    rest: list[str] = []  # of a line whose end has not been read
    for chunk in chunks(stream):
        if rest and rest[-1].endswith("\r"):
            chunk = rest.pop() + chunk
        at = 0
        for end in _LINE_END.finditer(chunk):
            yield "".join([*rest, chunk[at : end.end()]])
            rest = []
            at = end.end()
        if at < len(chunk):
            rest.append(chunk[at:])
    last = "".join(rest)
    if last:
        yield last


def _cells(line: str, delimiter: str) -> tuple[tuple[int, int], ...]:
    """The cells of a line without quotes."""
    at = 1 if line.startswith("\ufeff") else 0
    cells: list[tuple[int, int]] = []
    for cell in line[at:].rstrip("\r\n").split(delimiter):
        cells.append((at, at + len(cell)))
        at += len(cell) + 1
    return tuple(cells)


class _Scan:
    """Finds the cells of one row, line by line."""

    def __init__(self, delimiter: str, plain: re.Pattern[str]) -> None:
        self._delimiter, self._plain = delimiter, plain
        self.cells: list[tuple[int, int]] = []
        self.length = 0
        self.is_open = False
        self.error = ""
        self._begin = 0  # of the cell in quotes that is open

    def add(self, line: str) -> None:
        """Read on with the next line of the file."""
        offset, self.length = self.length, self.length + len(line)
        at = 1 if line.startswith("\ufeff") and not offset else 0
        if self.is_open:
            at = self._close(line, 0, offset)
            if at < 0 or line[at : at + 1] != self._delimiter:
                return
            at += 1
        while True:
            if line.startswith('"', at):
                self._begin = offset + at
                at = self._close(line, at + 1, offset)
                if at < 0:
                    return
            else:
                found = self._plain.match(line, at)
                end = found.end() if found else at
                self.cells.append((offset + at, offset + end))
                at = end
            if line[at : at + 1] != self._delimiter:
                return
            at += 1

    def _close(self, line: str, at: int, offset: int) -> int:
        """Where the open cell ends on this line; negative if it does not, or not as it may."""
        self.is_open = True
        while True:
            quote = line.find('"', at)
            if quote < 0:
                return -1
            if line.startswith('"', quote + 1):
                at = quote + 2
                continue
            self.is_open = False
            after = line[quote + 1 : quote + 2]
            if after not in ("", "\r", "\n", self._delimiter):
                self.error = f"a cell in quotes goes on behind them with {line[quote + 1 : quote + 11].rstrip()!r}"
                return -1
            self.cells.append((self._begin, offset + quote + 1))
            return quote + 1


def checked(row: Row, n_cells: int) -> Row:
    """The row, if it has as many cells as the header.

    Raises:
        InputError: It has not, or cannot be read; names its line.
    """
    if row.error:
        raise InputError(f"line {row.line}: {row.error}.")
    if len(row.cells) != n_cells:
        raise InputError(f"line {row.line}: the row has {len(row.cells)} cells; the header has {n_cells}.")
    return row
