"""An evaluation as text: Markdown tables, and plain lines for what was not measured."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from compressor.evaluation.reference import RULE_KINDS
from compressor.evaluation.verdict import lost, missing, targets

Json = Mapping[str, Any]


def report(result: Json) -> str:
    """The whole result for a terminal or a README."""
    parts = [headline(result), main_table(result)]
    for title, table in (
        ("Flip cases intact, by kind", kind_table(result)),
        ("Words with force that survive, by kind", coverage_table(result)),
        ("The same by place in the conversation and by language", place_table(result)),
        ("Reader", reader_table(result)),
        ("Agreement with the annotators' deletions", deletion_table(result)),
        ("Drift, at the worst checkpoint", drift_table(result)),
    ):
        if table:
            parts.append(f"{title}\n\n{table}")
    for title, lines in (("Targets", targets(result)), ("Lost", lost(result)), ("Notes", missing(result))):
        if lines:
            parts.append("\n".join([title, "", *lines]))
    return "\n\n".join(parts)


def headline(result: Json) -> str:
    """What was measured on what, in two lines."""
    flips, annotated = result["cases"]["flips"]["n"], result["cases"]["annotated"]["n"]
    versions = result["versions"]
    model = versions.get("model", {})
    made = [
        f"policy {versions['policy']}",
        f"model {model.get('name')} {model.get('version', '')}".strip() if model else "",
    ]
    seed = result["settings"]["seed"]
    return (
        f"{flips} flip cases, {annotated} annotated transcripts; {', '.join(filter(None, made))}; seed {seed}.\n"
        "Per cent, with 95 % bootstrap intervals over cases. `random` deletes words, to the ratio of the row above it."
    )


def main_table(result: Json) -> str:
    """One row a system and one for random deletion at its ratio."""
    header = [
        "system",
        "tokens kept",
        "survival",
        "intact",
        "answerable",
        "names",
        "other forces",
        "s per 1,000 tokens",
    ]
    rows = []
    for name, figures in result["systems"].items():
        rows.append(_main_row(_title(name, figures), figures))
        if "random" in figures:
            rows.append(_main_row("· random", figures["random"]))
    return markdown(header, rows)


def kind_table(result: Json) -> str:
    """Intact flip cases by kind."""
    systems = result["systems"]
    kinds = list(dict.fromkeys(kind for figures in systems.values() for kind in figures["flips"]["kind"]))
    rows = [
        [name, *(share(figures["flips"]["kind"][kind]["intact"], interval=False) for kind in kinds)]
        for name, figures in systems.items()
    ]
    return markdown(["system", *kinds], rows)


def coverage_table(result: Json) -> str:
    """Survival by kind, of each count of `coverage`."""
    rows = []
    kinds: list[str] = []
    for name, figures in result["systems"].items():
        for source, table in sorted(figures["coverage"].items()):
            kinds = list(dict.fromkeys([*kinds, *table["kind"]]))
            rows.append((name, source, table["kind"]))
    cells = [
        [name, source, *(share(table.get(kind), interval=False) for kind in kinds)] for name, source, table in rows
    ]
    return markdown(["system", "items", *kinds], cells)


def place_table(result: Json) -> str:
    """Survival by third of the conversation and by language."""
    rows = []
    groups: list[tuple[str, str]] = []
    for name, figures in result["systems"].items():
        for source, table in sorted(figures["coverage"].items()):
            found = [(group, key) for group in ("third", "lang", "role") for key in table[group]]
            groups = list(dict.fromkeys([*groups, *found]))
            rows.append((name, source, table))
    cells = [
        [name, source, *(share(table[group].get(key), interval=False) for group, key in groups)]
        for name, source, table in rows
    ]
    return markdown(["system", "items", *(key for _, key in groups)], cells)


def reader_table(result: Json) -> str:
    """What the reader answered; empty without one."""
    names = ("right", "flipped", "other", "consistency", "right_minus_uncompressed")
    rows = []
    for name, figures in result["systems"].items():
        for title, own in ((name, figures), ("· random", figures.get("random", {}))):
            if "reader" in own:
                rows.append([title, *(share(own["reader"][key]) for key in names)])
    header = ["system", "right", "flipped", "other", "as uncompressed", "right − uncompressed"]
    return markdown(header, rows) if rows else ""


def deletion_table(result: Json) -> str:
    """F1, AUC, average precision and calibration; empty without annotated transcripts."""
    rows = []
    for name, figures in result["systems"].items():
        for head, own in figures.get("deletion", {}).items():
            measures = [own.get(key) for key in ("f1", "auc", "average_precision", "ece", "kept_by_annotators")]
            rows.append([name, head, *map(share, measures)])
    header = ["system", "edit", "F1", "AUC", "average precision", "calibration error", "kept by annotators"]
    return markdown(header, rows) if rows else ""


def drift_table(result: Json) -> str:
    """One row a system and conversation, fresh and progressive beside each other."""
    rows = []
    for name, figures in result["systems"].items():
        for run, drifted in figures.get("drift", {}).items():
            worst = drifted["worst"]
            cells = [name, f"{run.partition('-')[0]}, {drifted['turns']} turns"]
            for mode in ("fresh", "progressive"):
                own = worst[mode]
                cells += [_count(own["protected_lost"]), f"{own['reference_lost']} of {own['reference']}"]
                cells += [percent(own["changed"]), percent(own["answerable"]), percent(own["kept_ratio"])]
            rows.append([*cells, percent(worst["again_deleted"]), _count(worst["fixed_point"], "none")])
    measures = ("own promises lost", "reference lost", "bytes changed", "answerable", "kept")
    header = ["system", "conversation", *measures, *(f"progressive: {name}" for name in measures)]
    return markdown([*header, "deleted by a second pass", "passes to a fixed point"], rows) if rows else ""


def markdown(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table whose columns line up."""
    cells = [list(header), *map(list, rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(header))]
    lines = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |" for row in cells
    ]
    rule = "|" + "|".join("-" * (width + 2) for width in widths) + "|"
    return "\n".join([lines[0], rule, *lines[1:]])


def share(estimate: Json | None, interval: bool = True) -> str:
    """An estimate in per cent: value, then its interval; a dash where there is none."""
    if not estimate or estimate["value"] is None:
        return "–"
    value = f"{100 * estimate['value']:.1f}"
    return f"{value} [{100 * estimate['low']:.1f}, {100 * estimate['high']:.1f}]" if interval else value


def percent(value: float | None) -> str:
    """A share in per cent."""
    return "–" if value is None else f"{100 * value:.1f}"


def _main_row(title: str, figures: Json) -> list[str]:
    coverage = figures["coverage"].get("gold") or figures["coverage"]["reference"]
    others = [coverage["kind"][kind] for kind in RULE_KINDS if kind in coverage["kind"]]
    n = sum(kind["n"] for kind in others)
    force = sum(kind["n"] * kind["value"] for kind in others) / n if n else None
    speed = figures["cost"]["seconds_per_1000_tokens"]
    return [
        title,
        share(figures["cost"]["kept_ratio"], interval=False),
        share(figures["flips"]["survival"]),
        share(figures["flips"]["intact"]),
        share(figures.get("answerability")),
        share(coverage["kind"].get("entities")),
        percent(force),
        f"{speed:.3f}" if speed else "–",
    ]


def _title(name: str, figures: Json) -> str:
    return f"{name} (rewrites)" if figures["rewrites"] else name


def _count(value: int | None, none: str = "–") -> str:
    return none if value is None else str(value)
