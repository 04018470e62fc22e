"""Exports of real systems, each imported by one command to readings equal to the truth."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from tests.imports.exports import (
    assert_equal,
    instants,
    number,
    power,
    rows,
    stamps,
    write_text,
)

BERLIN, WARSAW, PARIS, CHICAGO = (
    "Europe/Berlin",
    "Europe/Warsaw",
    "Europe/Paris",
    "America/Chicago",
)


def test_german_load_profile_in_kwh_over_the_spring_change(tmp_path, import_files):
    """A grid operator's quarter-hours: cp1252, semicolons, decimal commas, kWh, a units row."""
    times = instants("2024-03-30", "2024-04-02", BERLIN)
    truth = power(times, "Zahler Nord", "Zahler Sud")
    lines = [
        ["Lastgang der Z\u00e4hler", "", ""],
        ["", "", ""],
        ["Zeitstempel", "Z\u00e4hler Nord", "Z\u00e4hler S\u00fcd"],
        ["", "kWh", "kWh"],
        *rows(stamps(times, BERLIN, "%d.%m.%Y %H:%M"), truth / 4, number(",", ".", 4)),
    ]
    file = write_text(tmp_path / "lastgang.csv", lines, ";", encoding="cp1252")
    found = import_files(file, "--timezone", BERLIN, "--interval", "start")
    assert_equal(found, truth)


def test_german_ends_of_intervals_over_both_changes(tmp_path, import_files):
    """Date and time of day apart, times at the end, midnight as 00:00 of the next day."""
    for month, start, end in (("m", "2024-03-30", "2024-04-02"), ("o", "2024-10-26", "2024-10-29")):
        times = instants(start, end, BERLIN)
        truth = power(times, "Werk 1")
        ends = times + pd.Timedelta(minutes=15)
        labels = stamps(ends, BERLIN, "%d.%m.%Y;%H:%M")
        lines = [["Datum", "Uhrzeit", "Werk 1 [kW]"]]
        lines += [[*row[0].split(";"), row[1]] for row in rows(labels, truth, number(","))]
        file = write_text(tmp_path / f"{month}.csv", lines, ";")
        found = import_files(file, "--timezone", BERLIN, "--overwrite")
        assert_equal(found, truth)


def test_ends_counted_from_the_start_over_both_changes(tmp_path, import_files):
    """Times at the end, as the local start plus 15 minutes: 03:00 is there twice in autumn."""
    for month, start, end in (("m", "2024-03-30", "2024-04-02"), ("o", "2024-10-26", "2024-10-29")):
        times = instants(start, end, BERLIN)
        truth = power(times, "a", "b")
        wall = times.tz_convert(BERLIN).tz_localize(None) + pd.Timedelta(minutes=15)
        lines = [["Ende", "a (MW)", "b (MW)"]]
        lines += rows(list(wall.strftime("%d.%m.%Y %H:%M")), truth / 1000, number(",", "", 5))
        file = write_text(tmp_path / f"{month}.csv", lines, "\t", encoding="utf-16")
        found = import_files(file, "--timezone", BERLIN, "--overwrite")
        assert_equal(found, truth)


@pytest.mark.parametrize("second", ["2A", "3A"])
def test_polish_hours_of_the_autumn_day(tmp_path, import_files, second):
    """Hours numbered 1 to 24 with one more in autumn, cp1250, kWh, blanks as thousands."""
    times = instants("2024-10-26", "2024-10-29", WARSAW, "1h")
    truth = power(times, "Farma Slonce", "Huta Lodz")
    local = times.tz_convert(WARSAW)
    hours = [str(hour + 1) for hour in local.hour]
    repeated = [at for at in range(1, len(local)) if local.hour[at] == local.hour[at - 1]]
    # 3A follows 3; 2A comes before it.
    hours[repeated[0] - (second == "2A")] = second
    write = number(",", " ", 3)
    lines = [
        ["Lp.", "Data", "Godzina", "Farma S\u0142o\u0144ce [kWh]", "Huta \u0141\u00f3d\u017a [kWh]"]
    ]
    lines += [
        [str(at + 1), f"{local[at]:%Y-%m-%d}", hours[at], *map(write, values)]
        for at, values in enumerate(truth.to_numpy())
    ]
    file = write_text(tmp_path / "pobor.csv", lines, ";", encoding="cp1250")
    found = import_files(file, "--timezone", WARSAW, "--encoding", "cp1250")
    assert_equal(found, truth)


def test_polish_autumn_in_local_time_with_duplicates_and_gaps(tmp_path, import_files):
    """Local time with both hours of the change, rows twice, rows missing, a row of totals."""
    times = instants("2024-10-26", "2024-10-29", WARSAW)
    truth = power(times, "licznik")
    lines = rows(stamps(times, WARSAW, "%Y-%m-%d %H:%M"), truth, number(","))
    lines = [*lines[:20], lines[19], *lines[20:40], *lines[45:], ["Razem", "123456,00"]]
    file = write_text(tmp_path / "moc.csv", [["Czas od", "licznik [kW]"], *lines], ";")
    found = import_files(file, "--timezone", WARSAW)
    truth.iloc[40:45] = np.nan
    assert_equal(found, truth)


