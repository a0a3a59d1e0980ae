"""Text files of any encoding and compression, read as a stream and written back as they were."""

import io
import logging
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, TextIO, cast

from compressor.errors import InputError
from compressor.formats.compressed import compressing, decompressed, find_compression
from compressor.formats.encodings import find_coding

log = logging.getLogger(__name__)

_IN_MEMORY = 1 << 24


@dataclass(frozen=True, slots=True)
class OpenedText:
    """A file that was opened.

    Args:
        stream: Its text; line ends and a byte order mark are in it as they are in the file.
        encoding: Python's name of the encoding, for `create_text`.
        compression: `gz`, `bz2`, `xz`, `zst`, or an empty string.
        notes: What was guessed, for people: `read as cp1252, which was guessed ...`.
        odd_lines: Lines in another encoding than the rest, by their number from 1; only in files of JSON lines.
    """

    stream: TextIO
    encoding: str = "utf-8"
    compression: str = ""
    notes: tuple[str, ...] = ()
    odd_lines: Mapping[int, str] = field(default_factory=dict)

    def encode(self, text: str, line: int = 1) -> bytes:
        """The bytes of a part of the file, not compressed.

        Args:
            text: The part, after a change that left the number of its lines as it was.
            line: The number of its first line, from 1.
        """
        return encode_text(text, self.encoding, self.odd_lines, line)


@contextmanager
def open_text(path: Path | str | BinaryIO, *, name: str | None = None) -> Iterator[OpenedText]:
    """Open a text file; the content, not the name, says how it is compressed and encoded.

    The file is read through once before, so that damage and encodings are known from the start; in memory is a part of it
    at a time. What cannot be read twice, such as a pipe, is copied to a temporary file.

    Args:
        path: The file.
        name: What notes in the log call it. None: its own name, if it has one.
    Raises:
        InputError: It is damaged, no text, or in an encoding that cannot be found.
        OSError: It cannot be opened.
    """
    with ExitStack() as stack:
        if isinstance(path, (str, Path)):
            file: BinaryIO = stack.enter_context(Path(path).open("rb"))
        else:
            file = path if path.seekable() else _spooled(path, stack)
        compression = find_compression(file)
        coding = find_coding(lambda: _content(file, compression))
        for note in coding.notes:
            log.warning("%s: %s", name or getattr(file, "name", None) or "the text", note)
        content = _content(file, compression)
        if coding.odd_lines:
            content = cast(BinaryIO, io.BufferedReader(_Recoded(content, coding.odd_lines)))
        stream = io.TextIOWrapper(content, encoding=coding.encoding, errors=_errors(coding.encoding), newline="")
        try:
            yield OpenedText(stream, coding.encoding, compression, coding.notes, coding.odd_lines)
        finally:
            stream.detach()  # closing it would close the caller's file


@contextmanager
def create_text(
    target: BinaryIO, *, encoding: str = "utf-8", compression: str = "", odd_lines: Mapping[int, str] | None = None
) -> Iterator[TextIO]:
    """Write text into a file as `open_text` found another one; the file stays open.

    Raises:
        InputError: The encoding or the compression is unknown, or the encoding has no such character.
    """
    packed = compressing(target, compression) if compression else target
    writer = _Writer(packed, encoding, odd_lines or {})
    try:
        yield cast(TextIO, writer)
        writer.finish()
    finally:
        if compression:
            packed.close()


def encode_text(text: str, encoding: str, odd_lines: Mapping[int, str] | None = None, line: int = 1) -> bytes:
    """The bytes of a text.

    Bytes that were no UTF-8 come back as they were; half a surrogate pair goes through as it is.

    Args:
        odd_lines: Lines in another encoding, by their number.
        line: The number of the text's first line.
    Raises:
        InputError: The encoding has no such character.
    """
    if not odd_lines:
        return _encode(text, encoding)
    lines = text.split("\n")
    return b"\n".join(_encode(part, odd_lines.get(number, encoding)) for number, part in enumerate(lines, line))


def _encode(text: str, encoding: str) -> bytes:
    try:
        try:
            return text.encode(encoding, _errors(encoding))
        except UnicodeEncodeError:
            return text.encode(encoding, "surrogatepass")
    except UnicodeEncodeError as error:
        raise InputError(
            f"{encoding} has no {text[error.start : error.end]!r}; the text can be written in UTF-8 instead."
        ) from None
    except LookupError:
        raise InputError(f"unknown encoding {encoding!r}; allowed: Python's names of encodings.") from None


def _errors(encoding: str) -> str:
    return "surrogateescape" if encoding == "utf-8" else "strict"


def _content(file: BinaryIO, compression: str) -> BinaryIO:
    file.seek(0)
    return decompressed(file, compression)


def _spooled(pipe: BinaryIO, stack: ExitStack) -> BinaryIO:
    copy = stack.enter_context(tempfile.SpooledTemporaryFile(_IN_MEMORY))  # noqa: SIM115
    shutil.copyfileobj(pipe, copy)
    copy.seek(0)
    return cast(BinaryIO, copy)


class _Recoded(io.RawIOBase):
    """The lines of a file, those in another encoding as UTF-8."""

    def __init__(self, file: BinaryIO, odd_lines: Mapping[int, str]) -> None:
        self._lines = enumerate(file, 1)
        self._odd = odd_lines
        self._ready = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if not self._ready:
            number, line = next(self._lines, (0, b""))
            encoding = self._odd.get(number)
            self._ready = line.decode(encoding).encode() if encoding else line
        count = min(len(buffer), len(self._ready))
        buffer[:count] = self._ready[:count]
        self._ready = self._ready[count:]
        return count


class _Writer(io.TextIOBase):
    """Encodes what is written, each line in its own encoding."""

    def __init__(self, target: BinaryIO, encoding: str, odd_lines: Mapping[int, str]) -> None:
        self._target, self._encoding, self._odd = target, encoding, odd_lines
        self._line = 1
        self._begun: list[str] = []  # of a line whose end is still to come

    def writable(self) -> bool:
        return True

    def write(self, text: str, /) -> int:
        if not self._odd:
            self._target.write(_encode(text, self._encoding))
            return len(text)
        head, newline, rest = text.rpartition("\n")
        if newline:
            lines = "".join([*self._begun, head, newline])
            self._begun = []
            self._target.write(encode_text(lines, self._encoding, self._odd, self._line))
            self._line += lines.count("\n")
        if rest:
            self._begun.append(rest)
        return len(text)

    def finish(self) -> None:
        """Write the line that has no end."""
        self._target.write(encode_text("".join(self._begun), self._encoding, self._odd, self._line))
