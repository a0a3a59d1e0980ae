"""Drift: what happens to what was said early while a conversation grows and is compressed again and again.

Fresh: at each checkpoint the turns so far are compressed from the original. Progressive: the output of the last
checkpoint and the turns since then are compressed together, as by an application that stores only what it sent.
"""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from compressor.evaluation.cases import Dialogue
from compressor.evaluation.coverage import Item, gold_items, reference_items, survival
from compressor.evaluation.matching import flat, lost_in_order
from compressor.evaluation.outputs import Output, tokens
from compressor.evaluation.probes import answerable
from compressor.evaluation.reference import RULE_KINDS
from compressor.evaluation.systems import System
from compressor.transcript import Transcript
from compressor.words import segment_text

STEPS: Mapping[int, int] = {40: 10, 200: 25}
"""Turns of a conversation, and from checkpoint to checkpoint."""

MOST_PASSES = 8

Runs = tuple[tuple[str, ...], ...]


def grow(dialogues: Sequence[Dialogue], n_turns: int, seed: int) -> Dialogue:
    """One long conversation of many short ones, in an order drawn by the seed; their probes move along.

    Returns:
        Exactly `n_turns` turns, or fewer where the dialogues have no more. Probes of turns cut off are left out.
    """
    order = list(dialogues)
    random.Random(seed).shuffle(order)
    return join(order, n_turns)


def join(dialogues: Sequence[Dialogue], n_turns: int) -> Dialogue:
    """The dialogues one after the other, as far as `n_turns`; at least one."""
    whole = dialogues[0]
    if not whole.labels:
        whole = replace(whole, labels=(("", ""),) * len(whole.transcript))
    for dialogue in dialogues[1:]:
        if len(whole.transcript) >= n_turns:
            break
        first = len(whole.transcript)
        moved = tuple(replace(probe, turn=probe.turn + first) for probe in dialogue.probes)
        whole = replace(
            whole,
            transcript=Transcript((*whole.transcript.turns, *dialogue.transcript.turns)),
            probes=(*whole.probes, *moved),
            labels=(*whole.labels, *(dialogue.labels or (("", ""),) * len(dialogue.transcript))),
            entities=(*whole.entities, *dialogue.entities),
            quotes=(*whole.quotes, *dialogue.quotes),
        )
    return replace(first_turns(whole, n_turns), id=f"{whole.lang}-{n_turns}")


def first_turns(dialogue: Dialogue, n_turns: int) -> Dialogue:
    """The beginning of a conversation, with the probes that it can answer."""
    return replace(
        dialogue,
        transcript=Transcript(dialogue.transcript.turns[:n_turns]),
        probes=tuple(probe for probe in dialogue.probes if probe.turn < n_turns),
        labels=dialogue.labels[:n_turns],
    )


def drift(system: System, whole: Dialogue, step: int, tick: Callable[[], None] = lambda: None) -> dict[str, Any]:
    """Both modes at every checkpoint, and what a second pass over the whole does.

    Args:
        step: Turns from checkpoint to checkpoint.
        tick: Called after each checkpoint.
    Returns:
        `turns`, `lang`, `fresh` and `progressive` (a list of checkpoints each), and `worst`: the figures that a promise
        is about, at the checkpoint where they are worst, with those of `second_pass`.
    """
    fresh: list[dict[str, Any]] = []
    progressive: list[dict[str, Any]] = []
    before, stored = Transcript(), Transcript()
    ends = [*range(step, len(whole.transcript), step), len(whole.transcript)]
    first: Output | None = None
    earlier: dict[str, str] = {"fresh": "", "progressive": ""}
    for end in ends:
        part = first_turns(whole, end)
        items = _items(part)
        first = system.run(part.transcript, f"{whole.id} at turn {end}")
        added = part.transcript.turns[len(before) :]
        joined = Transcript((*stored.turns, *added))
        again = system.run(joined, f"{whole.id} at turn {end}, progressive")
        # The turns still correspond to the original as long as no pass has changed their number.
        follows = again.aligned and len(joined) == end
        output = replace(again, aligned=follows)
        for mode, rows, one in (("fresh", fresh, first), ("progressive", progressive, output)):
            text = _rendered(one, part.transcript)
            rows.append(
                {"turn": end}
                | _checkpoint(part, items, one, first.protected)
                | {"changed": changed_share(earlier[mode], text)}
            )
            earlier[mode] = text
        before, stored = part.transcript, again.as_transcript(joined)
        tick()
    again_figures = second_pass(system, whole, first) if first else {}
    return {
        "turns": len(whole.transcript),
        "lang": whole.lang,
        "worst": _worst(fresh, progressive) | again_figures,
        "fresh": fresh,
        "progressive": progressive,
    }


