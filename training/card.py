"""Write the model card: config.json and metrics.json of a model folder → its README.md.

python -m training.card models/default
"""

import argparse
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from compressor.scoring.weights import HEADS, ModelConfig, read_config

_LANGUAGES = {"en": "English", "zh": "Chinese"}

SHIPPED = "default-1"
"""The version whose sources `_SOURCES` lists."""

_SOURCES = """\
| corpus | licence | learned |
|---|---|---|
| `training/data/synthetic` (written for this project) | Apache-2.0 | all heads |
| QMSum, ChitChat | MIT | all heads, from annotations made for this project |
| ACI-Bench, MTS-Dialog, IRC-Ubuntu | CC BY 4.0 | all heads, likewise |
| VCSum | MIT | all heads, likewise |
| CrossWOZ | Apache-2.0 | all heads, likewise |
| WNUT-17 (Derczynski et al., 2017) | CC BY 4.0 | entity |
| Broad Twitter Corpus (Derczynski et al., 2016) | CC BY 4.0 | entity |
| WikiGold (Balasuriya et al., 2009) | CC BY 4.0 | entity |
| SEC-filings (Salinas Alvarado et al., 2015) | CC BY 3.0 | entity |
| CrossNER (Liu et al., 2021) | MIT | entity |
"""


def card(config: ModelConfig, numbers: Mapping[str, Any]) -> str:
    """The text of the card."""
    return "\n".join([*_head(config), *_quality(numbers), *_names(numbers), *_export(numbers), *_limits()]) + "\n"


def _head(config: ModelConfig) -> Iterable[str]:
    yield f"# compressor model `{config.version}`"
    yield ""
    yield "Says of each word of a turn how much a later reader needs it. Written by `python -m training.card`."
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
    yield f"- `model.onnx` is stored as `{config.quantisation}`; `model.safetensors` (float16, the word embedding in 8 bits) is not in the wheel"
    yield "- Licence of the weights: Apache-2.0"
    yield ""
    if config.version == SHIPPED:  # who retrains on other data writes this table for it
        yield "## Learned from"
        yield ""
        yield _SOURCES


def _quality(numbers: Mapping[str, Any]) -> Iterable[str]:
    test = numbers.get("test")
    if not test:
        return
    yield "## Measured on the test split"
    yield ""
    yield (
        f"{test['transcripts']} transcripts that training never saw (`training/data/splits.json`);"
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


def main() -> None:
    """Read the command line and write the card."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path, help="model folder")
    folder = parser.parse_args().model
    numbers = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))
    (folder / "README.md").write_text(card(read_config(folder), numbers), encoding="utf-8")
    print(folder / "README.md")


if __name__ == "__main__":
    main()
