"""Finds the files to compress, and where the result of each goes."""

import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from compressor.errors import PolicyError

STATE = ".compressor-batch"
"""The folder inside the output folder that holds a run's journal and unfinished files."""

REPORT, ERRORS = "report.json", "errors.jsonl"
"""What a run writes into the output folder beside the results."""

ALLOWED = "allowed: files and folders"


@dataclass(frozen=True, slots=True)
class Input:
    """A file to compress.

    Args:
        path: Where it is read.
        name: Where its result goes: a path below the output folder, with `/` between the parts.
        size: Its bytes when it was found.
    """

    path: Path
    name: str
    size: int


@dataclass(frozen=True, slots=True)
class Inputs:
    """What was found.

    Args:
        files: In the order in which they are compressed: that of the arguments, then by name.
        skipped: What is passed over on purpose (hidden, a link to a folder, a pipe, the output), with the reason.
        unreadable: Folders that cannot be listed and files that cannot be looked at (a link that leads nowhere or in a
            circle), with the reason.
    """

    files: tuple[Input, ...]
    skipped: tuple[tuple[str, str], ...]
    unreadable: tuple[tuple[str, str], ...]

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(file.size for file in self.files)


@dataclass(frozen=True, slots=True)
class Selection:
    """Which files of a folder are meant: patterns of the shell, matched against a file's name and its path below the folder.

    Args:
        include: Take the files that match one of these. Empty: all.
        exclude: Pass over those that match one of these, whatever `include` says.
    Raises:
        PolicyError: A pattern is no text, or empty.
    """

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("include", "exclude"):
            patterns = getattr(self, name)
            if not isinstance(patterns, tuple) or not all(isinstance(each, str) and each for each in patterns):
                raise PolicyError(
                    f"{name} is {patterns!r}; allowed: a tuple of patterns, such as ('*.jsonl', 'old/*')."
                )

    def why_not(self, path: str) -> str:
        """Why a file is passed over, or an empty string.

        Args:
            path: Its path below the folder, with `/` between the parts.
        """
        if _matches(path, self.exclude):
            return "excluded"
        return "not included" if self.include and not _matches(path, self.include) else ""


def find_inputs(given: Sequence[str | Path], out: str | Path, selection: Selection | None = None) -> Inputs:
    """List the files that are meant, and name their results.

    A file named itself goes directly into the output folder; a folder's files keep their path below it, and where
    several inputs are given, the folder's own name comes first. Hidden files, links to folders, and what is no regular
    file are passed over inside folders.

    Args:
        given: Files and folders.
        out: The output folder; need not exist.
        selection: Which files of the folders are meant; a file named itself always is. Default: all.
    Raises:
        PolicyError: An input does not exist or is no file or folder, there is no file at all, two results would be one
            file, a result would overwrite an input or one of the run's own files, or the output is no folder.
    """
    root = _checked_output(out)
    chosen = selection or Selection()
    files: list[Input] = []
    skipped: list[tuple[str, str]] = []
    unreadable: list[tuple[str, str]] = []
    for item in given:
        path = _checked_input(item)
        if not path.is_dir():
            files.append(Input(path, path.name, path.stat().st_size))
            continue
        prefix = f"{path.resolve().name}/" if len(given) > 1 else ""
        for found, size, reason in _walk(path, root, unreadable):
            name = found.relative_to(path).as_posix()
            if reason := reason or chosen.why_not(name):
                skipped.append((str(found), reason))
            else:
                files.append(Input(found, prefix + name, size))
    if not files and not unreadable:
        kinds = ", ".join(sorted({reason for _, reason in skipped}))
        over = f"; passed over: {kinds}" if kinds else ""
        raise PolicyError(f"there is no file to compress in {', '.join(map(str, given))}{over}.")
    return Inputs(_without_clashes(files, root), tuple(skipped), tuple(unreadable))


