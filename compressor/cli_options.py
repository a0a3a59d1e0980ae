"""The options that several commands share: what a compression may do, and with which model."""

import re
from collections.abc import Callable
from typing import Any, TypeVar

import click

from compressor import formats
from compressor.errors import PolicyError
from compressor.policy import Policy

F = TypeVar("F", bound=Callable[..., Any])


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
                "--model",
                default="default",
                show_default=True,
                help="`default`, `fast`, a model folder, or `heuristic`.",
            ),
            click.option(
                "--tokens", default="estimate", show_default=True, help="estimate, tiktoken or tiktoken:ENCODING."
            ),
            click.option(
                "--format",
                "format_",
                type=click.Choice([name for name, one in formats.FORMATS.items() if one.files]),
                help="Of the input [default: by its ending or content].",
            ),
        ]
    ):
        command = option(command)
    return command


def policy_of(options: dict[str, Any]) -> Policy:
    """The policy of the options above, once those that name a model, a counter or a format are taken out.

    Raises:
        click.UsageError: A pattern or a value is not allowed.
    """
    patterns = []
    for pattern in options.pop("protect"):
        try:
            patterns.append(re.compile(pattern))
        except (re.error, OverflowError, RecursionError) as error:
            raise click.UsageError(f"--protect: {pattern!r} is no regular expression: {error}") from error
    try:
        return Policy(also_protect=patterns, **options)
    except PolicyError as error:
        raise click.UsageError(str(error)) from error
