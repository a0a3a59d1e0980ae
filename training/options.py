"""Options that several commands share."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import click

from training.config import TrainingConfig

F = TypeVar("F", bound=Callable[..., Any])

FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)
PATH = click.Path(path_type=Path)

data_option = click.option(
    "--data",
    type=click.Path(exists=True, path_type=Path),
    multiple=True,
    required=True,
    help="Folder (or file) of labelled transcripts; may be repeated.",
)

own_data_option = click.option(
    "--data",
    type=click.Path(exists=True, path_type=Path),
    multiple=True,
    help="Labelled transcripts, instead of those that the model was made of; may be repeated.",
)

splits_option = click.option(
    "--splits",
    type=FILE,
    help="List of the development and the test transcripts [default: the run's own; drawn where there is none].",
)


def mix_options(command: F) -> F:
    """Whether and how much of the repository's transcripts is mixed in."""
    share = click.option(
        "--mix-share",
        type=click.FloatRange(0),
        help="Words mixed in for each word of one's own, instead of the config's.",
    )
    switch = click.option(
        "--mix/--no-mix", default=True, show_default=True, help="Mix in the repository's own transcripts."
    )
    return switch(share(command))


def with_mix(config: TrainingConfig, share: float | None) -> TrainingConfig:
    """The config with the share that the command line gives, if it gives one."""
    return config if share is None else replace(config, mix_share=share)
