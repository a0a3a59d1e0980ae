"""The plots of the report, each as one inline SVG."""

import io
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from compressor.evaluation.coverage import THIRDS

Json = Mapping[str, Any]

_STYLE: dict[Any, Any] = {"svg.fonttype": "none", "font.size": 9, "axes.spines.top": False, "axes.spines.right": False}


def coverage_by_kind(result: Json) -> str:
    """Bars: the share of items of each kind that survive, with intervals; gold items where there are any."""
    tables = {name: _coverage(own)["kind"] for name, own in result["systems"].items() if name != "none"}
    kinds = list(dict.fromkeys(kind for table in tables.values() for kind in table))
    figure, axes = _figure(9, 3.6)
    width = 0.8 / max(1, len(tables))
    for number, (name, table) in enumerate(tables.items()):
        places = [at + (number - (len(tables) - 1) / 2) * width for at in range(len(kinds))]
        values, errors = _bars(table.get(kind) for kind in kinds)
        axes.bar(places, values, width, yerr=errors, label=name, error_kw={"elinewidth": 0.8})
    n = [next(table[kind]["n"] for table in tables.values() if kind in table) for kind in kinds]
    axes.set_xticks(range(len(kinds)), [f"{kind}\nn = {count}" for kind, count in zip(kinds, n, strict=True)])
    axes.set_ylabel("survive, per cent")
    return _svg(figure, axes, "coverage")


def quality_against_kept(result: Json) -> str:
    """Points: intact flip cases over the kept share of tokens; random deletion at the same ratios as a line."""
    figure, axes = _figure(6, 3.8)
    random = []
    for name, own in result["systems"].items():
        _point(axes, own, name)
        if "random" in own:
            random.append((_value(own["random"]["flips"]["kept_ratio"]), _value(own["random"]["flips"]["intact"])))
    if random:
        places, values = zip(*sorted(random), strict=True)
        axes.plot(places, values, "--", color="grey", marker="x", label="random")
    axes.set_xlabel("tokens kept, per cent")
    axes.set_ylabel(f"intact flip cases, per cent (n = {result['cases']['flips']['n']})")
    return _svg(figure, axes, "quality")


def position_curve(result: Json) -> str:
    """Lines: survival over the thirds of the conversation; flat is right, rewriters sag in the middle."""
    figure, axes = _figure(6, 3.4)
    for name, own in result["systems"].items():
        table = _coverage(own)["third"]
        values, errors = _bars(table[third] for third in THIRDS)
        axes.errorbar(THIRDS, values, yerr=errors, marker="o", capsize=3, label=name)
    n = next(iter(result["systems"].values()))
    axes.set_xlabel(
        "third of the conversation (n = " + ", ".join(str(_coverage(n)["third"][one]["n"]) for one in THIRDS) + ")"
    )
    axes.set_ylabel("survive, per cent")
    return _svg(figure, axes, "position")


def drift_curves(result: Json) -> str:
    """Lines over the turns of the longest conversations: reference items lost and probes answerable, in both modes."""
    figure = Figure(figsize=(10, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    for name, own in result["systems"].items():
        runs = own.get("drift", {})
        longest = max((run["turns"] for run in runs.values()), default=0)
        for label, run in ((f"{name}, {run['lang']}", run) for run in runs.values() if run["turns"] == longest):
            for mode, line in (("fresh", "-"), ("progressive", "--")):
                turns = [row["turn"] for row in run[mode]]
                lost = [100 * row["reference_lost"] / max(1, row["reference"]) for row in run[mode]]
                left.plot(turns, lost, line, marker=".", label=f"{label}, {mode}")
                right.plot(turns, [100 * row["answerable"] for row in run[mode]], line, marker=".")
    left.set_ylabel("reference items lost, per cent")
    right.set_ylabel("probes answerable, per cent")
    for axes in (left, right):
        axes.set_xlabel("turns")
    figure.legend(*left.get_legend_handles_labels(), loc="outside right upper", fontsize=6)
    return _text(figure, "drift")


def _coverage(own: Json) -> Json:
    table: Json = own["coverage"].get("gold") or own["coverage"]["reference"]
    return table


def _point(axes: Axes, own: Json, name: str) -> None:
    ratio, intact = own["flips"]["kept_ratio"], own["flips"]["intact"]
    value = _value(intact)
    errors = [[value - 100 * intact["low"]], [100 * intact["high"] - value]]
    axes.errorbar([_value(ratio)], [value], yerr=errors, marker="o", capsize=3, linestyle="", label=name)


def _bars(estimates: Iterable[Json | None]) -> tuple[list[float], list[list[float]]]:
    """Values in per cent, and how far their intervals reach below and above."""
    known = [one if one and one["value"] is not None else {"value": 0, "low": 0, "high": 0} for one in estimates]
    values = [_value(one) for one in known]
    below = [max(0.0, value - 100 * one["low"]) for value, one in zip(values, known, strict=True)]
    above = [max(0.0, 100 * one["high"] - value) for value, one in zip(values, known, strict=True)]
    return values, [below, above]


def _value(estimate: Json) -> float:
    return 100 * float(estimate["value"] or 0)


def _figure(width: float, height: float) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots()


def _svg(figure: Figure, axes: Axes, name: str) -> str:
    axes.set_ylim(-2, 105)
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right upper", fontsize=7)
    return _text(figure, name)


def _text(figure: Figure, name: str) -> str:
    """The SVG element alone. Its ids are salted by name, because several stand in one page."""
    out = io.StringIO()
    with matplotlib.rc_context({**_STYLE, "svg.hashsalt": name}):
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    text = out.getvalue()
    return re.sub(r'<g id="[^"]*">', "<g>", text[text.index("<svg") :])


PLOTS: Sequence[tuple[str, Any]] = (
    ("Survival of what carries force, by kind", coverage_by_kind),
    ("Quality against what is kept", quality_against_kept),
    ("Survival by place in the conversation", position_curve),
    ("Drift over a growing conversation", drift_curves),
)
"""Title and function of each."""
