"""The description of a data set as rows of text, shared by the terminal and the HTML page."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd
from rich.table import Table

from clearwatt.data.quality import Reason
from clearwatt.data.schema import Drift, Kind
from clearwatt.data.sheets import Sheet, terminal_table

if TYPE_CHECKING:
    from clearwatt.data.describe import Description
    from clearwatt.data.figures import GroupFigures

ABSENT = "–"
INDENT = "  "


def tables(description: Description) -> list[Table]:
    """Render every sheet for the terminal."""
    return [terminal_table(sheet) for sheet in sheets(description).values()]


def sheets(description: Description) -> dict[str, Sheet]:
    """Give the figures of a data set, one sheet per question a reader has, by name."""
    every = {
        "summary": _summary(description),
        "entities": _entities(description),
        "quality": _quality(description),
        "weather": _weather(description),
    }
    return every | {"drift": _drifts(description)} if description.drifts else every


def _summary(description: Description) -> Sheet:
    worst = description.longest_gap
    lasting = f"{duration(worst.longest_gap)} ({worst.entity})" if worst.longest_gap else "none"
    rows = (
        ("span", f"{day(description.start)} to {day(description.end)} UTC"),
        ("power", f"every {duration(description.step)}, {description.steps:,} steps"),
        (
            "weather",
            f"every {duration(description.weather_step)}, "
            f"{counted(len(description.weather), 'variable')}, "
            f"{counted(len(description.zones), 'zone')}",
        ),
        ("entities", _kinds(description)),
        ("missing readings", percent(description.missing_share)),
        ("longest gap", lasting),
        ("flagged readings", percent(description.report.flagged_share) + " of the measured"),
        ("known drifts", f"{len(description.drifts):,}" if description.drifts else "none logged"),
    )
    return Sheet(description.name, ("", ""), rows, left=2)


def _kinds(description: Description) -> str:
    words = {Kind.GENERATOR: "generator", Kind.CONSUMER: "consumer", Kind.RESIDUAL: "residual load"}
    parts = [
        counted(len(group.members), words[group.kind])
        for group in description.groups
        if group.subtype is None
    ]
    return f"{len(description.entities)}: " + ", ".join(parts)


def _entities(description: Description) -> Sheet:
    unit = f" [{description.unit}]" if description.unit else ""
    span = "every calendar month counted once" if description.annual else "the whole span"
    groups = description.groups
    return Sheet(
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


def _group_row(group: GroupFigures) -> tuple[str, ...]:
    whole = group.subtype is None
    return (
        group.kind.value if whole else INDENT + (group.subtype or "(none)"),
        f"{len(group.members)}",
        ABSENT if group.capacity is None else number(group.capacity),
        spread(group.capacity_factors),
        spread(group.load_factors),
        percent(group.missing_share),
        percent(group.flagged_share),
    )


def _quality(description: Description) -> Sheet:
    counts = description.verdicts()
    measured = sum(counts.values()) - counts[Reason.GAP]
    rows = []
    for reason in Reason:
        struck = [item.quality for item in description.entities if item.quality.counts[reason]]
        total = sum(counts.values()) if reason is Reason.GAP else measured
        worst = max(struck, key=lambda each: each.counts[reason], default=None)
        name = ABSENT if worst is None or reason is Reason.OK else worst.entity
        share = percent(counts[reason] / max(total, 1))
        rows.append((reason.label, name, f"{counts[reason]:,}", share, f"{len(struck)}"))
    return Sheet(
        title="Quality of the readings",
        columns=("verdict", "most in", "readings", "share", "entities"),
        rows=tuple(rows),
        left=2,
        note="Share of the measured readings; for gaps, of all time steps.",
    )


def _weather(description: Description) -> Sheet:
    rows = tuple(
        (
            item.variable,
            *(ABSENT if value is None else number(value) for value in (item.low, item.mean)),
            ABSENT if item.high is None else number(item.high),
            percent(item.missing_share),
        )
        for item in description.weather
    )
    return Sheet("Weather", ("variable", "least", "mean", "greatest", "missing"), rows)


def _drifts(description: Description) -> Sheet:
    kinds = dict.fromkeys(drift.what for drift in description.drifts)
    rows = tuple(
        _drift_row(what, [drift for drift in description.drifts if drift.what == what])
        for what in kinds
    )
    return Sheet(
        title="Drift log",
        columns=("what", "whom", "n", "first start", "last start", "strength %"),
        rows=rows,
        left=2,
        note="Strength: mean (least–greatest). Every single drift is in the JSON and the page.",
    )


def _drift_row(what: str, drifts: list[Drift]) -> tuple[str, ...]:
    struck = sorted({drift.entity for drift in drifts if drift.entity is not None})
    whom = "whole grid" if not struck else struck[0]
    strengths = [drift.strength for drift in drifts]
    return (
        what.replace("_", " "),
        f"{len(struck)} entities" if len(struck) > 1 else whom,
        f"{len(drifts)}",
        day(min(drift.start for drift in drifts)),
        day(max(drift.start for drift in drifts)),
        spread((min(strengths), sum(strengths) / len(strengths), max(strengths))),
    )


def day(time: pd.Timestamp) -> str:
    """Write a day as in 2024-03-31."""
    return time.strftime("%Y-%m-%d")


def number(value: float) -> str:
    """Write a number with three or four digits that matter."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def percent(share: float) -> str:
    """Write a share so that a little does not look like none, nor nearly all like all."""
    if 0 < share < 0.0001:
        return "< 0.01 %"
    if 0.9999 < share < 1:
        return "> 99.99 %"
    return f"{share:.2%}".replace("%", " %")


def spread(values: tuple[float, float, float] | None) -> str:
    """Write least, mean and greatest share as one cell, in percent."""
    if values is None:
        return ABSENT
    low, mean, high = (100 * value for value in values)
    ends = [f"{end:.1f}" if abs(end) < 9.95 else f"{end:.0f}" for end in (low, high)]
    return f"{mean:.1f}" if low == high else f"{mean:.1f} ({ends[0]}–{ends[1]})"


def counted(count: int, noun: str) -> str:
    """Write how many there are."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def duration(time: pd.Timedelta) -> str:
    """Write a duration in the unit a person would use."""
    hours = time / pd.Timedelta(hours=1)
    if hours < 1:
        return f"{hours * 60:g} min"
    return f"{hours:g} h" if hours < 48 else f"{hours / 24:.3g} days"
