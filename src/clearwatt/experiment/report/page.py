"""One HTML page about an experiment: findings, tables and pictures, in a file of its own."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from html import escape
from pathlib import Path

from clearwatt.data.overview import day, duration
from clearwatt.data.page import assemble, boxes
from clearwatt.data.sheets import Sheet, facts, html_table
from clearwatt.data.traces import Figure
from clearwatt.experiment.report.findings import Verdict
from clearwatt.experiment.report.formats import cell, sheet
from clearwatt.experiment.report.palette import STYLE
from clearwatt.experiment.report.paper import TABLES
from clearwatt.experiment.report.pictures import cost_panels, kind_panels, stability_panels
from clearwatt.experiment.report.record import Results
from clearwatt.experiment.report.report import Report
from clearwatt.experiment.report.summary import entity_table, kind_tables
from clearwatt.experiment.report.tables import COMPONENTS, Table, row_name
from clearwatt.experiment.report.timelines import error_figure, state_figure
from clearwatt.files import write_text_atomically

_SECTIONS = (
    ("findings", "Findings"),
    ("tables", "Tables"),
    ("balance", "Stability and plasticity"),
    ("kinds", "Kinds"),
    ("entity", "One entity"),
    ("cost", "Cost"),
)
_MARKS = {Verdict.HOLDS: "holds", Verdict.FAILS: "fails", Verdict.UNKNOWN: "unknown"}


def write_page(report: Report, path: str | Path, *, entity: str | None = None) -> None:
    """Write the page; it needs no network and no other file.

    Args:
        report: what the run says.
        path: the HTML file to write; it appears complete or not at all.
        entity: whom to show first of those that can be chosen; by default the one with most drifts.
    """
    # Imported here because it reads megabytes that nothing else needs.
    from plotly.offline import get_plotlyjs

    figures: dict[str, Figure] = {}
    results = report.results
    body = [
        _head(results),
        "<main>",
        facts(_facts(results)),
        _findings(report),
        _tables(report),
        _balance(report, figures),
        _kinds(results, figures),
        _entity(results, figures, first=entity or most_struck(results)),
        _cost(report, figures),
        _details(results),
        "<footer>Errors are on the scale the models see: power as a share of capacity, inputs as "
        "scaled on the warm-up. Times are UTC. Made by ClearWatt.</footer></main>",
    ]
    page = assemble(
        title=f"{escape(results.name)} · ClearWatt experiment",
        body="\n".join(body),
        figures=json.dumps(figures, ensure_ascii=False, allow_nan=False, separators=(",", ":")),
        library=get_plotlyjs(),
        style=STYLE,
    )
    write_text_atomically(path, page)


def most_struck(results: Results) -> str:
    """The entity that most drifts strike: the most to see."""
    struck = Counter(drift.entity for drift in results.drifts)
    return max((member.name for member in results.entities), key=lambda name: struck[name])


def _head(results: Results) -> str:
    nav = "".join(f'<a href="#{anchor}">{label}</a>' for anchor, label in _SECTIONS)
    lead = "Continual learning for power forecasts: the protocol of the paper, on this data."
    return (
        f"<header><div><h1>{escape(results.name)}</h1>"
        f'<p class="lead">{lead}</p><nav>{nav}</nav></div></header>'
    )


def _facts(results: Results) -> list[tuple[str, str]]:
    kinds = Counter(member.kind for member in results.entities)
    end = results.clock.at(sum(results.phases.values()))
    spans = ", ".join(f"{name} {length:,}" for name, length in results.phases.items())
    return [
        ("preset", results.preset or "none"),
        ("data", results.data),
        (
            "entities",
            f"{len(results.entities)}: " + ", ".join(f"{n} {kind}" for kind, n in kinds.items()),
        ),
        ("span", f"{day(results.clock.start)} to {day(end)}, every {duration(results.clock.step)}"),
        ("phases, in steps", spans),
        ("novelty capacities", _capacities(results)),
        ("measurements known after", _delay(results)),
        ("trials", f"{results.tried:,} tried, {len(results.trials):,} chosen"),
        ("processor time of a trial", _processor_time(results)),
        ("seed", str(results.configuration.get("seed", "not recorded"))),
    ]


def _processor_time(results: Results) -> str:
    seconds = results.timing.get("core_seconds_per_stream")
    return f"{seconds:.1f} s" if isinstance(seconds, float) else "not recorded"


def _delay(results: Results) -> str:
    return "not recorded" if results.delay is None else duration(results.delay)


def _capacities(results: Results) -> str:
    """Those of the chosen trials, and how they came about."""
    chosen = {trial.configuration.get("novelty_capacity") for trial in results.trials}
    values = sorted(value for value in chosen if isinstance(value, int))
    grid = results.configuration.get("grid")
    scale = grid.get("capacity_scale", 1.0) if isinstance(grid, Mapping) else 1.0
    shown = ", ".join(f"{value:,}" for value in values)
    return shown if scale == 1.0 else f"{shown} ({scale:.0%} of those configured, at least 200)"


def _section(anchor: str, *parts: str) -> str:
    title = dict(_SECTIONS)[anchor]
    return f'<section id="{anchor}"><h2>{title}</h2>{"".join(parts)}</section>'


def _findings(report: Report) -> str:
    items = "".join(
        f'<li><b class="{_MARKS[each.verdict]}">{each.verdict}</b>{escape(each.claim)}'
        f"<small>{escape(each.evidence)}</small></li>"
        for each in report.findings
    )
    lead = f"<p>{escape(report.summary)}</p>"
    return _section("findings", lead, f'<ul class="findings">{items}</ul>')


def _tables(report: Report) -> str:
    parts = ['<p class="note">Mean (standard deviation) over entities; the best instance in bold, ']
    parts.append("the paper's figures on its own 95 entities in grey.</p>")
    for table in report.tables:
        shown = sheet(table, TABLES.get(table.name))
        parts.append(f"<h3>{escape(table.title)}</h3>{html_table(shown)}")
    return _section("tables", *parts)


def _balance(report: Report, figures: dict[str, Figure]) -> str:
    parts = [
        '<p class="note">Low FE: it learned what came (plasticity). Low FR: it kept what it knew '
        "(stability). Low PE: it forecasts what comes next. A dot is an entity, a label the mean "
        "of an instance, a square a baseline.</p>"
    ]
    for component in reversed(COMPONENTS):
        table = report.table(component)
        panels = stability_panels(report.results, table, component)
        parts.append(f"<h3>{escape(table.title)}</h3>")
        parts.append(f'<div class="trio">{boxes(panels, figures)}</div>')
    return _section("balance", *parts)


def _kinds(results: Results, figures: dict[str, Figure]) -> str:
    tables = kind_tables(results)
    counts = Counter(member.kind for member in results.entities)
    folded = "".join(
        f"<h3>{escape(kind)} <small>{counts[kind]}</small></h3>{html_table(sheet(table))}"
        for kind, table in tables.items()
    )
    panels = f'<div class="pair">{boxes(kind_panels(tables), figures)}</div>'
    return _section("kinds", panels, f"<details><summary>As tables</summary>{folded}</details>")


def _entity(results: Results, figures: dict[str, Figure], *, first: str) -> str:
    keys = {}
    for at, member in enumerate(results.entities):
        keys[member.name] = (f"error-{at}", f"state-{at}")
        figures[f"error-{at}"] = error_figure(results, member.name)
        figures[f"state-{at}"] = state_figure(results, member.name)
    options = "".join(
        f'<option value="{" ".join(pair)}"{" selected" if name == first else ""}>{escape(name)}'
        "</option>"
        for name, pair in keys.items()
    )
    error, state = keys[first]
    return _section(
        "entity",
        '<label for="whom">Choose an entity: </label>'
        f'<select id="whom" data-for="error-box state-box">{options}</select>',
        "<figure><figcaption>Live error of each day, also of the frozen model (Baseline_L), known "
        "drifts in red, and updates: a dot of the predictor, a ring of the autoencoder, a cross "
        "where its training diverged and nothing changed</figcaption>"
        f'<div id="error-box" data-figure="{error}"></div></figure>',
        "<h3>Thresholds and buffers</h3><figure><figcaption>A buffer is drawn from empty to what "
        "the update found in it</figcaption>"
        f'<div id="state-box" data-figure="{state}"></div></figure>',
    )


def _cost(report: Report, figures: dict[str, Figure]) -> str:
    panels = boxes(cost_panels(report.table("operation")), figures)
    return _section("cost", f'<div class="trio">{panels}</div>')


def _details(results: Results) -> str:
    folded = [
        ("Configurations chosen", _configurations(results)),
        ("Every entity", _every(results)),
    ]
    return "".join(
        f"<details><summary>{label}</summary>{html_table(shown)}</details>"
        for label, shown in folded
    )


def _configurations(results: Results) -> Sheet:
    chosen = Counter(
        (trial.instance, ", ".join(f"{key} {value}" for key, value in trial.configuration.items()))
        for trial in results.trials
    )
    rows = tuple(
        (row_name(instance), configuration, f"{count}")
        for (instance, configuration), count in chosen.items()
    )
    return Sheet("", ("instance", "configuration", "entities"), rows, left=2)


def _every(results: Results) -> Sheet:
    tables = {member: entity_table(results, member.name) for member in results.entities}
    rows = tuple(
        (member.name, member.kind, row_name(row), *_cells(table, row))
        for member, table in tables.items()
        for row in table.rows
    )
    metrics = next(iter(tables.values())).metrics
    return Sheet(
        "", ("entity", "kind", "instance", *(each.short for each in metrics)), rows, left=3
    )


def _cells(table: Table, row: str) -> list[str]:
    return [cell(table.rows[row].get(metric.key), metric) for metric in table.metrics]
