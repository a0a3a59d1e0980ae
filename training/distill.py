"""A smaller student of a trained teacher: `python -m training distill`.

The student starts from some of the teacher's layers, evenly spread. It learns the teacher's probabilities on public
transcripts, the mean of teacher and annotators where those labelled the text, and the names of the name corpora. With as
many layers as the teacher it is self-training: then `confident` leaves out the words that the teacher is unsure of.

Sources: Sanh et al. (2019), DistilBERT (layers of the teacher to start from); Hinton et al. (2015), Distilling the
Knowledge in a Neural Network (probabilities as labels).
"""

import logging
from collections.abc import Sequence
from pathlib import Path

import click

from compressor.scoring.encoding import TurnEncoder
from compressor.scoring.weights import model_folder, required
from training import checkpoint, provenance
from training.config import Teaching, TrainingConfig, read_config
from training.corpora.names import ARCHIVES, read_names
from training.corpora.public import READERS, apart, read_public, sample
from training.errors import ConfigError, DataError
from training.examples import Example
from training.loop import train
from training.material import Material, Pool, development, mixed_in, pool
from training.model import from_model
from training.options import FILE, FOLDER, PATH, data_option, mix_options, splits_option, with_mix
from training.sources import MIX, Corpus, Sources, gather, learnable, n_words
from training.teacher import Teacher, blend, only_confident

log = logging.getLogger(__name__)


def material(
    config: TrainingConfig,
    teacher: Teacher,
    encoder: TurnEncoder,
    corpus: Corpus,
    names: Sequence[Example] = (),
    public: Sequence[Example] = (),
) -> Material:
    """Label the transcripts with the teacher and encode everything.

    Args:
        names: Sentences of name corpora.
        public: Transcripts without labels. Those that share a passage with a transcript of the development or the test
            split are left out.
    Raises:
        DataError: The transcripts cannot be learned from.
    """
    teaching = _teaching(config)
    own, general = corpus.part("train")
    own_dev, general_dev = corpus.part("dev")
    judged = [*own_dev, *general_dev, *(example for part in corpus.part("test") for example in part)]
    unseen = sample(apart(public, judged), teaching.public_words, config.seed)
    words, turns = n_words(unseen), sum(len(example.words) for example in unseen)
    log.info(
        "%d annotated transcripts and %d mixed in, %d name sentences, %d words of public transcripts",
        *(len(own), len(general), len(names), words),
    )

    def taught(hard: Sequence[Example], an_epoch: int | None = None) -> Pool:
        return pool(blend(hard, teacher.label(hard), teaching.hard_share), encoder, an_epoch)

    soft = only_confident(teacher.label(unseen), teaching.confident)
    drawn = round(turns * min(1.0, teaching.public_words_an_epoch / max(1, words)))
    return Material(
        pools=(
            taught(learnable(own)),
            taught(general, mixed_in(own, general, config.mix_share)),
            pool(names, encoder, config.name_sentences, conversations=False),
            pool(soft, encoder, drawn),
        ),
        dev=development(own_dev, general_dev, encoder),
    )


def _teaching(config: TrainingConfig) -> Teaching:
    if config.teaching is None:
        raise ConfigError("the config has no table [teaching], which distill needs; see training/configs/fast.toml.")
    return config.teaching


@click.command(name="distill", help=__doc__)
@click.argument("config", type=FILE)
@data_option
@mix_options
@splits_option
@click.option("--teacher", help="Name or folder of the model to learn from, instead of the config's base.")
@click.option("--public", type=FOLDER, help="Folder of the archives of public transcripts.")
@click.option("--names", type=FOLDER, help="Folder of the archives of the name corpora.")
@click.option("--memory", type=PATH, help="Folder for what the teacher said [default: OUT/teacher].")
@click.option("--out", type=PATH, required=True, help="Folder of the run.")
@click.option("--restart", is_flag=True, help="Start over where the folder holds a run already.")
def command(
    config: Path,
    data: tuple[Path, ...],
    mix: bool,
    mix_share: float | None,
    splits: Path | None,
    teacher: str | None,
    public: Path | None,
    names: Path | None,
    memory: Path | None,
    out: Path,
    restart: bool,
) -> None:
    """Read the command line and teach."""
    settings = with_mix(read_config(config), mix_share)
    folder = model_folder(teacher or settings.base)
    student = from_model(folder, settings.dropout, _teaching(settings).layers)
    sources = Sources(data, MIX if mix else None, splits)
    corpus = gather(sources, settings.seed)
    archives = [
        *(public / name for name in READERS if public and (public / name).is_file()),
        *(names / name for name in ARCHIVES if names),
    ]
    if public and not any(archive.parent == public for archive in archives):
        raise DataError(f"{public}: none of the archives {', '.join(READERS)} is in it.")
    if restart:
        checkpoint.forget(out)
    record = provenance.describe("distill", settings, folder, sources, corpus, archives)
    learned = material(
        settings,
        Teacher(folder, memory or out / "teacher"),
        TurnEncoder(required(folder, "tokenizer.json")),
        corpus,
        list(read_names(names)) if names else [],
        list(read_public(public)) if public else [],
    )
    final = train(settings, learned, student, folder, out)
    provenance.write_run(out, record, sources, corpus)
    click.echo(final)
