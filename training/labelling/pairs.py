"""Pairs of an original and a shortened text that a team already has: two files, two folders, or columns of JSON lines."""

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

from compressor import formats
from compressor.errors import InputError
from training.labelling.errors import LabelError
from training.labelling.records import Raw, language_of, plain, read_raw

Pair = tuple[Raw, list[list[str]]]
"""An original, and the turns of its shortened versions: one, or light and tight."""


def pair_files(raws: Sequence[Raw], shortened: Sequence[Path], format: str | None) -> Iterator[Pair | LabelError]:
    """Put each original beside its shortened versions.

    A shortened file belongs to the original file of its name, whatever its ending; a single file to a single file. Within
    a file the conversations are in the same order.

    Args:
        shortened: The file or folder of one version; or of two, light and tight.
    Raises:
        LabelError: A file has no partner, or another number of conversations.
    """
    versions = [_by_file(raws, path, format) for path in shortened]
    place: defaultdict[Path, int] = defaultdict(int)
    for raw in raws:
        number = place[raw.file]
        place[raw.file] += 1
        found = [version[raw.file][number] for version in versions]
        errors = [one for one in found if isinstance(one, LabelError)]
        if errors:
            yield LabelError(f"{raw.id} ({raw.where}): its shortened version cannot be read: {errors[0]}")
        else:
            yield raw, [[turn.text for turn in one.transcript] for one in found if isinstance(one, Raw)]


def pair_columns(path: Path, columns: Sequence[str], lang: str | None) -> Iterator[Pair | LabelError]:
    """Read pairs from JSON lines.

    Args:
        columns: Keys of the original and its shortened version, or of its light and its tight one. A value is a text
            (with `Name: text` lines, if it has turns) or a list of chat messages.
    """
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        yield LabelError(f"{path}: {error}")
        return
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        where = f"{path}, line {number}"
        try:
            record = json.loads(line)
            if not isinstance(record, dict):
                raise LabelError(f"{where}: allowed: a JSON object with {', '.join(columns)}.")
            missing = [column for column in columns if column not in record]
            if missing:
                raise LabelError(
                    f"{where}: the column {missing[0]!r} is missing (keys: {', '.join(record) or 'none'})."
                )
            transcripts = [plain(formats.read(record[column])) for column in columns]
            if not any(turn.text.strip() for turn in transcripts[0]):
                raise LabelError(f"{where}: the original has no words.")
        except LabelError as error:
            yield error
        except (InputError, ValueError, RecursionError) as error:
            yield LabelError(f"{where}: {error}")
        else:
            id_ = record["id"] if isinstance(record.get("id"), str) and record["id"] else f"{path.stem}-{number:04d}"
            raw = Raw(id_, lang or language_of(transcripts[0]), transcripts[0], where, path)
            yield raw, [[turn.text for turn in one] for one in transcripts[1:]]


def _by_file(raws: Sequence[Raw], shortened: Path, format: str | None) -> dict[Path, list[Raw | LabelError]]:
    """The conversations of the shortened file that belongs to each original file."""
    originals = list(dict.fromkeys(raw.file for raw in raws))
    files = sorted(file for file in shortened.rglob("*") if file.is_file()) if shortened.is_dir() else [shortened]
    if not shortened.exists():
        raise LabelError(f"{shortened}: no such file or folder.")
    partners: dict[Path, list[Raw | LabelError]] = {}
    for original in originals:
        own = files if len(files) == len(originals) == 1 else [one for one in files if _stem(one) == _stem(original)]
        if len(own) != 1:
            raise LabelError(f"{original}: {len(own)} shortened files of that name in {shortened}; allowed: one.")
        found = list(read_raw(own, format, empty=True))
        count = sum(raw.file == original for raw in raws)
        if len(found) != count:
            raise LabelError(
                f"{own[0]} holds {len(found)} conversations, {original} {count}; allowed: as many, in order."
            )
        partners[original] = found
    return partners


def _stem(file: Path) -> str:
    return file.name.split(".")[0] or file.name
