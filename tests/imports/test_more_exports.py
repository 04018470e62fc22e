"""Exports of further countries and habits, each imported by one command to the truth."""

from __future__ import annotations

import gzip
import zipfile

import openpyxl
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

PRAGUE, MADRID, ROME, BERLIN, NEW_YORK = (
    *("Europe/Prague", "Europe/Madrid", "Europe/Rome", "Europe/Berlin", "America/New_York"),
)
QUARTER = pd.Timedelta(minutes=15)


def test_czech_code_page_blanks_as_thousands_and_a_total(tmp_path, import_files):
    times = instants("2024-03-30", "2024-04-02", PRAGUE)
    truth = power(times, "Odber Brno", "Elektrarna Zlin")
    labels = stamps(times, PRAGUE, "%d.%m.%Y %H:%M")
    header = [
        "Datum a \u010das od",
        "Odb\u011br Brno [kWh]",
        "Elektr\u00e1rna Zl\u00edn [kWh]",
    ]
    lines = [header, *rows(labels, truth / 4, number(",", " ", 4)), ["Celkem", "1 234,5", "3,0"]]
    file = write_text(tmp_path / "m.csv", lines, ";", encoding="cp1250")
    assert_equal(import_files(file, "--timezone", PRAGUE, "--encoding", "cp1250"), truth)


def test_czech_dates_with_blanks_and_ends_over_the_autumn_change(tmp_path, import_files):
    times = instants("2024-10-26", "2024-10-29", PRAGUE)
    truth = power(times, "Odber")
    ends = stamps(times + QUARTER, PRAGUE, "%d. %m. %Y;%H:%M")
    lines = [["Datum", "\u010cas do", "Odb\u011br (kW)"]]
    lines += [[*row[0].split(";"), row[1]] for row in rows(ends, truth, number(","))]
    file = write_text(tmp_path / "m.csv", lines, ";")
    assert_equal(import_files(file, "--timezone", PRAGUE), truth)


@pytest.mark.parametrize("start", ["2024-10-26", "2024-03-30"])
def test_spanish_hours_counted_to_25_and_to_23(tmp_path, import_files, start):
    """The format of the distributors: a meter, a date, the number of the hour, kWh, a method."""
    times = instants(start, str(pd.Timestamp(start) + pd.Timedelta(days=3)), MADRID, "1h")
    truth = power(times, "ES0021000000000001AB")
    local = times.tz_convert(MADRID)
    hours = pd.Series(1, index=local).groupby(local.date).cumsum()
    lines = [["CUPS", "Fecha", "Hora", "Consumo_kWh", "Metodo_obtencion"]]
    lines += [
        ["ES0021000000000001AB", f"{time:%d/%m/%Y}", str(hour), number(",", "", 3)(value), "R"]
        for time, hour, value in zip(local, hours, truth.iloc[:, 0], strict=True)
    ]
    file = write_text(tmp_path / "m.csv", lines, ";")
    assert_equal(import_files(file, "--timezone", MADRID), truth)


@pytest.mark.parametrize(
    ("form", "january", "february"),
    [("%d-%b-%Y %H:%M", "ene", "feb"), ("%d %b %Y %H:%M", "stycznia", "lutego"),
     ("%b %d, %Y %I:%M %p", "January", "Feb.")],
)  # fmt: skip
def test_names_of_months(tmp_path, import_files, form, january, february):
    times = instants("2024-01-25", "2024-02-10", MADRID, "1h")
    truth = power(times, "Norte", "Sur")
    labels = [
        label.replace("Jan", january).replace("Feb", february)
        for label in stamps(times, MADRID, form)
    ]
    lines = [["Fecha inicio", "Norte (MW)", "Sur (MW)"]]
    lines += rows(labels, truth / 1000, number(",", ".", 5))
    lines += [["Total", "99,0", "1,0"], ["Promedio", "99,0", "1,0"]]
    file = write_text(tmp_path / "m.csv", lines, ";")
    assert_equal(import_files(file, "--timezone", MADRID), truth)