def test_french_load_curve_with_start_and_end(tmp_path, import_files):
    """Columns of start and end, W, no-break spaces as thousands, a sum of the columns."""
    times = instants("2024-02-01", "2024-02-20", PARIS, "30min")
    truth = power(times, "Usine", "Entrepot")
    start = stamps(times, PARIS, "%d/%m/%Y %H:%M")
    end = stamps(times + pd.Timedelta(minutes=30), PARIS, "%d/%m/%Y %H:%M")
    watts = (truth * 1000).assign(total=1000 * truth.sum(axis=1))
    lines = [["D\u00e9but", "Fin", "Usine (W)", "Entrep\u00f4t (W)", "Total (W)"]]
    lines += [
        [first, last, *row[1:]]
        for first, last, row in zip(
            start, end, rows(start, watts, number(",", "\u202f", 1)), strict=True
        )
    ]
    file = write_text(tmp_path / "courbe.csv", lines, ";")
    assert_equal(import_files(file, "--timezone", PARIS), truth)


def test_american_export_with_am_and_pm(tmp_path, import_files):
    """Month first, twelve hours, quoted thousands with commas, hour ending."""
    times = instants("2024-01-05", "2024-01-25", CHICAGO, "1h")
    truth = power(times, "Feeder 12", "Feeder 13")
    ends = stamps(times + pd.Timedelta(hours=1), CHICAGO, "%m/%d/%Y %I:%M %p")
    body = rows(ends, truth, number(".", ","))
    quoted = [[label, *(f'"{cell}"' for cell in cells)] for label, *cells in body]
    lines = [["Hour Ending", "Feeder 12 (kW)", "Feeder 13 (kW)"], *quoted]
    file = write_text(tmp_path / "feeders.csv", lines, ",", newline="\n")
    assert_equal(import_files(file, "--timezone", CHICAGO), truth)


def test_american_autumn_with_names_of_the_zone(tmp_path, import_files):
    """EST and EDT tell the two hours apart, newest first."""
    times = instants("2024-11-02", "2024-11-05", "America/New_York", "1h")
    truth = power(times, "Load")
    labels = stamps(times, "America/New_York", "%Y-%m-%d %H:%M:%S %Z")
    lines = [["Interval Start", "Load MW"], *rows(labels, truth / 1000, number(".", "", 5))[::-1]]
    file = write_text(tmp_path / "load.csv", lines, ",")
    assert_equal(import_files(file, "--timezone", "America/New_York"), truth)


def test_historian_in_rows_with_status(tmp_path, import_files):
    """One row per reading: tag, time, value, unit and quality; bad ones are no readings."""
    times = instants("2024-05-01", "2024-05-03", "UTC", "10min")
    truth = power(times, "WTG01.P", "WTG02.P")
    lines = [["TagName", "TimeStamp (UTC)", "Value", "Unit", "Quality"]]
    for at, time in enumerate(times):
        for name in truth.columns:
            bad = at == 7 and name == "WTG02.P"
            value = "I/O Timeout" if bad else f"{truth.at[time, name]:.3f}"
            lines.append([name, f"{time:%d-%b-%Y %H:%M:%S}", value, "kW", "Bad" if bad else "Good"])
    lines += [["WTG01.T", f"{time:%d-%b-%Y %H:%M:%S}", "21.5", "\u00b0C", "Good"] for time in times]
    file = write_text(tmp_path / "pi.csv", lines, ",")
    found = import_files(file, "--interval", "start")
    truth.iloc[7, 1] = np.nan
    assert_equal(found, truth)


def test_historian_in_rows_on_a_local_clock_in_autumn(tmp_path, import_files):
    """Meter after meter, each with both hours of the change."""
    times = instants("2024-10-26", "2024-10-28", BERLIN, "15min")
    truth = power(times, "4711", "4712")
    lines = [["Z\u00e4hlpunkt", "Zeitpunkt bis", "Wert", "Einheit"]]
    for name in truth.columns:
        labels = stamps(times + pd.Timedelta(minutes=15), BERLIN, "%d.%m.%y %H:%M")
        lines += [
            [name, label, number(",", "", 4)(value / 4), "kWh"]
            for label, value in zip(labels, truth[name], strict=True)
        ]
    file = write_text(tmp_path / "zeilen.csv", lines, ";", encoding="utf-8-sig")
    assert_equal(import_files(file, "--timezone", BERLIN), truth)


def test_seconds_since_1970(tmp_path, import_files):
    """Data loggers count seconds or milliseconds in UTC."""
    times = instants("2024-05-01", "2024-05-02", "UTC", "5min")
    truth = power(times, "inverter")
    labels = [str(time.value // 10**6) for time in times]
    lines = [["timestamp", "inverter_kw"], *rows(labels, truth, number("."))]
    file = write_text(tmp_path / "logger.csv", lines, ",", newline="\n")
    assert_equal(import_files(file, "--interval", "start"), truth)


def test_iso_times_with_offsets(tmp_path, import_files):
    times = instants("2024-10-26", "2024-10-29", BERLIN, "1h")
    truth = power(times, "PV Dach")
    labels = [time.isoformat() for time in times.tz_convert(BERLIN)]
    lines = [["time", "PV Dach [W]"], *rows(labels, truth * 1000, number(".", "", 0))]
    file = write_text(tmp_path / "iso.csv", lines, ",")
    assert_equal(import_files(file, "--interval", "start"), truth)


def test_twenty_four_o_clock(tmp_path, import_files):
    """24:00 ends a day; times are at the end then."""
    times = instants("2024-06-01", "2024-06-04", WARSAW, "1h")
    truth = power(times, "Odbior")
    local = times.tz_convert(WARSAW)
    labels = [f"{time:%d-%m-%Y} {time.hour + 1:02}:00" for time in local]
    lines = [["Data i godzina", "Odbi\u00f3r [kWh]"], *rows(labels, truth, number(","))]
    file = write_text(tmp_path / "dni.csv", lines, ";")
    found = import_files(file, "--timezone", WARSAW, "--date-order", "dmy")
    assert_equal(found, truth)
