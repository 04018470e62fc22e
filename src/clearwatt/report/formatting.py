"""Numbers, times and durations as text for tables and plots."""

from __future__ import annotations

import pandas as pd

ABSENT = "–"
"""Cell text where there is no value."""


def format_day(time: pd.Timestamp) -> str:
    """A date such as 2024-03-31."""
    return time.strftime("%Y-%m-%d")


def format_duration(time: pd.Timedelta) -> str:
    """A duration in minutes, hours or days, whichever suits its length."""
    hours = time / pd.Timedelta(hours=1)
    if hours < 1:
        return f"{hours * 60:g} min"
    return f"{hours:g} h" if hours < 48 else f"{hours / 24:.3g} days"


def format_number(value: float | None) -> str:
    """A number with three or four significant digits; ``ABSENT`` for ``None``."""
    if value is None:
        return ABSENT
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def format_percent(share: float | None) -> str:
    """A share in percent; neither a tiny share nor a nearly full one is rounded away."""
    if share is None:
        return ABSENT
    if 0 < share < 0.0001:
        return "< 0.01 %"
    if 0.9999 < share < 1:
        return "> 99.99 %"
    return f"{share:.2%}".replace("%", " %")


def format_spread(values: tuple[float, float, float] | None) -> str:
    """Least, mean and greatest share in percent, as ``mean (least–greatest)``."""
    if values is None:
        return ABSENT
    low, mean, high = (100 * value for value in values)
    ends = [f"{end:.1f}" if abs(end) < 9.95 else f"{end:.0f}" for end in (low, high)]
    return f"{mean:.1f}" if low == high else f"{mean:.1f} ({ends[0]}–{ends[1]})"


def format_count(count: int, noun: str) -> str:
    """A count with its noun, in the plural unless it is one."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def format_bytes(size: float) -> str:
    """A size in B, kB or MB."""
    if size == 0:
        return "0"
    for unit, factor in (("MB", 1e6), ("kB", 1e3)):
        if size >= factor:
            return f"{size / factor:,.1f} {unit}"
    return f"{size:.0f} B"
