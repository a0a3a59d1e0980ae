"""What one run learns from and is measured on: pools of encoded turns, and the draw of each epoch."""

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from compressor.scoring.encoding import TurnEncoder
from compressor.scoring.weights import LANGUAGES
from training.config import TrainingConfig
from training.dataset import Batch, Item, batches, forget_roles, items
from training.examples import Example
from training.sources import n_words

Turns = list[tuple[Item, ...]]


@dataclass(frozen=True, slots=True)
class Pool:
    """The windows of some turns, as written and in lower case.

    Args:
        written: One tuple of windows a turn.
        lowered: The same turns in lower case.
        an_epoch: Turns drawn anew for each epoch; None takes all of them.
        conversations: Whether the role of a turn means something, so that some windows are shown without it.
    """

    written: Turns
    lowered: Turns
    an_epoch: int | None = None
    conversations: bool = True


@dataclass(frozen=True, slots=True)
class Material:
    """Pools to learn from, and the turns of the development split by what `development` calls them."""

    pools: tuple[Pool, ...]
    dev: Mapping[str, Turns]


def pool(
    examples: Sequence[Example], encoder: TurnEncoder, an_epoch: int | None = None, conversations: bool = True
) -> Pool:
    """Encode examples to learn from."""
    written, lowered = items(examples, encoder), items(examples, encoder, lower=True)
    return Pool(written, lowered, an_epoch, conversations)


def mixed_in(own: Sequence[Example], general: Sequence[Example], share: float) -> int:
    """Turns of the general transcripts that make `share` words for each word of one's own; at most all of them."""
    turns = sum(len(example.words) for example in general)
    return round(turns * min(1.0, share * n_words(own) / max(1, n_words(general))))


def development(own: Sequence[Example], general: Sequence[Example], encoder: TurnEncoder) -> dict[str, Turns]:
    """Encode examples to measure on: one's own by language, the general ones under `general.` and the language."""
    found = {}
    for prefix, examples in (("", own), ("general.", general)):
        for lang in LANGUAGES:
            found[f"{prefix}{lang}"] = items([each for each in examples if each.lang == lang], encoder)
    return found


def epochs(material: Material, config: TrainingConfig) -> list[list[Batch]]:
    """The batches of every epoch. The same material and config give the same batches, whatever was run before."""
    chance = random.Random(config.seed)
    return [list(batches(_draw(material, config, chance), config.batch_subwords, chance)) for _ in range(config.epochs)]


def _draw(material: Material, config: TrainingConfig, chance: random.Random) -> list[Item]:
    found: list[Item] = []
    for each in material.pools:
        size = len(each.written)
        chosen: Iterable[int] = range(size)
        if each.an_epoch is not None:
            chosen = chance.sample(range(size), min(size, each.an_epoch))
        drawn = [
            item
            for index in chosen
            for item in (each.lowered if chance.random() < config.lower else each.written)[index]
        ]
        found += forget_roles(drawn, config.forget_role, chance) if each.conversations else drawn
    return found
