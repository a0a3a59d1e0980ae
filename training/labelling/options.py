"""The options of the command `label`, and which of them belong to which way of labelling."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from compressor.formats import FORMATS
from training.labelling.levels import LEVELS

F = TypeVar("F", bound=Callable[..., Any])
WAYS = ("teacher", "pairs", "edits", "weak")
_OWN = {
    "endpoint": ("teacher",),
    "model": ("teacher",),
    "key_variable": ("teacher",),
    "chunk_tokens": ("teacher",),
    "concurrency": ("teacher",),
    "timeout": ("teacher",),
    "retries": ("teacher",),
    "body": ("teacher",),
    "cache": ("teacher",),
    "estimate": ("teacher",),
    "price": ("teacher",),
    "ask_above": ("teacher",),
    "yes": ("teacher",),
    "shortened": ("pairs",),
    "columns": ("pairs",),
    "sheet": ("edits",),
    "page": ("edits",),
    "level": ("pairs", "edits"),
    "confident": ("weak", "check"),
    "scorer": ("pairs", "edits", "weak", "check", "export"),
    "show": ("check",),
    "report": ("check",),
    "output": WAYS,
    "rejects": WAYS,
    "force": (*WAYS, "export"),
    "drop_worst": ("teacher", "pairs"),
    "source": WAYS,
    "domain": WAYS,
    "format": (*WAYS, "export"),
    "lang": (*WAYS, "export"),
}
"""Which ways an option belongs to; another way refuses it."""


_OPTIONS = (
    click.option("--from", "way", type=click.Choice(WAYS), help="Where the labels come from."),
    click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="The labelled JSON lines."),
    click.option(
        "--rejects",
        type=click.Path(path_type=Path, dir_okay=False),
        help="What is left out, and why [default: OUT.rejects].",
    ),
    click.option("--force", is_flag=True, help="Replace an output that exists."),
    click.option(
        "--format",
        "format",
        type=click.Choice([name for name, one in FORMATS.items() if one.extensions]),
        help="Of the raw files [default: found].",
    ),
    click.option("--lang", type=click.Choice(["en", "zh"]), help="Of all transcripts [default: found]."),
    click.option(
        "--source", default="own", show_default=True, help="Name of the collection; splits are drawn from each alike."
    ),
    click.option("--domain", default="own", show_default=True, help="What the transcripts are about."),
    click.option(
        "--drop-worst",
        type=click.FloatRange(0, 1),
        default=0.05,
        show_default=True,
        help="Share of the records to leave out: the worst by variation rate, and by alignment gap.",
    ),
    click.option(
        "--scorer",
        default="default",
        show_default=True,
        help="Model for weak labels, names and intents: a name, a folder, `heuristic`; for --check also `none`.",
    ),
    click.option(
        "--endpoint", help="teacher: address of an OpenAI-compatible endpoint, such as http://localhost:8000/v1."
    ),
    click.option("--model", help="teacher: the name that the endpoint knows."),
    click.option(
        "--key-variable",
        default="OPENAI_API_KEY",
        show_default=True,
        help="teacher: environment variable that holds the key.",
    ),
    click.option(
        "--chunk-tokens",
        type=click.IntRange(50),
        default=1500,
        show_default=True,
        help="teacher: tokens of transcript a request.",
    ),
    click.option(
        "--concurrency",
        type=click.IntRange(1, 64),
        default=4,
        show_default=True,
        help="teacher: requests at the same time.",
    ),
    click.option(
        "--timeout",
        type=click.FloatRange(0, min_open=True),
        default=120.0,
        show_default=True,
        help="teacher: seconds for an answer.",
    ),
    click.option(
        "--retries",
        type=click.IntRange(0),
        default=5,
        show_default=True,
        help="teacher: further tries when it is busy or gone.",
    ),
    click.option(
        "--body",
        metavar="JSON",
        help="teacher: further fields of a request, such as '{\"seed\": 1}'; null leaves one out.",
    ),
    click.option(
        "--cache",
        type=click.Path(path_type=Path, dir_okay=False),
        help="teacher: file of the answers [default: OUT.answers.sqlite].",
    ),
    click.option("--estimate", is_flag=True, help="teacher: say what it would cost, and stop."),
    click.option(
        "--price",
        type=(click.FloatRange(0), click.FloatRange(0)),
        metavar="IN OUT",
        help="teacher: price of a million prompt and completion tokens.",
    ),
    click.option(
        "--ask-above",
        type=click.FloatRange(0),
        help="teacher: ask before a run of a higher price, or without --price of more requests [default: 1, or 200].",
    ),
    click.option("--yes", is_flag=True, help="teacher: do not ask."),
    click.option(
        "--shortened",
        type=click.Path(path_type=Path, exists=True),
        multiple=True,
        help="pairs: file or folder of the shortened texts; twice for light and tight.",
    ),
    click.option(
        "--columns",
        metavar="A,B[,C]",
        help="pairs: RAW is JSON lines with the original and the shortened text under these keys.",
    ),
    click.option(
        "--level",
        type=click.Choice(LEVELS),
        default="light",
        show_default=True,
        help="pairs, edits: what a single version is.",
    ),
    click.option(
        "--sheet",
        type=click.Path(path_type=Path, exists=True, dir_okay=False),
        help="edits: the edited spreadsheet (CSV).",
    ),
    click.option(
        "--page", type=click.Path(path_type=Path, exists=True, dir_okay=False), help="edits: the edited page (HTML)."
    ),
    click.option(
        "--export-sheet",
        type=click.Path(path_type=Path, dir_okay=False),
        help="Write a spreadsheet to cut in, and stop.",
    ),
    click.option(
        "--export-page", type=click.Path(path_type=Path, dir_okay=False), help="Write a page to cut in, and stop."
    ),
    click.option(
        "--confident",
        type=click.FloatRange(0.5, 1),
        default=0.9,
        show_default=True,
        help="weak, --check: from which score on the model counts as sure.",
    ),
    click.option(
        "--check",
        is_flag=True,
        help="RAW are labelled files or folders: check them, and say what is kept and what to review.",
    ),
    click.option(
        "--show", type=click.IntRange(0), default=20, show_default=True, help="--check: doubtful labels to show."
    ),
    click.option("--report", type=click.Path(path_type=Path, dir_okay=False), help="--check: write all of it as JSON."),
    click.option("--verbose", "-v", is_flag=True, help="Say what is asked again."),
)


def label_options(command: F) -> F:
    """All options, in the order in which the help shows them."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def check_usage(ctx: click.Context, options: dict[str, Any]) -> None:
    """Refuse what the chosen way does not need, and what it lacks."""
    way = (
        "check"
        if options["check"]
        else "export"
        if options["export_sheet"] or options["export_page"]
        else options["way"]
    )
    if way is None:
        raise click.UsageError(
            "say where the labels come from, with --from; or use --check, --export-sheet, --export-page."
        )
    for name, ways in _OWN.items():
        if ctx.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE and way not in ways:
            raise click.UsageError(
                f"--{name.replace('_', '-')} has no meaning for {way}; it belongs to {', '.join(ways)}."
            )
    if way in ("check", "export") and options["way"]:
        raise click.UsageError(f"--from has no meaning for {way}.")
    if way in WAYS and not options["output"] and not options["estimate"]:
        raise click.UsageError("the output is missing: -o OUT.jsonl.")
    for target in (options["output"], options["export_sheet"], options["export_page"]):
        if target and target.exists() and not options["force"]:
            raise click.UsageError(
                f"{target} exists; labels may be in it that nobody has twice. Replace it with --force."
            )
    if way == "teacher" and not (options["endpoint"] and options["model"]):
        raise click.UsageError("a teacher needs --endpoint and --model.")
    if way == "pairs" and bool(options["shortened"]) == bool(options["columns"]):
        raise click.UsageError(
            "pairs need --shortened FILE (for light and tight twice), or --columns ORIGINAL,SHORTENED."
        )
    if len(options["shortened"]) > 2:
        raise click.UsageError("--shortened may be given twice at most: light, then tight.")
    if way == "edits" and bool(options["sheet"]) == bool(options["page"]):
        raise click.UsageError("edits need --sheet or --page.")
