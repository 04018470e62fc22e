"""Cells of workbooks and Parquet files: numbers, or text as a text file would have it."""

from __future__ import annotations

import datetime

import pandas as pd


def plain_cell(value: object) -> object:
    """A number as it is, anything else as text; a time of a workbook to the nearest second."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    if isinstance(value, datetime.datetime):
        return pd.Timestamp(value).round("s").isoformat(sep=" ")
    if isinstance(value, datetime.timedelta):  # a time of day, 24:00 included
        minutes, seconds = divmod(round(value.total_seconds()), 60)
        return f"{minutes // 60:02}:{minutes % 60:02}:{seconds:02}"
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    return "" if value is None else str(value).strip()
