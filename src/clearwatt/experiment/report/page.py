"""The HTML page about an experiment: findings, tables and plots in one file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from clearwatt.experiment.report.findings import FindingVerdict
from clearwatt.experiment.report.formats import cell, text_table
from clearwatt.experiment.report.learning_plot import learning_panels
from clearwatt.experiment.report.paper import TABLES
from clearwatt.experiment.report.plots import cost_panels, kind_panels, stability_panels
from clearwatt.experiment.report.report import Report
from clearwatt.experiment.report.summary import entity_table, kind_tables
from clearwatt.experiment.report.tables import COMPONENTS, Table, row_name
from clearwatt.experiment.report.timelines import error_figure, state_figure
from clearwatt.experiment.results import RunRecords
from clearwatt.report.formatting import format_day, format_duration
from clearwatt.report.page import FigureChoice, write_page
from clearwatt.report.tables import TextTable

_SECTIONS = {
    "findings": "Findings",
    "tables": "Tables",
    "balance": "Stability and plasticity",
    "kinds": "Kinds",
    "entity": "One entity",
    "cost": "Cost",
}
_LEAD = "Continual learning for power forecasts: the protocol of the paper, on this data."
_MARKS = {
    FindingVerdict.HOLDS: "holds",
    FindingVerdict.FAILS: "fails",
    FindingVerdict.UNKNOWN: "unknown",
}


def write_experiment_page(report: Report, path: str | Path, *, entity: str | None = None) -> None:
    """Write the page; it needs no network and no other file.

    Args:
        report: the report on a finished run.
        path: the HTML file to write; it appears complete or not at all.
        entity: the entity to show first; by default the one with most drifts.
    """
    results = report.results
    tables = kind_tables(results)
    counts = Counter(member.kind for member in results.entities)
    content = {
        "name": f"What continual learning changes: {results.data.name}",
        "run": results.name,
        "lead": report.learning or _LEAD,
        "learning": learning_panels(results),
        "links": tuple(_SECTIONS.items()),
        "titles": _SECTIONS,
        "marks": _MARKS,
        "report": report,
        "setting": _setting_rows(results),
        "tables": [text_table(table, TABLES.get(table.name)) for table in report.tables],
        "balance": [
            (table.title, stability_panels(results, table, component))
            for component in reversed(COMPONENTS)
            for table in [report.table(component)]
        ],
        "kind_panels": kind_panels(tables),
        "kinds": [(kind, counts[kind], text_table(table)) for kind, table in tables.items()],
        "entities": _entities(results, first=entity or most_drifts(results)),
        "cost_panels": cost_panels(report.table("operation")),
        "details": [
            ("Configurations chosen", _configurations_table(results)),
            ("Every entity", _all_entities_table(results)),
        ],
    }
    write_page(path, "experiment.html", content, package="clearwatt.experiment.report")


def most_drifts(results: RunRecords) -> str:
    """The entity with most drifts."""
    drifts = Counter(drift.entity for drift in results.drifts)
    return max((member.name for member in results.entities), key=lambda name: drifts[name])


def _setting_rows(results: RunRecords) -> list[tuple[str, str]]:
    kinds = Counter(member.kind for member in results.entities)
    end = results.data.start + sum(results.phases.values()) * results.data.step
    spans = ", ".join(f"{name} {length:,}" for name, length in results.phases.items())
    return [
        ("preset", results.preset or "none"),
        ("data", results.data.name),
        (
            "entities",
            f"{len(results.entities)}: " + ", ".join(f"{n} {kind}" for kind, n in kinds.items()),
        ),
        (
            "span",
            f"{format_day(results.data.start)} to {format_day(end)}, every "
            f"{format_duration(results.data.step)}",
        ),
        ("phases, in steps", spans),
        ("novelty capacities", _capacities(results)),
        ("measurements known after", _delay(results)),
        ("trials", f"{len(results.trials):,} tried, {len(results.chosen_trials):,} chosen"),
        ("chosen by", "lowest live RMSE" if results.select == "live" else "lowest FE"),
        ("processor time of a trial", _processor_time(results)),
        ("seed", str(results.configuration.get("seed", "not recorded"))),
    ]


def _processor_time(results: RunRecords) -> str:
    seconds = results.timing.get("core_seconds_per_stream")
    return f"{seconds:.1f} s" if isinstance(seconds, float) else "not recorded"


def _delay(results: RunRecords) -> str:
    return "not recorded" if results.delay is None else format_duration(results.delay)


def _capacities(results: RunRecords) -> str:
    """The novelty capacities of the chosen trials, and how they were scaled."""
    chosen = {trial.configuration.get("novelty_capacity") for trial in results.chosen_trials}
    values = sorted(value for value in chosen if isinstance(value, int))
    grid = results.configuration.get("grid")
    scale = grid.get("capacity_scale", 1.0) if isinstance(grid, Mapping) else 1.0
    text = ", ".join(f"{value:,}" for value in values)
    return text if scale == 1.0 else f"{text} ({scale:.0%} of those configured, at least 200)"


def _entities(results: RunRecords, *, first: str) -> FigureChoice:
    return FigureChoice(
        parts=("error", "state"),
        figures={
            member.name: (error_figure(results, member.name), state_figure(results, member.name))
            for member in results.entities
        },
        first=first,
    )


def _configurations_table(results: RunRecords) -> TextTable:
    chosen = Counter(
        (trial.instance, ", ".join(f"{key} {value}" for key, value in trial.configuration.items()))
        for trial in results.chosen_trials
    )
    rows = tuple(
        (row_name(instance), configuration, f"{count}")
        for (instance, configuration), count in chosen.items()
    )
    return TextTable("", ("instance", "configuration", "entities"), rows, left=2)


def _all_entities_table(results: RunRecords) -> TextTable:
    tables = {member: entity_table(results, member.name) for member in results.entities}
    rows = tuple(
        (member.name, member.kind, row_name(row), *_cells(table, row))
        for member, table in tables.items()
        for row in table.rows
    )
    metrics = next(iter(tables.values())).metrics
    columns = ("entity", "kind", "instance", *(metric.short for metric in metrics))
    return TextTable("", columns, rows, left=3)


def _cells(table: Table, row: str) -> list[str]:
    return [cell(table.rows[row].get(metric.key), metric) for metric in table.metrics]
