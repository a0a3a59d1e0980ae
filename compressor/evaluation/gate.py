"""The release gate: compares an evaluation with the one that the shipped model's metrics hold."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from compressor.evaluation.errors import BaselineError
from compressor.evaluation.reference import RULE_KINDS
from compressor.evaluation.runner import FORMAT, Settings, evaluate
from compressor.evaluation.verdict import MOST_DELETED_AGAIN

KEY = "evaluation"
"""Where metrics.json holds the evaluation; the training's figures stand beside it."""

MORE_DELETED_AGAIN = 0.002
"""Where the baseline's second pass deletes more than its target, by so much more the next one may."""

SIZE_BOUND = 1.05
"""Most bytes of the weights, as a multiple of the baseline's."""

SPEED_BOUND = 2.5
"""Most processor seconds for 1,000 tokens, as a multiple of the baseline's, both in units of `reference_seconds`."""

KEPT_BOUND = 0.05
"""How far the kept share of tokens may move, either way: keeping more is the easy way to lose nothing."""

QUICK_DRIFT = 40

Json = Mapping[str, Any]


def slim(result: Json) -> dict[str, Any]:
    """What a gate needs of a result: all but the single checkpoints of drift."""
    systems = {}
    for name, figures in result["systems"].items():
        runs = {run: {"turns": own["turns"], "worst": own["worst"]} for run, own in figures["drift"].items()}
        systems[name] = {key: value for key, value in figures.items() if key != "drift"} | {"drift": runs}
    return {**result, "systems": systems}


def read_baseline(path: Path) -> dict[str, Any]:
    """The evaluation in a metrics file.

    Raises:
        BaselineError: The file cannot be read, or holds no evaluation of this format.
    """
    stored = _read(path).get(KEY)
    if not isinstance(stored, dict):
        raise BaselineError(f"{path} holds no {KEY!r}; write it with: compressor evaluate --update-metrics {path}")
    if stored.get("format") != FORMAT:
        raise BaselineError(
            f"{path}: the evaluation has format {stored.get('format')!r}, this version reads {FORMAT}; evaluate again."
        )
    return stored


