"""The cases: flip pairs that ship with the package, and annotated transcripts that a user passes."""

import hashlib
import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from compressor.evaluation.errors import CaseError
from compressor.evaluation.records import Record, files_of, read_records
from compressor.transcript import Transcript

SHIPPED = Path(__file__).parent / "cases"

KINDS = (
    "verb", "modal", "quantifier", "negation", "condition", "quote", "number", "exception", "scope", "attribution"
)  # fmt: skip
"""The kinds of flip cases, in equal shares."""


@dataclass(frozen=True, slots=True)
class Probe:
    """A question about a conversation, and the strings of turn number `turn` without which it has no answer."""

    turn: int
    needs: tuple[str, ...]
    question: str
    answer: str


@dataclass(frozen=True, slots=True)
class Dialogue:
    """A conversation with the questions that must stay answerable.

    Args:
        id: Unique in one run.
        lang: `en` or `zh`.
        kind: Kind of a flip case, else the domain.
        transcript: The source.
        probes: Questions; a flip case has one.
        options: Answers to choose from by letter, for flip cases.
        answer, flipped: The right letter, and that of one who read a paraphrase.
        labels: The annotators' (light, tight) texts of each turn, for annotated transcripts.
        entities, quotes: The annotated names and quotes.
    """

    id: str
    lang: str
    kind: str
    transcript: Transcript
    probes: tuple[Probe, ...] = ()
    options: tuple[tuple[str, str], ...] = ()
    answer: str = ""
    flipped: str = ""
    labels: tuple[tuple[str, str], ...] = ()
    entities: tuple[str, ...] = ()
    quotes: tuple[str, ...] = ()


def read_flips(paths: Sequence[Path] = (SHIPPED,)) -> list[Dialogue]:
    """Read and check flip cases.

    Args:
        paths: Files or folders of `{id, lang, kind, turns, turn, needs, question, options, answer, flipped}` a line.
    Raises:
        CaseError: A file cannot be read, a case is malformed, or an id is there twice.
    """
    return _unique(
        (record, _flip(record)) for path in paths for file in files_of(path) for record in read_records(file)
    )


def read_annotated(paths: Sequence[Path], ids: Collection[str] | None = None) -> list[Dialogue]:
    """Read annotated transcripts, or deletion sets brought into the same format.

    Args:
        paths: Files or folders of `{id, lang, turns: [{role, speaker, text, light, tight}], entities, quotes, probes}`
            a line. `light` and `tight` are subsequences of `text`; `tight`, `entities`, `quotes` and `probes` may lack.
        ids: Those to take; None takes all.
    Raises:
        CaseError: As for `read_flips`; also if none is left to take.
    """
    records = [record for path in paths for file in files_of(path) for record in read_records(file)]
    chosen = [record for record in records if ids is None or record.fields.get("id") in ids]
    if records and not chosen:
        raise CaseError(
            f"{', '.join(map(str, paths))}: none of the {len(records)} transcripts is in the chosen part of the split."
        )
    return _unique((record, _annotated(record)) for record in chosen)


def read_split(path: Path, part: str) -> frozenset[str]:
    """The ids of one part of a split.

    Raises:
        CaseError: The file cannot be read, or has no such part.
    """
    try:
        parts = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise CaseError(
            f"{path}: cannot be read as a split ({error}); allowed: a JSON object of lists of ids."
        ) from error
    if not isinstance(parts, dict) or not isinstance(parts.get(part), list):
        named = ", ".join(parts) if isinstance(parts, dict) else "none"
        raise CaseError(f"{path}: there is no part {part!r}; the parts are: {named}.")
    return frozenset(map(str, parts[part]))


def fingerprint(dialogues: Sequence[Dialogue]) -> str:
    """A short name for exactly these cases, to tell whether two results can be compared."""
    digest = hashlib.sha256()
    for dialogue in sorted(dialogues, key=lambda one: one.id):
        digest.update(repr(dialogue).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()[:16]


def _flip(record: Record) -> Dialogue:
    transcript = record.turns()
    turn, needs = record.probe(record.fields, transcript)
    options = record.fields.get("options")
    if not isinstance(options, dict) or len(options) < 2 or not all(isinstance(text, str) for text in options.values()):
        record.fail("options is no object of at least two answers by letter.")
    answer, flipped = record.text("answer"), record.text("flipped")
    for name, letter in (("answer", answer), ("flipped", flipped)):
        if letter not in options:
            record.fail(f"{name} is {letter!r}; allowed: {', '.join(options)}.")
    if answer == flipped:
        record.fail(f"answer and flipped are both {answer!r}.")
    kind = record.text("kind")
    if kind not in KINDS:
        record.fail(f"kind is {kind!r}; allowed: {', '.join(KINDS)}.")
    probe = Probe(turn, needs, record.text("question"), options[answer])
    return Dialogue(
        record.text("id"), record.text("lang"), kind, transcript, (probe,), tuple(options.items()), answer, flipped
    )  # fmt: skip


def _annotated(record: Record) -> Dialogue:
    transcript = record.turns()
    labels = []
    for index, turn in enumerate(record.objects("turns")):
        light = turn.get("light")
        tight = turn.get("tight", light)
        if not isinstance(light, str) or not isinstance(tight, str):
            record.fail(f"turn {index} needs light, a string; tight is a string if it is there.")
        labels.append((light, tight))
    probes = []
    for probe in record.objects("probes"):
        turn_number, needs = record.probe(probe, transcript)
        probes.append(Probe(turn_number, needs, str(probe.get("q", "")), str(probe.get("a", ""))))
    return Dialogue(
        id=record.text("id"),
        lang=record.text("lang"),
        kind=record.text("domain", "unknown"),
        transcript=transcript,
        probes=tuple(probes),
        labels=tuple(labels),
        entities=record.texts("entities"),
        quotes=record.texts("quotes"),
    )


def _unique(found: Iterable[tuple[Record, Dialogue]]) -> list[Dialogue]:
    seen: dict[str, Record] = {}
    dialogues = []
    for record, dialogue in found:
        if dialogue.id in seen:
            first = seen[dialogue.id]
            record.fail(f"the id is already that of {first.path}:{first.line}.")
        seen[dialogue.id] = record
        dialogues.append(dialogue)
    return dialogues
