"""Workbooks, Parquet, several files and sheets."""

from __future__ import annotations

import datetime
import re
import sys
import zipfile

import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
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

BERLIN = "Europe/Berlin"


def write_workbook(path, sheets):
    book = openpyxl.Workbook()
    book.remove(book.active)
    for title, lines in sheets.items():
        sheet = book.create_sheet(title)
        for line in lines:
            sheet.append(line)
    book.save(path)
    return path


def test_a_workbook_with_a_header_block(tmp_path, import_files):
    """Facts above the table, a row of units, dates and numbers as cells, totals below."""
    times = instants("2024-03-30", "2024-04-02", BERLIN)
    truth = power(times, "Solarpark", "Kuhlhaus")
    local = times.tz_convert(BERLIN).tz_localize(None) + pd.Timedelta(minutes=15)
    lines = [
        ["Energiebericht"],
        ["Erstellt am", datetime.datetime(2024, 4, 3, 9, 30)],
        ["Zeitraum", "30.03.2024", "01.04.2024"],
        [],
        ["Zeit bis", "Solarpark", "K\u00fchlhaus", "Au\u00dfentemperatur"],
        [None, "kWh", "kWh", "\u00b0C"],
        *(
            [time.to_pydatetime(), *map(float, values / 4), 11.5]
            for time, values in zip(local, truth.to_numpy(), strict=True)
        ),
        ["Summe", 1e5, 2e5],
    ]
    file = write_workbook(
        tmp_path / "bericht.xlsx", {"Info": [["siehe Lastgang"]], "Lastgang": lines}
    )
    assert_equal(import_files(file, "--timezone", BERLIN), truth)


def test_a_sheet_per_month_and_date_and_time_apart(tmp_path, import_files):
    times = instants("2024-01-30", "2024-02-03", BERLIN, "1h")
    truth = power(times, "Werk")
    local = times.tz_convert(BERLIN)
    sheets = {
        month: [
            ["Datum", "Uhrzeit von", "Werk [MW]"],
            *(
                [day.to_pydatetime().replace(tzinfo=None), day.time(), value / 1000]
                for day, value in zip(local, truth["Werk"], strict=True)
                if day.strftime("%b") == month
            ),
        ]
        for month in ("Jan", "Feb")
    }
    for lines in sheets.values():
        for line in lines[1:]:
            line[0] = line[0].replace(hour=0)
    file = write_workbook(tmp_path / "werk.xlsx", sheets)
    assert_equal(import_files(file, "--timezone", BERLIN), truth)


def test_a_sheet_per_meter_is_asked_for(tmp_path, import_files, refuse_import):
    times = instants("2024-05-01", "2024-05-03", "UTC", "1h")
    truth = power(times, "north", "south")
    sheets = {
        name: [["Start (UTC)", "Value [kW]"]]
        + [[f"{time:%Y-%m-%d %H:%M}", value] for time, value in truth[name].items()]
        for name in truth
    }
    file = write_workbook(tmp_path / "meters.xlsx", sheets)
    assert "--names-from" in refuse_import(file)
    assert_equal(import_files(file, "--names-from", "sheet"), truth)


def test_parquet_with_times_of_a_zone(tmp_path, import_files):
    times = instants("2024-10-26", "2024-10-29", BERLIN)
    truth = power(times, "a", "b")
    table = (truth / 1000).set_axis(times.tz_convert(BERLIN)).add_suffix(" [MW]")
    table.reset_index(names="time").to_parquet(tmp_path / "p.parquet")
    assert_equal(import_files(tmp_path / "p.parquet", "--interval", "start"), truth)


def test_parquet_in_rows_with_naive_times(tmp_path, import_files):
    times = instants("2024-10-26", "2024-10-29", BERLIN)
    truth = power(times, "a", "b")
    wall = times.tz_convert(BERLIN).tz_localize(None)
    parts = [
        pd.DataFrame({"meter": n, "start": wall, "kwh": truth[n].to_numpy() / 4}) for n in truth
    ]
    pd.concat(parts).to_parquet(tmp_path / "p.parquet", index=False)
    assert_equal(import_files(tmp_path / "p.parquet", "--timezone", BERLIN), truth)


@pytest.mark.parametrize("backend", ["numpy_nullable", "pyarrow"])
def test_parquet_of_nullable_types_with_gaps(tmp_path, import_files, backend):
    """Whole numbers, floats, texts and times that can be missing, by column and by row."""
    times = instants("2024-10-26", "2024-10-28", "UTC", "1h")
    truth = power(times, "a", "4711").round()
    truth.iloc[3, 0] = truth.iloc[5, 1] = np.nan
    wide = (truth / [1, 1000]).set_axis(["a [kW]", "4711 [MW]"], axis=1)
    wide = wide.reset_index(names="start").convert_dtypes(dtype_backend=backend)
    wide.to_parquet(tmp_path / "wide.parquet", index=False)
    assert wide["a [kW]"].dtype.kind == "i"
    assert_equal(import_files(tmp_path / "wide.parquet"), truth)
    parts = [
        pd.DataFrame({"meter": code, "start": times, "kW": truth[name], "note": [None, "x"] * 24})
        for code, name in ((7, "a"), (4711, "4711"))
    ]
    long = pd.concat(parts).convert_dtypes(dtype_backend=backend)
    long.to_parquet(tmp_path / "long.parquet", index=False)
    assert_equal(import_files(tmp_path / "long.parquet", "--overwrite", "--rename", "7=a"), truth)


