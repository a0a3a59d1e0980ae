"""What a shipped model and the protection rules say of a transcript: labels to start from, names, quotes, intents."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from compressor.pipeline import Compressor
from compressor.policy import Policy
from compressor.protection import View, views_of
from compressor.protection.conditions import conditions
from compressor.protection.entities import entities
from compressor.protection.modals import modals
from compressor.protection.negation import negation
from compressor.protection.pleasantries import is_pleasantry, is_tag
from compressor.protection.quantifiers import quantifiers
from compressor.protection.quotes import quotes
from compressor.protection.turns import turns
from compressor.result import CompressionResult
from compressor.scoring import Scores
from compressor.words import by_turn
from training.labelling.records import Cut, Intent, Labelled, Mask, Range, Raw, is_fixed, runs, whole

LEVELS = ("light", "tight")
_ASKING_ROLES = ("user", "speaker")
_QUOTE_MARKS = frozenset("\"'“”„‘’«»‹›「」『』《》〈〉﹁﹂〝〞＂`")
_QUESTION_MARKS = ("?", "？")


@dataclass(frozen=True, slots=True)
class Opinion:
    """What the model and the rules say.

    Args:
        cuts: One a turn; a word is known where the model is confident, or a rule asked for it.
        entities: Names, each once, in the order of their first place.
        quotes: Quoted phrases with their marks.
        intents: Sentences of users and meetings that ask, request or set a constraint; their kind is a guess by form.
    """

    cuts: tuple[Cut, ...]
    entities: tuple[str, ...]
    quotes: tuple[str, ...]
    intents: tuple[Intent, ...]


def opinions(raws: Sequence[Raw], model: str = "default", confident: float = 0.9) -> Iterator[Opinion]:
    """The opinion on each transcript, in order.

    Args:
        model: A model's name or folder, or `heuristic`.
        confident: A score below 1 - confident, or from confident on, is known; the rest is not. 0.5 to 1.
    Raises:
        ModelError: The folder cannot be used.
    """
    compressor = Compressor.from_pretrained(model, policy=Policy(preset="light", keep_last=0))
    for raw, result in zip(raws, compressor.compress_many(raw.transcript for raw in raws), strict=True):
        yield _opinion(raw, compressor, result, confident, by_shape=model == "heuristic")


def weak(raws: Sequence[Raw], model: str, confident: float) -> Iterator[Labelled]:
    """Labels from a model alone; the words it is not confident of are listed as unsure."""
    for raw, opinion in zip(raws, opinions(raws, model, confident), strict=True):
        yield Labelled(
            raw, opinion.cuts, opinion.entities, opinion.quotes, opinion.intents, f"weak {model}, from {confident:g} on"
        )


def _opinion(
    raw: Raw, compressor: Compressor, result: CompressionResult, confident: float, *, by_shape: bool
) -> Opinion:
    work = result.workings
    own = by_turn(raw.transcript, work.words)
    rules = np.array([name != "turns" for name in work.protection.names], np.bool_)
    # A request stays whole in light; a telegram may lose the courtesy around its core, and keeps what the other rules ask.
    asked: dict[str, Mask] = {
        "light": work.protection.mask,
        "tight": np.asarray(work.protection.asked[rules].any(axis=0), np.bool_),
    }
    scores: list[Scores] = []
    cuts: list[Cut] = []
    at = 0
    for turn, words in zip(raw.transcript, own, strict=True):
        here = slice(at, at + len(words))
        at = here.stop
        scored = Scores(*(getattr(work.scores, name)[here] for name in ("light", "tight", "entity", "pin")))
        scores.append(scored)
        if is_fixed(turn):
            cuts.append(whole(turn))
            continue
        least = compressor.scorer.thresholds(turn)
        light, tight = (
            np.asarray((getattr(scored, head) >= least[head]) | asked[head][here], np.bool_) for head in LEVELS
        )
        sure = [(np.abs(getattr(scored, head) - 0.5) >= confident - 0.5) | asked[head][here] for head in LEVELS]
        cuts.append(Cut.of(light, tight & light, *sure))
    views = views_of(
        raw.transcript,
        work.words,
        scores,
        [compressor.scorer.thresholds(turn) for turn in raw.transcript],
        [""] * len(own),
    )
    names = dict.fromkeys(name for view in views for name in _names(view, by_shape))
    quoted = dict.fromkeys(phrase for view in views for phrase in _quoted(view))
    intents = tuple(intent for number, view in enumerate(views) for intent in _intents(number, view))
    return Opinion(tuple(cuts), tuple(names), tuple(quoted), intents)


def quotes_of(raw: Raw) -> tuple[str, ...]:
    """The quoted phrases of a transcript, each once."""
    views = (
        View(turn, tuple(raw.words(number)), *(np.zeros(0, np.float32),) * 2, {})
        for number, turn in enumerate(raw.transcript)
    )
    return tuple(dict.fromkeys(phrase for view in views for phrase in _quoted(view)))


def _quoted(view: View) -> Iterator[str]:
    for start, end in view.run(quotes):
        phrase = view.text[start:end]
        if len(phrase) > 2 and phrase[0] in _QUOTE_MARKS and phrase[-1] in _QUOTE_MARKS:
            yield phrase


def _names(view: View, by_shape: bool) -> Iterator[str]:
    """The names of a turn: by the model, or without one by their shape, which also takes the names of days for some."""
    if is_fixed(view.turn):
        return
    if by_shape:
        named = np.zeros(len(view.words), np.bool_)
        for start, end in view.run(entities):
            inside = view.inside(start, end)
            named[inside.start : inside.stop] = True
    else:
        named = np.asarray(view.entity >= view.thresholds["entity"], np.bool_)
    for start, end in _close(view, runs(view.words, named)):
        yield view.text[start:end]


def _close(view: View, spans: Sequence[Range]) -> Iterator[Range]:
    """Names without the marks at their edges, cut where more than a space lies between two words."""
    for start, end in spans:
        for line in view.text[start:end].split("\n"):
            at = view.text.index(line, start)
            part = line.strip()
            if any(char.isalnum() for char in part):
                begin = at + line.index(part)
                yield begin, begin + len(part)


def _intents(number: int, view: View) -> Iterator[Intent]:
    if view.turn.role not in _ASKING_ROLES or is_fixed(view.turn):
        return
    pinned = sorted(view.run(turns))
    for start, end in view.sentences:
        sentence = view.text[start:end]
        if any(a <= start and end <= b for a, b in pinned) and not is_pleasantry(sentence) and not is_tag(sentence):
            yield Intent(number, sentence, _kind(view, start, end))


def _kind(view: View, start: int, end: int) -> str:
    """A question by its mark; a constraint where a word limits; else a request."""
    if view.text[start:end].rstrip("\"'”’»)）」』*_ ").endswith(_QUESTION_MARKS):
        return "question"
    limiting = (span for rule in (negation, quantifiers, modals, conditions) for span in islice(view.run(rule), 10_000))
    return "constraint" if any(a >= start and b <= end for a, b in limiting) else "request"