def update_metrics(path: Path, result: Json) -> None:
    """Put an evaluation into a metrics file, beside what it holds; makes the file if there is none.

    Raises:
        BaselineError: The file is there, but is no JSON object.
    """
    metrics = _read(path) if path.exists() else {}
    metrics[KEY] = slim(result)
    path.write_text(json.dumps(metrics, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def run_gate(
    baseline: Json, *, model: str | None = None, quick: bool = False, progress: bool = False
) -> tuple[list[str], dict[str, Any]]:
    """Run the baseline's evaluation on the code as it is, and compare.

    Args:
        model: Another model than the baseline's.
        quick: Leave out all conversations but the short ones.
    Returns:
        What fails, a line each; and the new evaluation.
    """
    settings = Settings.from_dict(baseline["settings"])
    if model is not None:
        settings = replace(settings, model=model)
    if quick:
        settings = replace(settings, drift=tuple(turns for turns in settings.drift if turns <= QUICK_DRIFT))
    # Only ours can change with the code; the others cost time and, behind an endpoint, money.
    ours = tuple(name for name in settings.systems if baseline["systems"].get(name, {}).get("family") == "ours")
    if not ours:
        raise BaselineError("the baseline grades no system of ours; evaluate again with --system light.")
    # A budget moves with the conversation: only presets promise a constant beginning.
    result = evaluate(
        replace(settings, systems=ours), drift_for=lambda system: "=" not in system.name, progress=progress
    )
    return list(compare(baseline, result)), result


def compare(baseline: Json, result: Json) -> Iterator[str]:
    """What is worse in a result than a baseline allows, a line each.

    Raises:
        BaselineError: They were made on other cases.
    """
    for name, cases in baseline["cases"].items():
        if cases["fingerprint"] != result["cases"][name]["fingerprint"]:
            raise BaselineError(
                f"the {name} cases are not those of the baseline; evaluate again, and say so in CHANGELOG."
            )
    for name, now in result["systems"].items():
        before = baseline["systems"].get(name)
        if before is None or now["family"] != "ours":
            continue
        yield from (f"{name}: {line}" for line in _survival(before, now))
        yield from (f"{name}: {line}" for line in _coverage(before, now))
        yield from (f"{name}: {line}" for line in _drift(before, now))
        yield from (f"{name}: {line}" for line in _cost(baseline, before, result, now))
    yield from _size(baseline, result)


def _survival(before: Json, now: Json) -> Iterator[str]:
    pairs = [
        ("load-bearing survival", before["flips"]["survival"], now["flips"]["survival"]),
        ("intact flip cases", before["flips"]["intact"], now["flips"]["intact"]),
        ("answerability", before.get("answerability"), now.get("answerability")),
    ]
    for source in ("gold", "reference"):
        for kind, old in (_of(before, "coverage", source, "kind") or {}).items():
            pairs.append((f"{source} {kind}", old, _of(now, "coverage", source, "kind", kind)))
    for title, old, new in pairs:
        if old and new and new["value"] is not None and old["low"] is not None and new["value"] < old["low"]:
            yield (
                f"{title} fell to {_percent(new['value'])}; the baseline has {_percent(old['value'])}"
                f" [{_percent(old['low'])}, {_percent(old['high'])}]"
            )


def _coverage(before: Json, now: Json) -> Iterator[str]:
    """Single items of the kinds that rules protect: how many the rules no longer promise to keep.

    What survives by its score alone may come and go with the last bits of a score, and has an interval instead.
    """
    table = now["coverage"].get("protected", {"lost": {}})
    for kind in RULE_KINDS:
        new = table["lost"].get(kind, {"n": 0, "items": []})
        old = _of(before, "coverage", "protected", "lost", kind) or {"n": 0, "items": []}
        if new["n"] > old["n"]:
            fresh = [item for item in new["items"] if item not in old["items"]]
            yield f"{kind}: rules protect {new['n'] - old['n']} items fewer; among them {'; '.join(fresh[:5])}"


def _drift(before: Json, now: Json) -> Iterator[str]:
    """What is compressed from the original may not drift at all; compressing the compressed may drift no more than before."""
    for run, drifted in now["drift"].items():
        worst, known = drifted["worst"], _of(before, "drift", run, "worst") or {}
        for mode in ("fresh", "progressive"):
            allowed = (_of(known, mode, "protected_lost") or 0) if mode == "progressive" else 0
            if worst[mode]["protected_lost"] > allowed:
                than = f", {allowed} before" if allowed else ""
                yield f"drift {run}, {mode}: {worst[mode]['protected_lost']} protected stretches lost{than}"
            old = _of(before, "drift", run, "worst", mode, "reference_lost")
            if old is not None and worst[mode]["reference_lost"] > old:
                yield f"drift {run}, {mode}: {worst[mode]['reference_lost']} reference items lost, {old} before"
        if worst["fresh"]["changed"] > 0:
            yield f"drift {run}, fresh: {_percent(worst['fresh']['changed'])} of what was already sent changed"
        most = max(MOST_DELETED_AGAIN, (_of(known, "again_deleted") or 0.0) + MORE_DELETED_AGAIN)
        if worst["again_deleted"] > most:
            more = f"{_percent(worst['again_deleted'])} more words; allowed: {_percent(most)}"
            yield f"drift {run}: a second pass deletes {more}"


def _cost(baseline: Json, before: Json, result: Json, now: Json) -> Iterator[str]:
    old, new = before["cost"]["kept_ratio"]["value"], now["cost"]["kept_ratio"]["value"]
    if abs(new - old) > KEPT_BOUND:
        yield f"keeps {_percent(new)} of the tokens, {_percent(old)} before; allowed: {_percent(KEPT_BOUND)} either way"
    slower = _speed(now, result) / _speed(before, baseline)
    if slower > SPEED_BOUND:
        yield f"takes {slower:.1f} times as long as the baseline; allowed: {SPEED_BOUND:g} times"


def _speed(own: Json, whole: Json) -> float:
    return float(own["cost"]["cpu_seconds_per_1000_tokens"] / whole["reference_seconds"])


def _size(baseline: Json, result: Json) -> Iterator[str]:
    old, new = (_of(one, "versions", "model", "bytes") for one in (baseline, result))
    if old and new and new > SIZE_BOUND * old:
        yield f"the weights take {new:,} bytes, {old:,} before; allowed: {SIZE_BOUND:g} times as many"


def _of(tree: Any, *keys: str) -> Any:
    for key in keys:
        tree = tree.get(key) if isinstance(tree, Mapping) else None
    return tree


def _percent(value: float) -> str:
    return f"{100 * value:.2f} %"


def _read(path: Path) -> dict[str, Any]:
    try:
        metrics = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BaselineError(f"{path}: cannot be read as metrics ({error}).") from error
    if not isinstance(metrics, dict):
        raise BaselineError(f"{path}: {type(metrics).__name__} instead of a JSON object.")
    return metrics
