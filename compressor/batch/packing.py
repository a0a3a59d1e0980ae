"""From an unfinished file to what stands under the final name: compressed like its source, or written as a table again."""

import os
import shutil
from pathlib import Path

from compressor.batch.journal import FileState
from compressor.batch.tables import assemble
from compressor.errors import InputError
from compressor.formats.compressed import compressing

_BLOCK = 1 << 20


def packed(part: Path, state: FileState, source: Path, column: str) -> Path:
    """A file beside the part with what it becomes, on disk; the part itself where nothing is to be done.

    Args:
        part: Holds all pieces of the result, one after the other.
        state: What the source was.
        source: The source; a table is written like it.
        column: The column of tables that was compressed.
    Raises:
        OSError: It cannot be written.
        InputError: The source is a table that was changed, damaged or removed meanwhile.
    """
    if state.encoding and not state.compression:
        return part
    if not state.encoding and not os.access(source, os.R_OK):
        raise InputError(f"the table {source} cannot be read any more, and its result is written like it.")
    target = part.with_suffix(".packed")
    with open(target, "wb") as file:
        if not state.encoding:
            with open(part, "rb") as content:
                assemble(content, source, file, column)
        else:
            with open(part, "rb") as content, compressing(file, state.compression) as stream:
                shutil.copyfileobj(content, stream, _BLOCK)
        file.flush()
        os.fsync(file.fileno())
    return target