def _checked_output(out: str | Path) -> Path:
    if not str(out) or "\0" in str(out):
        raise PolicyError(f"the output is {str(out)!r}; allowed: the name of a folder.")
    root = Path(out)
    if root.exists() and not root.is_dir():
        raise PolicyError(f"the output {out} is a file; allowed: a folder, which is made if it does not exist.")
    return root


def _checked_input(item: str | Path) -> Path:
    if str(item) == "-":
        raise PolicyError(
            f"the input is '-', and a run that can be resumed cannot read standard input; {ALLOWED}. "
            "`compressor compress -` compresses one stream."
        )
    if not str(item) or "\0" in str(item):
        raise PolicyError(f"the input is {str(item)!r}; {ALLOWED}.")
    path = Path(item)
    try:
        mode = path.stat().st_mode
    except OSError as error:  # it does not exist, or its links lead in a circle
        raise PolicyError(f"the input {item} cannot be read: {error.strerror or error}; {ALLOWED}.") from error
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise PolicyError(
            f"the input {item} is {_kind(mode)}, which cannot be read twice; {ALLOWED}. Save it to a file first."
        )
    return path


def _matches(path: str, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(path, each) or fnmatchcase(path.rpartition("/")[2], each) for each in patterns)


def _walk(folder: Path, out: Path, unreadable: list[tuple[str, str]]) -> Iterator[tuple[Path, int, str]]:
    """Every file below a folder, by name, with its bytes and the reason why it is passed over or an empty string."""

    def cannot_list(error: OSError) -> None:
        unreadable.append((str(error.filename), error.strerror or str(error)))

    for parent, folders, names in os.walk(folder, onerror=cannot_list):
        here = Path(parent)
        for name in sorted(folders):
            reason = _why_not_folder(here / name, out)
            if reason:
                folders.remove(name)
                yield here / name, 0, reason
        folders.sort()
        for name in sorted(names):
            try:
                yield here / name, *_size_or_reason(here / name)
            except OSError as error:
                unreadable.append((str(here / name), error.strerror or str(error)))


def _why_not_folder(path: Path, out: Path) -> str:
    if path.name.startswith("."):
        return "hidden"
    if path.is_symlink():
        return "a link to a folder"
    return "the output folder" if out.exists() and path.samefile(out) else ""


def _size_or_reason(path: Path) -> tuple[int, str]:
    """The bytes of a file, or why it is passed over.

    Raises:
        OSError: It cannot be looked at: a link that leads nowhere or in a circle, a file that vanished meanwhile.
    """
    if path.name.startswith("."):
        return 0, "hidden"
    found = path.stat()
    return (found.st_size, "") if stat.S_ISREG(found.st_mode) else (0, _kind(found.st_mode))


def _kind(mode: int) -> str:
    kinds = (
        (stat.S_ISFIFO, "a pipe"),
        (stat.S_ISSOCK, "a socket"),
        (stat.S_ISCHR, "a device"),
        (stat.S_ISBLK, "a device"),
    )
    return next((name for test, name in kinds if test(mode)), "no regular file")


def _without_clashes(files: Sequence[Input], root: Path) -> tuple[Input, ...]:
    """The files, each once."""
    real = {os.path.realpath(file.path): file for file in files}
    by_name: dict[str, Input] = {}
    for file in files:
        other = by_name.setdefault(file.name, file)
        if other is not file and not other.path.samefile(file.path):
            raise PolicyError(
                f"{other.path} and {file.path} would both be written to {root / file.name}; compress them into two folders."
            )
        own = file.name.partition("/")[0]
        if own == STATE or file.name in (REPORT, ERRORS):
            raise PolicyError(
                f"{file.path} would be written to {root / file.name}, where the run writes its own {own}; "
                "give the folder above it, or rename it."
            )
        overwritten = real.get(os.path.realpath(root / file.name))
        if overwritten is not None:
            raise PolicyError(
                f"{root / file.name} is the input {overwritten.path}, which would be overwritten; choose another output."
            )
    return tuple(by_name.values())
