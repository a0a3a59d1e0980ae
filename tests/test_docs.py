"""What the documents say is so: examples run, and every command, option, rule and format is documented."""

import doctest
import re
from dataclasses import fields
from pathlib import Path

import pytest

import compressor.api
from compressor import RULES, Policy
from compressor.cli import main
from compressor.formats import FORMATS

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_python_examples_of_the_readme_run() -> None:
    """All of them, one after the other, as a reader would type them."""
    names: dict[str, object] = {}
    for example in re.findall(r"```python\n(.*?)```", README, re.DOTALL):
        exec(compile(example, "README.md", "exec"), names)
    assert names["result"].report.tokens_before > 0  # type: ignore[attr-defined]


def test_examples_of_docstrings_run() -> None:
    """Those of the public call."""
    assert doctest.testmod(compressor.api).failed == 0


@pytest.mark.parametrize("name", [*RULES, *FORMATS, *(field.name for field in fields(Policy))])
def test_every_rule_format_and_option_is_in_the_readme(name: str) -> None:
    """By its name, as code."""
    assert f"`{name}`" in README


@pytest.mark.parametrize("command", sorted(main.list_commands(None)))  # type: ignore[arg-type]
def test_every_command_is_in_the_readme(command: str) -> None:
    """As it is typed."""
    assert f"compressor {command}" in README


def test_every_option_of_compress_is_in_the_readme() -> None:
    """By its long name."""
    for parameter in main.commands["compress"].params:
        for option in parameter.opts:
            if option.startswith("--"):
                assert option in README, option


def test_ci_calls_the_test_command_of_the_readme() -> None:
    """One command, in both places."""
    command = next(line for line in README.splitlines() if line.startswith("pip install") and line.endswith("pytest"))
    assert command in (ROOT / ".ci" / "run").read_text(encoding="utf-8")


def test_paths_in_the_readme_exist() -> None:
    """Files and folders that it names."""
    for path in re.findall(r"`((?:compressor|training|models|tests|benchmarks|notebooks)/[\w./-]*)`", README):
        assert (ROOT / path).exists(), path