def test_italian_date_and_hour_apart_with_a_row_of_units(tmp_path, import_files):
    times = instants("2024-03-29", "2024-04-02", ROME)
    truth = power(times, "Stabilimento", "Impianto FV")
    ends = stamps(times + QUARTER, ROME, "%d/%m/%Y %H:%M")
    lines = [
        ["Curva di carico"],
        ["POD", "IT001E00000001"],
        [],
        ["Data", "Ora fine", "Stabilimento", "Impianto FV"],
        ["", "", "kWh", "kWh"],
    ]
    body = rows(ends, truth / 4, number(",", ".", 4))
    lines += [[*row[0].split(" "), *row[1:]] for row in body]
    lines += [["Totale", "", "12.345,00", "3,00"]]
    file = write_text(tmp_path / "m.csv", lines, ";", encoding="cp1252")
    assert_equal(import_files(file, "--timezone", ROME), truth)


def test_a_merged_header_over_sheets_of_months_with_footers(tmp_path, import_files):
    times = instants("2024-01-30", "2024-02-03", BERLIN, "1h")
    truth = power(times, "Halle 1", "Halle 2")
    book = openpyxl.Workbook()
    book.remove(book.active)
    local = times.tz_convert(BERLIN)
    for month, title in ((1, "Januar"), (2, "Februar")):
        sheet = book.create_sheet(title)
        lines = [[f"Bericht {title}"], [], ["Zeit von", "Leistung", None]]
        lines += [[None, "Halle 1 [kW]", "Halle 2 [kW]"]]
        lines += [
            [time.tz_localize(None).to_pydatetime(), *map(float, values)]
            for time, values in zip(local, truth.to_numpy(), strict=True)
            if time.month == month
        ]
        for line in [*lines, ["Mittelwert", 1.0, 2.0], ["Erstellt: 01.04.2024"]]:
            sheet.append(line)
        for cells in ("A1:C1", "A3:A4", "B3:C3"):
            sheet.merge_cells(cells)
    book.save(tmp_path / "m.xlsx")
    assert_equal(import_files(tmp_path / "m.xlsx", "--timezone", BERLIN), truth)


def test_notes_and_extremes_below_a_table(tmp_path, import_files):
    times = instants("2024-05-01", "2024-05-08", NEW_YORK, "1h")
    truth = power(times, "m")
    lines = [["Report: Load"], ["Generated", "05/09/2024 10:00"], ["Interval Beginning", "m (MW)"]]
    labels = stamps(times, NEW_YORK, "%Y/%m/%d %H:%M")
    lines += rows(labels, truth / 1000, number(".", "", 5))
    lines += [[], ["* Preliminary values"], ["Average", "1.2"], ["Peak", "3.4", "on 05/07/2024"]]
    file = write_text(tmp_path / "m.csv", lines, ",")
    assert_equal(import_files(file, "--timezone", NEW_YORK), truth)


def test_days_of_iso_weeks(tmp_path, import_files):
    times = instants("2024-12-28", "2025-01-04", "UTC", "1h")
    truth = power(times, "m")
    labels = [f"{time:%G-W%V-%uT%H:%M}Z" for time in times]
    file = write_text(
        tmp_path / "m.csv", [["start", "m [kW]"], *rows(labels, truth, number("."))], ","
    )
    assert_equal(import_files(file, "--interval", "start"), truth)


@pytest.fixture
def packed_months(tmp_path):
    """Two months as files, and what is in them."""
    times = instants("2024-04-25", "2024-05-04", "UTC", "1h")
    truth = power(times, "m")
    files = []
    for month in (4, 5):
        part = truth[truth.index.month == month]
        labels = stamps(pd.DatetimeIndex(part.index), "UTC", "%Y-%m-%d %H:%M")
        lines = [["start UTC", "m [kW]"], *rows(labels, part, number("."))]
        files.append(write_text(tmp_path / f"{month}.csv", lines, ","))
    return truth, files


def test_packed_files(tmp_path, import_files, packed_months):
    truth, files = packed_months
    archive = tmp_path / "m.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as made:
        for file in files:
            made.write(file, f"export {file.stem}/m.csv")  # of one name
        made.writestr("__MACOSX/._m.csv", b"\0")
    assert_equal(import_files(archive), truth)
    single = tmp_path / "4.csv.gz"
    single.write_bytes(gzip.compress(files[0].read_bytes()))
    found = import_files(single, "--overwrite")
    assert_equal(found, truth[truth.index.month == 4])