def test_files_of_months_and_of_meters_that_overlap(tmp_path, import_files):
    times = instants("2024-01-25", "2024-02-10", BERLIN)
    truth = power(times, "north", "south")
    files = []
    for name in truth:
        for month, part in (("1", truth[[name]].iloc[:800]), ("2", truth[[name]].iloc[700:])):
            labels = stamps(pd.DatetimeIndex(part.index), BERLIN, "%d.%m.%Y %H:%M")
            lines = [["Beginn", f"{name} [kW]"], *rows(labels, part, number(","))]
            files.append(write_text(tmp_path / f"{name}{month}.csv", lines, ";"))
    assert_equal(import_files(*files, "--timezone", BERLIN), truth)


def test_hourly_averages_of_samples_of_a_minute(tmp_path, import_files):
    times = instants("2024-05-01", "2024-05-02", "UTC", "1min")
    values = power(times, "m")
    labels = stamps(times + pd.Timedelta(seconds=3), "UTC", "%Y-%m-%dT%H:%M:%SZ")
    lines = [["time", "m [kW]"], *rows(labels, values, number("."))]
    file = write_text(tmp_path / "m.csv", lines, ",")
    found = import_files(file, "--interval", "start", "--step", "60")
    assert_equal(found, values.resample("1h").mean())


def test_hours_among_quarter_hours(tmp_path, import_files, refuse_import):
    """Energy of an hour is divided by an hour, although the other column has quarter-hours."""
    times = instants("2024-05-01", "2024-05-03", "UTC")
    values = power(times, "quarter", "hour")
    hourly = values["hour"].resample("1h").first()
    cells = pd.DataFrame({"quarter": values["quarter"] / 4, "hour": hourly}, index=times)
    labels = stamps(times, "UTC", "%Y-%m-%d %H:%M")
    lines = [["start UTC", "quarter [kWh]", "hour [kWh]"], *rows(labels, cells, number(",", "", 4))]
    file = write_text(tmp_path / "m.csv", lines, ";")
    assert "give --step 60" in refuse_import(file)
    truth = values[["quarter"]].resample("1h").mean().assign(hour=hourly)
    assert_equal(import_files(file, "--step", "60"), truth)


def test_a_wrong_year_is_no_gap(tmp_path, refuse_import):
    lines = [["start UTC", "m [kW]"]]
    lines += [[f"{year}-01-01 0{hour}:00", "1.5"] for year in (2024, 2042) for hour in range(5)]
    assert "check the years" in refuse_import(write_text(tmp_path / "m.csv", lines, ";"))


def test_consumption_and_feed_in_of_one_meter(tmp_path, import_files):
    lines = [["start UTC", "4711 A+ [kW]", "4711 A- [kW]"]]
    lines += [[f"2024-01-01 0{hour}:00", f"{hour}.5", f"{9 - hour}.5"] for hour in range(2)]
    found = import_files(write_text(tmp_path / "m.csv", lines, ";"))
    assert found.to_dict("list") == {"4711 A plus": [0.5, 1.5], "4711 A minus": [9.5, 8.5]}


def test_a_reading_without_its_meter_is_a_fault(tmp_path, refuse_import):
    lines = [["tag", "start UTC", "value", "unit"]]
    lines += [["m", f"2024-01-01 0{hour}:00", "1.5", "kW"] for hour in range(9)]
    lines[5][0] = ""
    error = refuse_import(write_text(tmp_path / "m.csv", lines, ";"))
    assert "row 6" in error
    assert "without the name of its meter" in error


def test_the_status_of_a_single_meter(tmp_path, import_files):
    lines = [["start UTC", "value", "unit", "status"]]
    lines += [[f"2024-01-01 0{hour}:00", f"{hour}.5", "MW", "ok"] for hour in range(4)]
    lines[3][3] = "invalid"
    found = import_files(write_text(tmp_path / "m.csv", lines, ";"))
    np.testing.assert_array_equal(found["value"], [500, 1500, np.nan, 3500])


def test_a_file_without_a_table_is_refused(tmp_path, refuse_import):
    (tmp_path / "notes.csv").write_text("hello\nthere is nothing here\n")
    assert "no rows of times and numbers" in refuse_import(tmp_path / "notes.csv")
    assert "is not a file" in refuse_import(tmp_path / "absent.csv")
    (tmp_path / "old.xls").write_bytes(b"")
    assert "save it as .xlsx" in refuse_import(tmp_path / "old.xls")


def test_a_quotation_mark_without_end(tmp_path, refuse_import):
    lines = [["start UTC", "m [kW]"], *([f"2024-01-01 0{hour}:00", "1.5"] for hour in range(9))]
    lines[8][1] = '"1.5'
    file = write_text(tmp_path / "m.csv", lines, ";")
    assert "m.csv" in refuse_import(file)


