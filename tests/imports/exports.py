"""Exports as real systems write them, made of the same known readings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd


def instants(start: str, end: str, zone: str, step: str = "15min") -> pd.DatetimeIndex:
    """Starts of all intervals between two local times, in UTC."""
    local = pd.date_range(
        pd.Timestamp(start, tz=zone), pd.Timestamp(end, tz=zone), freq=step, inclusive="left"
    )
    return pd.DatetimeIndex(local.tz_convert("UTC"), name="time")


def power(times: pd.DatetimeIndex, *names: str) -> pd.DataFrame:
    """Different values for each entity and time, in kW, with two decimals."""
    at = np.arange(len(times))
    columns = {
        name: np.round(40.0 + 1700 * number + at * 389 % 997 + (at % 4) * 0.25, 2)
        for number, name in enumerate(names)
    }
    return pd.DataFrame(columns, index=times)


def stamps(times: pd.DatetimeIndex, zone: str, form: str) -> list[str]:
    """Times as the local clock shows them."""
    return list(times.tz_convert(zone).strftime(form))


def number(decimal: str = ",", thousands: str = "", digits: int = 2) -> Callable[[float], str]:
    """How a system writes numbers."""

    def write(value: float) -> str:
        if np.isnan(value):
            return ""
        text = f"{value:,.{digits}f}"
        return text.replace(",", "\0").replace(".", decimal).replace("\0", thousands)

    return write


def rows(
    labels: Sequence[str], table: pd.DataFrame, write: Callable[[float], str]
) -> list[list[str]]:
    """One row per time: its label, then the values."""
    return [
        [label, *map(write, values)] for label, values in zip(labels, table.to_numpy(), strict=True)
    ]


def write_text(
    path: Path,
    lines: Iterable[Sequence[str]],
    separator: str,
    *,
    encoding: str = "utf-8",
    newline: str = "\r\n",
) -> Path:
    """A text file with one line per row."""
    text = newline.join(separator.join(line) for line in lines) + newline
    path.write_bytes(text.encode(encoding))
    return path


def assert_equal(found: pd.DataFrame, truth: pd.DataFrame) -> None:
    """Compare readings with the truth: names, instants and values."""
    assert list(found.columns) == list(truth.columns)
    pd.testing.assert_index_equal(found.index, truth.index, check_names=False, exact=False)
    np.testing.assert_allclose(found.to_numpy(), truth.to_numpy(), rtol=1e-5)
