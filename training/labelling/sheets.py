"""A spreadsheet to cut in: one word a row, with 1 where an edit keeps it and 0 where it cuts; and back."""

import csv
import io
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from compressor.words import SEGMENTATION
from training.labelling.errors import LabelError
from training.labelling.levels import Level, labelled, one_level
from training.labelling.opinion import Opinion
from training.labelling.records import Cut, Labelled, Mask, Raw, is_fixed

COLUMNS = ("record", "turn", "start", "end", "speaker", "word", "light", "tight")
"""`start` and `end` are characters of the turn. A sheet with `keep` instead of the last two gives one level."""

_YES = frozenset("1 x yes y true keep kept ja j wahr vrai oui 是 保留".split())
_NO = frozenset("0 no n false cut deleted nein falsch faux non 否 删".split()) | {""}
# Spreadsheets take cells that begin with one of these for a formula; an apostrophe makes them text.
_FORMULA = ("=", "+", "-", "@", "\t", "'")

Row = dict[str, str]


def write_sheet(path: Path, raws: Sequence[Raw], opinions: Iterable[Opinion]) -> int:
    """Write the words of all turns that may be cut, filled in with what the model would cut. Returns the rows."""
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = 0
    with path.open("w", encoding="utf-8-sig", errors="surrogatepass", newline="") as file:
        sheet = csv.writer(file)
        sheet.writerow(COLUMNS)
        for raw, opinion in zip(raws, opinions, strict=True):
            for number, (turn, cut) in enumerate(zip(raw.transcript, opinion.cuts, strict=True)):
                if is_fixed(turn):
                    continue
                for (start, end), light, tight in zip(raw.words(number), cut.light, cut.tight, strict=True):
                    word = _guarded(turn.text[start:end])
                    who = _guarded(turn.speaker or turn.role)
                    sheet.writerow([_guarded(raw.id), number, start, end, who, word, int(light), int(tight)])
                    rows += 1
    return rows


def read_sheet(path: Path) -> dict[str, list[tuple[int, Row]]]:
    """The rows of each record, with their numbers in the file.

    Raises:
        LabelError: It is no such sheet; names the file and what is missing.
    """
    try:
        content = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise LabelError(f"{path}: {error}. Save the sheet as CSV in UTF-8.") from error
    head = content.split("\n", 1)[0]
    delimiter = max(",;\t", key=head.count)
    rows = csv.DictReader(io.StringIO(content, newline=""), delimiter=delimiter)
    names = {(name or "").strip().lower() for name in rows.fieldnames or ()}
    missing = [name for name in COLUMNS[:4] if name not in names]
    if missing or not ({"light", "tight"} <= names or "keep" in names):
        missing = missing or ["light and tight, or keep"]
        raise LabelError(f"{path}: the column {missing[0]} is missing; allowed: {', '.join(COLUMNS)}.")
    found: defaultdict[str, list[tuple[int, Row]]] = defaultdict(list)
    for row in rows:
        cells = {(name or "").strip().lower(): (value or "").strip() for name, value in row.items() if name}
        if any(cells.values()):
            found[cells["record"].removeprefix("'")].append((rows.line_num, cells))
    return dict(found)


def from_rows(raw: Raw, rows: Sequence[tuple[int, Row]], level: Level, opinion: Opinion, path: Path) -> Labelled:
    """The record that the rows of a sheet describe.

    Raises:
        LabelError: A row is missing, doubled, changed, or fits no word of the transcript; names record and row.
    """
    cuts: list[Cut] = []
    places: dict[tuple[int, int, int], tuple[int, Row]] = {}
    for line, row in rows:
        where = f"{path}, line {line}, record {raw.id}"
        try:
            place = (int(row["turn"]), int(row["start"]), int(row["end"]))
        except ValueError as error:
            raise LabelError(f"{where}: turn, start and end must be whole numbers ({error}).") from error
        if place in places:
            raise LabelError(f"{where}: the word is in the sheet twice.")
        places[place] = line, row
    for number, turn in enumerate(raw.transcript):
        words = [] if is_fixed(turn) else raw.words(number)
        kept: dict[str, Mask] = {}
        for at, (start, end) in enumerate(words):
            found = places.pop((number, start, end), None)
            word = turn.text[start:end]
            if found is None:
                raise LabelError(
                    f"{path}, record {raw.id}: turn {number} has no row for {word!r} at {start} to {end}. A row was lost, "
                    f"the transcript changed, or the sheet was made by another segmentation version than {SEGMENTATION}."
                )
            line, row = found
            _same(f"{path}, line {line}, record {raw.id}", word, row.get("word", word))
            for name in ("light", "tight") if "light" in row else ("keep",):
                mask = kept.setdefault(name, np.zeros(len(words), np.bool_))
                mask[at] = _yes(row[name], f"{path}, line {line}, record {raw.id}: {name}")
        cuts.append(_cut(raw, number, kept, level, opinion, path))
    if places:
        (turn_number, start, end), (line, _) = next(iter(places.items()))
        raise LabelError(
            f"{path}, line {line}, record {raw.id}: turn {turn_number} has no word at {start} to {end}. The transcript "
            f"changed, or the sheet was made by another segmentation version than {SEGMENTATION}."
        )
    return labelled(raw, cuts, opinion, "edits in a sheet")


def _cut(raw: Raw, number: int, kept: dict[str, Mask], level: Level, opinion: Opinion, path: Path) -> Cut:
    if not kept:
        return opinion.cuts[number]
    if "keep" in kept:
        return one_level(kept["keep"], level, opinion.cuts[number])
    wrong = np.flatnonzero(kept["tight"] & ~kept["light"])
    if len(wrong):
        start, end = raw.words(number)[wrong[0]]
        word = raw.transcript.turns[number].text[start:end]
        raise LabelError(
            f"{path}, record {raw.id}: in turn {number}, tight keeps {word!r} at {start}, which light cuts"
            f" ({len(wrong)} words so); allowed: tight keeps a part of what light keeps."
        )
    return Cut.of(kept["light"], kept["tight"])


def _guarded(cell: str) -> str:
    return f"'{cell}" if cell.startswith(_FORMULA) else cell


def _same(where: str, word: str, cell: str) -> None:
    """Whether a row shows the word that it is about; figures and dates are not compared, as spreadsheets rewrite them."""
    if word.isalpha() and cell.isalpha() and cell.casefold() != word.casefold():
        raise LabelError(f"{where}: the row is about {cell!r}, the transcript has {word!r} there; was it changed?")


def _yes(cell: str, where: str) -> bool:
    value = cell.casefold()
    if value in _YES or value in _NO:
        return value in _YES
    raise LabelError(f"{where} is {cell!r}; allowed: 1 or 0, x or nothing, yes or no.")
