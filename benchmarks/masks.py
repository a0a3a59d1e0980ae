"""What the hard masks cost: the share of words that each rule protects in labelled transcripts, kind by kind.

    python -m benchmarks.masks [training/data/synthetic] [--lang en] [--model default] [--speakers]

Counts words without punctuation marks, on chats of a user and an assistant (with `--speakers`: on meetings and calls),
with keep_last=0 and without system and tool turns. `alone` counts the words that no other rule protects.
"""

import argparse
import json
from pathlib import Path

import numpy as np

from compressor import Compressor, Transcript, Turn
from compressor.marks import find_marks
from compressor.transcript import VERBATIM_ROLES


def transcripts(folder: Path, lang: str, speakers: bool) -> list[Transcript]:
    """The labelled transcripts of one language and kind."""
    found = []
    for path in sorted(folder.glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            record = json.loads(line)
            turns = [
                Turn(turn["role"], turn["speaker"], turn["text"])
                for turn in record["turns"]
                if turn["role"] not in VERBATIM_ROLES
            ]
            if record["lang"] == lang and Transcript(turns).is_chat != speakers:
                found.append(Transcript(turns))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folder", nargs="?", type=Path, default=Path("training/data/synthetic"))
    parser.add_argument("--lang", default="en")
    parser.add_argument("--model", default="default")
    parser.add_argument("--speakers", action="store_true")
    given = parser.parse_args()
    sources = transcripts(given.folder, given.lang, given.speakers)
    total, rows, names, kept, before, after = 0, [], (), 0, 0, 0
    for result in Compressor.from_pretrained(given.model).compress_many(sources, keep_last=0):
        work = result.workings
        content = find_marks(result.source, work.words, np.zeros(len(work.words), np.bool_)).content
        names = work.protection.names
        rows.append(work.protection.asked[:, content])
        total += int(content.sum())
        kept += int(work.keep[content].sum())
        before, after = before + result.report.tokens_before, after + result.report.tokens_after
    asked = np.concatenate(rows, axis=1)
    print(f"{len(sources)} transcripts, {total} words, lang {given.lang}, model {given.model}\n")
    print("| rule | words | share | alone |\n|---|---:|---:|---:|")
    for name, row in zip(names, asked, strict=True):
        alone = row & (asked.sum(axis=0) == 1)
        print(f"| {name} | {int(row.sum())} | {row.mean():.1%} | {alone.mean():.1%} |")
    triggers = [index for index, name in enumerate(names) if name not in ("scope", "turns", "code", "language")]
    print(
        f"\nnames, numbers, negation, modals, quantifiers, conditions, quotes: {asked[triggers].any(axis=0).mean():.1%}"
    )
    governed = [*triggers, names.index("scope")]
    print(f"with what they govern: {asked[governed].any(axis=0).mean():.1%}")
    print(f"all masks: {asked.any(axis=0).mean():.1%}")
    print(f"kept by preset light: {kept / total:.1%} of the words, {after / before:.1%} of the tokens")


if __name__ == "__main__":
    main()
