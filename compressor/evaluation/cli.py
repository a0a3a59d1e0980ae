"""The commands `evaluate` and `gate`. Exit status: 0 done or passed, 1 the gate fails, 2 it could not be run."""

import json
import sys
from pathlib import Path
from typing import Any

import click

from compressor.errors import CompressorError


class Unusable(click.ClickException):
    """Something the user can mend; exit status 2."""

    exit_code = 2


@click.command()
@click.option(
    "--system", "systems", multiple=True, metavar="SPEC", help="What to grade; repeatable. See below for SPEC."
)
@click.option(
    "--model", default="default", show_default=True, help="Of ours: `default`, `fast`, a model folder, or `heuristic`."
)
@click.option("--cases", multiple=True, metavar="PATH", help="Flip cases instead of those of the package; repeatable.")
@click.option(
    "--annotated", multiple=True, metavar="PATH", help="Annotated transcripts: .jsonl files or folders; repeatable."
)
@click.option("--split", metavar="FILE", help="A JSON file of lists of ids, to take only some annotated transcripts.")
@click.option("--part", default="test", show_default=True, help="Which of the lists.")
@click.option(
    "--drift",
    multiple=True,
    type=click.IntRange(2),
    metavar="TURNS",
    help="Conversations that grow so far [default: 40, 200].",
)
@click.option("--no-drift", is_flag=True, help="Leave the growing conversations out.")
@click.option("--reader", metavar="URL|MODULE:CALLABLE", help="Answers the questions of the flip cases.")
@click.option("--reader-model", metavar="NAME", help="The model to ask at that URL.")
@click.option("--summariser", metavar="URL", help="Where summariser=RATIO asks.")
@click.option("--summariser-model", metavar="NAME", help="The model to ask there.")
@click.option("--json", "json_path", metavar="FILE", help="Write all figures; - is standard output, without the table.")
@click.option("--html", "html_path", metavar="FILE", help="Write a page with plots (needs matplotlib).")
@click.option("--update-metrics", metavar="FILE", help="Store the figures in a metrics file, as the gate's baseline.")
@click.option("--seed", default=0, show_default=True, help="Of everything that is drawn.")
@click.option("--resamples", default=1000, show_default=True, type=click.IntRange(10), help="Of the bootstrap.")
@click.option("--quiet", is_flag=True, help="No progress bar.")
def evaluate(**options: Any) -> None:
    """Grade compressors on the same cases: what survives, what flips, what drifts, what it costs.

    SPEC is light, tight, keep_ratio=0.5 or max_tokens=300 (ours; further options behind commas: light,keep_last=4),
    none, truncation=0.5, random=0.5, stopwords, sentences=0.5 (baselines), summariser=0.5 (an endpoint), or
    module:callable (gets chat messages, returns text, messages, strings or a Transcript). Default: ours and baselines.

    A key for an endpoint is read from the environment variable OPENAI_API_KEY.
    """
    from compressor.evaluation.gate import update_metrics
    from compressor.evaluation.tables import report

    try:
        if options["html_path"]:
            from compressor.evaluation.page import require_plots

            require_plots()
        for name in ("json_path", "html_path", "update_metrics"):
            _check_folder(options[name])
        result = _evaluate(options)
        if options["json_path"] == "-":
            click.echo(json.dumps(result, indent=1, ensure_ascii=False))
        else:
            click.echo(report(result))
        if options["json_path"] and options["json_path"] != "-":
            text = json.dumps(result, indent=1, ensure_ascii=False) + "\n"
            Path(options["json_path"]).write_text(text, encoding="utf-8")
        if options["html_path"]:
            from compressor.evaluation.page import page

            Path(options["html_path"]).write_text(page(result), encoding="utf-8")
        if options["update_metrics"]:
            update_metrics(Path(options["update_metrics"]), result)
    except (CompressorError, OSError) as error:
        raise Unusable(str(error)) from error


@click.command()
@click.option(
    "--baseline", required=True, metavar="FILE", help="A metrics file that `evaluate --update-metrics` wrote into."
)
@click.option("--model", help="Another model than the baseline's: `fast`, or a model folder.")
@click.option("--quick", is_flag=True, help="Leave the longest conversations out.")
@click.option("--json", "json_path", metavar="FILE", help="Write the new figures.")
@click.option("--quiet", is_flag=True, help="No progress bar.")
def gate(baseline: str, model: str | None, quick: bool, json_path: str | None, quiet: bool) -> None:
    """Fail when the code or the model is worse than the baseline: exit status 1, with a line for each reason."""
    from compressor.evaluation.gate import read_baseline, run_gate

    try:
        stored = read_baseline(Path(baseline))
        problems, result = run_gate(stored, model=model, quick=quick, progress=_progress(quiet))
        if json_path:
            Path(json_path).write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    except (CompressorError, OSError) as error:
        raise Unusable(str(error)) from error
    for problem in problems:
        click.echo(f"FAIL {problem}")
    if problems:
        click.echo(f"gate failed: {len(problems)} {'reason' if len(problems) == 1 else 'reasons'}")
        sys.exit(1)
    systems, n = ", ".join(result["systems"]), result["cases"]["flips"]["n"]
    click.echo(f"gate passed: {systems} on {n} flip cases, nothing is worse than the baseline")


def _evaluate(options: dict[str, Any]) -> Any:
    from compressor.evaluation.endpoint import Endpoint
    from compressor.evaluation.errors import EvaluationError
    from compressor.evaluation.reader import make_reader
    from compressor.evaluation.runner import DEFAULT_SYSTEMS, Settings, evaluate

    summariser = None
    if options["summariser"]:
        if not options["summariser_model"]:
            raise EvaluationError(
                f"the summariser at {options['summariser']} needs the name of a model: --summariser-model NAME."
            )
        summariser = Endpoint(options["summariser"], options["summariser_model"])
    settings = Settings(
        systems=options["systems"] or DEFAULT_SYSTEMS,
        model=options["model"],
        cases=options["cases"],
        annotated=options["annotated"],
        split=options["split"],
        part=options["part"],
        drift=() if options["no_drift"] else options["drift"] or Settings().drift,
        seed=options["seed"],
        resamples=options["resamples"],
    )
    reader = make_reader(options["reader"], options["reader_model"]) if options["reader"] else None
    return evaluate(settings, reader=reader, summariser=summariser, progress=_progress(options["quiet"]))


def _check_folder(path: str | None) -> None:
    """Refuse a file that could not be written, before a long run instead of after it."""
    if path and path != "-" and not Path(path).resolve().parent.is_dir():
        raise Unusable(f"{path}: the folder does not exist.")


def _progress(quiet: bool) -> bool:
    return not quiet and sys.stderr.isatty()
