"""What a run was made with: its inputs' content, the model, the policy, the options. A run goes on only with the same."""

import hashlib
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from compressor import __version__
from compressor.policy import POLICY_VERSION, Policy
from compressor.words import SEGMENTATION

_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True)
class Settings:
    """How records are compressed; goes to every worker.

    Args:
        policy: How much to keep and what to protect.
        model: A shipped model, a model folder, or `heuristic`.
        tokens: `estimate`, `tiktoken` or `tiktoken:ENCODING`.
        format: A name in FORMATS for all files. None: each file's own.
        options: What formats take, such as the names of columns.
        cache_bytes: Memory of the score cache of each worker.
        check: Whether the six promises are checked on every result.
    """

    policy: Policy
    model: str = "default"
    tokens: str = "estimate"
    format: str | None = None
    options: Mapping[str, Any] | None = None
    cache_bytes: int = 64 * 2**20
    check: bool = False


@dataclass(frozen=True, slots=True)
class Stamp:
    """What a file was when it was read: size in bytes, time of its last change in ns, and a hash of its content."""

    size: int
    mtime_ns: int
    hash: str

    @classmethod
    def of(cls, path: Path) -> "Stamp":
        """Read a file once through."""
        with open(path, "rb") as file:
            before = os.fstat(file.fileno())
            return cls(before.st_size, before.st_mtime_ns, _digest(file))

    def matches(self, path: Path) -> bool:
        """Whether the file is the same still; its content is read again only where its time has changed."""
        now = path.stat()
        if now.st_size != self.size:
            return False
        return now.st_mtime_ns == self.mtime_ns or self.of(path).hash == self.hash


def identity(settings: Settings) -> dict[str, Any]:
    """All that decides what comes out for a given input, as plain values.

    Raises:
        ModelError: The model's folder is missing or incomplete.
    """
    policy = settings.policy
    return {
        "program version": __version__,  # another one may cut files otherwise
        "policy version": POLICY_VERSION,
        "segmentation": SEGMENTATION,
        **{f"policy {own.name}": _plain(getattr(policy, own.name)) for own in fields(Policy)},
        "token counter": settings.tokens,
        "format": settings.format,
        "check": settings.check,  # what was written without one is not checked afterwards
        **{f"option {name}": value for name, value in sorted((settings.options or {}).items())},
        **_model(settings.model),
    }


def differences(then: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """A line for each value that is another one."""
    names = dict.fromkeys([*then, *now])
    return [
        f"{name} was {then.get(name)!r} and is {now.get(name)!r}" for name in names if then.get(name) != now.get(name)
    ]


def _model(name: str) -> dict[str, str]:
    if name == "heuristic":
        from compressor.scoring.heuristic import HeuristicScorer

        return {"model": HeuristicScorer.name}
    from compressor.scoring.weights import model_folder, read_config, required

    folder = model_folder(name)
    version = read_config(folder).version
    files = {part: required(folder, part) for part in ("config.json", "tokenizer.json", "model.onnx")}
    return {"model": version, **{f"model file {part}": Stamp.of(path).hash for part, path in files.items()}}


def _plain(value: Any) -> Any:
    if isinstance(value, re.Pattern):
        return f"pattern {value.pattern!r}, flags {value.flags}"
    if callable(value):
        return f"function {getattr(value, '__module__', '')}.{getattr(value, '__qualname__', type(value).__name__)}"
    if isinstance(value, (tuple, list)):
        return [_plain(item) for item in value]
    return value


def _digest(file: Any) -> str:
    digest = hashlib.blake2b(digest_size=16)
    while block := file.read(_BLOCK):
        digest.update(block)
    return digest.hexdigest()
