"""``clearwatt experiment report``: the tables, the findings and the page of a finished run."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from clearwatt.cli.options import Commands, add_json_option
from clearwatt.cli.printing import (
    print_json,
    print_lines,
    print_tables,
    progress,
)

if TYPE_CHECKING:
    from clearwatt.experiment.report.report import Report
    from clearwatt.experiment.report.tables import Table

FORMATS = ("terminal", "markdown", "latex", "csv", "json")
SELECTIONS = ("fe", "live")


def register(actions: Commands) -> None:
    """Add the command to the actions of ``clearwatt experiment``."""
    parser = actions.add_parser(
        "report", help="print the tables and findings of a finished run", allow_abbrev=False
    )
    parser.add_argument("folder", type=Path, metavar="RUN", help="what 'experiment run' wrote")
    parser.add_argument(
        "--format", choices=FORMATS, default="terminal", help="how to print (default terminal)"
    )
    parser.add_argument("--html", type=Path, metavar="FILE", help="write a page with pictures")
    parser.add_argument(
        "--entity", metavar="NAME", help="add the figures of this entity; the page opens with it"
    )
    parser.add_argument(
        "--select",
        choices=SELECTIONS,
        help="choose configurations by lowest FE or lowest live RMSE (default: as the run did)",
    )
    add_json_option(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Print the report on a run, and write its page."""
    from clearwatt.experiment.report.report import Report

    report = Report.of(options.folder, select=options.select)
    tables = [*report.tables, *_of_entity(report, options.entity)]
    if options.html:
        from clearwatt.experiment.report.page import write_experiment_page

        with progress(f"drawing {options.html}"):
            write_experiment_page(report, options.html, entity=options.entity)
    _print(report, tables, options)


def _of_entity(report: Report, entity: str | None) -> list[Table]:
    from clearwatt.experiment.report.summary import entity_table

    return [] if entity is None else [entity_table(report.results, entity)]


def _print(report: Report, tables: list[Table], options: argparse.Namespace) -> None:
    from clearwatt.experiment.report.formats import csv_text, latex
    from clearwatt.experiment.report.paper import TABLES

    if options.json or options.format == "json":
        print_json(report.to_dict(entity=options.entity))
    elif options.format == "csv":
        print_lines(csv_text(tables, TABLES).splitlines())
    elif options.format == "latex":
        print_lines(latex(table, TABLES.get(table.name)) for table in tables)
    elif options.format == "markdown":
        print_lines(_markdown(report, tables))
    else:
        _print_terminal(report, tables, page=options.html)


def _markdown(report: Report, tables: list[Table]) -> list[str]:
    from clearwatt.experiment.report.formats import markdown, text_table
    from clearwatt.experiment.report.paper import TABLES
    from clearwatt.report.tables import markdown_text

    parts = [markdown(text_table(table, TABLES.get(table.name))) for table in tables]
    findings = [f"- {markdown_text(finding.sentence)}" for finding in report.findings]
    learning = [markdown_text(report.learning), ""] if report.learning else []
    return [*parts, *learning, markdown_text(report.summary), "", *findings]


def _print_terminal(report: Report, tables: list[Table], *, page: Path | None) -> None:
    from clearwatt.experiment.report.formats import text_table
    from clearwatt.experiment.report.paper import TABLES
    from clearwatt.report.tables import terminal_table

    print_tables(terminal_table(text_table(table, TABLES.get(table.name))) for table in tables)
    print_lines([report.learning] if report.learning else [])
    print_lines([report.summary, *(f"- {finding.sentence}" for finding in report.findings)])
    if page:
        print_lines([f"pictures are in {page}"])