def second_pass(system: System, whole: Dialogue, first: Output) -> dict[str, Any]:
    """Compress what was compressed, until nothing changes.

    Returns:
        again_deleted: Share of the words of the first output that a second pass deletes.
        fixed_point: Passes until one changes nothing, that one not counted; None if none did by MOST_PASSES.
        words: Words of the output of each pass.
    """
    source, output = whole.transcript, first
    words = [_n_words(first)]
    passes = None
    for number in range(1, MOST_PASSES + 1):
        source = output.as_transcript(source)
        following = system.run(source, f"{whole.id}, pass {number + 1}")
        words.append(_n_words(following))
        if following.turns == output.turns:
            passes = number
            break
        output = following
    deleted = round(1 - words[1] / words[0], 5) if words[0] else 0.0
    return {"again_deleted": deleted, "fixed_point": passes, "words": words}


def changed_share(earlier: str, now: str) -> float:
    """Share of the bytes of an earlier output that a prompt cache loses: those from the first that differs on."""
    old, new = earlier.encode("utf-8", "surrogatepass"), now.encode("utf-8", "surrogatepass")
    if not old:
        return 0.0
    same = next((at for at, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
    return round(1 - same / len(old), 5)


def _worst(fresh: Sequence[dict[str, Any]], progressive: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The worst checkpoint's figure of each kind, and the tokens at the end."""
    figures: dict[str, Any] = {}
    for mode, rows in (("fresh", fresh), ("progressive", progressive)):
        promised = [row["protected_lost"] for row in rows if row["protected_lost"] is not None]
        figures[mode] = {
            "protected_lost": max(promised) if promised else None,
            "reference_lost": max(row["reference_lost"] for row in rows),
            "reference": rows[-1]["reference"],
            "answerable": round(min(row["answerable"] for row in rows), 5),
            "changed": max(row["changed"] for row in rows),
            "kept_ratio": round(rows[-1]["tokens"] / max(1, rows[-1]["source_tokens"]), 5),
        }
    return figures


def _items(part: Dialogue) -> list[Item]:
    """What the reference counter finds of the kinds that rules protect, and the annotated names."""
    names = [item for item in gold_items([part]) if item.kind == "entities"] if part.entities else []
    return [item for item in reference_items([part]) if item.kind in RULE_KINDS] + names


def _checkpoint(part: Dialogue, items: Sequence[Item], output: Output, promised: Runs | None) -> dict[str, Any]:
    hits = survival(items, [output])
    lost = None
    if promised is not None:
        lost = sum(lost_in_order(runs, flat(output.place_of(turn))) for turn, runs in enumerate(promised))
    return {
        "tokens": output.tokens,
        "source_tokens": sum(tokens(turn.text) for turn in part.transcript),
        "protected": sum(map(len, promised)) if promised is not None else None,
        "protected_lost": lost,
        "reference": len(items),
        "reference_lost": len(items) - int(hits.sum()),
        "probes": len(part.probes),
        "answerable": answerable(part, output) / len(part.probes) if part.probes else 1.0,
    }


def _rendered(output: Output, source: Transcript) -> str:
    if not output.aligned:
        return output.text
    return "".join(_lines(output, source))


def _lines(output: Output, source: Transcript) -> Iterator[str]:
    for turn, text in zip(source, output.turns, strict=True):
        yield f"{turn.speaker or turn.role}: {text}\n"


def _n_words(output: Output) -> int:
    return sum(len(segment_text(turn)) for turn in output.turns)
