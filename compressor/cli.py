"""The command line: parses arguments, calls the API, prints. No logic of its own.

Exit status: 0 done, 1 a record failed or a promise is broken, 2 wrong usage.
"""

import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, NoReturn

import click

import compressor.formats as file_formats
from compressor import __version__
from compressor.cli_options import policy_of, policy_options
from compressor.errors import CompressorError, InputError, PolicyError
from compressor.pipeline import Compressor
from compressor.policy import POLICY_VERSION
from compressor.protection import RULES
from compressor.result import CompressionResult
from compressor.words import SEGMENTATION


class LazyGroup(click.Group):
    """A group that imports the evaluation's commands only when they are asked for."""

    lazy: ClassVar[dict[str, str]] = {
        "batch": "compressor.batch.cli",
        "evaluate": "compressor.evaluation.cli",
        "gate": "compressor.evaluation.cli",
    }

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*super().list_commands(ctx), *self.lazy})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in self.lazy:
            command: click.Command = getattr(import_module(self.lazy[cmd_name]), cmd_name)
            return command
        return super().get_command(ctx, cmd_name)


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__)
def main() -> None:
    """Shrink conversation transcripts by deleting low-signal words and nothing else."""


@main.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE|-...")
@policy_options
@click.option("-o", "--output", type=click.Path(), help="Write to a file, or to a folder if there are several inputs.")
@click.option("--check", is_flag=True, help="Check the six promises on every result.")
@click.option(
    "--json", "as_json", is_flag=True, help="Print text, messages and report as one JSON object a transcript."
)
@click.option("--diff", is_flag=True, help="Show what was deleted, in colour, instead of the result.")
@click.option(
    "--report", "report_file", type=click.File("w", encoding="utf-8"), help="Write one report a line as JSON."
)
@click.option("--quiet", "-q", is_flag=True, help="No summary on standard error.")
def compress(
    files: tuple[str, ...],
    output: str | None,
    check: bool,
    as_json: bool,
    diff: bool,
    report_file: Any,
    quiet: bool,
    **options: Any,
) -> None:
    """Compress transcripts: text, JSON or JSON lines; `-` is standard input.

    The result goes to standard output in the format of the input, the summary to standard error.
    """
    targets = _targets(files, output, report_file)
    compressor, format_ = _compressor(options)
    failed = False
    for file, target in zip(files, targets, strict=True):
        found = _records(file, format_)
        if found is None:
            failed = True
            continue
        content, encoding, name, records = found
        done, bad = [], 0
        for line, record in records:
            where = f"{file}:{line}" if name == "jsonl" else file
            try:
                if isinstance(record, InputError):
                    raise record
                result = compressor.compress(record)
                if check:
                    result.verify()
            except (CompressorError, ValueError) as error:
                bad += 1
                click.echo(f"{where}: {error}", err=True)
                continue
            done.append(result)
            if report_file:
                report_file.write(file_formats.dump({"source": where, **result.report.to_dict()}) + "\n")
            if not quiet:
                click.echo(
                    f"{where}: {result.report.summary()}" + ("\nall six promises hold" if check else ""), err=True
                )
        failed = failed or bad > 0
        if bad and not done:
            continue  # nothing to write; a result of an earlier run stays
        if diff:
            output_bytes = _utf8("".join(f"{result.diff()}\n" for result in done))
        elif as_json:
            output_bytes = _utf8("".join(file_formats.dump(_as_record(result)) + "\n" for result in done))
        else:
            try:
                text = file_formats.write_records(content, [result.transcript for result in done])
                output_bytes = file_formats.encode(text, encoding)
            except (CompressorError, ValueError) as error:
                click.echo(f"{file}: {error}", err=True)
                failed = True
                continue
        failed = not _emit(output_bytes, target) or failed
    sys.exit(1 if failed else 0)


@main.command()
@click.argument("file", metavar="FILE|-")
@policy_options
@click.option("--json", "as_json", is_flag=True, help="One JSON object a word.")
def explain(file: str, as_json: bool, **options: Any) -> None:
    """Show every word with its score, the rules that protect it, and what became of it."""
    compressor, format_ = _compressor(options)
    found = _records(file, format_)
    failed = found is None
    for line, record in found[3] if found else ():
        try:
            if isinstance(record, InputError):
                raise record
            words = compressor.compress(record).explain()
        except (CompressorError, ValueError) as error:
            failed = True
            click.echo(f"{file}:{line}: {error}" if found and found[2] == "jsonl" else f"{file}: {error}", err=True)
            continue
        for word in words:
            fields = {name: getattr(word, name) for name in word.__dataclass_fields__}
            if as_json:
                click.echo(_utf8(file_formats.dump(fields)))
            else:
                state = "keep" if word.kept else "    "
                rules = ",".join(word.rules) + (" (released)" if word.released else "")
                row = f"{word.turn:>4} {word.start:>6} {state} {word.score:.2f}  {word.text:<24} {rules}"
                click.echo(_utf8(row.rstrip()))
    sys.exit(1 if failed else 0)


