"""Formats of a table: text, Markdown, LaTeX, CSV, JSON."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence

from clearwatt.experiment.report.tables import BASELINES, Metric, Spread, Table, row_name
from clearwatt.own_code import short_name
from clearwatt.report.tables import TextTable, markdown_table, markdown_text

NONE = "/"
"""What the paper prints where a figure does not apply."""

CSV_COLUMNS = (
    "table",
    "row",
    "metric",
    "mean",
    "deviation",
    "count",
    "best",
    "paper_mean",
    "paper_deviation",
)


def cell(spread: Spread | None, metric: Metric) -> str:
    """Write mean and, in parentheses, standard deviation."""
    if spread is None or spread.mean is None:
        return NONE
    mean = _figure(spread.mean, metric.decimals)
    if spread.deviation is None:
        return mean
    return f"{mean} ({spread.deviation:.{metric.decimals}f})"


def _figure(value: float, decimals: int) -> str:
    """Write a mean; one that the decimals would show as nothing keeps two digits."""
    written = f"{value:.{decimals}f}"
    return f"{value:.1e}" if value != 0 and float(written) == 0 else written


def text_table(table: Table, paper: Table | None = None) -> TextTable:
    """Lay a table out as text, the paper's figure to the right of each of ours."""
    columns, best, aside = ["instance"], set(), set()
    rows = [[row_name(row)] for row in table.rows]
    for metric in table.metrics:
        winners = table.best(metric)
        best |= {(at, len(columns)) for at, row in enumerate(table.rows) if row in winners}
        columns.append(metric.short)
        for line, row in zip(rows, table.rows, strict=True):
            line.append(cell(table.rows[row].get(metric.key), metric))
        if paper:
            aside.add(len(columns))
            columns.append("paper")
            for line, row in zip(rows, table.rows, strict=True):
                line.append(cell(paper.rows.get(row, {}).get(metric.key), metric))
    return TextTable(
        title=table.title,
        columns=tuple(columns),
        rows=tuple(map(tuple, rows)),
        note=table.note,
        best=frozenset(best),
        aside=frozenset(aside),
    )


def markdown(table: TextTable) -> str:
    """A Markdown table with its title above and its note below."""
    note = f"\n\n{markdown_text(table.note)}" if table.note else ""
    return f"### {markdown_text(table.title)}\n\n{markdown_table(table)}{note}\n"


def latex(table: Table, paper: Table | None = None) -> str:
    """Write a table for LaTeX with the packages booktabs and amsmath."""
    width = 2 if paper else 1
    spec = "l" + "r" * width * len(table.metrics)
    head = " & ".join(
        rf"\multicolumn{{{width}}}{{c}}{{{_tex(metric.heading)}}}" for metric in table.metrics
    )
    lines = [r"\begin{table}", r"  \centering\footnotesize\setlength{\tabcolsep}{3pt}"]
    lines += [rf"  \caption{{{_tex(_caption(table))}}}"]
    lines += [rf"  \label{{tab:{table.name}}}", rf"  \begin{{tabular}}{{{spec}}}", r"    \toprule"]
    lines.append(rf"    Instance & {head} \\")
    if paper:
        lines.append("    " + " ".join(_rules(len(table.metrics), width)))
        lines.append("    & " + " & ".join(["ours & paper"] * len(table.metrics)) + r" \\")
    lines.append(r"    \midrule")
    lines += [_tex_row(table, paper, row) for row in table.rows]
    lines += [r"    \bottomrule", r"  \end{tabular}", r"\end{table}"]
    return "\n".join(lines) + "\n"


def csv_text(tables: Sequence[Table], papers: Mapping[str, Table]) -> str:
    """Write tables as one CSV, a line for each figure, so that any tool can pivot it."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    for table in tables:
        for row, spreads in table.rows.items():
            for metric in table.metrics:
                line = _record(table, papers.get(table.name), row, metric=metric)
                if metric.key in spreads:
                    writer.writerow([table.name, row_name(row), metric.key, *line.values()])
    return out.getvalue()


def document(table: Table, paper: Table | None = None) -> dict[str, object]:
    """A table as plain values for JSON: row, metric, figures."""
    return {
        row_name(row): {
            metric.key: _record(table, paper, row, metric=metric)
            for metric in table.metrics
            if metric.key in spreads
        }
        for row, spreads in table.rows.items()
    }


def _record(table: Table, paper: Table | None, row: str, *, metric: Metric) -> dict[str, object]:
    own = table.rows[row].get(metric.key) or Spread(None, None, 0)
    theirs = (paper.rows.get(row, {}).get(metric.key) if paper else None) or Spread(None, None, 0)
    return {
        "mean": own.mean,
        "deviation": own.deviation,
        "count": own.count,
        "best": row in table.best(metric),
        "paper_mean": theirs.mean,
        "paper_deviation": theirs.deviation,
    }


def _caption(table: Table) -> str:
    return f"{table.title}. Mean (standard deviation) over entities. {table.note}".strip()


def _rules(metrics: int, width: int) -> list[str]:
    ends = [(2 + at * width, 1 + (at + 1) * width) for at in range(metrics)]
    return [rf"\cmidrule(lr){{{first}-{last}}}" for first, last in ends]


def _tex_row(table: Table, paper: Table | None, row: str) -> str:
    family = "Baseline" if row in BASELINES else "CLeaR"
    cells = [rf"$\text{{{family}}}_{{\text{{{_tex(short_name(row))}}}}}$"]
    for metric in table.metrics:
        spread = table.rows[row].get(metric.key)
        cells.append(_tex_cell(spread, metric, best=row in table.best(metric)))
        if paper:
            cells.append(_tex_cell(paper.rows.get(row, {}).get(metric.key), metric))
    return "    " + " & ".join(cells) + r" \\"


def _tex_cell(spread: Spread | None, metric: Metric, *, best: bool = False) -> str:
    """Only the mean is bold, as in the paper."""
    mean, _, deviation = cell(spread, metric).partition(" ")
    return (rf"\textbf{{{mean}}}" if best else mean) + (f" {deviation}" if deviation else "")


_TEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "_": r"\_",
    "%": r"\%",
    "&": r"\&",
    "#": r"\#",
    "$": r"\$",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
}


def _tex(words: str) -> str:
    return "".join(_TEX.get(letter, letter) for letter in words)
