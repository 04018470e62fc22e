"""Tables with a row per day: columns of hours or quarter-hours."""

from __future__ import annotations

import pandas as pd
import pytest
from tests.imports.exports import assert_equal, instants, number, power, write_text

WARSAW = "Europe/Warsaw"


def day_table(truth: pd.DataFrame, label: str, keys: list[str], zone: str = WARSAW):
    """A row per day and meter; ``label`` formats the key of a time's column."""
    local = pd.DatetimeIndex(truth.index).tz_convert(zone)
    lines = []
    for day in local.normalize().unique():
        for name in truth:
            part = truth[name][local.normalize() == day]
            cells = {}
            for time, value in zip(local[local.normalize() == day], part, strict=True):
                key = time.strftime(label) if "%" in label else str(time.hour + 1)
                cells[key + "A" if key in cells else key] = number(",", "", 3)(value)
            lines.append([f"{day:%Y-%m-%d}", name, *(cells.get(key, "") for key in keys)])
    return [["Data", "Licznik", *keys], *lines]


@pytest.mark.parametrize(
    ("start", "end"), [("2024-10-26", "2024-10-29"), ("2024-03-30", "2024-04-02")]
)
def test_hours_numbered_by_their_end_over_both_changes(tmp_path, import_files, start, end):
    truth = power(instants(start, end, WARSAW, "1h"), "a", "b")
    keys = [str(hour) for hour in range(1, 25)]
    keys.insert(3, "3A")
    file = write_text(tmp_path / "x.csv", day_table(truth, "hour", keys), ";")
    assert_equal(import_files(file, "--timezone", WARSAW, "--unit", "kWh"), truth)


def test_quarter_hours_as_ranges(tmp_path, import_files):
    truth = power(instants("2024-06-01", "2024-06-04", WARSAW), "a", "b")
    quarters = pd.date_range("2024-01-01", periods=96, freq="15min")
    keys = [f"{time:%H:%M}" for time in quarters]
    lines = day_table(truth, "%H:%M", keys)
    ends = quarters + pd.Timedelta(minutes=15)
    lines[0][2:] = [f"{key} - {end:%H:%M}" for key, end in zip(keys, ends, strict=True)]
    file = write_text(tmp_path / "x.csv", lines, ";")
    assert_equal(import_files(file, "--timezone", WARSAW, "--unit", "kW"), truth)


def test_ends_of_quarter_hours_with_midnight_last(tmp_path, import_files, refuse_import):
    truth = power(instants("2024-06-01", "2024-06-04", WARSAW), "a")
    starts = [f"{time:%H:%M}" for time in pd.date_range("2024-01-01", periods=96, freq="15min")]
    lines = day_table(truth, "%H:%M", starts)
    lines[0][2:] = [*starts[1:], "00:00"]
    file = write_text(tmp_path / "x.csv", lines, ";")
    assert_equal(import_files(file, "--timezone", WARSAW, "--unit", "kW"), truth)
    lines[0][2:] = starts
    file = write_text(tmp_path / "y.csv", lines, ";")
    assert "(--interval)" in refuse_import(file, "--timezone", WARSAW, "--unit", "kW")