@pytest.mark.parametrize("suffix", ["xlsx", "parquet"])
def test_a_damaged_file_is_refused(tmp_path, refuse_import, suffix):
    (tmp_path / f"x.{suffix}").write_bytes(b"not this")
    assert "not a readable" in refuse_import(tmp_path / f"x.{suffix}")


def test_a_cell_far_away_is_refused_at_once(tmp_path, refuse_import):
    """A few kilobytes that stand for 17 billion cells."""
    lines = [["start UTC", "m [kW]"], *([f"2024-01-01 0{hour}:00", 1.5] for hour in range(9))]
    file = write_workbook(tmp_path / "x.xlsx", {"a": lines})
    far = tmp_path / "far.xlsx"
    cell = b'<row r="1048576"><c r="XFD1048576"><v>1</v></c></row></sheetData>'
    with zipfile.ZipFile(file) as source, zipfile.ZipFile(far, "w") as target:
        for name in source.namelist():
            part = source.read(name)
            if name == "xl/worksheets/sheet1.xml":
                part = part.replace(b"</sheetData>", cell)
                part = re.sub(rb'ref="A1:[^"]*"', b'ref="A1:XFD1048576"', part)
            target.writestr(name, part)
    error = refuse_import(far)
    assert "1048576 rows x 16384 columns" in error
    assert "split the file" in error


def test_a_workbook_is_measured_before_it_is_unpacked(tmp_path, refuse_import):
    file = write_workbook(tmp_path / "x.xlsx", {"a": [["x"]]})
    with zipfile.ZipFile(file, "a", zipfile.ZIP_DEFLATED) as book, book.open("b", "w") as part:
        for _ in range(51):
            part.write(bytes(10_000_000))
    assert file.stat().st_size < 1_000_000
    assert "MB unpacked" in refuse_import(file)


def test_parquet_is_measured_before_it_is_read(tmp_path, refuse_import):
    file = tmp_path / "x.parquet"
    flags = np.zeros(10_000_001, np.bool_)
    pd.DataFrame({"a": flags, "b": flags}).to_parquet(file, index=False)
    assert "10000001 rows x 2 columns" in refuse_import(file)


@pytest.mark.parametrize("encoding", ["dictionary", "DELTA_BYTE_ARRAY"])
def test_text_of_parquet_is_measured_before_it_is_decoded(
    tmp_path, refuse_import, monkeypatch, encoding
):
    """A text of 100 kB in 500 rows, which is in the file about once."""
    for module in ("sizes", "parquet_files"):
        monkeypatch.setattr(f"clearwatt.imports.{module}.MOST_DECODED", 20_000_000)
    file, shared = tmp_path / "x.parquet", encoding == "dictionary"
    columns = {"note": pa.array(["x" * 100_000] * 500), "start": pa.array(range(500))}
    coded = None if shared else {"note": encoding}
    use = ["note"] if shared else False
    pq.write_table(pa.table(columns), file, use_dictionary=use, column_encoding=coded)
    assert file.stat().st_size < 200_000
    assert "x.parquet has more than 20 MB once decoded; split the file" in refuse_import(file)


def test_one_very_long_line_is_refused_at_once(tmp_path, refuse_import):
    lines = [["start UTC", "m [kW]"], *([f"2024-01-01 0{hour}:00", "1.5"] for hour in range(9))]
    lines += [["2024-01-02 00:00", "1.5"]] * 300
    lines.insert(12, ["2024-01-01 09:00", *["0"] * 100_000])
    error = refuse_import(write_text(tmp_path / "m.csv", lines, ";"))
    assert "m.csv has 100001 cells in line 13, most lines have 2" in error
    assert "more than 20000000" in error


def test_a_very_long_cell_is_only_text(tmp_path, import_files):
    lines = [["start UTC", "m [kW]", "note"]]
    lines += [[f"2024-01-01 0{hour}:00", "1.5", "x" * 200_000 * (hour == 3)] for hour in range(9)]
    found = import_files(write_text(tmp_path / "m.csv", lines, ";"))
    assert found.to_dict("list") == {"m": [1.5] * 9}


def test_without_openpyxl_the_message_names_the_extra(tmp_path, refuse_import, monkeypatch):
    file = write_workbook(tmp_path / "x.xlsx", {"a": [["x"]]})
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    assert "clearwatt[excel]" in refuse_import(file)


def test_values_are_left_as_they_are(tmp_path, import_files):
    """Negative values, exponents and words for no reading."""
    times = instants("2024-05-01", "2024-05-01T08:00", "UTC", "1h")
    cells = ["-12.5", "1.5e2", "n/a", "-", "+3.25", "7", "", "0"]
    lines = [
        ["Start UTC", "m [kW]"],
        *zip(stamps(times, "UTC", "%Y-%m-%d %H:%M"), cells, strict=True),
    ]
    found = import_files(write_text(tmp_path / "m.csv", lines, ","))
    truth = [-12.5, 150, np.nan, np.nan, 3.25, 7, np.nan, 0]
    assert_equal(found, pd.DataFrame({"m": truth}, index=times))
