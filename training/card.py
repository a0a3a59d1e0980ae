"""Write the model card: `python -m training card models/mine`.

config.json, metrics.json and provenance.json of a model folder → its README.md.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from compressor.scoring.weights import HEADS, ModelConfig, read_config
from training import provenance
from training.errors import DataError
from training.options import FOLDER

_LANGUAGES = {"en": "English", "zh": "Chinese"}

_OWN = ("`training/data/synthetic` (written for this project)", "Apache-2.0")
_ANNOTATED = (
    ("QMSum, ChitChat", "MIT"),
    ("ACI-Bench, MTS-Dialog, IRC-Ubuntu", "CC BY 4.0"),
    ("VCSum", "MIT"),
    ("CrossWOZ", "Apache-2.0"),
)
"""The public transcripts that were annotated for the models of this project; their text is not in the repository."""

_NAMES = {
    "wnut17.tar.xz": (("WNUT-17 (Derczynski et al., 2017)", "CC BY 4.0"),),
    "ner_collection.tar.xz": (
        ("Broad Twitter Corpus (Derczynski et al., 2016)", "CC BY 4.0"),
        ("WikiGold (Balasuriya et al., 2009)", "CC BY 4.0"),
        ("SEC-filings (Salinas Alvarado et al., 2015)", "CC BY 3.0"),
    ),
    "crossner.tar.xz": (("CrossNER (Liu et al., 2021)", "MIT"),),
}
_PUBLIC = {
    "qmsum.tar.xz": (("QMSum (Zhong et al., 2021)", "MIT"),),
    "aci_bench.tar.xz": (("ACI-Bench (Yim et al., 2023)", "CC BY 4.0"),),
    "mts_dialog.tar.xz": (("MTS-Dialog (Ben Abacha et al., 2023)", "CC BY 4.0"),),
    "chitchat.tar.xz": (("ChitChat (Myers et al., 2020)", "MIT"),),
    "irc_ubuntu.tar.xz": (("IRC-Ubuntu (Kummerfeld et al., 2019)", "CC BY 4.0"),),
    "taskmaster.tar.xz": (("Taskmaster (Byrne et al., 2019)", "CC BY 4.0"),),
    "multidogo.tar.xz": (("MultiDoGO (Peskov et al., 2019)", "CDLA-Permissive 1.0"),),
    "crosswoz.tar.xz": (("CrossWOZ (Zhu et al., 2020)", "Apache-2.0"),),
    "vcsum_zh.tar.xz": (("VCSum (Wu et al., 2023)", "MIT"),),
}
"""Archive → the corpora in it, each with its licence."""

SHIPPED = "default-1"
"""A version that was trained before provenance.json was written; it learned from all of the above but `_PUBLIC`."""


def card(config: ModelConfig, numbers: Mapping[str, Any], record: Mapping[str, Any] | None = None) -> str:
    """The text of the card.

    Args:
        numbers: What metrics.json holds.
        record: What provenance.json holds.
    """
    parts = (
        _head(config),
        _sources(config, record),
        _quality(numbers, "training/data/splits.json" if record is None else "splits.json"),
        _against(numbers),
        _names(numbers),
        _export(numbers),
        _limits(),
    )
    return "\n".join(line for part in parts for line in part) + "\n"


def _head(config: ModelConfig) -> Iterable[str]:
    yield f"# compressor model `{config.version}`"
    yield ""
    yield "Says of each word of a turn how much a later reader needs it. Written by `python -m training card`."
    yield ""
    yield "| head | probability that the word | least probability that counts (en / zh) |"
    yield "|---|---|---|"
    meaning = {
        "light": "survives a careful edit",
        "tight": "survives a telegraphic edit",
        "entity": "is part of a name",
        "pin": "is part of a question, a request or a constraint (mean over the sentence)",
    }
    for head in HEADS:
        limits = config.thresholds[head]
        yield f"| `{head}` | {meaning[head]} | {limits['en']:.4g} / {limits['zh']:.4g} |"
    yield ""
    layers, hidden = int(config.shape["layers"]), int(config.shape["hidden"])
    pieces = f"{int(config.shape['vocabulary']):,} pieces"
    yield f"- Encoder: {config.base}, {layers} layers, width {hidden}, {pieces}"
    yield f"- Windows of {config.window} subwords, one every {config.stride}; a word scores the mean of its subwords"
    yield f"- Roles: {', '.join(config.roles)}; words cut by segmentation version {config.segmentation}"
    yield f"- `model.onnx` is stored as `{config.quantisation}`; the wheel holds no `model.safetensors` (float16, the word embedding in 8 bits), which torch and further training need"


def _sources(config: ModelConfig, record: Mapping[str, Any] | None) -> Iterable[str]:
    """What the weights learned from, and where they began."""
    if record is None and config.version != SHIPPED:
        yield ""
        return
    if record is None or all(_known(each["folder"]) for each in record["data"]):
        yield "- Licence of the weights: Apache-2.0"
    yield ""
    yield "## Learned from"
    yield ""
    if record is not None:
        began = "Taught by" if record["command"] == "distill" else "Started from"
        base, seed = record["base"]["folder"], record["config"]["seed"]
        yield f"{began} `{base}`; seed {seed}, package {record['package']}."
        yield ""
    yield "| corpus | licence | learned |"
    yield "|---|---|---|"
    yield from (f"| {title} | {licence} | {learned} |" for title, licence, learned in _rows(record))
    yield ""
    if record is not None:
        yield from _counts(record)


def _rows(record: Mapping[str, Any] | None) -> Iterator[tuple[str, str, str]]:
    """Corpus, licence, and what is learned from it."""
    folders = [each["folder"] for each in record["data"]] if record else ["training/data/synthetic", "annotated/real"]
    for folder in folders:
        if not (rows := _known(folder)):
            yield f"`{folder}`", "its owner's", "all heads"
        elif rows == (_OWN,):
            yield *_OWN, "all heads"
        else:
            for number, row in enumerate(rows):
                yield *row, "all heads, likewise" if number else "all heads, from annotations made for this project"
    if record and record["mix"] and sum(record["mix_transcripts"].values()):
        yield *_OWN, "all heads, mixed in"
    for name in record["archives"] if record else _NAMES:
        learned = "entity" if name in _NAMES else "what the teacher says"
        yield from ((*row, learned) for row in (_NAMES | _PUBLIC).get(name, ((f"`{name}`", ""),)))


def _known(folder: str) -> tuple[tuple[str, str], ...]:
    """The corpora of a folder of this project; empty for another."""
    if folder.endswith("data/synthetic"):
        return (_OWN,)
    return _ANNOTATED if folder.endswith("annotated/real") else ()


def _counts(record: Mapping[str, Any]) -> Iterable[str]:
    split, mixed = record["transcripts"], record["mix_transcripts"]["train"]
    yield (
        f"{split['train']} transcripts to learn from, {split['dev']} for development, {split['test']} to be judged on"
        + (f"; {mixed} mixed in" if mixed else "")
        + ". `provenance.json` has the SHA-256 of every file, `splits.json` the split."
    )
    if record["terms_sha256"]:
        yield "The terms in `terms.txt` counted as names wherever they occur."
    yield ""


def _against(numbers: Mapping[str, Any]) -> Iterable[str]:
    """Before and after, where another model was measured on the same transcripts."""
    other = numbers.get("against")
    if not other:
        return
    yield f"## Against `{other['version']}`"
    yield ""
    yield "| transcripts | language | head | measure | this model | the other |"
    yield "|---|---|---|---|---|---|"
    for group, title in (("test", "test"), ("general", "general test")):
        for lang, name in _LANGUAGES.items():
            for head in HEADS:
                now = numbers.get(group, {}).get(lang, {}).get(head)
                old = other.get(group, {}).get(lang, {}).get(head)
                measured = "f1" if head in ("light", "tight") else "recall"
                if now and old:
                    yield f"| {title} | {name} | {head} | {measured} | {now[measured]:.3f} | {old[measured]:.3f} |"
    yield ""


def _quality(numbers: Mapping[str, Any], splits: str) -> Iterable[str]:
    test = numbers.get("test")
    if not test:
        return
    yield "## Measured on the test split"
    yield ""
    yield (
        f"{test['transcripts']} transcripts that training never saw (`{splits}`);"
        " the thresholds were chosen on the development split."
    )
    yield ""
    yield "| language | head | F1 | precision | recall | AUC | AP | calibration error | false positives |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for lang, name in _LANGUAGES.items():
        for head in HEADS:
            if head in test.get(lang, {}):
                row = test[lang][head]
                cells = [
                    row[key]
                    for key in ("f1", "precision", "recall", "auc", "ap", "calibration_error", "false_positives")
                ]
                yield f"| {name} | {head} | " + " | ".join(f"{cell:.3f}" for cell in cells) + " |"
    yield ""
    yield "A sentence is pinned where the mean of `pin` over its words reaches the threshold, which was chosen for user turns."
    yield "The library's rules (question marks, wording) find more; in meetings it asks for more certainty than this."
    yield ""
    yield "| language | role | annotated sentences found | precision | share of sentences pinned | AUC |"
    yield "|---|---|---|---|---|---|"
    for lang, name in _LANGUAGES.items():
        for role, row in test.get(lang, {}).get("pinned_sentences", {}).items():
            found = f"{row['found']:.3f} of {row['annotated']}"
            yield f"| {name} | {role} | {found} | {row['precision']:.3f} | {row['pinned']:.3f} | {row['auc']:.3f} |"
    yield ""
    yield "| source | words | F1 light | F1 tight | recall of names |"
    yield "|---|---|---|---|---|"
    for lang in _LANGUAGES:
        for source, row in test.get(lang, {}).get("by_source", {}).items():
            scores = " | ".join(f"{row[key]:.3f}" for key in ("light_f1", "tight_f1", "entity_recall"))
            yield f"| {source} ({lang}) | {row['words']:,} | {scores} |"
    yield ""


def _names(numbers: Mapping[str, Any]) -> Iterable[str]:
    if numbers.get("names"):
        yield "Names alone, on the test splits of public corpora (English):"
        yield ""
        yield "| corpus | recall | false positives | AUC |"
        yield "|---|---|---|---|"
        for corpus, row in numbers["names"].items():
            yield f"| {corpus} | {row['recall']:.3f} | {row['false_positives']:.3f} | {row['auc']:.3f} |"
        yield ""


def _export(numbers: Mapping[str, Any]) -> Iterable[str]:
    export = numbers.get("export")
    if not export:
        return
    yield "## What storing the weights in 8 bits changes"
    yield ""
    yield (
        f"Against the float32 weights in torch, on {export['subwords']:,} subwords of the development split."
        " Speed is that of one thread."
    )
    yield ""
    yield "| scheme | MB | load s | subwords/s | largest difference | mean difference | decisions changed (light) |"
    yield "|---|---|---|---|---|---|---|"
    for scheme, row in export["table"].items():
        mark = " (shipped)" if scheme == export["scheme"] else ""
        yield (
            f"| {scheme}{mark} | {row['megabytes']} | {row['load_seconds']} | {row['subwords_a_second']:,} |"
            f" {row['largest_difference']} | {row['mean_difference']} | {row['decisions_changed']['light']} |"
        )
    yield ""
    yield "Each window is one forward pass without padding, so no turn's scores depend on what is scored beside it."
    yield ""


def _limits() -> Iterable[str]:
    yield "## Limits"
    yield ""
    yield "- English and Chinese conversations, meetings and chats. Long prose and source code were not learned from."
    yield "- Names in Chinese were learned from the annotated transcripts alone, names in lower case from few examples."
    yield "- The labels are the taste of a few annotators: two of them agree at F1 .94 (light) and .88 (tight)."
    yield "- A turn is scored without its neighbours: what is said twice in two turns is not noticed."


@click.command(name="card", help=__doc__)
@click.argument("model", type=FOLDER)
def command(model: Path) -> None:
    """Read the command line and write the card."""
    path = model / "metrics.json"
    try:
        numbers = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(
            f"{path}: cannot be read ({error}); run `python -m training evaluate {model}` first."
        ) from error
    (model / "README.md").write_text(card(read_config(model), numbers, provenance.read(model)), encoding="utf-8")
    click.echo(model / "README.md")
