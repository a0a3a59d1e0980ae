"""Which questions keep their answers: flip cases and annotated probes, by the words that each needs."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from compressor.evaluation.bootstrap import Bootstrap
from compressor.evaluation.cases import Dialogue, Probe
from compressor.evaluation.matching import survives
from compressor.evaluation.outputs import Output
from compressor.evaluation.reader import EndpointReader, Reader
from compressor.evaluation.systems import labelled

Floats = NDArray[np.float64]
READERS = 4
"""Questions that an endpoint gets at the same time."""


def needs_kept(dialogue: Dialogue, probe: Probe, output: Output) -> list[bool]:
    """For each needed string, whether it survives in its turn."""
    source, place = dialogue.transcript.turns[probe.turn].text, output.place_of(probe.turn)
    return [survives(need, source, place) for need in probe.needs]


def flip_scores(
    cases: Sequence[Dialogue], outputs: Sequence[Output], bootstrap: Bootstrap
) -> tuple[dict[str, Any], Floats]:
    """Load-bearing survival and intact cases, all together, by kind and by language.

    Returns:
        The figures, and 1 for each case that is intact, to pair with another system.
    """
    kept = [needs_kept(case, case.probes[0], output) for case, output in zip(cases, outputs, strict=True)]
    hits, totals = np.array([sum(own) for own in kept], np.float64), np.array([len(own) for own in kept], np.float64)
    intact = (hits == totals).astype(np.float64)

    def figures(mine: NDArray[np.bool_]) -> dict[str, Any]:
        return {
            "survival": bootstrap.share(hits[mine], totals[mine]).to_dict(),
            "intact": bootstrap.mean(intact[mine]).to_dict(),
        }

    def table(values: Sequence[str]) -> dict[str, Any]:
        return {name: figures(np.array([value == name for value in values])) for name in dict.fromkeys(values)}

    result = figures(np.ones(len(cases), np.bool_))
    result["kind"] = table([case.kind for case in cases])
    result["lang"] = table([case.lang for case in cases])
    result["broken"] = [case.id for case, whole in zip(cases, intact, strict=True) if not whole]
    return result, intact


def answerability(
    dialogues: Sequence[Dialogue], outputs: Sequence[Output], bootstrap: Bootstrap
) -> tuple[dict[str, Any], Floats]:
    """The share of annotated probes all of whose needed words survive.

    Returns:
        The figure, and how many probes of each dialogue survive, to pair with another system.
    """
    hits = np.array(
        [answerable(dialogue, output) for dialogue, output in zip(dialogues, outputs, strict=True)], np.float64
    )
    return bootstrap.share(hits, [len(dialogue.probes) for dialogue in dialogues]).to_dict(), hits


def answerable(dialogue: Dialogue, output: Output) -> int:
    """How many probes of one dialogue keep all they need."""
    return sum(all(needs_kept(dialogue, probe, output)) for probe in dialogue.probes)


def read_answers(
    cases: Sequence[Dialogue], outputs: Sequence[Output], reader: Reader, tick: Callable[[], None] = lambda: None
) -> list[str]:
    """What the reader answers to each case from its output; `tick` is called after each.

    An endpoint gets some questions at the same time. A user's function gets one after the other: it may not be fit for
    threads.
    """

    def answer(case: Dialogue, output: Output) -> str:
        text = labelled(output.as_transcript(case.transcript)) if output.aligned else output.text
        letter = reader(text, case.probes[0].question, dict(case.options))
        tick()
        return letter

    if not isinstance(reader, EndpointReader):
        return list(map(answer, cases, outputs))
    with ThreadPoolExecutor(READERS) as pool:
        return list(pool.map(answer, cases, outputs))


def reader_scores(
    cases: Sequence[Dialogue], answers: Sequence[str], originals: Sequence[str], bootstrap: Bootstrap
) -> dict[str, Any]:
    """Answered right, flipped or other, and how often as from the uncompressed transcript.

    Args:
        answers: The reader's letters for the compressed transcripts.
        originals: Those for the uncompressed ones.
    """
    right = np.array([answer == case.answer for answer, case in zip(answers, cases, strict=True)], np.float64)
    flipped = np.array([answer == case.flipped for answer, case in zip(answers, cases, strict=True)], np.float64)
    original = np.array([answer == case.answer for answer, case in zip(originals, cases, strict=True)], np.float64)
    same = np.array([answer == other for answer, other in zip(answers, originals, strict=True)], np.float64)
    return {
        "right": bootstrap.mean(right).to_dict(),
        "flipped": bootstrap.mean(flipped).to_dict(),
        "other": bootstrap.mean(1 - right - flipped).to_dict(),
        "consistency": bootstrap.mean(same).to_dict(),
        "right_minus_uncompressed": bootstrap.difference(right, original, np.ones(len(cases))).to_dict(),
    }
