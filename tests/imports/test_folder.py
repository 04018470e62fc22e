"""The folder of an import: what a person corrected stays, and it is a data set at once."""

from __future__ import annotations

import json
import tomllib

import numpy as np
import pandas as pd
import pytest
from tests.imports.exports import assert_equal, instants, number, power, rows, stamps, write_text

from clearwatt.cli import main
from clearwatt.data import Kind, load_dataset
from clearwatt.data.folder_check import read_entities

WARSAW = "Europe/Warsaw"
TIMES = instants("2024-06-01", "2024-06-05", WARSAW)
TRUTH = power(TIMES, "Huta", "PV Sad")


def write_export(path, truth=TRUTH, unit="kW"):
    labels = stamps(pd.DatetimeIndex(truth.index), WARSAW, "%Y-%m-%d %H:%M")
    header = ["Czas od", *(f"{name} [{unit}]" if unit else name for name in truth)]
    return write_text(path, [header, *rows(labels, truth, number(","))], ";")


def write_weather(path, zone="krakow"):
    hours = pd.date_range(TIMES[0], TIMES[-1] + pd.Timedelta(days=30), freq="1h", name="time")
    table = pd.DataFrame({f"{zone}__temperature_c": np.arange(len(hours)) % 17.0}, index=hours)
    table.index = table.index.map(lambda time: time.isoformat())
    table.to_csv(path)
    return path