def test_packed_files_that_are_too_large_or_damaged(
    tmp_path, refuse_import, packed_months, monkeypatch
):
    _, (file, _) = packed_months
    content = gzip.compress(file.read_bytes())
    whole, cut = tmp_path / "whole.csv.gz", tmp_path / "cut.csv.gz"
    whole.write_bytes(content)
    cut.write_bytes(content[: len(content) // 2])
    assert "it is damaged; get it again, or unpack it yourself" in refuse_import(cut)
    monkeypatch.setattr("clearwatt.imports.sizes.MOST_DECODED", 1_000)
    assert "whole.csv.gz has more than" in refuse_import(whole)


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_damaged_file_of_an_archive(tmp_path, refuse_import, packed_months, method):
    _, (file, _) = packed_months
    archive = tmp_path / "m.zip"
    with zipfile.ZipFile(archive, "w", method) as made:
        made.write(file, "m.csv")
    content = bytearray(archive.read_bytes())
    for at in (39, 50, len(content) // 2):
        harmed = content.copy()
        harmed[at : at + 4] = bytes(255 - byte for byte in content[at : at + 4])
        archive.write_bytes(harmed)
        assert "m.zip cannot be unpacked, it is damaged; get it again" in refuse_import(archive)


def test_an_archive_of_very_many_files_is_refused_before_it_is_unpacked(tmp_path, refuse_import):
    archive = tmp_path / "m.zip"
    with zipfile.ZipFile(archive, "w") as made:
        for number in range(10_001):
            made.writestr(f"{number}/", b"")
    error = refuse_import(archive)
    assert "m.zip has 10001 files and folders in it, more than 10000; unpack it yourself" in error


@pytest.mark.parametrize("cell", [b";", b"\n", b" "])
def test_text_that_is_all_cells_once_unpacked(tmp_path, refuse_import, packed_months, cell):
    """A few kilobytes that stand for 21 million cells, in two files."""
    _, (file, _) = packed_months
    archive = tmp_path / "m.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as made:
        made.write(file, "a.csv")
        for name in ("b.csv", "c.csv"):
            made.writestr(name, cell * 10_500_000)
    assert archive.stat().st_size < 100_000
    assert "m.zip has more than 20000000 cells of text; unpack it" in refuse_import(archive)


def test_dates_as_numbers_of_excel_are_explained(tmp_path, refuse_import):
    lines = [["start UTC", "m [kW]"], *([f"45321,{hour}25", "1,5"] for hour in range(1, 9))]
    file = write_text(tmp_path / "m.csv", lines, ";")
    assert "such as 45321,125, which may be Excel's dates" in refuse_import(file)
    book = openpyxl.Workbook()
    book.active.append(["start UTC", "m [kW]"])
    for hour in range(9):
        book.active.append([45321 + hour / 24, 1.5])
    book.save(tmp_path / "m.xlsx")
    assert "format their column as date and time" in refuse_import(tmp_path / "m.xlsx")


@pytest.mark.parametrize("zone", ["UTC", BERLIN])
def test_ranges_of_times_in_one_cell(tmp_path, import_files, zone):
    """As the transparency platform of the European grid operators writes them."""
    times = instants("2024-10-26", "2024-10-29", BERLIN)
    truth = power(times, "Actual Total Load - BZN_DE-LU")
    first, last = (stamps(each, zone, "%d.%m.%Y %H:%M") for each in (times, times + QUARTER))
    title = "MTU (UTC)" if zone == "UTC" else "MTU (CET/CEST)"
    lines = [[title, '"Actual Total Load [MW] - BZN|DE-LU"']]
    lines += [
        [f'"{start} - {end}"', f'"{value / 1000:.5f}"']
        for start, end, value in zip(first, last, truth.iloc[:, 0], strict=True)
    ]
    told = () if zone == "UTC" else ("--timezone", zone)
    assert_equal(import_files(write_text(tmp_path / "m.csv", lines, ","), *told), truth)


def test_a_header_within_joined_files(tmp_path, import_files):
    times = instants("2024-05-01", "2024-05-03", "UTC")
    truth = power(times, "m")
    body = rows(stamps(times, "UTC", "%Y-%m-%d %H:%M"), truth, number(","))
    header = ["Start UTC", "m [kW]"]
    lines = [header, *body[:96], header, *body[96:]]
    assert_equal(import_files(write_text(tmp_path / "m.csv", lines, ";")), truth)


def test_states_of_home_automation(tmp_path, import_files):
    """The values are in a column called state; the times are those of changes."""
    times = instants("2024-05-01", "2024-05-02", "UTC", "1min")
    truth = power(times, "sensor.pv_power").round(1)
    lines = [["entity_id", "state", "last_changed"]]
    lines += [
        ["sensor.pv_power", f"{value:.1f}", f"{time:%Y-%m-%dT%H:%M}:{at % 60:02}.123Z"]
        for at, (time, value) in enumerate(truth.iloc[:, 0].items())
    ]
    lines[50][1] = "unavailable"
    told = ("--unit", "kW", "--interval", "start", "--step", "15", "--unreadable", "empty")
    found = import_files(write_text(tmp_path / "m.csv", lines, ","), *told)
    truth.iloc[49] = float("nan")
    assert_equal(found, truth.resample("15min").mean())


def test_a_column_that_tells_rows_of_a_meter_apart_is_asked_about(
    tmp_path, import_files, refuse_import
):
    times = instants("2024-05-01", "2024-05-03", "UTC", "1h")
    truth = power(times, "4711 Bezug", "4711 Lieferung")
    lines = [["Z\u00e4hler", "Richtung", "Start UTC", "kWh"]]
    lines += [
        ["4711", name.split()[1], f"{time:%Y-%m-%d %H:%M}", number(",")(value)]
        for name in truth
        for time, value in truth[name].items()
    ]
    file = write_text(tmp_path / "m.csv", lines, ";")
    assert "--name-column 'Z\u00e4hler' 'Richtung'" in refuse_import(file)
    assert_equal(import_files(file, "--name-column", "Z\u00e4hler", "Richtung"), truth)


@pytest.mark.parametrize("mark", ["/", "-"])
def test_dates_that_excel_has_swapped_are_refused(mark, tmp_path, refuse_import, import_files):
    """Opened with an American Excel: 01/02 became 2 January, 13/02 stayed text."""
    times = instants("2024-02-10", "2024-02-15", "UTC", "1h")
    truth = power(times, "m")
    for swapped in (True, False):
        book = openpyxl.Workbook()
        book.active.append(["Start UTC", "m [kW]"])
        for time, value in truth["m"].items():
            wall = time.tz_localize(None).to_pydatetime()
            date = wall.replace(month=wall.day, day=wall.month) if wall.day <= 12 else None
            cell = date or f"{wall:%d/%m/%Y %H:%M}".replace("/", mark)
            if not swapped:  # text and dates, but for another reason
                cell = wall if wall.hour % 2 else f"{wall:%d.%m.%Y %H:%M}"
            book.active.append([cell, value])
        book.save(tmp_path / "m.xlsx")
        if swapped:
            assert "day and month swapped" in refuse_import(tmp_path / "m.xlsx")
        else:
            assert_equal(import_files(tmp_path / "m.xlsx"), truth)


def test_a_second_header_is_no_row_of_totals(tmp_path, refuse_import):
    """Its columns are in another order; left out as totals, the meters would be exchanged."""
    times = stamps(instants("2024-02-10", "2024-02-12", "UTC", "1h"), "UTC", "%Y-%m-%d %H:%M")
    first, second = times[:24], times[24:]
    lines = [["Start UTC", "Peak plant [kW]", "Cold store [kW]"]]
    lines += [[time, "1.5", "20.5"] for time in first]
    lines += [["Start UTC", "Cold store [kW]", "Peak plant [kW]"]]
    lines += [[time, "20.5", "1.5"] for time in second]
    file = tmp_path / "m.csv"
    file.write_text("\n".join(";".join(line) for line in lines), encoding="utf-8")
    assert "no time can be read here" in refuse_import(file)
