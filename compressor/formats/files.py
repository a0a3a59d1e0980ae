"""Files on disk: their bytes as text and back, the format of their content, and where results are written."""

import codecs
import json
import os
from collections.abc import Sequence
from pathlib import Path

from compressor.errors import InputError, PolicyError


def decode(content: bytes) -> tuple[str, str]:
    """The text of a file and its encoding: UTF-8, or UTF-16 with a byte order mark. The mark stays in the text.

    Raises:
        InputError: The bytes are in another encoding; names the offset of the first wrong byte.
    """
    encoding = "utf-8"
    for mark, name in ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be")):
        if content.startswith(mark):
            encoding = name
    try:
        return content.decode(encoding), encoding
    except UnicodeDecodeError as error:
        found = f" ({content[error.start]:#04x})" if error.start < len(content) else ""
        raise InputError(
            f"the file is not {encoding.upper()}: byte {error.start}{found} cannot be decoded; "
            "allowed encodings: UTF-8, or UTF-16 with a byte order mark. Convert the file first."
        ) from None


def encode(content: str, encoding: str = "utf-8") -> bytes:
    """The bytes of a text; half a surrogate pair goes through as it is."""
    return content.encode(encoding, "surrogatepass")


def sniff(content: str) -> str:
    """The format of a file's text: JSON lines if its first line is a whole value and more follow, JSON, else text."""
    first, _, rest = content.strip("\ufeff \t\r\n").partition("\n")
    if first[:1] not in ("{", "["):
        return "text"
    for name, part in (("jsonl" if rest else "json", first), ("json", content.removeprefix("\ufeff"))):
        try:
            json.loads(part)
        except (json.JSONDecodeError, RecursionError):
            continue
        except ValueError:  # JSON with a number that is too long to read
            return name
        return name
    return "text"


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
