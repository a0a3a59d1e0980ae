"""The command `batch`. Exit status: 0 all done, 1 some failed, 2 wrong usage, 128 + signal if it was stopped."""

import sys
from collections import Counter
from typing import Any, NoReturn

import click

from compressor.batch import ChangedError, FirstFailure, Selection, Settings, run_batch
from compressor.batch.preview import Found, Survey, sample, survey
from compressor.batch.progress import Terminal
from compressor.batch.report import BatchReport
from compressor.batch.showing import shown
from compressor.cli_options import policy_of, policy_options
from compressor.errors import CompressorError, PolicyError
from compressor.tokens import as_counter

AGAIN = "the same command (without --restart) goes on where it stopped"
LISTED = 40
"""Files that a dry run lists before it counts the others."""


@click.command()
@click.argument("inputs", nargs=-1, required=True, metavar="IN...")
@click.option("-o", "--output", "out", required=True, metavar="OUT", help="The folder for the results.")
@policy_options
@click.option("--workers", type=click.IntRange(1), help="Processes; 1 compresses in this one [default: all cores].")
@click.option("--restart", is_flag=True, help="Begin anew; old results are replaced when the new ones are whole.")
@click.option("--fail-fast", is_flag=True, help="Stop at the first record that fails.")
@click.option("--check", is_flag=True, help="Check the six promises on every result.")
@click.option("--dry-run", is_flag=True, help="Say what would be read and how long it would take; write nothing.")
@click.option("--sample", "sample_size", type=click.IntRange(1), metavar="N", help="Compress N records; write nothing.")
@click.option("--diff", is_flag=True, help="With --sample: show what was deleted, in colour.")
@click.option("--column", help="Of tables: the column with the conversations [default: messages].")
@click.option("--role-column", help="Of CSV files: the column with the speaker or role.")
@click.option("--text-column", help="Of CSV files: the column with the text.")
@click.option("--conversation-column", help="Of CSV files: rows of one value here are one conversation.")
@click.option("--include", multiple=True, metavar="GLOB", help="Of folders: only files like this; repeatable.")
@click.option("--exclude", multiple=True, metavar="GLOB", help="Of folders: no file like this; repeatable.")
@click.option(
    "--cache-mb", type=click.IntRange(0), default=64, show_default=True, help="Score cache of each worker; 0: none."
)
@click.option("--quiet", "-q", is_flag=True, help="No progress, no summary.")
def batch(
    inputs: tuple[str, ...],
    out: str,
    workers: int | None,
    restart: bool,
    fail_fast: bool,
    dry_run: bool,
    sample_size: int | None,
    diff: bool,
    include: tuple[str, ...],
    exclude: tuple[str, ...],
    quiet: bool,
    **options: Any,
) -> None:
    """Compress files and folders of conversations into a folder, on all cores.

    Every file of IN has a result of the same name and format in OUT. --include and --exclude compare file names and paths
    below a folder, as '*.jsonl' or 'old/*'. A run that was interrupted, however, goes on where it stopped when the same
    command is given again. A record that fails stands unchanged in the result and is listed in OUT/errors.jsonl;
    OUT/report.json sums up. Exit status: 0 all done, 1 some failed, 2 wrong usage, 128 + signal if it was stopped.
    """
    if diff and sample_size is None:
        raise click.UsageError("--diff shows what was deleted from a sample: give --sample N too.")
    if dry_run and sample_size is not None:
        raise click.UsageError("--dry-run and --sample are given together; choose one.")
    settings = _settings(options)
    try:
        selection = Selection(include, exclude)
        if dry_run:
            found = survey(inputs, out, settings, workers=workers, selection=selection)
            _show_survey(found)
            sys.exit(1 if found.failed else 0)
        if sample_size is not None:
            sys.exit(_show_sample(inputs, out, settings, sample_size, diff, selection))
        terminal = Terminal(quiet=quiet)
        with terminal.listening():
            report = run_batch(
                inputs,
                out,
                settings,
                workers=workers,
                restart=restart,
                fail_fast=fail_fast,
                selection=selection,
                watcher=terminal,
            )
    except (PolicyError, ChangedError) as error:
        raise click.UsageError(shown(str(error))) from error
    except FirstFailure as error:
        _fail(f"{shown(str(error))}\nstopped at the first failure; {AGAIN}, and past it without --fail-fast")
    except (CompressorError, OSError) as error:
        _fail(shown(str(error)))
    _end(report, terminal, quiet)


