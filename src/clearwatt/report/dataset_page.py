"""The HTML page about a data set: its statistics, weeks, gaps and drifts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from clearwatt.data.dataset import Dataset
from clearwatt.data.describe import Description
from clearwatt.data.statistics import EntityStatistics, GroupStatistics
from clearwatt.report.dataset_tables import all_drifts_table, all_entities_table, dataset_tables
from clearwatt.report.drift_plots import drift_panel
from clearwatt.report.page import FigureChoice, write_page
from clearwatt.report.plots import Panel
from clearwatt.report.span_plots import quality_panel, span_figures
from clearwatt.report.week_plots import select_weeks, week_panels

# Entities shown of a kind without subtypes.
_MOST_ALIKE = 4


@dataclass(frozen=True, slots=True)
class _EntityWeeks:
    """The weeks of one entity, headed by its subtype or kind."""

    label: str
    entity: str
    panels: Sequence[Panel]


def write_dataset_page(dataset: Dataset, description: Description, path: str | Path) -> None:
    """Write the page; it needs no network and no other file.

    Args:
        dataset: the data set.
        description: its statistics, from ``describe(dataset)``.
        path: the HTML file to write; it appears complete or not at all.
    """
    drifts = description.drifts
    span = "Drift" if drifts else "Whole span"
    two_weeks = len(select_weeks(dataset)) > 1
    content = {
        "name": description.name,
        "lead": _first_line(dataset.about),
        "links": [
            ("weeks", "Weeks"),
            ("span", span),
            ("quality", "Quality"),
            ("weather", "Weather"),
        ],
        "tables": dataset_tables(description),
        "weeks_title": "A week of winter and one of summer" if two_weeks else "A closer look",
        "weeks": _weeks(dataset, description),
        "drift_panel": (
            drift_panel(drifts, start=description.start, end=description.end) if drifts else None
        ),
        "spans": _spans(dataset, description.unit),
        "quality_panel": quality_panel(description),
        "details": [
            ("Every entity", all_entities_table(description)),
            *([("Every drift", all_drifts_table(description))] if drifts else []),
        ],
    }
    write_page(path, "dataset.html", content)


def _first_line(about: str) -> str:
    """The first line of a description with more than marks in it, without the marks."""
    return next((line.strip(" #") for line in about.splitlines() if line.strip(" #")), "")


def _weeks(dataset: Dataset, description: Description) -> list[_EntityWeeks]:
    return [
        _EntityWeeks(
            label=(group.subtype or group.kind.value).replace("_", " "),
            entity=member.entity.name,
            panels=week_panels(dataset, member.entity, description.unit),
        )
        for group in description.groups
        for member in _examples(group, description.groups)
    ]


def _examples(
    group: GroupStatistics, groups: Sequence[GroupStatistics]
) -> Sequence[EntityStatistics]:
    """The entities to show: one per subtype, a few of a kind without subtypes."""
    if group.subtype is None:
        split = any(other.kind is group.kind and other.subtype is not None for other in groups)
        return () if split else group.members[:_MOST_ALIKE]
    return group.members[:1] if group.subtype else group.members[:_MOST_ALIKE]


def _spans(dataset: Dataset, unit: str) -> FigureChoice:
    """Each entity over the whole span; the one with most drifts is shown first."""
    figures = span_figures(dataset, unit)
    affected = [drift.entity for drift in dataset.drifts]
    return FigureChoice(
        parts=("span",),
        figures={name: (figure,) for name, figure in figures.items()},
        first=max(figures, key=affected.count),
    )
