"""Small SVG graphics in pages, each with a text alternative."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from markupsafe import Markup

from clearwatt.arrays import BoolArray, Float64Array
from clearwatt.service.dashboard.rendering import figures, percent, power
from clearwatt.service.views.evidence import DayForecasts
from clearwatt.service.views.signals import Signals

WIDTH, HEIGHT, MARGIN = 84.0, 24.0, 3.0
ALIKE = 0.05
"""Relative difference below which errors are called equal."""


class Trend(NamedTuple):
    """An arrow, its words, and a tone: "good", "warn" or ""."""

    arrow: str
    words: str
    tone: str


def trend(ratio: float | None) -> Trend | None:
    """Trend of the error, from the ratio of the last day's to the week's."""
    if ratio is None:
        return None
    if abs(ratio - 1) < ALIKE:
        return Trend("→", "as over the week", "")
    size = f"{abs(ratio - 1):.0%}".replace("%", " %")
    if ratio > 1:
        return Trend("↑", f"{size} above the week", "warn")
    return Trend("↓", f"{size} below the week", "good")


def skill_words(skill: float | None, *, worse: bool) -> Trend | None:
    """Skill against the last known day in words; ``worse`` is the judgement over two weeks."""
    if skill is None:
        return None
    if abs(skill) < ALIKE / 10:
        return Trend("→", "as good", "warn" if worse else "")
    way = "better" if skill > 0 else "worse"
    tone = "warn" if worse or skill < 0 else "good"
    return Trend("↓" if skill > 0 else "↑", f"{percent(abs(skill))} {way}", tone)


def sparkline(values: Sequence[float | None], unit: str) -> Markup:
    """Daily errors, oldest first, as a line above zero; days without an error are skipped."""
    present = [(at, value) for at, value in enumerate(values) if value is not None]
    if not present:
        return Markup("<span class='none'>no errors yet</span>")
    words = ", ".join(power(value, unit) if value is not None else "none" for value in values)
    label = f"Error of each of the last {len(values)} days, the oldest first: {words}"
    highest = max(value for _, value in present) or 1.0
    across, up = (WIDTH - 2 * MARGIN) / max(1, len(values) - 1), HEIGHT - 2 * MARGIN
    points = [
        (MARGIN + at * across, HEIGHT - MARGIN - up * value / highest) for at, value in present
    ]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return Markup(
        "<svg class='spark' viewBox='0 0 {} {}' role='img' aria-label='{}'><title>{}</title>"
        "<polyline points='{}'/><circle cx='{:.1f}' cy='{:.1f}' r='2.2'/></svg>"
    ).format(f"{WIDTH:g}", f"{HEIGHT:g}", label, label, line, *points[-1])


def bar(part: float, whole: float | None) -> Markup:
    """A bar of part / whole; hidden from screen readers, which have the words beside it."""
    width = 100 * min(1.0, part / whole) if whole else 0.0
    return Markup(
        "<svg class='bar' viewBox='0 0 100 8' preserveAspectRatio='none' aria-hidden='true'>"
        "<rect width='{:.1f}' height='8'/></svg>"
    ).format(width)


DAY_WIDTH, DAY_HEIGHT, SCALE = 480.0, 150.0, 52.0
"""Size of the picture of a day, and of the room for its scale."""


def day_picture(day: DayForecasts, unit: str, names: tuple[str, str]) -> Markup:
    """A day as two versions forecast it, and as it was measured, as far as it was."""
    lines = (("before", day.before), ("after", day.after), ("measured", day.measured))
    shown = np.concatenate([values[np.isfinite(values)] for _, values in lines])
    low, high = float(shown.min()), float(shown.max())
    first, last = int(day.times[0]), int(day.times[-1])
    drawn = Markup("").join(
        Markup("<polyline class='{}' points='{}'/>").format(name, points)
        for name, values in lines
        for points in _day_pieces(day, values, (low, high), (first, last))
    )
    label = (
        f"Forecasts of the day by {names[0]} and {names[1]}, from {power(low, unit)} to "
        f"{power(high, unit)}"
    )
    return Markup(
        "<svg class='day' viewBox='0 0 {0} {1}' role='img' aria-label='{2}'>"
        "<text x='{3}' y='14'>{4}</text><text x='{3}' y='{5}'>{6}</text>{7}</svg>"
    ).format(
        f"{DAY_WIDTH:g}",
        f"{DAY_HEIGHT:g}",
        label,
        f"{SCALE - 6:g}",
        figures(high),
        f"{DAY_HEIGHT - 4:g}",
        figures(low),
        drawn,
    )


def _day_pieces(
    day: DayForecasts, values: Float64Array, limits: tuple[float, float], span: tuple[int, int]
) -> Iterator[str]:
    """Points of each line between two gaps, within the picture of a day."""
    (low, high), (first, last) = limits, span
    across = SCALE + (DAY_WIDTH - SCALE - 4) * (day.times - first) / max(last - first, 1)
    down = 6 + (DAY_HEIGHT - 12) * (high - values) / max(high - low, 1e-12)
    yield from _lines(across, down, np.isfinite(values))


def preview(signals: Signals, *, start: int, end: int) -> Markup:
    """Measurements and forecasts with start <= time < end, shown until the plot is loaded."""
    label = "Measurements and forecasts of the last days; the interactive plot is loading"
    lines = Markup("").join(
        Markup("<polyline class='{}' points='{}'/>").format(name, points)
        for name, values in (("measured", signals.measured), ("forecast", signals.forecast))
        for points in _pieces(signals, values, start=start, end=end)
    )
    return Markup(
        "<svg class='first-look' viewBox='0 0 1000 1000' preserveAspectRatio='none' role='img' "
        "aria-label='{}'>{}</svg>"
    ).format(label, lines)


def _pieces(signals: Signals, values: Float64Array, *, start: int, end: int) -> Iterator[str]:
    """Points of each line between two gaps, in thousandths of width and height."""
    shown = np.concatenate([each[np.isfinite(each)] for each in signals.columns[:2]])
    low, high = shown.min(initial=np.inf), shown.max(initial=-np.inf)
    across = 1000 * (signals.times - start) / (end - start)
    down = 1000 * (high - values) / max(high - low, 1e-12)
    yield from _lines(across, down, np.isfinite(values))


def _lines(across: Float64Array, down: Float64Array, finite: BoolArray) -> Iterator[str]:
    """Points of each line between two gaps."""
    cuts = np.flatnonzero(np.diff(finite.astype(np.int8))) + 1
    for piece in np.split(np.arange(len(finite)), cuts):
        if len(piece) and finite[piece[0]]:
            yield " ".join(
                f"{x:.1f},{y:.1f}" for x, y in zip(across[piece], down[piece], strict=True)
            )
