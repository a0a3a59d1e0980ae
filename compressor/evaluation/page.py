"""An evaluation as one self-contained HTML page, well-formed as XML, without scripts or anything to load."""

from collections.abc import Mapping
from html import escape
from typing import Any

from compressor.evaluation import tables, verdict
from compressor.evaluation.errors import EvaluationError

Json = Mapping[str, Any]

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem; color: #222; }
table { border-collapse: collapse; font-size: 13px; margin: .5rem 0 1.5rem; display: block; overflow-x: auto; }
th, td { border-bottom: 1px solid #ddd; padding: .25rem .6rem; text-align: right; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; }
svg { max-width: 100%; height: auto; }
.missed { color: #b00020; }
"""


def require_plots() -> None:
    """Raise an EvaluationError now, not after a long run, if matplotlib is missing."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise EvaluationError(
            "the page needs matplotlib: pip install 'compressor[evaluate]'. The table and --json work without it."
        ) from error


def page(result: Json) -> str:
    """The page of a result.

    Raises:
        EvaluationError: matplotlib is not installed.
    """
    require_plots()
    from compressor.evaluation.plots import PLOTS

    parts = [f"<p>{escape(line)}</p>" for line in tables.headline(result).split("\n")]
    parts.append(_table(tables.main_table(result)))
    for title, plot in PLOTS:
        if plot.__name__ == "drift_curves" and not any(own.get("drift") for own in result["systems"].values()):
            continue
        parts.append(f"<h2>{escape(title)}</h2>\n{plot(result)}")
    for title, table in (
        ("Flip cases intact, by kind", tables.kind_table(result)),
        ("Survival by kind", tables.coverage_table(result)),
        ("Survival by place, language and role", tables.place_table(result)),
        ("Reader", tables.reader_table(result)),
        ("Agreement with the annotators' deletions", tables.deletion_table(result)),
        ("Drift, at the worst checkpoint", tables.drift_table(result)),
    ):
        if table:
            parts.append(f"<h2>{escape(title)}</h2>\n{_table(table)}")
    parts.append("<h2>Targets</h2>\n" + _lines(verdict.targets(result)))
    parts.append("<h2>Lost, for someone to judge</h2>\n" + _lines(verdict.lost(result)))
    parts.append("<h2>Not measured, and how to read this</h2>\n" + _lines(verdict.missing(result)))
    body = "\n".join(parts)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head><meta charset="utf-8"/><title>Evaluation of compressors</title>'
        f"<style>{_STYLE}</style></head>\n<body>\n<h1>Evaluation of compressors</h1>\n{body}\n</body>\n</html>\n"
    )


def _table(markdown: str) -> str:
    header, _, *rows = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in markdown.split("\n")]
    head = "".join(f"<th>{escape(cell)}</th>" for cell in header)
    lines = ["<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows]
    return f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n" + "\n".join(lines) + "\n</tbody>\n</table>"


def _lines(lines: list[str]) -> str:
    items = [
        f"<li{' class=' + chr(34) + 'missed' + chr(34) if 'MISSED' in line else ''}>{escape(line)}</li>"
        for line in lines
    ]
    return "<ul>\n" + "\n".join(items) + "\n</ul>" if items else "<p>None.</p>"
