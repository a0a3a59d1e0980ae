"""The command line: parses arguments, calls the API, prints. No logic of its own.

Exit status: 0 done, 1 a record failed or a promise is broken, 2 wrong usage.
"""

import json
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, NoReturn, TypeVar

import click

from compressor.errors import CompressorError, InputError, PolicyError

F = TypeVar("F", bound=Callable[..., Any])


class LazyGroup(click.Group):
    """A group that imports the evaluation's commands only when they are asked for."""

    lazy: ClassVar[dict[str, str]] = {"evaluate": "compressor.evaluation.cli", "gate": "compressor.evaluation.cli"}

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*super().list_commands(ctx), *self.lazy})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in self.lazy:
            command: click.Command = getattr(import_module(self.lazy[cmd_name]), cmd_name)
            return command
        return super().get_command(ctx, cmd_name)


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="compressor")
def main() -> None:
    """Shrink conversation transcripts by deleting low-signal words and nothing else."""


def policy_options(command: F) -> F:
    """The options that set a policy and a model."""
    for option in reversed(
        [
            click.option(
                "--preset", type=click.Choice(["light", "tight"]), help="How careful an edit [default: light]."
            ),
            click.option("--keep-ratio", type=float, help="Share of the tokens to keep, 0 to 1."),
            click.option("--max-tokens", type=int, help="Most tokens of the result."),
            click.option(
                "--keep-last", type=int, help="Turns at the end that stay verbatim [default: 4 in chats, else 0]."
            ),
            click.option(
                "--protect",
                multiple=True,
                metavar="REGEX",
                help="Keep every match of a regular expression. Repeatable.",
            ),
            click.option("--release-filler", is_flag=True, help="Let modals and negations in pure pleasantries go."),
            click.option("--floor", type=click.Choice(["sure", "masks"]), default="sure", help="Where a budget stops."),
            click.option(
                "--emptied",
                type=click.Choice(["auto", "word", "empty", "drop"]),
                default="auto",
                help="What becomes of emptied turns.",
            ),
            click.option(
                "--model", default="default", show_default=True, help="A model's name or folder, or `heuristic`."
            ),
            click.option(
                "--tokens", default="estimate", show_default=True, help="estimate, tiktoken or tiktoken:ENCODING."
            ),
            click.option(
                "--format",
                "format_",
                type=click.Choice(["text", "json", "jsonl"]),
                help="Of the input [default: by its ending or content].",
            ),
        ]
    ):
        command = option(command)
    return command


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
    compressor, format_ = _compressor(options)
    failed = False
    for file in files:
        content, encoding, name, records = _records(file, format_)
        done = []
        for line, record in records:
            where = f"{file}:{line}" if name == "jsonl" else file
            try:
                if isinstance(record, InputError):
                    raise record
                result = compressor.compress(record)
                if check:
                    result.verify()
            except CompressorError as error:
                failed = True
                click.echo(f"{where}: {error}", err=True)
                continue
            done.append(result)
            if report_file:
                report_file.write(json.dumps({"source": where, **result.report.to_dict()}, ensure_ascii=False) + "\n")
            if not quiet:
                click.echo(
                    f"{where}: {result.report.summary()}" + ("\nall six promises hold" if check else ""), err=True
                )
        if diff:
            text = "".join(f"{result.diff()}\n" for result in done)
        elif as_json:
            text = "".join(json.dumps(_as_record(result), ensure_ascii=False) + "\n" for result in done)
        else:
            text = _formats().write_records(content, [result.transcript for result in done]) if done else ""
        _emit(text, encoding, _target(output, file, len(files)))
    sys.exit(1 if failed else 0)


