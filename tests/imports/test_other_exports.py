"""Exports of Portugal, Sweden, Hungary and the United States, of OPC historians, and of Excel."""

from __future__ import annotations

import json

import numpy as np
import openpyxl
import pandas as pd
import pytest
from tests.imports.exports import assert_equal, instants, number, power, stamps, write_text

from clearwatt.cli import main
from clearwatt.data.folder_check import read_entities
from clearwatt.data.schema import Kind

QUARTER, HOUR = pd.Timedelta(minutes=15), pd.Timedelta(hours=1)
CHANGES = pytest.mark.parametrize("start", ["2024-03-30", "2024-10-26"])


def days_from(start: str, zone: str, step: str = "15min") -> pd.DatetimeIndex:
    """Three days, with the change of the clock in the second."""
    return instants(start, str(pd.Timestamp(start) + pd.Timedelta(days=3))[:10], zone, step)


@CHANGES
def test_portuguese_date_and_hour_apart_with_consumption_and_feed_in(tmp_path, import_files, start):
    zone = "Europe/Lisbon"
    times = days_from(start, zone)
    truth = power(times, "Consumo registado_ Ativa", "Injecao na rede_ Ativa")
    days, hours = (stamps(times + QUARTER, zone, form) for form in ("%Y/%m/%d", "%H:%M"))
    write = number(",")
    lines = [["Local de consumo: PT0002000012345678XY"], ["Período: três dias"], []]
    lines += [["Data", "Hora", "Consumo registado, Ativa (kW)", "Injeção na rede, Ativa (kW)"]]
    lines += [
        [day, hour, write(consumed), write(fed_in)]
        for day, hour, (consumed, fed_in) in zip(days, hours, truth.to_numpy(), strict=True)
    ]
    file = write_text(tmp_path / "consumos.csv", lines, ";", encoding="utf-8-sig")
    assert_equal(import_files(file, "--timezone", zone), truth)
    entities = read_entities(tmp_path / "out" / "entities.csv")
    assert [each.kind for each in entities] == [Kind.CONSUMER, Kind.GENERATOR]


@CHANGES
def test_swedish_start_and_end_with_a_total(tmp_path, import_files, start):
    zone = "Europe/Stockholm"
    times = days_from(start, zone, "1h")
    truth = power(times, "Forbrukning")
    begins, ends = (stamps(each, zone, "%Y-%m-%d %H:%M") for each in (times, times + HOUR))
    cells = map(number(","), truth["Forbrukning"])
    lines = [["Anläggnings-id", "735999100000000001"], []]
    lines += [["Från", "Till", "Förbrukning (kWh)", "Kvalitet"]]
    lines += [[*each, "Uppmätt"] for each in zip(begins, ends, cells, strict=True)]
    lines += [["Summa", "", "99999,99", ""]]
    file = write_text(tmp_path / "timmar.csv", lines, ";", encoding="cp1252")
    assert_equal(import_files(file, "--timezone", zone, "--encoding", "cp1252"), truth)


@CHANGES
@pytest.mark.parametrize("form", ["%Y.%m.%d. %H:%M", "%Y. %m. %d. %H:%M"])
def test_hungarian_dates_with_dots(tmp_path, import_files, start, form):
    zone = "Europe/Budapest"
    times = days_from(start, zone)
    truth = power(times, "Ertek")
    ends = stamps(times + QUARTER, zone, form)
    cells = map(number(",", digits=4), truth["Ertek"] / 4)
    lines = [["POD azonosító", "HU000120F11-S000000000000001234567"]]
    lines += [["Időpont vége", "Érték", "Mértékegység", "Státusz"]]
    lines += [[*each, "kWh", "Mért"] for each in zip(ends, cells, strict=True)]
    file = write_text(tmp_path / "mert.csv", lines, ";", encoding="cp1250")
    assert_equal(import_files(file, "--timezone", zone, "--encoding", "cp1250"), truth)


@pytest.mark.parametrize("start", ["2024-03-09", "2024-11-02"])
def test_a_green_button_file(tmp_path, import_files, start):
    """An interval ends a minute before the next begins, and costs are in dollars."""
    zone = "America/Los_Angeles"
    times = days_from(start, zone)
    truth = power(times, "IMPORT", "EXPORT")
    days, begins = (stamps(times, zone, form) for form in ("%Y-%m-%d", "%H:%M"))
    ends = stamps(times + pd.Timedelta(minutes=14), zone, "%H:%M")
    lines = [["Name", "JANE DOE"], ["Address", '"1 MAIN ST, FRESNO CA 93701"']]
    lines += [["Account Number", "1234567890"], ["Service", "Service 1"], []]
    titles = "TYPE,DATE,START TIME,END TIME,IMPORT (kWh),EXPORT (kWh),COST,NOTES"
    lines += [titles.split(",")]
    lines += [
        ["Electric usage", *label, f"{used / 4:.4f}", f"{fed_in / 4:.4f}", "$1.25", ""]
        for label, (used, fed_in) in zip(
            zip(days, begins, ends, strict=True), truth.to_numpy(), strict=True
        )
    ]
    file = write_text(tmp_path / "usage.csv", lines, ",", newline="\n")
    assert_equal(import_files(file, "--timezone", zone), truth)
    entities = read_entities(tmp_path / "out" / "entities.csv")
    assert [each.kind for each in entities] == [Kind.CONSUMER, Kind.GENERATOR]


