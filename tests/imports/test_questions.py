"""What a file leaves open is an error that names the option, never a guess."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys

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

from clearwatt.cli import main
from clearwatt.data.time_table import read_table

WARSAW = "Europe/Warsaw"
COMPLETE = {"timezone": "UTC", "interval": "start", "unit": "kW"}
HOURS = instants("2024-01-01", "2024-01-03", "UTC", "1h")


def options(**values: str) -> list[str]:
    return [word for key, value in values.items() for word in (f"--{key}", value)]


def write_hours(path, cells, *, header=("time", "m"), labels=None, encoding="utf-8"):
    labels = labels or stamps(HOURS, "UTC", "%Y-%m-%d %H:%M")
    lines = [list(header), *([label, *cell] for label, cell in zip(labels, cells, strict=True))]
    return write_text(path / "x.csv", lines, ";", encoding=encoding)


@pytest.mark.parametrize("missing", COMPLETE)
def test_zone_interval_and_unit_must_be_told(tmp_path, refuse_import, import_files, missing):
    file = write_hours(tmp_path, [[f"{hour}.5"] for hour in range(48)])
    told = {key: value for key, value in COMPLETE.items() if key != missing}
    error = refuse_import(file, *options(**told))
    assert "1 point is open" in error
    assert f"(--{missing})" in error
    truth = pd.DataFrame({"m": np.arange(48) + 0.5}, index=HOURS)
    assert_equal(import_files(file, *options(**COMPLETE)), truth)


@pytest.mark.parametrize(
    "header", ["Time (UTC +01:00)", "Time (UTC) +1", "Time GMT \u22125", "UTC+01:00"]
)
def test_an_offset_from_utc_in_a_header_is_not_utc(tmp_path, refuse_import, import_files, header):
    file = write_hours(tmp_path, [["1.5"]] * 48, header=(header, "m"))
    told = options(interval="start", unit="kW")
    assert "(--timezone)" in refuse_import(file, *told)
    file = write_hours(tmp_path, [["1.5"]] * 48, header=("Time (UTC)", "m"))
    assert import_files(file, *told).index[0] == HOURS[0]


@pytest.mark.parametrize(("decimal", "factor"), [("point", 1), ("comma", 1000)])
def test_three_decimals_or_thousands(tmp_path, refuse_import, import_files, decimal, factor):
    file = write_hours(tmp_path, [[f"{hour + 1}.125"] for hour in range(48)])
    assert "(--decimal)" in refuse_import(file, *options(**COMPLETE))
    found = import_files(file, *options(**COMPLETE, decimal=decimal))
    assert_equal(found, pd.DataFrame({"m": (np.arange(48) + 1.125) * factor}, index=HOURS))


@pytest.mark.parametrize("other", ["0.125", "1234.125", "7.5", "1,234.125"])
def test_one_cell_can_settle_the_decimal_mark(tmp_path, import_files, other):
    cells = [["1.125"] for _ in range(47)] + [[other]]
    found = import_files(write_hours(tmp_path, cells), *options(**COMPLETE))
    assert found["m"].tolist() == [1.125] * 47 + [float(other.replace(",", ""))]


@pytest.mark.parametrize(("order", "first"), [("dmy", "2024-02-01"), ("mdy", "2024-01-02")])
def test_the_order_of_day_and_month(tmp_path, refuse_import, import_files, order, first):
    labels = [f"01/02/2024 {hour:02}:00" for hour in range(24)]
    labels += [f"02/02/2024 {hour:02}:00" for hour in range(24)]
    file = write_hours(tmp_path, [["1.5"]] * 48, labels=labels)
    assert "(--date-order)" in refuse_import(file, *options(**COMPLETE))
    found = import_files(file, *options(**COMPLETE), "--date-order", order)
    assert found.index[0] == pd.Timestamp(first, tz="UTC")


@pytest.mark.parametrize(("encoding", "name"), [("cp1250", "Lodz"), ("cp1252", "od")])
def test_letters_that_depend_on_the_code_page(
    tmp_path, refuse_import, import_files, encoding, name
):
    file = write_hours(
        tmp_path, [["1.5"]] * 48, header=("time", "\u0141\u00f3d\u017a"), encoding="cp1250"
    )
    error = refuse_import(file, *options(**COMPLETE))
    assert "(--encoding)" in error
    found = import_files(file, *options(**COMPLETE, encoding=encoding))
    assert name in found.columns[0]


def test_one_row_per_reading_without_a_known_name_of_the_meter(
    tmp_path, refuse_import, import_files
):
    lines = [["time", "site", "sort", "value"]]
    for label in stamps(HOURS, "UTC", "%Y-%m-%d %H:%M"):
        lines += [[label, place, sort, "1.5"] for place in "ab" for sort in ("in", "out")]
    file = write_text(tmp_path / "x.csv", lines, ";")
    found = import_files(file, *options(**COMPLETE), "--name-column", "site", "sort")
    assert list(found.columns) == ["a in", "a out", "b in", "b out"]
    lines[0][1] = "sort of a place"
    file = write_text(tmp_path / "y.csv", lines, ";")
    assert "(--layout)" in refuse_import(file, *options(**COMPLETE))


def test_the_autumn_hour_that_is_there_once(tmp_path, refuse_import, import_files):
    times = instants("2024-10-26", "2024-10-29", WARSAW, "1h")
    truth = power(times, "m")
    labels = stamps(times, WARSAW, "%Y-%m-%d %H:%M")
    body = rows(labels, truth, number("."))
    second = next(at for at in range(1, len(labels)) if labels[at] == labels[at - 1])
    file = write_text(
        tmp_path / "x.csv", [["start", "m [kW]"], *body[:second], *body[second + 1 :]], ";"
    )
    error = refuse_import(file, "--timezone", WARSAW)
    assert "(--autumn)" in error
    truth.iloc[second] = np.nan
    assert_equal(import_files(file, "--timezone", WARSAW, "--autumn", "first"), truth)
    fixed = import_files(file, "--timezone", "+02:00", "--overwrite")
    assert fixed["m"].notna().all()


NEW_YORK = "America/New_York"


@pytest.mark.parametrize("zone", [NEW_YORK, "UTC", "America/Chicago"])
def test_winter_time_in_july_is_not_local_time(tmp_path, refuse_import, import_files, zone):
    labels = [f"2024-07-0{day} {hour:02}:00 EST" for day in (1, 2) for hour in range(24)]
    file = write_hours(tmp_path, [["1.5"]] * 48, header=("start", "m [kW]"), labels=labels)
    error = refuse_import(file, "--timezone", zone)
    assert f"EST is not what the clock of {zone} is called then" in error
    found = import_files(file, "--timezone=-05:00")
    assert found.index[0] == pd.Timestamp("2024-07-01 05:00", tz="UTC")


def test_names_of_both_clocks_fit_their_zone_and_no_fixed_offset(
    tmp_path, refuse_import, import_files
):
    times = instants("2024-03-09", "2024-03-12", NEW_YORK, "1h")
    labels = stamps(times, NEW_YORK, "%Y-%m-%d %H:%M %Z")
    for mark, shift in (("start", 0), ("end", 1)):
        lines = [[mark, "m [kW]"], *([label, "1.5"] for label in labels)]
        file = write_text(tmp_path / "x.csv", lines, ";")
        found = import_files(file, "--timezone", NEW_YORK, "--overwrite")
        assert found["m"].notna().all()
        assert list(found.index) == list(times - pd.Timedelta(hours=shift))
    assert "EDT is not what the clock of -05:00" in refuse_import(file, "--timezone=-05:00")


def test_a_file_without_any_reading(tmp_path, refuse_import):
    file = write_hours(tmp_path, [["n/a", "n/a"]] * 48, header=("start", "m [kW]", "o [kW]"))
    assert "no readings at all; check the files" in refuse_import(file, "--timezone", "UTC")


def test_values_in_the_hour_that_spring_skips(tmp_path, refuse_import, import_files):
    wall = pd.date_range("2024-03-30", periods=72, freq="1h")
    labels = list(wall.strftime("%Y-%m-%d %H:%M"))
    cells = [[f"{hour}.5"] for hour in range(72)]
    lines = [["start", "m [kW]"], *([a, *b] for a, b in zip(labels, cells, strict=True))]
    file = write_text(tmp_path / "x.csv", lines, ";")
    error = refuse_import(file, "--timezone", WARSAW)
    assert "row 28 (2024-03-31 02:00:00)" in error
    assert "--timezone +01:00" in error
    assert import_files(file, "--timezone", "+01:00")["m"].notna().all()
    lines[27][1] = "0"
    file = write_text(tmp_path / "y.csv", lines, ";")
    found = import_files(file, "--timezone", WARSAW, "--overwrite")
    assert len(found) == 71
    assert found["m"].notna().all()


def test_duplicates_with_other_values_and_cells_without_numbers(
    tmp_path, refuse_import, import_files
):
    labels = stamps(HOURS, "UTC", "%Y-%m-%d %H:%M")
    labels[10] = labels[9]
    cells = [[f"{hour}.5"] for hour in range(48)]
    cells[20] = ["offline"]
    file = write_hours(tmp_path, cells, labels=labels)
    error = refuse_import(file, *options(**COMPLETE))
    assert "(--duplicates)" in error
    assert "(--unreadable)" in error
    for how, value in (("first", 9.5), ("last", 10.5), ("mean", 10.0)):
        told = options(**COMPLETE, duplicates=how, unreadable="empty")
        found = import_files(file, *told, "--overwrite")["m"]
        assert found.iloc[9] == value
        assert np.isnan(found.iloc[10])
        assert np.isnan(found.iloc[20])


def test_all_faults_are_listed_with_count_file_and_first_row(tmp_path, capsys):
    labels = stamps(HOURS, "UTC", "%Y-%m-%d %H:%M")
    cells = [[f"{hour}.5", "1.5", "ok"] for hour in range(48)]
    cells[3][0] = cells[7][0] = "offline"
    labels[30] = "soon"
    del labels[12:15], cells[12:15]
    labels += ["Total"]
    cells += [["99", "99", ""]]
    header = ("time", "m [kW]", "temp [\u00b0C]", "note")
    file = write_hours(tmp_path, cells, header=header, labels=labels)
    assert main(["data", "import", str(file), *options(**COMPLETE), "--dry-run", "--json"]) == 2
    document = json.loads(capsys.readouterr().out)
    found = {
        (fault["first_row"], fault["column"], fault["count"], fault["repaired"])
        for fault in document["faults"]
    }
    assert {
        (5, "m [kW]", 2, False),
        (29, "time", 1, False),
        (47, "time", 1, True),
        (2, "temp [\u00b0C]", 1, True),
        (2, "note", 1, True),
        (None, "m", 6, True),
    } == found
    assert {fault["file"] for fault in document["faults"]} == {"x.csv"}
    assert [each["option"] for each in document["questions"]] == ["--unreadable"]
    assert document["written"] is False


def test_a_meter_named_as_a_total_is_reported_and_can_be_kept(tmp_path, import_files, capsys):
    labels = stamps(HOURS, "UTC", "%Y-%m-%d %H:%M")
    cells = [[label, name, "1.5"] for label in labels for name in ("m", "Total")]
    file = write_text(tmp_path / "x.csv", [["start", "meter", "value [kW]"], *cells], ";")
    told = ["--timezone", "UTC"]
    assert main(["data", "import", str(file), *told, "--dry-run", "--json"]) == 0
    faults = json.loads(capsys.readouterr().out)["faults"]
    found = [
        (each["column"], each["first_row"], each["first_value"], each["count"], each["repaired"])
        for each in faults
        if "named as a total; left out" in each["fault"]
    ]
    assert found == [("meter", 3, "Total", 48, True)]
    assert list(import_files(file, *told)) == ["m"]
    assert list(import_files(file, *told, "--rename", "Total=Tower", "--overwrite")) == [
        "m",
        "Tower",
    ]


def test_on_a_terminal_the_questions_are_asked(tmp_path):
    file = write_hours(tmp_path, [[f"{hour}.5"] for hour in range(48)])
    out = tmp_path / "out"
    command = [sys.executable, "-m", "clearwatt", "data", "import", str(file), "--out", str(out)]
    terminal, inside = pty.openpty()
    with subprocess.Popen(
        command, stdin=inside, stdout=inside, stderr=inside, cwd=tmp_path
    ) as process:
        os.close(inside)
        # A wrong answer is explained and asked again; answers wait in the terminal until read.
        os.write(terminal, b"Nowhere/Land\nEurope/Warsaw\nstart\nkW\n")
        shown = b""
        while chunk := _read(terminal):
            shown += chunk
    os.close(terminal)
    assert process.returncode == 0, shown.decode()
    assert b"unknown time zone 'Nowhere/Land'" in shown
    assert len(read_table(out / "power.parquet")) == 48


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # the other side is closed
        return b""
