"""One HTML page about a data set: its figures, its weeks, its gaps and its drifts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from html import escape
from pathlib import Path

from clearwatt.data.describe import Description
from clearwatt.data.figures import EntityFigures, GroupFigures
from clearwatt.data.overview import (
    ABSENT,
    day,
    duration,
    number,
    percent,
    sheets,
)
from clearwatt.data.page import assemble, boxes
from clearwatt.data.panels import drift_panel, quality_panel, span_panels
from clearwatt.data.quality import Reason
from clearwatt.data.schema import Dataset
from clearwatt.data.sheets import Sheet, facts, html_table
from clearwatt.data.traces import Figure
from clearwatt.data.weeks import week_panels, weeks
from clearwatt.files import write_text_atomically

# Where no subtype tells entities apart, a few of them are shown side by side.
_MOST_ALIKE = 4


def write_page(dataset: Dataset, description: Description, path: str | Path) -> None:
    """Write the page; it needs no network and no other file.

    Args:
        dataset: what was described.
        description: its figures, from ``describe(dataset)``.
        path: the HTML file to write; it appears complete or not at all.
    """
    # Imported here because it reads megabytes that nothing else needs.
    from plotly.offline import get_plotlyjs

    figures: dict[str, Figure] = {}
    sheet = sheets(description)
    body = [
        _head(dataset, description),
        "<main>",
        facts(sheet["summary"].rows),
        _section("entities", sheet["entities"]),
        _week_section(dataset, description, figures),
        _span_section(dataset, description, figures),
        _section("drift", sheet.get("drift")),
        _quality_section(description, figures),
        _section("quality-table", sheet["quality"]),
        _section("weather", sheet["weather"]),
        *_details(description),
        "<footer>Times are UTC. Made by ClearWatt.</footer></main>",
    ]
    page = assemble(
        title=f"{escape(description.name)} · ClearWatt",
        body="\n".join(body),
        figures=json.dumps(figures, ensure_ascii=False, allow_nan=False, separators=(",", ":")),
        library=get_plotlyjs(),
    )
    write_text_atomically(path, page)


def _head(dataset: Dataset, description: Description) -> str:
    first = next((line for line in dataset.about.splitlines() if line.strip(" #")), "")
    lead = f'<p class="lead">{escape(first.strip(" #"))}</p>' if first else ""
    drift = "Drift" if description.drifts else "Whole span"
    links = [("weeks", "Weeks"), ("span", drift), ("quality", "Quality"), ("weather", "Weather")]
    nav = "".join(f'<a href="#{anchor}">{label}</a>' for anchor, label in links)
    return f"<header><div><h1>{escape(description.name)}</h1>{lead}<nav>{nav}</nav></div></header>"


def _section(anchor: str, sheet: Sheet | None) -> str:
    if sheet is None:
        return ""
    return f'<section id="{anchor}"><h2>{escape(sheet.title)}</h2>{html_table(sheet)}</section>'


def _details(description: Description) -> list[str]:
    folded = [("Every entity", _members(description))]
    folded += [("Every drift", _all_drifts(description))] if description.drifts else []
    return [
        f"<details><summary>{label}</summary>{html_table(sheet)}</details>"
        for label, sheet in folded
    ]


def _members(description: Description) -> Sheet:
    rows = tuple(
        (
            item.entity.name,
            item.entity.kind.value,
            item.subtype or ABSENT,
            item.entity.zone,
            _known(item.entity.capacity),
            _known(item.mean),
            _known(item.peak),
            ABSENT if item.capacity_factor is None else percent(item.capacity_factor),
            percent(item.quality.share(Reason.GAP)),
            duration(item.quality.longest_gap),
            percent(item.quality.flagged_share),
        )
        for item in description.entities
    )
    columns = ("entity", "kind", "subtype", "zone", "capacity", "mean", "peak", "capacity factor")
    return Sheet("", (*columns, "missing", "longest gap", "flagged"), rows, left=4)


def _known(value: float | None) -> str:
    return ABSENT if value is None else number(value)


def _all_drifts(description: Description) -> Sheet:
    rows = tuple(
        (
            drift.what.replace("_", " "),
            drift.entity or "whole grid",
            drift.description,
            day(drift.start),
            ABSENT if drift.end is None else day(drift.end),
            number(drift.strength),
        )
        for drift in description.drifts
    )
    return Sheet("", ("what", "whom", "description", "from", "to", "strength"), rows, left=3)


def _week_section(dataset: Dataset, description: Description, figures: dict[str, Figure]) -> str:
    title = "A week of winter and one of summer" if len(weeks(dataset)) > 1 else "A closer look"
    parts = [f'<section id="weeks"><h2>{title}</h2>']
    parts.append('<p class="note">Power beside the weather input it hangs on most.</p>')
    for group in description.groups:
        for member in _shown(group, description.groups):
            label = group.subtype or group.kind.value
            name = escape(member.entity.name)
            parts.append(f"<h3>{escape(label.replace('_', ' '))} <small>{name}</small></h3>")
            panels = week_panels(dataset, member.entity, description.unit)
            parts.append(f'<div class="pair">{boxes(panels, figures)}</div>')
    return "".join([*parts, "</section>"])


def _shown(group: GroupFigures, groups: Sequence[GroupFigures]) -> Sequence[EntityFigures]:
    """Choose whom to show: one per subtype, a few of a kind without subtypes."""
    if group.subtype is None:
        split = any(other.kind is group.kind and other.subtype is not None for other in groups)
        return () if split else group.members[:_MOST_ALIKE]
    return group.members[:1] if group.subtype else group.members[:_MOST_ALIKE]


def _quality_section(description: Description, figures: dict[str, Figure]) -> str:
    panel = boxes([quality_panel(description)], figures)
    return f'<section id="quality"><h2>Gaps and flagged readings</h2>{panel}</section>'


def _span_section(dataset: Dataset, description: Description, figures: dict[str, Figure]) -> str:
    spans = span_panels(dataset, description.unit)
    keys = {name: f"span-{at}" for at, name in enumerate(spans)}
    figures.update({keys[name]: figure for name, figure in spans.items()})
    struck = [drift.entity for drift in dataset.drifts if drift.entity in keys]
    first = max(keys, key=struck.count)
    options = "".join(
        f'<option value="{key}"{" selected" if name == first else ""}>{escape(name)}</option>'
        for name, key in keys.items()
    )
    overview = boxes([drift_panel(description)], figures) if description.drifts else ""
    title = "What drifts, and when" if description.drifts else "The whole span"
    return (
        f'<section id="span"><h2>{title}</h2>{overview}'
        f'<h3><label for="whom">One entity over the whole span</label></h3>'
        f'<select id="whom" data-for="span-box">{options}</select>'
        f'<figure><div id="span-box" data-figure="{keys[first]}"></div></figure></section>'
    )
