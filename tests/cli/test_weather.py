"""`clearwatt weather fetch`: from imported readings to a data set that can be learned from."""

import json

import numpy as np
import pandas as pd
import pytest
from tests.weather.server import seconds_of, value, weather_server

from clearwatt.cli import main
from clearwatt.data import load_dataset

WARSAW = "52.23,21.01"


@pytest.fixture
def server(tmp_path, monkeypatch):
    monkeypatch.setenv("CLEARWATT_CACHE", str(tmp_path / "cache"))
    with weather_server() as running:
        yield running


@pytest.fixture
def folder(tmp_path, capsys):
    """Readings of three days in quarter-hours, imported, without weather."""
    times = pd.date_range("2024-05-01", periods=288, freq="15min", tz="UTC")
    table = pd.DataFrame({"time": times, "town [kW]": 50 + np.sin(np.arange(288))})
    table.to_csv(tmp_path / "export.csv", index=False)
    out = tmp_path / "my-grid"
    told = ["--interval", "start", "--out", str(out)]
    assert main(["data", "import", str(tmp_path / "export.csv"), *told]) == 0
    assert "clearwatt weather fetch" in capsys.readouterr().out
    return out


def fetch(server, *words):
    return main(["weather", "fetch", *map(str, words), "--weather-url", server.url])


def test_an_import_with_fetched_weather_is_a_data_set(server, folder, capsys):
    (folder / "ABOUT.md").write_text("# Mine\n")
    entities = (folder / "entities.csv").read_bytes()
    assert fetch(server, folder, "--coordinates", WARSAW, "--json") == 0
    (zone,) = json.loads(capsys.readouterr().out)["zones"]
    assert (zone["days_ahead"], zone["days_archived"], zone["missing_share"]) == (3, 0, 0)
    data = load_dataset(folder)
    weather = data.weather["region"]
    moment = seconds_of(2024, 5, 2, 7)
    at = weather.loc[pd.Timestamp(moment, unit="s", tz="UTC"), "temperature_2m"]
    assert at == pytest.approx(value("temperature_2m", moment, 52.23, ahead=2))
    assert "shortwave_radiation_instant" in weather.columns  # quarter-hours
    assert (folder / "entities.csv").read_bytes() == entities
    about = (folder / "ABOUT.md").read_text()
    assert about.startswith("# Mine\n")
    assert "Open-Meteo" in about and "CC BY 4.0" in about and "2 days before" in about

    assert fetch(server, folder, "--coordinates", WARSAW) == 2
    assert "--overwrite" in capsys.readouterr().err
    asked = len(server.queries)
    assert fetch(server, folder, "--coordinates", WARSAW, "--overwrite") == 0
    assert len(server.queries) == asked  # from the cache
    assert (folder / "ABOUT.md").read_text() == about
    pd.testing.assert_frame_equal(load_dataset(folder).weather["region"], weather)


def test_places_may_be_in_the_table_of_entities(server, folder):
    table = pd.read_csv(folder / "entities.csv")
    table.assign(latitude=54.0, longitude=18.5).to_csv(folder / "entities.csv", index=False)
    assert fetch(server, folder) == 0
    assert server.queries[0]["latitude"] == "54.0000"


def test_days_from_the_archive_are_said(server, tmp_path, capsys):
    out = tmp_path / "weather.csv"
    span = ["--start", "2023-12-30", "--end", "2024-01-02"]
    place = ["--coordinates", f"a={WARSAW}", "b=48.1,11.6"]
    assert fetch(server, *span, *place, "--variables", "temperature_2m", "--out", out) == 0
    said = capsys.readouterr().out
    assert "archived days are the first hours" in said
    table = pd.read_csv(out, parse_dates=["time"], index_col="time")
    assert list(table.columns) == ["a__temperature_2m", "b__temperature_2m"]
    assert len(table) == 4 * 24 + 1
    assert table.notna().all(axis=None)
    assert fetch(server, *span, *place, "--out", out, "--no-archive") == 0
    assert pd.read_csv(out).isna().any(axis=None)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([], "--coordinates region=LAT,LON"),
        (["--coordinates", "north=1,2"], "no zone 'north'"),
        (["--coordinates", "95,2"], "latitude is 95"),
        (["--coordinates", WARSAW, "--variables", "rainbow"], "'rainbow' is no weather variable"),
        (["--coordinates", WARSAW, "--days-ahead", "9"], "days ahead are 9"),
        (["--coordinates", WARSAW, "--start", "yesterday"], "no date"),
        (["--coordinates", WARSAW, "--end", "2020-01-01"], "before the first"),
    ],
)
def test_wrong_options_are_reported_in_one_sentence(server, folder, words, says, capsys):
    try:
        code = fetch(server, folder, *words)
    except SystemExit as stopped:
        code = stopped.code
    assert code == 2
    err = capsys.readouterr().err
    assert err.startswith("clearwatt: ")
    assert says in err
    assert not (folder / "weather.parquet").exists()


def test_an_error_leaves_the_folder_as_it_is(server, folder, capsys):
    before = {item.name: item.read_bytes() for item in folder.iterdir()}
    server.fail(400, "Invalid request")
    assert fetch(server, folder, "--coordinates", WARSAW) == 2
    assert "Invalid request" in capsys.readouterr().err
    assert {item.name: item.read_bytes() for item in folder.iterdir()} == before
