"""The command `label`: raw transcripts to labelled ones, sheets and pages to cut in, and a look at what was labelled.

python -m training label RAW... -o OUT.jsonl --from teacher --endpoint URL --model NAME
python -m training label RAW... -o OUT.jsonl --from pairs --shortened FILE
python -m training label RAW... --export-sheet cut.csv; python -m training label RAW... -o OUT.jsonl --from edits --sheet cut.csv
python -m training label RAW... -o OUT.jsonl --from weak
python -m training label --check OUT.jsonl
"""

import json
import logging
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click
from tqdm import tqdm

from compressor.errors import CompressorError
from training.labelling import pages, sheets
from training.labelling.errors import LabelError
from training.labelling.levels import from_texts
from training.labelling.opinion import Opinion, opinions, weak
from training.labelling.options import check_usage, label_options
from training.labelling.pairs import Pair, pair_columns, pair_files
from training.labelling.records import Labelled, Raw, read_raw
from training.labelling.run import write_report, write_run

T = TypeVar("T")


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("raw", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="RAW...")
@label_options
@click.pass_context
def label(ctx: click.Context, /, raw: tuple[Path, ...], verbose: bool, **options: Any) -> None:
    """Label transcripts for training, in any format that the library reads.

    The labels come from a teacher model, from pairs of texts, from edits in a sheet or a page, or from the shipped model.
    Exit status: 0 all labelled, 1 some left out, 2 wrong usage.
    """
    logging.basicConfig(format="%(message)s", stream=sys.stderr)
    logging.getLogger("training.labelling").setLevel(logging.INFO if verbose else logging.WARNING)
    check_usage(ctx, options)
    try:
        if options["check"]:
            failed = _check(raw, options)
        elif options["export_sheet"] or options["export_page"]:
            failed = _export(raw, options)
        else:
            failed = _label(raw, options)
    except CompressorError as error:
        click.echo(str(error), err=True)
        failed = True
    except OSError as error:
        click.echo(f"{error.filename or 'writing'}: {error.strerror or error}", err=True)
        failed = True
    sys.exit(1 if failed else 0)


def _label(paths: Sequence[Path], options: dict[str, Any]) -> bool:
    """Label and write; says whether anything was left out."""
    if options["way"] == "teacher":
        found: Iterable[Labelled | LabelError] | None = _from_teacher(paths, options)
    elif options["way"] == "pairs":
        found = _from_pairs(paths, options)
    else:
        raws, errors = _read(paths, options)
        if options["way"] == "weak":
            found = [*errors, *_bar(weak(raws, options["scorer"], options["confident"]), len(raws))]
        else:
            found = [*errors, *_from_edits(raws, options)]
    if found is None:
        return False
    out = options["output"]
    outcome = write_run(
        found,
        out,
        options["rejects"] or out.with_suffix(".rejects"),
        source=options["source"],
        domain=options["domain"],
        drop_worst=options["drop_worst"],
    )
    for message in outcome.messages:
        click.echo(message, err=True)
    click.echo(
        f"{outcome.labelled} labelled, {outcome.failed} failed, {outcome.dropped} left out as the worst -> {out}",
        err=True,
    )
    return outcome.failed > 0 or outcome.labelled == 0


def _from_teacher(paths: Sequence[Path], options: dict[str, Any]) -> list[Labelled | LabelError] | None:
    from compressor.tokens import EstimatedTokens
    from training.labelling.cache import Cache
    from training.labelling.client import Client
    from training.labelling.teacher import Teacher

    raws, errors = _read(paths, options)
    client = Client(
        options["endpoint"],
        options["model"],
        key_variable=options["key_variable"],
        timeout=options["timeout"],
        retries=options["retries"],
        body=_body(options["body"]),
    )
    path = options["cache"] or (
        options["output"].with_name(f"{options['output'].stem}.answers.sqlite") if options["output"] else None
    )
    with Cache(path or Path(":memory:")) as cache:
        teacher = Teacher(
            client, cache, EstimatedTokens(), chunk_tokens=options["chunk_tokens"], concurrency=options["concurrency"]
        )
        if not _agreed(teacher.estimate(raws), options):
            return None
        with tqdm(total=len(raws), unit=" transcripts", disable=None) as bar:
            found = list(teacher.label(raws, lambda: bar.update() and None))
    sent = teacher.sent
    click.echo(
        f"{sent['requests']} answers, {sent['prompt_tokens']} prompt and {sent['completion_tokens']} completion tokens by the "
        "endpoint's count",
        err=True,
    )
    return [*errors, *found]


def _agreed(estimate: Any, options: dict[str, Any]) -> bool:
    """Say what it will cost, and whether to go on."""
    price = estimate.price(*options["price"]) if options["price"] else None
    click.echo(
        f"{estimate.requests} requests ({estimate.cached} more are in the cache), about {estimate.prompt_tokens} prompt and "
        f"{estimate.completion_tokens} completion tokens" + (f", price about {price:.2f}" if price is not None else ""),
        err=True,
    )
    if options["estimate"]:
        return False
    if options["ask_above"] is not None:
        limit = options["ask_above"]
    else:
        limit = 1 if price is not None else 200
    if (estimate.requests if price is None else price) <= limit or options["yes"]:
        return True
    if not sys.stdin.isatty():
        raise click.UsageError(f"that is above {limit:g}, the limit of --ask-above; go on with --yes.")
    click.confirm("Go on?", abort=True, err=True)
    return True