@main.command()
@click.argument("file", metavar="FILE|-")
@policy_options
@click.option("--json", "as_json", is_flag=True, help="One JSON object a word.")
def explain(file: str, as_json: bool, **options: Any) -> None:
    """Show every word with its score, the rules that protect it, and what became of it."""
    compressor, format_ = _compressor(options)
    for _, record in _records(file, format_)[3]:
        if isinstance(record, InputError):
            _fail(f"{file}: {record}")
        for word in compressor.compress(record).explain():
            fields = {name: getattr(word, name) for name in word.__dataclass_fields__}
            if as_json:
                click.echo(json.dumps(fields, ensure_ascii=False))
            else:
                state = "keep" if word.kept else "    "
                rules = ",".join(word.rules) + (" (released)" if word.released else "")
                click.echo(f"{word.turn:>4} {word.start:>6} {state} {word.score:.2f}  {word.text:<24} {rules}".rstrip())


@main.command()
def rules() -> None:
    """List the rules that protect words."""
    from compressor.protection import RULES

    for name, rule in RULES.items():
        click.echo(f"{name:<12} {(rule.__doc__ or '').strip().splitlines()[0]}")


@main.command()
def formats() -> None:
    """List the formats that can be read and written."""
    for name, format_ in _formats().FORMATS.items():
        click.echo(f"{name:<10} {' '.join(format_.extensions) or '(in memory)':<20} {format_.doc}")


@main.command()
@click.option("--model", default="default", show_default=True, help="A model's name or folder.")
def info(model: str) -> None:
    """Show the model, the versions and the threads in use."""
    from compressor import __version__
    from compressor.policy import POLICY_VERSION
    from compressor.scoring.classifier import default_threads
    from compressor.scoring.weights import model_folder, read_config
    from compressor.words import SEGMENTATION

    folder = model_folder(model)
    try:
        config = read_config(folder)
    except CompressorError as error:
        _fail(str(error))
    facts = {
        "compressor": __version__,
        "policy": POLICY_VERSION,
        "segmentation": SEGMENTATION,
        "model": f"{model} {config.version} ({folder})",
        "base encoder": config.base,
        "weights": config.quantisation,
        "heads": ", ".join(config.heads),
        "window": f"{config.window} subwords, stride {config.stride}",
        "threads": str(default_threads()),
    }
    for name, value in facts.items():
        click.echo(f"{name:<13} {value}")


def _compressor(options: dict[str, Any]) -> tuple[Any, str | None]:
    import re

    from compressor.pipeline import Compressor
    from compressor.policy import Policy

    model, tokens, format_ = (options.pop(name) for name in ("model", "tokens", "format_"))
    try:
        protect = [re.compile(pattern) for pattern in options.pop("protect")]
        policy = Policy(also_protect=protect, **options)
        return Compressor.from_pretrained(model, policy=policy, token_counter=tokens), format_
    except re.error as error:
        raise click.UsageError(f"--protect: {error.pattern!r} is no regular expression: {error}") from error
    except PolicyError as error:
        raise click.UsageError(str(error)) from error
    except CompressorError as error:
        _fail(str(error))


def _records(file: str, format_: str | None) -> tuple[str, str, str, Any]:
    """The text of a file, its encoding, its format, and its conversations by line."""
    try:
        raw = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
        content, encoding = _formats().decode(raw)
        name = format_ or _formats().detect(raw if file == "-" else Path(file))
        return content, encoding, name, _formats().read_records(content, name)
    except OSError as error:
        _fail(f"{file}: {error.strerror or error}")
    except InputError as error:
        _fail(f"{file}: {error}")


def _as_record(result: Any) -> dict[str, Any]:
    return {"text": result.text, "messages": result.messages, "report": result.report.to_dict()}


def _target(output: str | None, file: str, count: int) -> Path | None:
    if output is None:
        return None
    path = Path(output)
    if count > 1 or path.is_dir() or output.endswith("/"):
        path.mkdir(parents=True, exist_ok=True)
        return path / (Path(file).name if file != "-" else "stdin")
    return path


def _emit(text: str, encoding: str, target: Path | None) -> None:
    content = _formats().encode(text, encoding)
    if target is None:
        sys.stdout.flush()
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
    else:
        target.write_bytes(content)


def _formats() -> Any:
    from compressor import formats

    return formats


def _fail(message: str) -> NoReturn:
    click.echo(message, err=True)
    sys.exit(1)