@main.command()
def rules() -> None:
    """List the rules that protect words."""
    for name, rule in RULES.items():
        click.echo(f"{name:<12} {(rule.__doc__ or '').strip().splitlines()[0]}")


@main.command()
def formats() -> None:
    """List the formats that can be read and written."""
    for name, format_ in file_formats.FORMATS.items():
        click.echo(f"{name:<10} {format_.where:<20} {format_.doc}")


@main.command()
@click.option("--model", default="default", show_default=True, help="`default`, `fast`, or a model folder.")
def info(model: str) -> None:
    """Show the model, the versions and the threads in use."""
    from compressor.scoring.classifier import default_threads
    from compressor.scoring.weights import model_folder, read_config

    facts = {"compressor": __version__, "policy": POLICY_VERSION, "segmentation": SEGMENTATION}
    if model == "heuristic":
        facts |= {"model": "heuristic, which scores words by lists and lengths and has no folder"}
    else:
        try:
            folder = model_folder(model)
            config = read_config(folder)
        except CompressorError as error:
            _fail(str(error))
        facts |= {
            "model": f"{model} {config.version} ({folder})",
            "base encoder": config.base,
            "weights": config.quantisation,
            "heads": ", ".join(config.heads),
            "window": f"{config.window} subwords, stride {config.stride}",
            "threads": str(default_threads()),
        }
    for name, value in facts.items():
        click.echo(f"{name:<13} {value}")


def _compressor(options: dict[str, Any]) -> tuple[Compressor, str | None]:
    model, tokens, format_ = (options.pop(name) for name in ("model", "tokens", "format_"))
    policy = policy_of(options)
    try:
        return Compressor.from_pretrained(model, policy=policy, token_counter=tokens), format_
    except PolicyError as error:
        raise click.UsageError(str(error)) from error
    except CompressorError as error:
        _fail(str(error))


def _records(file: str, format_: str | None) -> tuple[str, str, str, Any] | None:
    """The text of a file, its encoding, its format, and its conversations by line; None if it cannot be read."""
    try:
        raw = sys.stdin.buffer.read() if file == "-" else None
        content, encoding, name = file_formats.load(file if raw is None else raw, format_)
        return content, encoding, name, _to_the_error(file_formats.read_records(content, name))
    except OSError as error:
        click.echo(f"{file}: {error.strerror or error}", err=True)
    except ValueError as error:  # an InputError, or a name that no file can have
        click.echo(f"{file}: {error}", err=True)
    return None


def _to_the_error(records: Iterator[tuple[int, Any]]) -> Iterator[tuple[int, Any]]:
    """The conversations of a file; where it cannot be cut any further, the error stands for the rest."""
    line = 1
    try:
        for line, record in records:
            yield line, record
    except ValueError as error:
        yield line, error if isinstance(error, InputError) else InputError(str(error))


def _as_record(result: CompressionResult) -> dict[str, Any]:
    return {"text": result.text, "messages": result.messages, "report": result.report.to_dict()}


def _targets(files: tuple[str, ...], output: str | None, report_file: Any) -> list[Path | None]:
    """Where each result goes, checked before anything is written."""
    try:
        targets: list[Path | None] = file_formats.targets(files, output)
        if report_file and report_file.name != "-":
            results = [str(target) for target in targets if target is not None]
            file_formats.refuse_inputs([*files, *results], Path(report_file.name))
            if str(report_file.name) in results:
                raise PolicyError(f"the report and a result would both be written to {report_file.name}.")
    except PolicyError as error:
        raise click.UsageError(str(error)) from error
    return targets


def _emit(content: bytes, target: Path | None) -> bool:
    """Write a result; says whether that went well."""
    if target is None:
        sys.stdout.flush()
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
        return True
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
    except OSError as error:
        click.echo(f"{target}: {error.strerror or error}", err=True)
        return False
    return True


def _utf8(text: str) -> bytes:
    return text.encode("utf-8", "backslashreplace")


def _fail(message: str) -> NoReturn:
    click.echo(message, err=True)
    sys.exit(1)
