"""`python -m training`: from labelled transcripts to a model folder with its card, by commands alone; and bad usage."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from compressor import compress
from compressor.scoring.weights import read_config
from training import provenance
from training.__main__ import COMMANDS, main

ROOT = Path(__file__).resolve().parents[2]


def run(*arguments: object) -> Result:
    """One command in this process."""
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def made(annotated_folder: Path, trained_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the commands of training/README.md ran: `run`, `model`, `config.toml`, `terms.txt`."""
    folder = tmp_path_factory.mktemp("made")
    (folder / "config.toml").write_text(
        f'name = "claims-1"\nbase = "{trained_model.as_posix()}"\nepochs = 2\nbatch_subwords = 512\nthreads = 1\n'
    )
    (folder / "terms.txt").write_text("lease papers\nboiler\n")
    options = ("--data", annotated_folder, "--no-mix", "--terms", folder / "terms.txt", "--out", folder / "run")
    for arguments in (
        ("train", folder / "config.toml", *options),
        ("export", folder / "run", "--out", folder / "model", "--scheme", "blocks8-32"),
        ("evaluate", folder / "model", "--data", annotated_folder, "--against", trained_model),
        ("card", folder / "model"),
    ):
        result = run(*arguments)
        assert result.exit_code == 0, (arguments[0], result.output, result.exception)
    return folder


def test_the_commands_make_a_model_that_the_library_uses(made: Path) -> None:
    """Its version is the config's, its thresholds are chosen, and `compress` takes the folder."""
    config = read_config(made / "model")
    assert config.version == "claims-1"
    assert config.quantisation == "blocks8-32"
    result = compress("Ann: Um, can Dr. Vane see me on 3 June?", model=str(made / "model"))
    assert "Dr. Vane" in result.text


def test_a_model_says_what_it_was_made_of(made: Path, annotated_folder: Path) -> None:
    """Hashes of data, splits, terms and the weights it began with; of foreign paths the names alone."""
    record = json.loads((made / "model" / "provenance.json").read_text())
    (data,) = record["data"]
    assert data["files"] == {"all.jsonl": provenance.digest(annotated_folder / "all.jsonl")}
    assert record["splits_sha256"] == provenance.digest(made / "model" / "splits.json")
    assert record["terms_sha256"] == provenance.digest(made / "model" / "terms.txt")
    assert record["transcripts"] == {"train": 16, "dev": 2, "test": 2}
    assert len(record["base"]["sha256"]) == 64
    assert str(annotated_folder.parent) not in (made / "model" / "provenance.json").read_text()


def test_the_card_tells_before_and_after(made: Path) -> None:
    """Sources with hashes, test figures, the other model's figures, the table of schemes."""
    text = (made / "model" / "README.md").read_text(encoding="utf-8")
    for part in ("`claims-1`", "## Learned from", "## Measured on the test split", "## Against `tiny`", "blocks8-32"):
        assert part in text
    assert "lease papers" not in text, "the terms are in a file of their own"
    metrics = json.loads((made / "model" / "metrics.json").read_text())
    assert {"test", "against", "export"} <= set(metrics)


def test_changed_transcripts_are_noticed(made: Path, annotated_folder: Path, tmp_path: Path, caplog: object) -> None:
    """Figures on other files do not compare: a warning says so, and a missing folder is an error."""
    record = json.loads((made / "run" / "run.json").read_text())
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "all.jsonl").write_bytes((annotated_folder / "all.jsonl").read_bytes() + b"\n")
    record["data"][0]["folder"] = str(tmp_path / "data")
    (tmp_path / "run.json").write_text(json.dumps(record))
    provenance.sources_of(tmp_path)
    assert "are not those that the model was made of" in caplog.text  # type: ignore[attr-defined]
    record["data"][0]["folder"] = str(tmp_path / "gone")
    (tmp_path / "run.json").write_text(json.dumps(record))
    result = run("export", tmp_path, "--out", tmp_path / "m")
    assert result.exit_code == 1
    assert "are not there; give --data" in result.output


BAD_CONFIGS = [
    ("epoch = 3", "unknown key epoch; allowed: average"),
    ("epochs = 0", "epochs is 0; allowed: a whole number, 1 or more"),
    ("epochs = 1.5", "epochs is 1.5"),
    ("epochs = true", "epochs is True"),
    ("dropout = 2", "dropout is 2; allowed: a number from 0 to 1"),
    ('learning_rate = "high"', "learning_rate is 'high'"),
    ("weights = [1.0]", "weights has 1 numbers"),
    ("oops", "cannot be read as a config"),
    ("[teaching]\nlayer = 6", "unknown key layer; allowed: confident"),
    ("[teaching]\nconfident = 0.7", "confident is 0.7; allowed: a number from 0 to 0.49"),
    ("[teaching]\nlayers = 6", r"\[teaching\], which is for distill"),
]


@pytest.mark.parametrize(("text", "message"), BAD_CONFIGS, ids=[row[0] for row in BAD_CONFIGS])
def test_a_bad_config_is_named(annotated_folder: Path, tmp_path: Path, text: str, message: str) -> None:
    """File, key, value, and what is allowed; the exit status says that it failed, and nothing was written."""
    (tmp_path / "c.toml").write_text(f'name = "x"\nbase = "default"\n{text}\n')
    result = run("train", tmp_path / "c.toml", "--data", annotated_folder, "--out", tmp_path / "run")
    assert result.exit_code == 1
    output = " ".join(result.output.split())
    assert "c.toml" in output
    import re

    assert re.search(message, output), output
    assert not (tmp_path / "run").exists()


def test_every_command_says_what_it_does() -> None:
    """The list of commands is that of the group, and each has a help page."""
    listed = run("--help").output
    for name in COMMANDS:
        assert name in listed
        assert run(name, "--help").exit_code == 0, name
    assert run("retrain").exit_code == 2


def test_help_imports_no_torch() -> None:
    """A command's module is imported when the command is asked for."""
    code = (
        "import sys; from training.__main__ import main\n"
        "try: main(['--help'])\nexcept SystemExit: pass\n"
        "assert 'torch' not in sys.modules and 'onnx' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True)
