"""Coverage: which of the words that carry force survive, by kind, language, role and place in the conversation.

Three counts: `gold`, what annotators kept; `reference`, what the reference counter finds in every source; and, of ours,
`protected`, the share of `reference` that its rules promise to keep, whatever the scores and the budget say.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from compressor.evaluation.bootstrap import Bootstrap
from compressor.evaluation.cases import Dialogue
from compressor.evaluation.matching import count, flat, occurrences
from compressor.evaluation.outputs import Output
from compressor.evaluation.reference import KINDS, count_forces

THIRDS = ("first", "middle", "last")
LISTED = 12
"""How many lost items a report names for each kind."""


@dataclass(frozen=True, slots=True)
class Item:
    """A stretch of words that must survive.

    Args:
        dialogue: Number of the dialogue in the list that is graded.
        text: Its words, with single spaces.
        third: The third of the conversation, by characters, in which it stands: 0, 1 or 2.
    """

    dialogue: int
    turn: int
    kind: str
    text: str
    lang: str
    role: str
    third: int


def reference_items(dialogues: Sequence[Dialogue]) -> list[Item]:
    """Everything that the reference counter finds in the sources."""
    return [item for number, dialogue in enumerate(dialogues) for item in _items(number, dialogue, _by_reference)]


def gold_items(dialogues: Sequence[Dialogue]) -> list[Item]:
    """What the annotators kept: their names and quotes, and the reference counter's finds, as far as `light` has them.

    Where a turn holds the same words several times, as many items count as `light` holds, the first ones.
    """
    items: list[Item] = []
    for number, dialogue in enumerate(dialogues):
        found: dict[tuple[int, str, str], list[Item]] = defaultdict(list)
        for item in _items(number, dialogue, _by_annotation):
            found[item.turn, item.kind, item.text].append(item)
        for (turn, _, text), own in found.items():
            items.extend(own[: count(flat(dialogue.labels[turn][0]), text)])
    return items


def survival(items: Sequence[Item], outputs: Sequence[Output]) -> NDArray[np.bool_]:
    """Which items survive, word for word, in their turn; in the whole output where that no longer follows the turns.

    Of several equal items as many survive as the output holds. Shape: (n_items,).
    """
    hits = np.zeros(len(items), np.bool_)
    groups: dict[tuple[int, int, str, str], list[int]] = defaultdict(list)
    for index, item in enumerate(items):
        turn = item.turn if outputs[item.dialogue].aligned else -1
        groups[item.dialogue, turn, item.kind, item.text].append(index)
    places: dict[tuple[int, int], str] = {}
    for (dialogue, turn, _, text), own in groups.items():
        if (dialogue, turn) not in places:
            places[dialogue, turn] = flat(outputs[dialogue].place_of(turn))
        hits[own[: count(places[dialogue, turn], text)]] = True
    return hits


def coverage(items: Sequence[Item], hits: NDArray[np.bool_], n_dialogues: int, bootstrap: Bootstrap) -> dict[str, Any]:
    """Shares of surviving items by kind, language, role and third, and examples of what was lost."""

    def shares(key: Callable[[Item], str], order: Iterable[str]) -> dict[str, Any]:
        table = {}
        for name in order:
            mine = np.array([key(item) == name for item in items], np.bool_)
            places = np.array([item.dialogue for item in items], np.int64)[mine]
            totals = np.bincount(places, minlength=n_dialogues)
            table[name] = bootstrap.share(np.bincount(places, hits[mine], n_dialogues), totals).to_dict()
        return table

    return {
        "all": shares(lambda item: "all", ["all"])["all"],
        "kind": shares(lambda item: item.kind, [kind for kind in KINDS if any(item.kind == kind for item in items)]),
        "lang": shares(lambda item: item.lang, sorted({item.lang for item in items})),
        "role": shares(lambda item: item.role, sorted({item.role for item in items})),
        "third": shares(lambda item: THIRDS[item.third], THIRDS),
    }


def lost_items(
    items: Sequence[Item], hits: NDArray[np.bool_], dialogues: Sequence[Dialogue], limit: int | None = LISTED
) -> dict[str, Any]:
    """How many items of each kind are gone, and the first of them as `case:turn: words`; with None, all of them."""
    lost: dict[str, list[str]] = {kind: [] for kind in KINDS}
    for item, hit in zip(items, hits, strict=True):
        if not hit:
            lost[item.kind].append(f"{dialogues[item.dialogue].id}:{item.turn}: {item.text[:80]}")
    return {kind: {"n": len(found), "items": found[:limit]} for kind, found in lost.items() if found}


Finder = Callable[[Dialogue, str], Iterable[tuple[str, int, str]]]
"""(dialogue, text of one turn) → kind, place in the text, words."""


def _items(number: int, dialogue: Dialogue, finder: Finder) -> Iterable[Item]:
    texts = [turn.text for turn in dialogue.transcript]
    total, before = max(1, sum(map(len, texts))), 0
    for turn, text in enumerate(texts):
        role = dialogue.transcript.turns[turn].role
        for kind, at, words in sorted(finder(dialogue, text), key=lambda found: found[1]):
            third = min(2, 3 * (before + at) // total)
            yield Item(number, turn, kind, flat(words), dialogue.lang, role, third)
        before += len(text)


def _by_reference(dialogue: Dialogue, text: str) -> Iterable[tuple[str, int, str]]:
    for kind, start, end in count_forces(text, dialogue.lang):
        yield kind, start, text[start:end]


def _by_annotation(dialogue: Dialogue, text: str) -> Iterable[tuple[str, int, str]]:
    annotated = (("entities", dialogue.entities), ("quotes", dialogue.quotes))
    yield from (found for found in _by_reference(dialogue, text) if found[0] not in dict(annotated))
    for kind, names in annotated:
        for name in map(flat, names):
            for at in occurrences(flat(text), name):
                yield kind, at, name
