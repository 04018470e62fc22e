"""Running totals of a meter are asked about, never taken for energy per interval."""

from __future__ import annotations

import numpy as np
import pandas as pd
from tests.imports.exports import assert_equal, instants, number, power, rows, stamps, write_text

TIMES = instants("2024-05-01", "2024-05-04", "UTC", "15min")
TRUTH = power(TIMES, "m")


def write_totals(path, totals):
    labels = stamps(pd.DatetimeIndex(totals.index), "UTC", "%Y-%m-%d %H:%M")
    lines = [["UTC", "m [kWh]"], *rows(labels, totals, number(".", "", 4))]
    return write_text(path, lines, ";")


def test_differences_of_a_register(tmp_path, import_files, refuse_import):
    ends = TIMES.union([TIMES[-1] + pd.Timedelta(minutes=15)])
    counted = 1000 + np.concatenate([[0], np.cumsum(TRUTH["m"].to_numpy() / 4)])
    totals = pd.DataFrame({"m": counted}, index=ends)
    file = write_totals(tmp_path / "x.csv", totals)
    assert "(--values)" in refuse_import(file, "--interval", "start")
    assert_equal(import_files(file, "--values", "register"), TRUTH)


def test_an_exchanged_meter_and_a_gap_give_no_reading(tmp_path, import_files):
    totals = pd.DataFrame({"m": np.arange(288) * 2.5 + 1}, index=TIMES)
    totals.iloc[100:] -= 251
    file = write_totals(tmp_path / "x.csv", totals.drop(TIMES[200]))
    found = import_files(file, "--values", "register")["m"]
    assert len(found) == 287
    missing = [TIMES[99], TIMES[199], TIMES[200]]
    assert list(found.index[found.isna()]) == missing
    assert set(found.dropna()) == {10.0}


def test_energy_that_varies_is_no_register(tmp_path, import_files):
    file = write_totals(tmp_path / "x.csv", TRUTH / 4)
    assert_equal(import_files(file, "--interval", "start"), TRUTH)
