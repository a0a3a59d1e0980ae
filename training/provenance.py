"""What a model was made of: `run.json` of a run, `provenance.json` of a model folder. Hashes, not promises."""

import hashlib
import json
import logging
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from compressor import __version__
from compressor.scoring.weights import required
from training.config import TrainingConfig
from training.corpora.annotated import annotated_files
from training.errors import DataError
from training.sources import Corpus, Sources, n_words
from training.splits import write_splits

log = logging.getLogger(__name__)

RUN, MODEL, SPLITS, TERMS = "run.json", "provenance.json", "splits.json", "terms.txt"


def describe(
    command: str, config: TrainingConfig, base: Path, sources: Sources, corpus: Corpus, archives: Iterable[Path] = ()
) -> dict[str, Any]:
    """What a run is made of, before it begins.

    Args:
        command: `train` or `distill`.
        base: Folder of the weights that the run starts from, or learns from.
        archives: Public corpora that it reads.
    """
    own, general = ({split: len(corpus.part(split)[which]) for split in ("train", "dev", "test")} for which in range(2))
    return {
        "format": 1,
        "command": command,
        "package": __version__,
        "config": asdict(config),
        "base": {"folder": str(base), "sha256": digest(required(base, "model.safetensors"))},
        "data": [_folder(folder) for folder in sources.data],
        "words": n_words(corpus.own),
        "transcripts": own,
        "mix": _folder(sources.mix) if sources.mix is not None else None,
        "mix_transcripts": general,
        "terms_sha256": digest(sources.terms) if sources.terms is not None else None,
        "archives": {path.name: digest(path) for path in sorted(archives)},
    }


def write_run(out: Path, record: Mapping[str, Any], sources: Sources, corpus: Corpus) -> None:
    """Write run.json, the splits and the terms into the folder of a run that is finished."""
    write_splits(corpus.splits, out / SPLITS)
    if sources.terms is not None:
        shutil.copyfile(sources.terms, out / TERMS)
    record = {**record, "splits_sha256": digest(out / SPLITS)}
    (out / RUN).write_text(json.dumps(record, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def copy(run: Path, model: Path) -> None:
    """Take what a run was made of over into a model folder.

    A folder is given away with the model, so that of a path outside the working directory only the name is written.
    """
    for name in (SPLITS, TERMS):
        if (run / name).is_file() and run.resolve() != model.resolve():
            shutil.copyfile(run / name, model / name)
    record = read(run)
    if record is not None:
        for each in [record["base"], *record["data"], *([record["mix"]] if record["mix"] else [])]:
            each["folder"] = _public(Path(each["folder"]))
        if Path(record["config"]["base"]).is_dir():
            record["config"]["base"] = _public(Path(record["config"]["base"]))
        (model / MODEL).write_text(json.dumps(record, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def read(folder: Path) -> dict[str, Any] | None:
    """The record of a run or a model folder; None if it has none."""
    for name in (RUN, MODEL):
        if (folder / name).is_file():
            record: dict[str, Any] = json.loads((folder / name).read_text(encoding="utf-8"))
            return record
    return None


def sources_of(folder: Path, data: tuple[Path, ...] = (), splits: Path | None = None) -> Sources:
    """The transcripts of the run behind a folder; what the command line gives goes before.

    Raises:
        DataError: The folder does not say, and the command line neither; or the files are no longer there.
    """
    record = read(folder)
    if data:
        return Sources(data, None, splits, _there(folder / TERMS))
    if record is None:
        raise DataError(f"{folder}: does not say which transcripts it was made of; give them with --data.")
    found = tuple(Path(each["folder"]) for each in record["data"])
    mix = Path(record["mix"]["folder"]) if record["mix"] else None
    for each, path in zip([*record["data"], record["mix"]], [*found, mix], strict=True):
        if path is not None:
            _compare(each, path)
    return Sources(found, mix, splits or _there(folder / SPLITS), _there(folder / TERMS))


def digest(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _folder(folder: Path) -> dict[str, Any]:
    return {"folder": str(folder), "files": {file.name: digest(file) for file in annotated_files(folder)}}


def _public(path: Path) -> str:
    full, here = path.resolve(), Path.cwd()
    return full.relative_to(here).as_posix() if full.is_relative_to(here) else path.name


def _compare(record: Mapping[str, Any], folder: Path) -> None:
    """Say so where the transcripts are no longer those that the model was made of."""
    if not folder.exists():
        raise DataError(f"{folder}: the transcripts that the model was made of are not there; give --data.")
    if _folder(folder)["files"] != record["files"]:
        log.warning("%s: the files are not those that the model was made of", folder)


def _there(path: Path) -> Path | None:
    return path if path.is_file() else None