def _end(report: BatchReport, terminal: Terminal, quiet: bool) -> None:
    if not quiet:
        _say(report.summary(), err=True)
    if report.complete:
        sys.exit(1 if report.bad else 0)
    if not quiet:
        _say(f"stopped; {AGAIN}", err=True)
    sys.exit(128 + (terminal.signal or 0))


def _settings(options: dict[str, Any]) -> Settings:
    names = ("column", "role_column", "text_column", "conversation_column")
    columns = {name: value for name in names if (value := options.pop(name)) is not None}
    check, cache = options.pop("check"), options.pop("cache_mb")
    model, tokens, format_ = (options.pop(name) for name in ("model", "tokens", "format_"))
    try:
        as_counter(tokens)  # so that a counter that is not there is told before any worker starts
    except PolicyError as error:
        raise click.UsageError(str(error)) from error
    return Settings(policy_of(options), model, tokens, format_, columns, cache * 2**20, check)


def _show_survey(found: Survey) -> None:
    for each in found.files[:LISTED]:
        _say(shown(f"{each.file.path}: {each.failure or _described(each)}"))
        for note in each.notes:
            _say(f"  {shown(note)}")
    if len(found.files) > LISTED:
        _say(f"... and {len(found.files) - LISTED} more files")
    for folder, why in found.inputs.unreadable:
        _say(shown(f"{folder}: {why}"))
    kinds = Counter(each.format for each in found.files if not each.failure)
    _say(f"{len(found.files)} files ({', '.join(f'{count} {name}' for name, count in sorted(kinds.items()))})")
    _say(f"{sum(each.records for each in found.files)} conversations, {found.inputs.size} bytes")
    for why, count in sorted(Counter(why for _, why in found.inputs.skipped).items()):
        _say(f"passed over: {count} × {why}")
    if found.failed:
        _say(f"cannot be read: {found.failed}")
    if found.seconds is not None:
        _say(f"about {_duration(found.seconds)} with {found.workers} workers, judging by a few records")


def _described(found: Found) -> str:
    how = ", ".join(part for part in (found.format, found.compression, found.encoding) if part)
    return f"{how}; {found.records} conversations, {found.characters} characters"


def _show_sample(
    inputs: tuple[str, ...], out: str, settings: Settings, size: int, diff: bool, selection: Selection
) -> int:
    """Print each record of a sample and the sums; the exit status."""
    results, tally, _ = sample(inputs, out, settings, size, selection=selection)
    failed = 0
    for each in results:
        where = f"{each.file.path}:{each.line}" if each.line else str(each.file.path)
        if each.result is None:
            failed += 1
            _say(shown(f"{where}: {each.failure}"), err=True)
            continue
        _say(f"{shown(where)}: {each.result.report.summary().splitlines()[0]}")
        if diff:
            _say(f"{each.result.diff()}\n")  # in colour even into a file, where the marks are needed as much
    if tally.tokens_before:
        kept = tally.tokens_after / tally.tokens_before
        _say(f"{tally.records} records: {tally.tokens_before} → {tally.tokens_after} tokens ({kept:.0%} kept)")
    return 1 if failed else 0


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} seconds"
    minutes = seconds / 60
    return f"{minutes:.0f} minutes" if minutes < 90 else f"{minutes / 60:.1f} hours"


def _fail(message: str) -> NoReturn:
    _say(message, err=True)
    sys.exit(1)


def _say(text: str, err: bool = False) -> None:
    """Print what may hold names and texts that no encoding takes."""
    click.echo(text.encode("utf-8", "backslashreplace"), err=err)
