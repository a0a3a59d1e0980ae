"""Who may import whom, and what never happens at run time."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
HEAVY = {"torch", "transformers", "onnx", "sklearn", "langchain", "matplotlib", "pyarrow", "ray", "pyspark"}


def imports(path: Path) -> set[str]:
    """The top-level packages that a file imports anywhere."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found.update(alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module.partition(".")[0])
    return found


def test_the_package_never_imports_training() -> None:
    """Training builds on the package, never the other way round."""
    assert [path for path in (ROOT / "compressor").rglob("*.py") if "training" in imports(path)] == []


def test_compressing_loads_nothing_heavy_and_opens_no_socket() -> None:
    """A whole compression with the shipped tokenizer, in a fresh interpreter in which sockets are forbidden."""
    program = f"""
import socket, sys
def refuse(*args, **kwargs): raise AssertionError("a socket was opened")
socket.socket.__init__ = refuse
socket.create_connection = refuse
from click.testing import CliRunner
from compressor.cli import main
result = CliRunner().invoke(main, ["compress", "-", "--model", sys.argv[1], "--check"], input="Ann: um, the fee is 40 euros.")
assert result.exit_code == 0, result.output
assert "40 euros" in result.output
loaded = {HEAVY!r} & set(sys.modules)
assert not loaded, loaded
"""
    for model in ("heuristic", "default"):
        done = subprocess.run(
            [sys.executable, "-c", program, model], cwd=ROOT, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("module", ["compressor", "compressor.cli"])
def test_importing_loads_no_model(module: str) -> None:
    """An import costs neither a model nor a tokenizer file."""
    program = f"import {module}, sys; from compressor.words import load_tokenizer; assert not load_tokenizer.cache_info().currsize; assert 'onnxruntime' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True)


def test_no_module_has_the_name_of_a_public_function() -> None:
    """So that `from compressor import compress` is never a module."""
    import compressor

    modules = {path.stem for path in (ROOT / "compressor").iterdir()}
    assert not modules & set(compressor.__all__)
