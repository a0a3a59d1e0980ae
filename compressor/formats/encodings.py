"""Which encoding the bytes of a file are in: marks, UTF-8 checked to the last byte, else what the bytes look like."""

import codecs
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import BinaryIO

from compressor.errors import InputError

CHUNK = 1 << 20
"""Bytes that are read at once."""
SAMPLE = 1 << 18
"""Bytes that the guess of an encoding is made from."""

# The longer mark first: the one of UTF-32 begins with that of UTF-16.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_NO_TEXT = (
    (b"PK\x03\x04", "a ZIP archive (or an Office document)"),
    (b"PK\x05\x06", "an empty ZIP archive"),
    (b"%PDF", "a PDF document"),
    (b"PAR1", "a Parquet table"),
    (b"ARROW1", "an Arrow table"),
    (b"SQLite format 3", "an SQLite database"),
    (b"7z\xbc\xaf", "a 7-Zip archive"),
    (b"Rar!", "a RAR archive"),
    (b"\x89PNG", "an image"),
    (b"\xff\xd8\xff", "an image"),
    (b"RIFF", "a sound or video file"),
    (b"ID3", "a sound file"),
    (b"OggS", "a sound file"),
)
_HIGH = re.compile(rb"[\x80-\xff]+")
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_SIGNS = frozenset("‘’“”„‚–—…«»‹›°§©®™€£·•¿¡ºª½¼¾²³±×\u00a0")
_WESTERN = ("cp1252", "iso8859-15", "latin-1", "cp1250", "cp1254", "cp1257", "mac-roman", "cp850")
# What a guess is not trusted with: they have states, so that a piece cannot be written back on its own.
_STATEFUL = ("utf_7", "hz", "iso2022", "punycode", "idna")


@dataclass(frozen=True, slots=True)
class Coding:
    """How the text of a file is kept as bytes.

    Args:
        encoding: Python's name of the encoding.
        odd_lines: Lines in another encoding, by their number from 1; only in files of JSON lines.
        notes: What was guessed, for people.
    """

    encoding: str = "utf-8"
    odd_lines: dict[int, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def find_coding(reopen: Callable[[], BinaryIO]) -> Coding:
    """Read a file through and say how it is encoded; UTF-8 holds to its last byte then.

    Args:
        reopen: Gives the file at its beginning; files that are not UTF-8 are read more than once.
    Raises:
        InputError: It is no text, or the encoding cannot be found.
    """
    file = reopen()
    head = file.read(1 << 16)
    for magic, what in _NO_TEXT:
        if head.startswith(magic):
            raise InputError(f"the file is {what}; allowed: text, as it is or compressed with gzip, bzip2, xz or zstd.")
    if head[257:262] == b"ustar":
        raise InputError("the file is a tar archive; allowed: text. Unpack it and compress the files in it.")
    marked = next((name for mark, name in _MARKS if head.startswith(mark)), None)
    wide = None if marked else _wide(head)
    if wide and _first_wrong(_from_start(head, file), wide) is None:
        return Coding(wide)
    if wide:
        file = reopen()
        head = file.read(len(head))
    if b"\0" in head and marked in (None, "utf-8"):
        raise InputError("the file holds control characters (NUL), which text does not have; allowed: text.")
    wrong = _first_wrong(_from_start(head, file), marked or "utf-8")
    if wrong is None:
        return Coding(marked or "utf-8")
    if marked is not None and marked != "utf-8":
        raise InputError(
            f"the file begins as {marked.upper()}, but byte {wrong} of it cannot be decoded; it is damaged."
        )
    return _guess(reopen, wrong, bool(marked))


def _from_start(head: bytes, file: BinaryIO) -> Iterator[bytes]:
    yield head
    while chunk := file.read(CHUNK):
        yield chunk


def _wide(head: bytes) -> str | None:
    """UTF-16 without a mark: every other byte of mostly Latin text is zero."""
    sample = head[: len(head) & ~1]
    if len(sample) < 4 or b"\0" not in sample:
        return None
    even, odd = sample[::2].count(0), sample[1::2].count(0)
    half = len(sample) // 2
    if odd >= 0.4 * half and even <= 0.05 * half:
        return "utf-16-le"
    return "utf-16-be" if even >= 0.4 * half and odd <= 0.05 * half else None


def _first_wrong(chunks: Iterable[bytes], encoding: str) -> int | None:
    """The number of the first byte that cannot be decoded, from 0."""
    decoder = codecs.getincrementaldecoder(encoding)()
    at = 0
    for chunk in chunks:
        pending = len(decoder.getstate()[0])
        try:
            decoder.decode(chunk)
        except UnicodeDecodeError as error:
            return at - pending + error.start
        at += len(chunk)
    pending = len(decoder.getstate()[0])
    try:
        decoder.decode(b"", True)
    except UnicodeDecodeError:
        return at - pending
    return None


@dataclass(slots=True)
class _Lines:
    """What the lines of a file that is not UTF-8 are like.

    Args:
        n_right: Lines that are UTF-8 and not ASCII.
        wrong: Lines that are no UTF-8, by their number from 1, up to a limit; `n_wrong` counts them all.
        is_json: Whether the first line that is not blank begins as JSON.
    """

    n_right: int = 0
    n_wrong: int = 0
    wrong: dict[int, bytes] = field(default_factory=dict)
    is_json: bool = False


def _guess(reopen: Callable[[], BinaryIO], first_wrong: int, marked: bool) -> Coding:
    lines = _survey(reopen())
    if lines.is_json and lines.n_right:
        return _odd_lines(reopen())
    if lines.n_right and lines.n_right >= lines.n_wrong:
        numbers = ", ".join(map(str, list(lines.wrong)[:5])) + (", ..." if lines.n_wrong > 5 else "")
        return Coding(notes=(f"read as UTF-8; the bytes that are none (line {numbers}) are carried through unread",))
    if marked:
        raise InputError(
            f"the file is marked as UTF-8, but byte {first_wrong} of it cannot be decoded; convert it to UTF-8 first."
        )
    sample = b"\n".join(lines.wrong.values())[:SAMPLE]
    for encoding in _candidates(sample):
        if _comes_back(reopen(), encoding):
            return Coding(encoding, notes=(f"read as {encoding}, which was guessed: byte {first_wrong} is no UTF-8",))
    raise InputError(
        f"the file is not UTF-8: byte {first_wrong} cannot be decoded, and no other encoding fits; allowed: UTF-8, UTF-16 "
        "or UTF-32 with a byte order mark, or another encoding that can be told by its text. Convert the file first."
    )


def _survey(file: BinaryIO) -> _Lines:
    found = _Lines()
    size = 0
    begun = False
    for number, line in enumerate(file, 1):
        if not begun and line.strip():
            begun = True
            found.is_json = line.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"[")
        if line.isascii():
            continue
        if _is_utf8(line):
            found.n_right += 1
            continue
        found.n_wrong += 1
        if size < SAMPLE:
            found.wrong[number] = line[:SAMPLE]
            size += len(found.wrong[number])
    return found