def test_with_weather_it_is_a_data_set_at_once(tmp_path, import_files, capsys):
    weather = write_weather(tmp_path / "weather.csv")
    import_files(write_export(tmp_path / "x.csv"), "--timezone", WARSAW, "--weather", weather)
    assert main(["data", "check", str(tmp_path / "out"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["zones"] == 1
    data = load_dataset(tmp_path / "out")
    assert (data.timezone, data.unit) == (WARSAW, "kW")
    assert {entity.zone for entity in data.entities} == {"krakow"}
    np.testing.assert_allclose(data.power.to_numpy(), TRUTH.to_numpy(), rtol=1e-6)
    again = load_dataset(data.save(tmp_path / "copy"))
    assert again.equals(data)


def test_without_weather_it_says_what_is_missing(tmp_path, capsys):
    file, out = write_export(tmp_path / "x.csv"), tmp_path / "out"
    assert main(["data", "import", str(file), "--timezone", WARSAW, "--out", str(out)]) == 0
    assert "no weather yet for zone region" in capsys.readouterr().out
    assert main(["data", "check", str(out)]) == 2
    assert "no weather.parquet or weather.csv; add one of them" in capsys.readouterr().err


def test_kind_and_capacity_are_guessed(tmp_path, import_files):
    times = instants("2024-06-01", "2024-06-06", WARSAW, "1h")
    hour = times.tz_convert(WARSAW).hour.to_numpy()
    day = np.clip(np.sin((hour - 5) / 16 * np.pi), 0, None) * (hour > 5) * (hour < 21)
    truth = pd.DataFrame(
        {
            "M1": 950 * day,
            "M2": 500 + 300 * np.cos(hour),
            "M3": 400 - 1000 * day,
            "Farma wiatrowa": np.arange(len(hour)) % 90.0,
        },
        index=times,
    )
    import_files(write_export(tmp_path / "x.csv", truth), "--timezone", WARSAW)
    found = {each.name: each for each in read_entities(tmp_path / "out" / "entities.csv")}
    assert {name: (each.kind, each.subtype) for name, each in found.items()} == {
        "M1": (Kind.GENERATOR, "pv"),
        "M2": (Kind.CONSUMER, ""),
        "M3": (Kind.RESIDUAL, ""),
        "Farma wiatrowa": (Kind.GENERATOR, "wind"),
    }
    capacities = {name: each.capacity for name, each in found.items()}
    assert capacities == {"M1": 950.0, "M2": 800.0, "M3": 600.0, "Farma wiatrowa": 89.0}
    assert {each.extra["guessed"] for each in found.values()} == {"kind capacity"}


def test_a_second_import_keeps_corrections_weather_and_drifts(tmp_path, import_files):
    out = tmp_path / "out"
    import_files(write_export(tmp_path / "x.csv"), "--timezone", WARSAW)
    corrected = "entity,kind,capacity,zone,owner\nPV Sad,generator,2750,krakow,me\n"
    corrected += "Huta,consumer,1040,krakow,\n"
    (out / "entities.csv").write_text(corrected)
    write_weather(out / "weather.csv")
    (out / "ABOUT.md").write_text("mine")
    more = instants("2024-06-04", "2024-06-08", WARSAW)
    truth = power(more, "Huta", "PV Sad", "Nowy")
    file = write_export(tmp_path / "y.csv", truth)
    found = import_files(file, "--timezone", WARSAW, "--append")
    data = load_dataset(out)
    assert data.about == "mine"
    assert data.entity("PV Sad").capacity == 2750
    assert data.entity("PV Sad").extra == {"owner": "me"}
    assert data.entity("Nowy").zone == "krakow"
    expected = truth.combine_first(TRUTH)[["Huta", "PV Sad", "Nowy"]]
    assert_equal(found, expected)


def test_a_single_row_is_refused_but_can_be_appended(tmp_path, import_files, refuse_import):
    words = ["--timezone", WARSAW, "--step", "1440"]
    # Averages are of days in UTC, which begin two hours later here.
    error = refuse_import(write_export(tmp_path / "x.csv", TRUTH.iloc[8:104]), *words)
    assert "one reading only" in error
    assert "--step" in error
    import_files(write_export(tmp_path / "x.csv", TRUTH.iloc[8:200]), *words)
    found = import_files(write_export(tmp_path / "y.csv", TRUTH.iloc[200:296]), *words, "--append")
    expected = TRUTH.iloc[8:296].resample("1D").mean()
    assert_equal(found, expected)


def test_a_single_row_of_another_step_is_not_appended(tmp_path, import_files, capsys):
    import_files(write_export(tmp_path / "x.csv", TRUTH.iloc[8:200]), "--timezone", WARSAW)
    file, out = write_export(tmp_path / "y.csv", TRUTH.iloc[200:296]), str(tmp_path / "out")
    words = ["--timezone", WARSAW, "--step", "1440", "--append", "--out", out]
    assert main(["data", "import", str(file), *words]) == 2
    assert "has readings every 0 days 00:15:00" in capsys.readouterr().err


def test_overwriting_must_be_told(tmp_path, import_files, capsys):
    file, out = write_export(tmp_path / "x.csv"), tmp_path / "out"
    import_files(file, "--timezone", WARSAW)
    command = ["data", "import", str(file), "--timezone", WARSAW, "--out", str(out)]
    assert main(command) == 2
    assert "holds another data set already" in capsys.readouterr().err
    assert main([*command, "--overwrite"]) == 0


def test_the_recipe_reads_the_next_file_alike(tmp_path, import_files, capsys):
    recipe = tmp_path / "recipe.toml"
    first = write_export(tmp_path / "x.csv")
    told = ["--timezone", WARSAW, "--rename", "PV Sad=sad", "--duplicates", "last"]
    import_files(first, *told, "--save-recipe", recipe)
    values = tomllib.loads(recipe.read_text())
    assert values["decimal"] == ","
    assert values["interval"] == "start"
    assert values["names"] == {"PV Sad": "sad"}
    # Nothing in this file settles the decimal mark: the recipe does.
    small = pd.DataFrame({"Huta": [1.125, 2.25], "PV Sad": [1.5, 2.5]}, index=TIMES[:2])
    night = write_text(
        tmp_path / "night.csv",
        [
            ["Czas od", "Huta [kW]", "PV Sad [kW]"],
            ["2024-06-01 00:00", "1,125", "1,500"],
            ["2024-06-01 00:15", "2,250", "2,500"],
        ],
        ";",
    )
    found = import_files(night, "--recipe", recipe, "--overwrite")
    assert_equal(found, small.rename(columns={"PV Sad": "sad"}))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("colour = 1", "unknown key 'colour'"),
        ('unit = "hp"', "unit is 'hp'; choose from W, kW"),
        ('interval = "middle"', "interval is wrong"),
        ("step = 7", "step is 7.0 minutes"),
        ("= 3", "is not TOML"),
    ],
)
def test_a_wrong_recipe_is_told(tmp_path, refuse_import, text, says):
    (tmp_path / "r.toml").write_text(text)
    file = write_export(tmp_path / "x.csv")
    assert says in refuse_import(file, "--recipe", tmp_path / "r.toml")


def test_a_dry_run_shows_before_and_after_and_writes_nothing(tmp_path, capsys):
    file, out = write_export(tmp_path / "x.csv", TRUTH / 4, "kWh"), tmp_path / "out"
    command = ["data", "import", str(file), "--timezone", WARSAW, "--dry-run", "--out", str(out)]
    assert main(command) == 0
    shown = capsys.readouterr().out
    assert all(text in shown for text in ("10,00", "2024-05-31T22:00:00+00:00", "40.0", "PV Sad"))
    assert main([*command, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["first_rows"][1] == ["2024-06-01 00:00", "10,00", "435,00"]
    assert document["first_readings"][0] == ["2024-05-31T22:00:00+00:00", 40.0, 1740.0]
    assert [each["entity"] for each in document["entities"]] == ["Huta", "PV Sad"]
    assert document["readings"]["steps"] == len(TIMES)
    assert not out.exists()


@pytest.mark.parametrize(
    ("unit", "capacity", "says"),
    [("kW", 8000, "as kWh per 15 minutes would"), ("MW", 8000, "times the capacity")],
)
def test_energy_taken_for_power_is_noticed(tmp_path, capsys, unit, capacity, says):
    """Capacities in kW that a person gave do not fit readings in another unit."""
    told = tmp_path / "told.csv"
    told.write_text(
        f"entity,kind,capacity,zone\nHuta,consumer,{capacity},region\nPV Sad,generator,,region\n"
    )
    file = write_export(tmp_path / "x.csv", TRUTH, "")
    words = ["--timezone", WARSAW, "--unit", unit, "--entities", str(told), "--json"]
    out = str(tmp_path / "out")
    assert main(["data", "import", str(file), *words, "--out", out]) == 0
    faults = json.loads(capsys.readouterr().out)["faults"]
    assert [fault["column"] for fault in faults if says in fault["fault"]] == ["Huta"]


def test_signs_and_columns_can_be_changed(tmp_path, import_files, capsys):
    file = write_export(tmp_path / "x.csv", TRUTH * [1, -1])
    words = ["--timezone", WARSAW, "--out", str(tmp_path / "other"), "--json"]
    assert main(["data", "import", str(file), *words]) == 0
    faults = json.loads(capsys.readouterr().out)["faults"]
    assert [each["column"] for each in faults if "--negate" in each["fault"]] == ["PV Sad"]
    found = import_files(file, "--timezone", WARSAW, "--negate", "PV Sad", "--leave-out", "Huta")
    assert_equal(found, TRUTH[["PV Sad"]])
