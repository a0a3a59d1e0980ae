"""`python -m training COMMAND`: a command's module, and what it needs, is imported only when the command is asked for."""

import importlib
import logging
import sys

import click

from compressor.errors import CompressorError

COMMANDS = {
    "label": ("training.labelling.cli:label", "Make labelled transcripts out of raw ones."),
    "splits": ("training.splits:command", "Draw a development and a test split, and look for leaks."),
    "train": ("training.train:command", "Fine-tune a model on labelled transcripts."),
    "distill": ("training.distill:command", "Teach a smaller student, or the model itself, on unlabelled transcripts."),
    "export": ("training.export:command", "Make a model folder out of trained weights."),
    "calibrate": ("training.calibrate:command", "Choose the thresholds of a model folder."),
    "evaluate": ("training.evaluate:command", "Measure a model folder on a split."),
    "card": ("training.card:command", "Write the model card."),
}
"""Name → where the click command is, and what it does in a line."""


class _Lazy(click.Group):
    """A group whose commands are imported when they are called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name][0].partition(":")
        try:
            command: click.Command = getattr(importlib.import_module(module), name)
        except ModuleNotFoundError as error:
            raise click.ClickException(f"{cmd_name} needs {error.name}: pip install 'compressor[train]'") from error
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, said) for name, (_, said) in COMMANDS.items()])

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except (CompressorError, OSError) as error:
            raise click.ClickException(str(error)) from error


@click.group(cls=_Lazy, help="Make the weights: label, train, measure, export.")
def main() -> None:
    """Log to standard error."""
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(message)s")


if __name__ == "__main__":
    main(prog_name="python -m training")
