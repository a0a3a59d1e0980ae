"""Fine-tune the four heads: `python -m training train`.

    python -m training train --data mine --out runs/mine
    python -m training train training/configs/base.toml --data training/data/synthetic --data OWN --names CORPORA --out runs/base

Starts from the shipped model, or from a base encoder: a folder, or a name on the model hub. The transcripts of the
repository are mixed in, so that general skill is not forgotten. Run the same command again after a kill and it goes on
where it stood, to the same weights.
"""

import logging
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import click
import torch

from compressor.scoring.encoding import TurnEncoder
from compressor.scoring.torch_model import TurnClassifier
from compressor.scoring.weights import model_folder, required
from training import checkpoint, provenance
from training.config import TrainingConfig, read_config
from training.corpora.names import ARCHIVES, read_names
from training.errors import ConfigError
from training.examples import Example
from training.loop import train
from training.material import Material, development, mixed_in, pool
from training.model import base_folder, from_base, from_model, is_classifier
from training.options import FILE, FOLDER, PATH, data_option, mix_options, splits_option, with_mix
from training.sources import MIX, Corpus, Sources, gather, learnable

log = logging.getLogger(__name__)

DOMAIN = Path(__file__).parent / "configs" / "domain.toml"


def start(base: str, dropout: float, seed: int = 1) -> tuple[TurnClassifier, Path]:
    """The network that a run starts from, and its folder.

    Args:
        base: Name of a shipped model, a model folder, a folder of an encoder, or a name on the model hub.
        seed: Of the heads, where they are fresh.
    Raises:
        ModelError: The model folder is incomplete, or made for another segmentation.
        ConfigError: The encoder is not one of this kind.
    """
    folder = model_folder(base)
    if is_classifier(folder):
        return from_model(folder, dropout), folder
    folder = base_folder(base)
    torch.manual_seed(seed)
    return from_base(folder, dropout), folder


def material(config: TrainingConfig, encoder: TurnEncoder, corpus: Corpus, names: Sequence[Example] = ()) -> Material:
    """Check the transcripts and encode them.

    Raises:
        DataError: They cannot be learned from.
    """
    own, general = corpus.part("train")
    own_dev, general_dev = corpus.part("dev")
    pools = [pool(learnable(own), encoder)]
    if general:
        pools.append(pool(general, encoder, an_epoch=mixed_in(own, general, config.mix_share)))
    if names:
        pools.append(pool(names, encoder, an_epoch=config.name_sentences, conversations=False))
    log.info(
        "%d transcripts to learn from and %d mixed in, %d and %d for development, %d name sentences",
        *map(len, (own, general, own_dev, general_dev, names)),
    )
    return Material(tuple(pools), development(own_dev, general_dev, encoder))


@click.command(name="train", help=__doc__)
@click.argument("config", type=FILE, default=DOMAIN)
@data_option
@mix_options
@splits_option
@click.option(
    "--base", help="What to start from, instead of the config's: a shipped model's name, a folder, a hub name."
)
@click.option("--terms", type=FILE, help="Terms of the trade, one a line: each occurrence counts as a name.")
@click.option("--names", type=FOLDER, help="Folder of the archives of the name corpora.")
@click.option("--name", help="Version of the model, instead of the config's.")
@click.option("--out", type=PATH, required=True, help="Folder of the run.")
@click.option("--restart", is_flag=True, help="Start over where the folder holds a run already.")
def command(
    config: Path,
    data: tuple[Path, ...],
    mix: bool,
    mix_share: float | None,
    splits: Path | None,
    base: str | None,
    terms: Path | None,
    names: Path | None,
    name: str | None,
    out: Path,
    restart: bool,
) -> None:
    """Read the command line and train."""
    settings = with_mix(read_config(config), mix_share)
    if settings.teaching is not None:
        raise ConfigError(f"{config}: has the table [teaching], which is for distill.")
    settings = replace(settings, name=name or settings.name)
    model, folder = start(base or settings.base, settings.dropout, settings.seed)
    sources = Sources(data, MIX if mix else None, splits, terms)
    corpus = gather(sources, settings.seed)
    if restart:
        checkpoint.forget(out)
    archives = [names / archive for archive in ARCHIVES] if names else []
    record = provenance.describe("train", settings, folder, sources, corpus, archives)
    encoder = TurnEncoder(required(folder, "tokenizer.json"))
    learned = material(settings, encoder, corpus, list(read_names(names)) if names else [])
    final = train(settings, learned, model, folder, out)
    provenance.write_run(out, record, sources, corpus)
    click.echo(final)
