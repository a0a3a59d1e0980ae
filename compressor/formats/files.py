"""Files on disk: their bytes as text and back, and where results are written."""

import io
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from compressor.errors import PolicyError
from compressor.formats.compressed import compressing
from compressor.formats.opening import encode_text, open_text
from compressor.formats.sniffing import sniff

__all__ = ["Encoding", "decode", "encode", "refuse_inputs", "sniff", "targets"]


class Encoding(str):
    """The name of a file's encoding, with what else its bytes need to be written as they were read.

    Args:
        name: Python's name.
        compression: As in `OpenedText`.
        odd_lines: As in `OpenedText`.
    """

    compression: str
    odd_lines: Mapping[int, str]

    def __new__(cls, name: str, compression: str = "", odd_lines: Mapping[int, str] | None = None) -> "Encoding":
        encoding = super().__new__(cls, name)
        encoding.compression = compression
        encoding.odd_lines = odd_lines or {}
        return encoding


def decode(content: bytes, name: str | None = None) -> tuple[str, Encoding]:
    """The text of a file, and how it is encoded and compressed; a byte order mark stays in the text.

    Args:
        content: The bytes of the file.
        name: What notes in the log call it.
    Raises:
        InputError: The bytes are damaged, no text, or in an encoding that cannot be found.
    """
    with open_text(io.BytesIO(content), name=name) as opened:
        return opened.stream.read(), Encoding(opened.encoding, opened.compression, opened.odd_lines)


def encode(content: str, encoding: str = "utf-8") -> bytes:
    """The bytes of a text, compressed if the file was that `decode` found the encoding of.

    Half a surrogate pair goes through as it is.

    Raises:
        InputError: The encoding is unknown, or has no such character.
    """
    if not isinstance(encoding, Encoding):
        return encode_text(content, encoding)
    encoded = encode_text(content, encoding, encoding.odd_lines)
    if not encoding.compression:
        return encoded
    file = io.BytesIO()
    with compressing(file, encoding.compression) as packed:
        packed.write(encoded)
    return file.getvalue()


def targets(files: Sequence[str], output: str | None) -> list[Path | None]:
    """The file that takes the result of each input; None is standard output.

    Args:
        files: The inputs; `-` is standard input.
        output: None, a file, or a folder: with several inputs, if it exists as one, or if it ends with a slash.
    Raises:
        PolicyError: A result would overwrite an input or another result, or the output can be no such file or folder.
    """
    if output is None:
        return [None] * len(files)
    path = Path(output)
    if not output or "\0" in output:
        raise PolicyError(f"the output is {output!r}; allowed: the name of a file or a folder.")
    if len(files) == 1 and not path.is_dir() and not output.endswith(("/", os.sep)):
        if not path.parent.is_dir():
            raise PolicyError(f"the output {output} cannot be written: there is no folder {path.parent}.")
        found = [path]
    else:
        if path.exists() and not path.is_dir():
            raise PolicyError(f"the output {output} is a file; allowed for several inputs: a folder.")
        found = [path / (Path(file).name if file != "-" else "stdin") for file in files]
    taken: dict[str, str] = {}
    for file, target in zip(files, found, strict=True):
        real = os.path.realpath(target)
        if real in taken:
            raise PolicyError(f"{taken[real]} and {file} would both be written to {target}; compress them one by one.")
        taken[real] = file
        refuse_inputs(files, target)
    return list(found)


def refuse_inputs(files: Sequence[str], target: Path) -> None:
    """Make sure that a file to be written is none of the inputs.

    Raises:
        PolicyError: It is one, by its name or by a link.
    """
    for file in files:
        if file != "-" and os.path.isfile(file) and os.path.exists(target) and os.path.samefile(file, target):
            raise PolicyError(f"{target} is the input {file}, which would be overwritten; choose another output.")
