"""The file of a session: written whole or not at all, checked when it is read; and what in it has a version."""

import hashlib
import json
import os
import re
import tempfile
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from compressor.errors import PolicyError, SessionError
from compressor.formats import dump
from compressor.policy import POLICY_VERSION, Policy
from compressor.words import SEGMENTATION

FORMAT, VERSION = "compressor-session", 1
"""What the file is, and the version of its layout."""


def serialise(content: Mapping[str, Any]) -> str:
    """The text of the file of a session."""
    body = dump(content)
    head = {"format": FORMAT, "version": VERSION, "sha256": _digest(body)}
    return dump(head)[:-1] + f', "session": {body}}}\n'


def write(path: str | os.PathLike[str], text: str) -> None:
    """Write a text to a file, through a file beside it, so that a reader finds the old or the new one.

    Raises:
        OSError: The file cannot be written; what was there before is still there.
    """
    target = Path(os.path.realpath(path))
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".tmp", dir=target.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            os.chmod(name, target.stat().st_mode & 0o777)
        os.replace(name, target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    _sync_folder(target.parent)


def read(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The content of a session's file.

    Raises:
        SessionError: It is no such file, of a newer version, or damaged.
        OSError: It cannot be opened.
    """
    raw = Path(path).read_bytes()
    try:
        found = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise SessionError(
            f"{path}: no session, or a damaged one: {error}; allowed: a file of Session.save()."
        ) from error
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise SessionError(f"{path}: no session; allowed: a file of Session.save().")
    if found.get("version") != VERSION:
        raise SessionError(
            f"{path}: the layout has version {found.get('version')!r}; this package reads {VERSION}. Use the package that "
            "wrote it, or a newer one."
        )
    content = found.get("session")
    if not isinstance(content, dict) or _digest(dump(content)) != found.get("sha256"):
        raise SessionError(f"{path}: damaged: the content does not fit its checksum; take a copy of the file.")
    return content


def versions(scorer: str, counter: str) -> dict[str, str]:
    """What the levels of a session depend on besides its messages and its policy."""
    return {
        "scorer": scorer,
        "policy_version": POLICY_VERSION,
        "segmentation": SEGMENTATION,
        "token_counter": counter,
    }


def built_in(name: str, path: str | os.PathLike[str]) -> str:
    """The name of a token counter that can be had by its name.

    Raises:
        SessionError: It was a function of the caller's.
    """
    if name != "estimate" and name.partition(":")[0] != "tiktoken":
        raise SessionError(
            f"{path}: tokens were counted by {name!r}, which no file can hold; give it as token_counter."
        )
    return name


def pack_policy(policy: Policy) -> dict[str, Any]:
    """A policy as plain values.

    Raises:
        SessionError: It holds a function, which no file can hold.
    """
    plain = {field.name: getattr(policy, field.name) for field in fields(Policy)}
    extras: list[Any] = []
    for extra in plain["also_protect"]:
        if isinstance(extra, re.Pattern):
            extras.append({"pattern": extra.pattern, "flags": extra.flags})
        elif isinstance(extra, str):
            extras.append(extra)
        else:
            name = getattr(extra, "__name__", type(extra).__name__)
            raise SessionError(
                f"also_protect holds the function {name}, which cannot be saved; allowed in a session that is saved: "
                "names of rules and compiled patterns."
            )
    return plain | {"also_protect": extras}


def unpack_policy(plain: Mapping[str, Any]) -> Policy:
    """The policy that was packed.

    Raises:
        SessionError: A value is not allowed in this version of the package.
    """
    extras = [
        extra if isinstance(extra, str) else re.compile(extra["pattern"], extra["flags"])
        for extra in plain["also_protect"]
    ]
    try:
        return Policy.of(**{**plain, "also_protect": extras})
    except PolicyError as error:
        raise SessionError(f"the policy of the session is not allowed here: {error}") from error


def _digest(body: str) -> str:
    return hashlib.sha256(body.encode()).hexdigest()


def _sync_folder(folder: Path) -> None:
    """Make the new name of a file last through a power cut, where folders can be synced."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:  # Windows opens no folder
        return
    try:
        os.fsync(handle)
    except OSError:  # nor do some network file systems sync one; the file itself is safe
        pass
    finally:
        os.close(handle)
