"""Where budgets stop: the share of tokens that no budget cuts, beside what the presets keep.

    python -m benchmarks.floor [training/data/synthetic] [--model default]

On labelled transcripts of both languages and kinds, with keep_last=0 and without system and tool turns. What survives at
each setting is `compressor evaluate --system keep_ratio=0.5 --system keep_ratio=0.5,floor=masks`.
"""

import argparse
from pathlib import Path

from benchmarks.masks import transcripts
from compressor import Compressor

SETTINGS = {
    '`floor="masks"`': {"keep_ratio": 0.0, "floor": "masks"},
    '`floor="sure"`': {"keep_ratio": 0.0, "floor": "sure"},
    '`preset="tight"`': {"preset": "tight"},
    '`preset="light"`': {"preset": "light"},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folder", nargs="?", type=Path, default=Path("training/data/synthetic"))
    parser.add_argument("--model", default="default")
    given = parser.parse_args()
    compressor = Compressor.from_pretrained(given.model)
    kinds = {
        (lang, speakers): transcripts(given.folder, lang, speakers)
        for lang in ("en", "zh")
        for speakers in (False, True)
    }
    names = [
        f"{lang} {'meetings and calls' if speakers else 'chats'} ({len(kinds[lang, speakers])})"
        for lang, speakers in kinds
    ]
    print(f"| share of tokens kept | {' | '.join(names)} |\n|---|{'---:|' * len(names)}")
    for name, options in SETTINGS.items():
        shares = []
        for sources in kinds.values():
            reports = [result.report for result in compressor.compress_many(sources, keep_last=0, **options)]
            shares.append(
                sum(report.tokens_after for report in reports) / sum(report.tokens_before for report in reports)
            )
        print(f"| {name} | {' | '.join(f'{share:.0%}' for share in shares)} |")


if __name__ == "__main__":
    main()
