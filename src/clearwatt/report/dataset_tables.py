"""The statistics of a data set as tables of text."""

from __future__ import annotations

from collections.abc import Sequence

from clearwatt.data.describe import Description
from clearwatt.data.quality import Reason
from clearwatt.data.schema import Drift, Kind
from clearwatt.data.statistics import GroupStatistics
from clearwatt.report.formatting import (
    ABSENT,
    format_count,
    format_day,
    format_duration,
    format_number,
    format_percent,
    format_spread,
)
from clearwatt.report.tables import INDENT, TextTable


def dataset_tables(description: Description) -> dict[str, TextTable]:
    """The tables by name: summary, entities, quality, weather, and drift if there are any."""
    tables = {
        "summary": _summary_table(description),
        "entities": _entities_table(description),
        "quality": _quality_table(description),
        "weather": _weather_table(description),
    }
    return tables | {"drift": _drift_table(description)} if description.drifts else tables


def _summary_table(description: Description) -> TextTable:
    worst = description.longest_gap
    longest = (
        f"{format_duration(worst.longest_gap)} ({worst.entity})" if worst.longest_gap else "none"
    )
    rows = (
        ("span", f"{format_day(description.start)} to {format_day(description.end)} UTC"),
        ("power", f"every {format_duration(description.step)}, {description.steps:,} steps"),
        (
            "weather",
            f"every {format_duration(description.weather_step)}, "
            f"{format_count(len(description.weather), 'variable')}, "
            f"{format_count(len(description.zones), 'zone')}",
        ),
        ("entities", _entity_counts(description)),
        ("missing readings", format_percent(description.missing_share)),
        ("longest gap", longest),
        ("flagged readings", format_percent(description.report.flagged_share) + " of the measured"),
        ("known drifts", f"{len(description.drifts):,}" if description.drifts else "none logged"),
    )
    return TextTable(description.name, ("", ""), rows, left=2)


def _entity_counts(description: Description) -> str:
    nouns = {Kind.GENERATOR: "generator", Kind.CONSUMER: "consumer", Kind.RESIDUAL: "residual load"}
    parts = [
        format_count(len(group.members), nouns[group.kind])
        for group in description.groups
        if group.subtype is None
    ]
    return f"{len(description.entities)}: " + ", ".join(parts)


def _entities_table(description: Description) -> TextTable:
    unit = f" [{description.unit}]" if description.unit else ""
    span = "every calendar month counted once" if description.annual else "the whole span"
    groups = description.groups
    return TextTable(
        title="Entities",
        columns=(
            "kind",
            "n",
            f"capacity{unit}",
            "capacity factor %",
            "load factor %",
            "missing",
            "flagged",
        ),
        rows=tuple(_group_row(group) for group in groups),
        note=(
            f"capacity factor = mean power / rated capacity, load factor = mean power / peak; mean "
            f"over {span}. Mean of the entities (least–greatest)."
        ),
        strong=tuple(at for at, group in enumerate(groups) if group.subtype is None),
    )


def _group_row(group: GroupStatistics) -> tuple[str, ...]:
    return (
        group.kind.value if group.subtype is None else INDENT + (group.subtype or "(none)"),
        f"{len(group.members)}",
        format_number(group.capacity),
        format_spread(group.capacity_factors),
        format_spread(group.load_factors),
        format_percent(group.missing_share),
        format_percent(group.flagged_share),
    )


def _quality_table(description: Description) -> TextTable:
    counts = description.verdicts()
    measured = sum(counts.values()) - counts[Reason.GAP]
    rows = []
    for reason in Reason:
        affected = [item.quality for item in description.entities if item.quality.counts[reason]]
        total = sum(counts.values()) if reason is Reason.GAP else measured
        worst = max(affected, key=lambda each: each.counts[reason], default=None)
        name = ABSENT if worst is None or reason is Reason.OK else worst.entity
        share = format_percent(counts[reason] / max(total, 1))
        rows.append((reason.label, name, f"{counts[reason]:,}", share, f"{len(affected)}"))
    return TextTable(
        title="Quality of the readings",
        columns=("verdict", "most in", "readings", "share", "entities"),
        rows=tuple(rows),
        left=2,
        note="Share of the measured readings; for gaps, of all time steps.",
    )


def _weather_table(description: Description) -> TextTable:
    rows = tuple(
        (
            item.variable,
            *map(format_number, (item.low, item.mean, item.high)),
            format_percent(item.missing_share),
        )
        for item in description.weather
    )
    return TextTable("Weather", ("variable", "least", "mean", "greatest", "missing"), rows)


def _drift_table(description: Description) -> TextTable:
    kinds = dict.fromkeys(drift.what for drift in description.drifts)
    rows = tuple(
        _drift_row(what, [drift for drift in description.drifts if drift.what == what])
        for what in kinds
    )
    return TextTable(
        title="Drift log",
        columns=("what", "whom", "n", "first start", "last start", "strength %"),
        rows=rows,
        left=2,
        note="Strength: mean (least–greatest). Every single drift is in the JSON and the page.",
    )


def _drift_row(what: str, drifts: Sequence[Drift]) -> tuple[str, ...]:
    entities = sorted({drift.entity for drift in drifts if drift.entity is not None})
    one = entities[0] if entities else "whole grid"
    strengths = [drift.strength for drift in drifts]
    return (
        what.replace("_", " "),
        f"{len(entities)} entities" if len(entities) > 1 else one,
        f"{len(drifts)}",
        format_day(min(drift.start for drift in drifts)),
        format_day(max(drift.start for drift in drifts)),
        format_spread((min(strengths), sum(strengths) / len(strengths), max(strengths))),
    )


def all_entities_table(description: Description) -> TextTable:
    """One row per entity."""
    rows = tuple(
        (
            item.entity.name,
            item.entity.kind.value,
            item.subtype or ABSENT,
            item.entity.zone,
            *map(format_number, (item.entity.capacity, item.mean, item.peak)),
            format_percent(item.capacity_factor),
            format_percent(item.quality.share(Reason.GAP)),
            format_duration(item.quality.longest_gap),
            format_percent(item.quality.flagged_share),
        )
        for item in description.entities
    )
    columns = ("entity", "kind", "subtype", "zone", "capacity", "mean", "peak", "capacity factor")
    return TextTable("", (*columns, "missing", "longest gap", "flagged"), rows, left=4)


def all_drifts_table(description: Description) -> TextTable:
    """One row per drift."""
    rows = tuple(
        (
            drift.what.replace("_", " "),
            drift.entity or "whole grid",
            drift.description,
            format_day(drift.start),
            ABSENT if drift.end is None else format_day(drift.end),
            format_number(drift.strength),
        )
        for drift in description.drifts
    )
    return TextTable("", ("what", "whom", "description", "from", "to", "strength"), rows, left=3)
