"""What an evaluation says of the targets, what was lost, and what was not measured: plain lines."""

from collections.abc import Iterator, Mapping
from typing import Any

from compressor.evaluation.reference import RULE_KINDS

Json = Mapping[str, Any]

TARGETS: Mapping[str, Mapping[str, float]] = {
    "light": {"survival": 0.98, "intact": 0.96},
    "keep_ratio=0.5": {"survival": 0.95, "intact": 0.92},
}
ENTITY_TARGET = 0.985
MOST_DELETED_AGAIN = 0.02


def targets(result: Json) -> list[str]:
    """A line for each target of ours: what it is, what was measured, and whether it is met."""
    lines = []
    for name, figures in result["systems"].items():
        if figures["family"] != "ours":
            continue
        for measure, target in TARGETS.get(name, {}).items():
            lines.append(_target(f"{name}: {measure}", figures["flips"][measure]["value"], target))
        if name not in TARGETS:
            continue
        for kind, found in figures["coverage"].get("gold", {"kind": {}})["kind"].items():
            goal = 1.0 if kind in RULE_KINDS else ENTITY_TARGET
            lines.append(_target(f"{name}: gold {kind} ({found['n']})", found["value"], goal))
        lines.extend(_drift_targets(name, figures))
    return [line for line in lines if line]


def lost(result: Json) -> list[str]:
    """What ours lost of the kinds that rules protect, with the first of them by case and turn, for someone to judge.

    The annotators' contract lets words of force go where a whole phrase is a courtesy (`all the best`), and so do the
    rules; the reference counter knows no such exception.
    """
    lines = []
    for name, figures in result["systems"].items():
        tables = {source: figures["coverage"].get(source, {}) for source in ("gold", "reference")}
        for source, table in tables.items() if name in TARGETS else []:
            for kind, found in table.get("lost", {}).items():
                if kind in RULE_KINDS or source == "gold":
                    lines.append(f"{name}, {source} {kind}, {found['n']}: {'; '.join(found['items'])}")
    return lines


def missing(result: Json) -> list[str]:
    """What was not measured, and what that needs."""
    lines = []
    if result["reader"] is None:
        lines.append(
            "No reader was given: answered right, flipped, other and consistency with the uncompressed transcript need"
            " one (--reader URL --reader-model NAME, or --reader module:callable). All other figures need none."
        )
    if not result["cases"]["annotated"]["n"]:
        lines.append(
            "No annotated transcripts were given: gold coverage, answerability and deletion quality need them"
            " (--annotated PATH, with --split FILE --part test). Flips, reference coverage, drift and cost need none."
        )
    rewriting = [f"{name} ({own['rewrites']})" for name, own in result["systems"].items() if own["rewrites"]]
    if rewriting:
        lines.append(
            f"Rewrites, so that its words are no subsequence of the source, in so many cases: {', '.join(rewriting)}."
        )
    lines.append(
        "Ours is graded with keep_last=0: the last turns, which chats keep verbatim by default, are cut as well."
    )
    return lines


def _drift_targets(name: str, figures: Json) -> Iterator[str]:
    if "=" in name:  # a budget moves with the conversation, and promises no constant beginning
        return
    for run, drifted in figures.get("drift", {}).items():
        worst = drifted["worst"]
        for mode in ("fresh", "progressive"):
            yield _limit(f"{name}: protected stretches lost, {run} turns, {mode}", worst[mode]["protected_lost"], 0)
        yield _limit(f"{name}: earlier output changed, {run} turns, fresh", worst["fresh"]["changed"], 0)
        yield _limit(f"{name}: deleted by a second pass, {run} turns", worst["again_deleted"], MOST_DELETED_AGAIN)


def _limit(what: str, value: float, most: float) -> str:
    shown, limit = (f"{100 * one:.1f} %" if isinstance(one, float) else str(one) for one in (value, most))
    return f"{'met   ' if value <= most else 'MISSED'} {what}: {shown}, target at most {limit}"


def _target(what: str, value: float | None, target: float) -> str:
    if value is None:
        return ""
    return f"{'met   ' if value >= target else 'MISSED'} {what}: {100 * value:.2f} %, target {100 * target:g} %"