def _body(text: str | None) -> dict[str, Any]:
    try:
        body = json.loads(text) if text else {}
    except ValueError as error:
        raise click.UsageError(f"--body is no JSON: {error}.") from error
    if not isinstance(body, dict) or "messages" in body:
        raise click.UsageError(f"--body is {text}; allowed: a JSON object without messages.")
    return body


def _from_pairs(paths: Sequence[Path], options: dict[str, Any]) -> list[Labelled | LabelError]:
    errors: list[LabelError] = []
    if options["columns"]:
        columns = [name.strip() for name in options["columns"].split(",")]
        if not 2 <= len(columns) <= 3 or not all(columns):
            raise click.UsageError("--columns takes two or three keys: original, shortened; or original, light, tight.")
        found = [pair for path in paths for pair in pair_columns(path, columns, options["lang"])]
    else:
        raws, errors = _read(paths, options)
        found = list(pair_files(raws, options["shortened"], options["format"]))
    pairs: list[Pair] = [pair for pair in found if not isinstance(pair, LabelError)]
    errors.extend(pair for pair in found if isinstance(pair, LabelError))
    done: list[Labelled | LabelError] = list(errors)
    views = opinions([raw for raw, _ in pairs], options["scorer"])
    for (raw, texts), opinion in _bar(zip(pairs, views, strict=True), len(pairs)):
        try:
            done.append(from_texts(raw, texts, options["level"], opinion, "pairs"))
        except LabelError as error:
            done.append(error)
    return done


def _from_edits(raws: Sequence[Raw], options: dict[str, Any]) -> Iterator[Labelled | LabelError]:
    level, path = options["level"], options["sheet"] or options["page"]
    rows = sheets.read_sheet(path) if options["sheet"] else {}
    talks = pages.read_page(path) if options["page"] else []
    for number, (raw, opinion) in enumerate(_bar(zip(raws, opinions(raws, options["scorer"]), strict=True), len(raws))):
        try:
            if options["page"]:
                yield pages.from_talk(raw, pages.find_talk(talks, number, raw, path), level, opinion, path)
            elif raw.id in rows:
                yield sheets.from_rows(raw, rows[raw.id], level, opinion, path)
            else:
                raise LabelError(f"{path}: no row for record {raw.id} ({raw.where}).")
        except LabelError as error:
            yield error


def _export(paths: Sequence[Path], options: dict[str, Any]) -> bool:
    raws, errors = _read(paths, options)
    found: list[Opinion] = list(_bar(opinions(raws, options["scorer"]), len(raws)))
    if options["export_sheet"]:
        rows = sheets.write_sheet(options["export_sheet"], raws, found)
        click.echo(f"{rows} words of {len(raws)} transcripts -> {options['export_sheet']}", err=True)
    if options["export_page"]:
        pages.write_page(options["export_page"], raws, found)
        click.echo(f"{len(raws)} transcripts -> {options['export_page']}", err=True)
    for error in errors:
        click.echo(str(error), err=True)
    return bool(errors)


def _check(paths: Sequence[Path], options: dict[str, Any]) -> bool:
    """Check labelled records; says whether any is wrong."""
    from training.labelling.review import review
    from training.labelling.validity import breaches, read_records, set_breaches, to_example

    wrong: list[str] = []
    places = []
    for where, record in read_records(paths):
        found = [str(record)] if isinstance(record, LabelError) else breaches(where, record)
        wrong.extend(found)
        if not found and not isinstance(record, LabelError):
            places.append((where, record))
    examples = [to_example(where, record) for where, record in places]
    wrong.extend(set_breaches(places, examples))
    views: dict[str, Opinion] = {}
    if options["scorer"] != "none":
        raws = [Raw(one.id, one.lang, one.transcript, one.id, Path()) for one in examples]
        for raw, opinion in zip(
            raws, _bar(opinions(raws, options["scorer"], options["confident"]), len(raws)), strict=True
        ):
            views[raw.id] = opinion
    result = review(examples, [str(record.get("domain") or "none") for _, record in places], views)
    for line in result.lines(options["show"]):
        click.echo(line)
    for message in wrong:
        click.echo(message, err=True)
    if options["report"]:
        write_report(options["report"], {**result.to_dict(), "breaches": wrong})
    click.echo(f"{len(wrong)} breaches of the format" if wrong else "every record keeps to the format", err=True)
    return bool(wrong)


def _read(paths: Sequence[Path], options: dict[str, Any]) -> tuple[list[Raw], list[LabelError]]:
    """The raw transcripts, and the errors of those that cannot be read.

    Raises:
        LabelError: There is no transcript at all.
    """
    raws: list[Raw] = []
    errors: list[LabelError] = []
    for one in read_raw(paths, options["format"], options["lang"]):
        if isinstance(one, Raw):
            raws.append(one)
        else:
            errors.append(one)
    if not raws:
        reason = f" The first error: {errors[0]}" if errors else ""
        raise LabelError(f"no transcript in {', '.join(map(str, paths))}.{reason}")
    return raws, errors


def _bar(found: Iterable[T], total: int) -> Iterator[T]:
    yield from tqdm(found, total=total, unit=" transcripts", disable=None)
