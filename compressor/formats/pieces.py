"""Files larger than memory: their conversations one by one, each read and written back on its own."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TextIO

from compressor.errors import InputError
from compressor.formats import FORMATS, Format
from compressor.formats.splitting import Piece
from compressor.transcript import Transcript

__all__ = ["Piece", "pieces", "read_piece", "write_piece"]


def pieces(stream: Iterable[str] | TextIO, format: str, **options: Any) -> Iterator[Piece]:
    """Cut a file into its conversations while it is read; memory is that of the largest one.

    Args:
        stream: The file, opened as text with `newline=""` so that line ends stay, or its characters in any portions.
        format: A name in FORMATS.
        options: Those that the format takes (`Format.options`); the options of other formats are passed over, because
            one call may serve files of many formats.
    Raises:
        InputError: The format or an option is unknown, or the file cannot be cut; names the line.
    """
    found = _format(format)
    return found.split(stream, **_taken(found, options))


def read_piece(piece: Piece, format: str, **options: Any) -> Transcript:
    """Read one piece of a file.

    Raises:
        InputError: It cannot be read; names the line within the file.
    """
    found = _format(format)
    return found.read_one(piece, **_taken(found, options))


def write_piece(transcript: Transcript) -> str:
    """The piece that `read_piece` read, with the texts of the transcript; the piece itself if none has changed."""
    return str(_format(transcript.format).write(transcript))


def _format(name: str) -> Format:
    if name not in FORMATS:
        raise InputError(f"unknown format {name!r}; allowed: {', '.join(FORMATS)}.")
    return FORMATS[name]


def _taken(format: Format, options: Mapping[str, Any]) -> dict[str, Any]:
    known = {name for other in FORMATS.values() for name in other.options}
    for name in options:
        if name not in known:
            raise InputError(f"unknown option {name!r}; allowed: {', '.join(sorted(known)) or 'none'}.")
    return {name: value for name, value in options.items() if name in format.options}