def historian(path, statuses):
    """A file in rows of two turbines, each with these statuses in turn, and its readings."""
    times = instants("2024-05-01", "2024-05-02", "UTC", "5min")
    truth = power(times, "WTG01", "WTG02")
    codes = np.resize(np.array(statuses, dtype=object), len(times))
    codes[-1] = codes[0]  # rows without any reading at the end would be left out
    labels = stamps(times, "UTC", "%d-%b-%y %H:%M:%S")
    lines = [["TagName", "Start (UTC)", "Value [kW]", "Quality"]]
    for name in truth:
        cells = map(number("."), truth[name])
        lines += [
            [name, *map(str, each)] for each in zip(labels, cells, map(str, codes), strict=True)
        ]
    return write_text(path, lines, ","), truth, codes


def test_qualities_of_opc(tmp_path, import_files, capsys):
    """0 and 24 are bad, 64 is uncertain, 192 and 216 are good."""
    file, truth, codes = historian(tmp_path / "h.csv", [*[192] * 8, 0, 64, 24, 216])
    truth[np.isin(codes, [0, 24])] = np.nan
    assert_equal(import_files(file), truth)
    assert main(["data", "import", str(file), "--dry-run", "--json"]) == 0
    faults = json.loads(capsys.readouterr().out)["faults"]
    assert [
        (each["count"], each["first_value"]) for each in faults if each["column"] == "Quality"
    ] == [
        (96, "0"),
        (48, "64"),
    ]
    kinds = {each.kind for each in read_entities(tmp_path / "out" / "entities.csv")}
    assert kinds == {Kind.GENERATOR}


def test_status_codes_that_mean_anything_are_asked_about(tmp_path, import_files, refuse_import):
    file, truth, codes = historian(tmp_path / "h.csv", [0, 0, 1, 2])
    assert "nothing says which numbers mark a wrong value (--bad-status)" in refuse_import(file)
    assert_equal(import_files(file, "--bad-status", "none"), truth)
    truth[np.isin(codes, [1, 2])] = np.nan
    recipe = tmp_path / "recipe.toml"
    told = ("--bad-status", "1", "2", "--save-recipe", recipe)
    assert_equal(import_files(file, "--overwrite", *told), truth)
    assert_equal(import_files(file, "--overwrite", "--recipe", recipe), truth)


def test_a_status_that_is_not_known_is_reported_and_can_be_left_out(tmp_path, import_files, capsys):
    file, truth, codes = historian(tmp_path / "h.csv", ["Good", "Good", "Questionable"])
    assert_equal(import_files(file), truth)
    assert main(["data", "import", str(file), "--dry-run", "--json"]) == 0
    (fault,) = json.loads(capsys.readouterr().out)["faults"]
    assert (fault["count"], fault["first_value"]) == (190, "Questionable")
    assert "a status that is not known; the reading is used" in fault["fault"]
    truth[codes == "Questionable"] = np.nan
    assert_equal(import_files(file, "--overwrite", "--bad-status", "questionable"), truth)


@CHANGES
def test_a_workbook_with_two_rows_of_headers_and_one_of_units(tmp_path, import_files, start):
    """Transformers above, quantities below, and in the row of units the end that a time marks."""
    zone = "Europe/Vienna"
    times = days_from(start, zone)
    truth = power(times, "Trafo 1 Wirkleistung", "Trafo 2 Wirkleistung")
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.append(["Umspannwerk Nord"])
    sheet.append([])
    sheet.append(["Zeitstempel", "Trafo 1", None, "Trafo 2", None])
    sheet.append([None, *["Wirkleistung", "Blindleistung"] * 2])
    sheet.append(["(Beginn)", *["MW", "Mvar"] * 2])
    sheet.merge_cells("B3:C3")
    sheet.merge_cells("D3:E3")
    local = times.tz_convert(zone).tz_localize(None)
    for time, (first, second) in zip(local, truth.to_numpy() / 1000, strict=True):
        sheet.append([time.to_pydatetime(), first, first / 5, second, second / 5])
    book.save(tmp_path / "umspannwerk.xlsx")
    assert_equal(import_files(tmp_path / "umspannwerk.xlsx", "--timezone", zone), truth)


def test_a_meter_that_is_always_zero_is_reported(tmp_path, capsys):
    times = instants("2024-05-01", "2024-05-04", "UTC", "1h")
    labels = stamps(times, "UTC", "%Y-%m-%d %H:%M")
    lines = [["start UTC", "a [kW]", "b [kW]"], *([label, "1.5", "0"] for label in labels)]
    file = write_text(tmp_path / "m.csv", lines, ",")
    assert main(["data", "import", str(file), "--dry-run", "--json"]) == 0
    (fault,) = json.loads(capsys.readouterr().out)["faults"]
    assert fault["column"] == "b"
    assert fault["fault"].startswith("power is always 0; if it is no meter of yours")


def test_a_file_of_unknown_dates_shows_a_line_of_it(tmp_path, refuse_import):
    lines = [["tid", "m [kW]"], *([f"den {day} i femte", "1,5"] for day in range(1, 9))]
    error = refuse_import(write_text(tmp_path / "m.csv", lines, ";"))
    assert "no rows of times and numbers are found, in lines such as 'den 8 i femte;1,5'" in error
