"""Small charts as plain SVG, for the pictures of the documentation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

import numpy as np

LEFT, TOP, GAP_X, GAP_Y = 52, 30, 58, 40
BLUE, ORANGE, GREY, RED = "#1f6fb2", "#d9730d", "#6b7280", "#c0392b"


@dataclass(frozen=True)
class Line:
    """One series of a panel (n), drawn from left to right; NaN leaves a gap."""

    values: np.ndarray
    colour: str
    label: str = ""


@dataclass(frozen=True)
class Panel:
    """One small chart: lines over a common span, ticks below, marks as vertical lines."""

    title: str
    lines: Sequence[Line]
    unit: str
    ticks: Sequence[tuple[float, str]]
    marks: Sequence[tuple[float, str]] = ()
    limits: tuple[float, float] | None = None
    width: int = 360
    height: int = 110


@dataclass(frozen=True)
class _Frame:
    """The position of a panel in the picture, and the range of its vertical axis."""

    x: float
    y: float
    width: float
    height: float
    low: float
    high: float

    def across(self, share: float) -> float:
        return self.x + share * self.width

    def up(self, value: float) -> float:
        share = (float(np.clip(value, self.low, self.high)) - self.low) / (self.high - self.low)
        return self.y + self.height * (1.0 - share)


def draw(rows: Sequence[Sequence[Panel]], path: Path) -> None:
    """Write a grid of panels of one size as SVG."""
    first = rows[0][0]
    step_x, step_y = first.width + GAP_X, first.height + GAP_Y
    width, height = LEFT + max(len(row) for row in rows) * step_x, TOP + len(rows) * step_y
    body = [
        _panel(panel, LEFT + j * step_x, TOP + i * step_y)
        for i, row in enumerate(rows)
        for j, panel in enumerate(row)
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        'font-family="system-ui, sans-serif" font-size="11">\n'
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>\n'
        + "\n".join(body)
        + "\n</svg>\n",
        encoding="utf-8",
    )


def _panel(panel: Panel, x: float, y: float) -> str:
    frame = _Frame(x, y, panel.width, panel.height, *(panel.limits or _limits(panel.lines)))
    return "\n".join(
        [
            _box(panel, frame),
            *(_tick(share, text, frame) for share, text in panel.ticks),
            *(_polyline(line, frame) for line in panel.lines),
            *(_mark(share, text, i, frame) for i, (share, text) in enumerate(panel.marks)),
            _legend(panel.lines, frame),
        ]
    )


def _limits(lines: Sequence[Line]) -> tuple[float, float]:
    values = np.concatenate([line.values for line in lines])
    return float(np.floor(np.nanmin(values))), float(np.ceil(np.nanmax(values)))


def _box(panel: Panel, frame: _Frame) -> str:
    x, y, middle = frame.x, frame.y, frame.y + frame.height / 2
    parts = [
        f'<text x="{x}" y="{y - 7}" font-weight="600" fill="#111827">{escape(panel.title)}</text>',
        f'<rect x="{x}" y="{y}" width="{frame.width}" height="{frame.height}" fill="none" '
        'stroke="#d1d5db"/>',
        f'<text x="{x - 36}" y="{middle}" fill="{GREY}" text-anchor="middle" '
        f'transform="rotate(-90 {x - 36} {middle})">{escape(panel.unit)}</text>',
    ]
    for value in (frame.low, (frame.low + frame.high) / 2, frame.high):
        at = frame.up(value)
        parts.append(
            f'<text x="{x - 5}" y="{at + 4:.1f}" text-anchor="end" fill="{GREY}">{value:.3g}</text>'
            f'<path d="M{x} {at:.1f}h{frame.width}" stroke="#eef0f3"/>'
        )
    return "\n".join(parts)


def _tick(share: float, text: str, frame: _Frame) -> str:
    return (
        f'<text x="{frame.across(share):.1f}" y="{frame.y + frame.height + 13}" '
        f'fill="{GREY}">{text}</text>'
    )


def _polyline(line: Line, frame: _Frame) -> str:
    pieces, pen = [], "M"
    for i, value in enumerate(line.values):
        if np.isnan(value):
            pen = "M"
            continue
        at = frame.across(i / (len(line.values) - 1))
        pieces.append(f"{pen}{at:.1f} {frame.up(value):.1f}")
        pen = "L"
    return f'<path d="{"".join(pieces)}" fill="none" stroke="{line.colour}" stroke-width="1.2"/>'


def _mark(share: float, text: str, row: int, frame: _Frame) -> str:
    at, side = frame.across(share), 1 if share < 0.74 else -1
    return (
        f'<path d="M{at:.1f} {frame.y}v{frame.height}" stroke="{RED}" stroke-dasharray="3 2"/>'
        f'<text x="{at + side * 3:.1f}" y="{frame.y + 12 + 12 * (row % 4)}" fill="{RED}" '
        f'text-anchor="{"start" if side > 0 else "end"}">{escape(text)}</text>'
    )


def _legend(lines: Sequence[Line], frame: _Frame) -> str:
    labelled = [line for line in lines if line.label]
    right = frame.x + frame.width - 6
    return "".join(
        f'<text x="{right}" y="{frame.y + 14 + 13 * i}" text-anchor="end" fill="{line.colour}">'
        f"{escape(line.label)}</text>"
        for i, line in enumerate(labelled)
    )
