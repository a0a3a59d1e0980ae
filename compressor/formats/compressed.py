"""Compressed files, told by their first bytes: gzip, bzip2, xz and Zstandard, read and written as streams."""

import bz2
import gzip
import io
import lzma
import zlib
from typing import Any, BinaryIO, cast

from compressor.errors import InputError

MAGIC = {"gz": b"\x1f\x8b", "bz2": b"BZh", "xz": b"\xfd7zXZ\x00", "zst": b"\x28\xb5\x2f\xfd"}
"""How the files of each compression begin."""
ENDINGS = frozenset({".gz", ".bz2", ".xz", ".zst", ".zstd"})
"""The endings that compression adds to a file's name."""

_PORTION = 1 << 17


def find_compression(file: BinaryIO) -> str:
    """The compression of a file, a key of MAGIC, or an empty string; the file is left at its beginning."""
    head = file.read(6)
    file.seek(0)
    return next((name for name, magic in MAGIC.items() if head.startswith(magic)), "")


def decompressed(file: BinaryIO, compression: str) -> BinaryIO:
    """A stream of what is inside a compressed file; `InputError` of its `read` says that the file is damaged."""
    if not compression:
        return file
    return cast(BinaryIO, io.BufferedReader(_Checked(_reader(file, compression), compression), _PORTION))


def compressing(file: BinaryIO, compression: str) -> BinaryIO:
    """A stream that compresses what it is given into a file; the same content gives the same bytes.

    Closing it finishes the compressed stream and leaves the file open.
    """
    if compression == "gz":
        return cast(BinaryIO, gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0))
    if compression == "bz2":
        return cast(BinaryIO, bz2.BZ2File(file, "wb"))
    if compression == "xz":
        return cast(BinaryIO, lzma.LZMAFile(file, "wb"))
    if compression == "zst":
        return cast(BinaryIO, _zstandard().ZstdCompressor(write_checksum=True).stream_writer(file, closefd=False))
    raise InputError(f"unknown compression {compression!r}; allowed: {', '.join(MAGIC)}.")


def _reader(file: BinaryIO, compression: str) -> Any:
    if compression == "gz":
        return gzip.GzipFile(fileobj=file)
    if compression == "bz2":
        return bz2.BZ2File(file)
    if compression == "xz":
        return lzma.LZMAFile(file)
    return _Zstd(file)


def _zstandard() -> Any:
    try:
        import zstandard
    except ImportError as error:
        raise InputError(
            "the file is compressed with zstd, and zstandard is not installed: pip install 'compressor[batch]'."
        ) from error
    return zstandard


class _Zstd:
    """The content of Zstandard frames; unlike the library's reader it notices a file that ends within a frame."""

    def __init__(self, file: BinaryIO) -> None:
        self._library = _zstandard()
        self._file = file
        self._frame: Any = None
        self._rest = b""

    def read(self, size: int) -> bytes:
        """Some bytes, none at the end; more than `size` if they come out of one portion of the file."""
        while True:
            portion = self._rest or self._file.read(_PORTION)
            self._rest = b""
            if not portion:
                if self._frame is not None:
                    raise EOFError("the file ends within a frame")
                return b""
            if self._frame is None:
                self._frame = self._library.ZstdDecompressor().decompressobj()
            content: bytes = self._frame.decompress(portion)
            if self._frame.eof:
                self._rest = self._frame.unused_data
                self._frame = None
            if content:
                return content


class _Checked(io.RawIOBase):
    """Turns what the libraries raise for damaged files into one error that says so."""

    def __init__(self, reader: Any, compression: str) -> None:
        self._reader, self._compression = reader, compression
        self._ready = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if not self._ready:
            try:
                self._ready = self._reader.read(len(buffer))
            except (EOFError, OSError, zlib.error, lzma.LZMAError) as error:
                raise self._damaged(error) from error
            except Exception as error:
                if type(error).__name__ != "ZstdError":  # the library may be absent, and has its own class
                    raise
                raise self._damaged(error) from error
        count = min(len(buffer), len(self._ready))
        buffer[:count] = self._ready[:count]
        self._ready = self._ready[count:]
        return count

    def _damaged(self, error: Exception) -> Exception:
        if isinstance(error, OSError) and error.errno is not None:
            return error  # the disk failed, not the archive
        how = "cut short" if isinstance(error, EOFError) else "damaged"
        return InputError(f"the file is compressed with {self._compression} and is {how}: {error}.")
