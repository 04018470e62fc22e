"""What ``clearwatt data import`` shows: understood, first rows, faults, entities, questions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import TYPE_CHECKING

from rich.table import Table

from clearwatt.cli.fault_table import fault_table
from clearwatt.cli.printing import rows_table

if TYPE_CHECKING:
    from clearwatt.data.schema import Entity
    from clearwatt.imports import Export
    from clearwatt.imports.folder import ImportedFolder
    from clearwatt.imports.log import Question

_COLUMNS = 7
_NAMES = {
    ",": "comma",
    ";": "semicolon",
    "\t": "tab",
    ".": "point",
    " ": "space",
    "'": "apostrophe",
}


def export_tables(
    export: Export, plan: ImportedFolder | None, *, questions: bool = True
) -> list[Table]:
    """Everything that a person compares with the file, with or without the open questions."""
    found = [
        (each.key.replace("_", " "), _NAMES.get(each.value, each.value), each.reason)
        for each in export.log.decisions.values()
    ]
    titles = ("what", "value", "how it is known")
    tables = [_titled("understood", rows_table(titles, found))] if found else []
    if export.first_rows:
        header, *rows = (row[:_COLUMNS] for row in export.first_rows)
        tables.append(_titled("first rows in the file", rows_table(header, rows)))
    if export.complete:
        tables.append(_titled("first rows in UTC and kW", _power_table(export)))
    if export.log.faults:
        tables.append(_titled("faults", fault_table(export.log.faults)))
    if entities := export.entities if plan is None else plan.entities:
        tables.append(_titled("entities", _entity_table(entities)))
    if questions and export.log.questions:
        rows = [
            (each.option, each.text, "\n".join(_choices(each)))
            for each in export.log.questions.values()
        ]
        tables.append(_titled("open questions", rows_table(("option", "question", "values"), rows)))
    return tables


def question_lines(question: Question) -> list[str]:
    """A question and its choices, for a terminal."""
    return [question.text, *(f"  {line}" for line in _choices(question))]


def export_document(
    export: Export, plan: ImportedFolder | None, *, written: bool
) -> dict[str, object]:
    """The same as plain values for JSON."""
    from clearwatt.imports.summary import export_summary

    return {
        "ok": export.complete,
        "written": written and export.complete,
        **export_summary(export, export.entities if plan is None else plan.entities),
        "zones_without_weather": [] if plan is None else list(plan.zones_without_weather),
        "recipe": {key: value for key, value in asdict(export.recipe).items() if value},
    }


def _titled(title: str, table: Table) -> Table:
    table.title, table.title_justify = title, "left"
    return table


def choice_name(question: Question, value: str) -> str:
    """The word for a choice that the option and an answer accept."""
    is_mark = question.key in {"decimal", "thousands"}
    return _NAMES.get(value, value or "none") if is_mark else value


def _choices(question: Question) -> list[str]:
    named = [(choice_name(question, each), about) for each, about in question.choices.items()]
    return [f"{name}: {meaning}" if meaning else name for name, meaning in named]


def _power_table(export: Export) -> Table:
    from clearwatt.imports.summary import first_readings

    columns = ["time", *map(str, export.power.columns)][:_COLUMNS]
    return rows_table(columns, [row[:_COLUMNS] for row in first_readings(export)])


def _entity_table(entities: Iterable[Entity]) -> Table:
    rows = [
        (
            entity.name,
            entity.extra.get("source", entity.name),
            entity.kind.value,
            entity.extra.get("subtype", ""),
            "" if entity.capacity is None else f"{entity.capacity:g}",
            entity.zone,
            entity.extra.get("guessed", ""),
        )
        for entity in entities
    ]
    header = ("entity", "in the file", "kind", "subtype", "capacity in kW", "zone", "guessed")
    return rows_table(header, rows)
