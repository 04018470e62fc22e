"""The command as its users meet it."""

import json

import numpy as np
import pandas as pd
import pytest

from clearwatt.cli import main
from clearwatt.data import Dataset, Entity, Kind


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    rng = np.random.default_rng(1)
    times = pd.date_range("2024-01-01", periods=1500, freq="h", tz="UTC", name="time")
    wind = rng.random(1500)
    power = pd.DataFrame({"a": 10 * wind, "b": 5 * wind + times.hour / 24}, index=times)
    weather = {"zone": pd.DataFrame({"wind_ms": wind}, index=times)}
    entities = tuple(Entity(name, Kind.GENERATOR, 10.0, "zone") for name in ("a", "b"))
    path = tmp_path_factory.mktemp("data") / "windy"
    Dataset("windy", power, weather, entities).save(path)
    return path


def command(folder, out, *options):
    return main(
        ["benchmark", "--data", str(folder), "--out", str(out), "--executor", "serial", *options]
    )


def test_the_table_the_page_and_the_json_are_there(folder, tmp_path, capsys):
    out = tmp_path / "out"
    assert command(folder, out, "--peers", "persistence", "climatology") == 0
    printed = capsys.readouterr()
    assert "persistence 24 h" in printed.out
    assert "peers: 6 of 6 done" in printed.err
    assert (out / "leaderboard.html").stat().st_size > 1_000_000  # with the plotting library
    rows = json.loads((out / "leaderboard.json").read_text())["rows"]
    assert [row["rmse"] for row in rows] == sorted(row["rmse"] for row in rows)


def test_json_is_what_the_file_says(folder, tmp_path, capsys):
    out = tmp_path / "out"
    assert command(folder, out, "--peers", "persistence-24h", "--entities", "b", "--json") == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed == json.loads((out / "leaderboard.json").read_text())
    assert [record["entity"] for record in printed["records"]] == ["b"]


def test_markdown_can_be_pasted(folder, tmp_path, capsys):
    assert command(folder, tmp_path / "out", "--peers", "persistence", "--markdown") == 0
    assert capsys.readouterr().out.startswith("| # | peer | live RMSE |")


def test_the_same_command_again_does_nothing_again(folder, tmp_path, capsys):
    first, again = (
        (command(folder, tmp_path / "out", "--peers", "persistence"), capsys.readouterr())
        for _ in range(2)
    )
    assert first[1].out == again[1].out
    assert again[1].err == "peers: 4 of 4 done\n"


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--peers", "prophet"], "no peer 'prophet'"),
        (["--instances", "absent.module:Mine"], "there is no module 'absent' for 'absent.module:M"),
        (["--predictor", "json:dumps"], "--predictor is given without --instances"),
        (["--delay", "0"], "--delay is 0.0"),
        (["--delay", "nan"], "--delay is nan"),
        (["--entities", "c"], "'c'"),
        (["--entities", "0"], "at least 1"),
        (["--seed", "-1"], "seed is -1"),
        (["--delay", "1000"], "shorter than the delay"),
    ],
)
def test_mistakes_are_told_in_one_sentence(folder, tmp_path, capsys, options, says):
    assert command(folder, tmp_path / "out", *options) == 2
    err = capsys.readouterr().err
    assert err.startswith("clearwatt: ")
    assert err.count("\n") == 1
    assert says in err


def test_the_live_protocol_needs_a_folder(folder, capsys):
    assert main(["benchmark", "--data", str(folder), "--peers", "persistence"]) == 2
    assert "--out is missing" in capsys.readouterr().err


def test_errors_by_lead_are_printed_and_written(folder, tmp_path, capsys):
    out = tmp_path / "out"
    options = ("--peers", "last-value", "climatology", "--leads", "24", "1", "--json")
    assert command(folder, out, *options) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed == json.loads((out / "leads.json").read_text())
    assert printed["leads"] == ["1h", "24h"]
    assert {row["peer"] for row in printed["rows"]} == {"last-value", "climatology"}


def test_markdown_by_lead_has_a_table_of_each_phase_and_a_page_is_written(folder, tmp_path, capsys):
    out = tmp_path / "out"
    options = ("--peers", "last-value", "climatology", "--leads", "24", "1", "--markdown")
    assert command(folder, out, *options) == 0
    printed = capsys.readouterr().out
    for phase in ("updating", "test"):
        assert f"live RMSE by lead, {phase} phase**" in printed
    assert printed.count("| peer | 1h | 24h |") == 2
    assert "Error against lead" in (out / "leads.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("options", "says"),
    [(["--leads", "0"], "--leads has 0.0"), (["--leads", "3", "--delay", "5"], "exclude")],
)
def test_mistakes_in_leads_are_told(folder, tmp_path, capsys, options, says):
    assert command(folder, tmp_path / "out", *options) == 2
    assert says in capsys.readouterr().err