def _odd_lines(file: BinaryIO) -> Coding:
    odd: dict[int, str] = {}
    for number, line in enumerate(file, 1):
        if line.isascii() or _is_utf8(line):
            continue
        encoding = next((name for name in _candidates(line) if _same(line, name)), None)
        if encoding is None:
            raise InputError(f"line {number} is not UTF-8, and no other encoding fits; convert the file first.")
        odd[number] = encoding
    notes = [f"line {number} read as {name}, which was guessed" for number, name in list(odd.items())[:5]]
    if len(odd) > 5:
        notes.append(f"{len(odd) - 5} more lines are in another encoding than UTF-8")
    return Coding("utf-8", odd, tuple(notes))


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True


def _same(content: bytes, encoding: str) -> bool:
    """Whether bytes come back as they were from an encoding."""
    try:
        return content.decode(encoding).encode(encoding) == content
    except (UnicodeError, LookupError):
        return False


def _comes_back(file: BinaryIO, encoding: str) -> bool:
    """Whether all bytes of a file come back as they were from an encoding."""
    try:
        decoder = codecs.getincrementaldecoder(encoding)()
        pending = b""
        while chunk := file.read(CHUNK):
            before = pending + chunk
            text = decoder.decode(chunk)
            pending = decoder.getstate()[0]
            if text.encode(encoding) != before[: len(before) - len(pending)]:
                return False
        return not pending
    except (UnicodeError, LookupError):
        return False


def _candidates(sample: bytes) -> Iterator[str]:
    """Encodings that the bytes may be in, the likeliest first.

    In text of a Latin script the letters that are not ASCII stand alone between others; short text of that kind is taken
    for the Western or Central European encoding in which they are all letters and signs of print. All other text is
    judged by charset-normalizer.
    """
    if _CONTROL.search(sample):
        raise InputError("the file holds control characters and is not UTF-8; allowed: text.")
    runs = _HIGH.findall(sample)
    scattered = sum(len(run) == 1 for run in runs) >= 0.8 * len(runs)
    if scattered:
        yield from (name for name in _WESTERN[:4] if _reads_well(sample, name))
    best = _normalised(sample)
    if best:
        yield best
    if scattered:
        yield from _WESTERN


def _reads_well(sample: bytes, encoding: str) -> bool:
    """Whether each character that is not ASCII is a letter, or a sign of print that stands outside of words."""
    try:
        text = sample.decode(encoding)
    except UnicodeDecodeError:
        return False
    padded = f" {text} "
    for before, char, after in zip(padded, text, padded[2:], strict=False):
        if char.isascii() or (char.isalpha() and char not in "ºª" and not (before.islower() and char.isupper())):
            continue
        if char not in _SIGNS or (before.isalpha() and after.isalpha() and char not in "’·"):
            return False
    return True


def _normalised(sample: bytes) -> str | None:
    try:
        import charset_normalizer
    except ImportError as error:
        raise InputError(
            "the file is not UTF-8, and charset-normalizer, which tells other encodings, is not installed: "
            "pip install 'compressor[batch]', or convert the file to UTF-8."
        ) from error
    best = charset_normalizer.from_bytes(sample).best()
    if best is None or any(name in best.encoding for name in _STATEFUL):
        return None
    return str(best.encoding)
