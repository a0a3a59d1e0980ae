"""The run's memory on disk: what it was made with, and how far each file has come.

A line of the journal is written after the bytes it speaks of are on disk, so that at any moment the last whole line is true:
what lies beyond it in the parts is cut off when the run goes on.
"""

import json
import os
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Self

from compressor.batch.errors import BatchError, ChangedError
from compressor.batch.identity import Stamp, differences
from compressor.batch.tally import Tally

VERSION = 1
"""Of the files below; a run of another one is not continued."""

OPEN, COMPLETE, PUBLISHED, FAILED = "open", "complete", "published", "failed"
"""States of a file: begun; all records done, still a part; under its final name; given up."""


@dataclass(frozen=True, slots=True)
class FileState:
    """How far one file has come.

    Args:
        id: A number of its own in this run; its parts are named by it.
        stamp: What the input was when it was begun. None where it could not be read.
        format, encoding, compression: As they were found.
        notes: What a reader of the report should know about the file.
        state: One of the four above.
        pieces: Pieces of the file that are done; the run goes on behind them.
        bytes, error_bytes: Length of its output, before compression, and of its list of bad records.
        bad: Its records that failed.
        seconds: Processor time so far.
        reason: Why it was given up.
        result: What its result was when it was put under its final name.
    """

    id: int
    stamp: Stamp | None = None
    format: str = ""
    encoding: str = ""
    compression: str = ""
    notes: tuple[str, ...] = ()
    state: str = OPEN
    pieces: int = 0
    bytes: int = 0
    error_bytes: int = 0
    bad: int = 0
    seconds: float = 0.0
    reason: str = ""
    result: Stamp | None = None

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """What `dataclasses.asdict` gave."""
        stamps = {name: values.get(name) and Stamp(**values[name]) for name in ("stamp", "result")}
        return cls(**{**values, **stamps, "notes": tuple(values["notes"])})


@dataclass(slots=True)
class Journal:
    """The journal of one run.

    Args:
        folder: Where it lies.
        files: The state of each file that was begun, by the name of its result.
        begun: What was counted in files that are not published yet.
        totals: What was counted in files that are, by format.
        counted: The files of which `totals` and `tallies` speak. None: all.
        left: Results of runs before a restart, which may be there still.
        resumed: Whether an earlier run is continued.
        replaces: Whether results may replace files that this run has not made, as after a restart.
    """

    folder: Path
    files: dict[str, FileState] = field(default_factory=dict)
    begun: dict[str, Tally] = field(default_factory=dict)
    totals: dict[str, Tally] = field(default_factory=dict)
    counted: Collection[str] | None = None
    left: tuple[str, ...] = ()
    resumed: bool = False
    replaces: bool = False
    _last_id: int = 0
    _stream: Any = None

    @classmethod
    def open(
        cls,
        folder: Path,
        identity: Mapping[str, Any],
        *,
        restart: bool = False,
        counted: Collection[str] | None = None,
    ) -> Self:
        """Go on with the run in a folder, or begin one.

        Args:
            folder: The folder of state; made if it does not exist.
            identity: What the run is made with.
            restart: Forget an earlier run, but for the names of its results.
            counted: The files whose numbers are asked for. None: all.
        Raises:
            ChangedError: The earlier run was made with something else; names what.
            BatchError: The journal is damaged.
        """
        folder.mkdir(parents=True, exist_ok=True)
        manifest, path = folder / "manifest.json", folder / "journal.jsonl"
        left = _names_in(folder / "left.json")
        if restart:
            left |= _results_in(path)
            if left:
                write_atomically(folder / "left.json", json.dumps(sorted(left), indent=1).encode())
            for old in (manifest, path):  # the manifest first: without it there is no run
                old.unlink(missing_ok=True)
        journal = cls(folder, counted=counted, left=tuple(sorted(left)))
        if manifest.exists():
            journal.replaces = _check_manifest(manifest, identity)
            journal._load(path)
            journal.resumed = True
        else:
            path.unlink(missing_ok=True)
            journal.replaces = restart
            content = {"version": VERSION, "made with": identity, "replaces": restart}
            write_atomically(manifest, json.dumps(content, indent=1).encode())
        journal._stream = path.open("ab")
        sync_folder(folder)
        return journal

    def close(self) -> None:
        """Let go of the file."""
        self._stream.close()

    def new_id(self) -> int:
        """A number that no file has had."""
        self._last_id += 1
        return self._last_id

    def commit(self, changes: Mapping[str, tuple[FileState, Tally]]) -> None:
        """Write down the new state of some files, and what was counted in them since; on disk when this returns."""
        line = {name: {"is": asdict(state), "add": tally.to_dict()} for name, (state, tally) in changes.items()}
        self._stream.write(json.dumps(line, separators=(",", ":")).encode() + b"\n")
        self._stream.flush()
        os.fsync(self._stream.fileno())
        for name, (state, tally) in changes.items():
            self._apply(name, state, tally)

    def tallies(self) -> dict[str, Tally]:
        """What was counted so far, by format; files that were given up do not count."""
        found: dict[str, Tally] = {}
        begun = [(self.files[name].format, tally) for name, tally in self.begun.items() if self._counts(name)]
        parts = [*self.totals.items(), *begun]
        for format, tally in parts:
            found.setdefault(format, Tally()).add(tally)
        return found

    def _apply(self, name: str, state: FileState, tally: Tally) -> None:
        known = self.files.get(name)
        self._last_id = max(self._last_id, state.id)
        if known is None or known.id != state.id:
            self.begun.pop(name, None)
        self.files[name] = state
        if state.state == FAILED:
            self.begun.pop(name, None)
            return
        self.begun.setdefault(name, Tally()).add(tally)
        if state.state == PUBLISHED:
            tally = self.begun.pop(name)
            if self._counts(name):
                self.totals.setdefault(state.format, Tally()).add(tally)

    def _counts(self, name: str) -> bool:
        return self.counted is None or name in self.counted

    def _load(self, path: Path) -> None:
        """Read the journal, and cut off a last line that was not written to its end."""
        content = path.read_bytes() if path.exists() else b""
        good = 0
        lines = content.split(b"\n")
        for number, line in enumerate(lines[:-1], 1):
            try:
                changes = {
                    name: (FileState.from_dict(change["is"]), Tally.from_dict(change["add"]))
                    for name, change in json.loads(line).items()
                }
            except (ValueError, TypeError, KeyError, AttributeError) as error:
                if number == len(lines) - 1:  # the machine went down while it was written
                    break
                raise BatchError(
                    f"{path}: line {number} is damaged ({error}), so that the run cannot go on; --restart begins anew."
                ) from error
            for name, (state, tally) in changes.items():
                self._apply(name, state, tally)
            good += len(line) + 1
        if good < len(content):
            os.truncate(path, good)


