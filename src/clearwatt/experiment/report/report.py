"""A report: the tables of a run, and which of the paper's findings hold."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from clearwatt.experiment.records import Selection
from clearwatt.experiment.report.findings import Finding, findings, summary
from clearwatt.experiment.report.formats import document
from clearwatt.experiment.report.learning import describe_learning
from clearwatt.experiment.report.paper import TABLES
from clearwatt.experiment.report.selection_table import selection_table
from clearwatt.experiment.report.summary import (
    component_table,
    entity_table,
    interval_table,
    kind_tables,
    operation_table,
)
from clearwatt.experiment.report.tables import COMPONENTS, Table
from clearwatt.experiment.results import RunRecords, read_results


@dataclass(frozen=True, slots=True)
class Report:
    """A finished run, its tables and the findings.

    The tables are autoencoder, predictor, operation and, if the run has them, intervals and
    selection.
    """

    results: RunRecords
    tables: tuple[Table, ...]
    findings: tuple[Finding, ...]

    @classmethod
    def of(cls, folder: str | Path, *, select: Selection | None = None) -> Report:
        """Report on the run in a folder.

        Args:
            folder: what ``clearwatt experiment run`` wrote.
            select: the selection whose trials the tables are about; None for that of the run.
        """
        results = read_results(folder, select)
        pair = {component: component_table(results, component) for component in COMPONENTS}
        tables = [*pair.values(), operation_table(results)]
        if (intervals := interval_table(results)) is not None:
            tables.append(intervals)
        if (selection := selection_table(results)) is not None:
            tables.append(selection)
        return cls(results, tuple(tables), findings(pair))

    @property
    def learning(self) -> str:
        """What learning changed, in a sentence; empty if there is nothing to compare."""
        return describe_learning(self.results)

    @property
    def summary(self) -> str:
        """How many of the paper's findings hold, in a sentence."""
        return summary(self.findings, entities=len(self.results.entities))

    def table(self, name: str) -> Table:
        """The table of this name."""
        return next(table for table in self.tables if table.name == name)

    def to_dict(self, *, entity: str | None = None) -> dict[str, object]:
        """The report as plain values for JSON."""
        results = self.results
        shown: dict[str, object] = {
            "run": results.name,
            "data": results.data.name,
            "entities": len(results.entities),
            "instances": list(results.instances),
            "select": results.select,
            "tables": {each.name: document(each, TABLES.get(each.name)) for each in self.tables},
            "kinds": {kind: document(table) for kind, table in kind_tables(results).items()},
            "learning": self.learning or None,
            "summary": self.summary,
            "findings": [finding.to_dict() for finding in self.findings],
        }
        if entity is None:
            return shown
        return shown | {"entity": {"name": entity, "rows": document(entity_table(results, entity))}}