def _names_in(path: Path) -> set[str]:
    """The names that a file lists; none where it is damaged, as they are only told to people."""
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return set()
    return {name for name in found if isinstance(name, str)} if isinstance(found, list) else set()


def _results_in(path: Path) -> set[str]:
    """The results that a journal knows of, as far as it can be read: a restart must mend a damaged one."""
    found: dict[str, str] = {}
    try:
        with open(path, "rb") as lines:
            for line in lines:
                found |= {name: change["is"]["state"] for name, change in json.loads(line).items()}
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        pass
    return {name for name, state in found.items() if state in (COMPLETE, PUBLISHED)}


def write_atomically(path: Path, content: bytes) -> None:
    """Put content under a name, whole or not at all, whatever happens meanwhile."""
    part = path.with_name(f"{path.name}.part")
    with open(part, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    os.replace(part, path)
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make sure that new names in a folder outlast a power cut."""
    if os.name == "nt":  # where folders cannot be opened, and names are written at once
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _check_manifest(path: Path, identity: Mapping[str, Any]) -> bool:
    """Make sure that a run was begun with the same; says whether it may replace files."""
    try:
        manifest = json.loads(path.read_bytes())
        version, then, replaces = manifest["version"], manifest["made with"], bool(manifest["replaces"])
    except (ValueError, KeyError, TypeError) as error:
        raise BatchError(
            f"{path} is damaged ({error}), so that the run cannot go on; --restart begins anew."
        ) from error
    if version != VERSION:
        raise ChangedError(
            f"{path} was written by another version of this program (format {version}, here {VERSION}); --restart begins anew."
        )
    changed = differences(then, json.loads(json.dumps(identity)))
    if changed:
        raise ChangedError(
            f"the run in {path.parent.parent} was begun otherwise: {'; '.join(changed)}. Give the same again, choose "
            "another output, or begin anew with --restart."
        )
    return replaces
