"""From a Polish export to a forecast with quantiles in a browser, by the commands of the page."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import Browser, expect
from tests.imports.exports import instants, number, rows, stamps, write_text
from tests.service.running import PATIENCE, running
from tests.weather.server import weather_server

from .visit import Visits, barriers

pytestmark = pytest.mark.slow

PAGE = Path(__file__).parents[3] / "docs" / "first-hour.md"
ZONE = "Europe/Warsaw"


def write_export(folder: Path) -> None:
    """Six weeks of a roof and a factory in kWh per hour."""
    times = instants("2024-03-01", "2024-04-12", ZONE, "h")
    rng = np.random.default_rng(1)
    hour = times.tz_convert(ZONE).hour.to_numpy()
    sun = np.clip(np.sin((hour - 6) / 12 * np.pi), 0, None)
    work = (hour >= 7) & (hour < 18)
    power = np.column_stack([80 * sun, 60 + 40 * work]) + rng.normal(0, 1, (len(times), 2))
    table = pd.DataFrame(np.clip(power, 0, None), index=times)
    lines = rows(stamps(times, ZONE, "%d.%m.%Y %H:%M"), table, number(",", digits=4))
    header = ["Data i godzina", "PV-1 [kWh]", "Hala-2 [kWh]"]
    write_text(folder / "pomiary.csv", [header, *lines], ";", encoding="cp1250")


def commands() -> dict[str, list[str]]:
    """The commands of the page, by name, in order."""
    found = re.findall(r"^\$ clearwatt (.+)$", PAGE.read_text(), re.MULTILINE)
    return {line.split()[0]: shlex.split(line) for line in found}


def run(folder: Path, *arguments: str) -> str:
    command = [sys.executable, "-m", "clearwatt", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_from_an_export_to_a_forecast_on_the_dashboard(tmp_path, monkeypatch, browser: Browser):
    write_export(tmp_path)
    monkeypatch.setenv("CLEARWATT_CACHE", str(tmp_path / "cache"))
    steps = commands()
    assert list(steps) == ["data", "weather", "serve", "replay", "forecast"]
    assert "first rows in UTC and kW" in run(tmp_path, *steps["data"])
    with weather_server() as server:  # answers in the format of Open-Meteo
        run(tmp_path, *steps["weather"], "--weather-url", server.url)
    assert steps["serve"] == ["serve", "--data-dir", "live"]
    with running(tmp_path / "live") as service:
        visits = Visits(browser, service.url)
        first = visits.open("/")
        expect(first.get_by_role("heading", level=1)).to_have_text("What to do first")
        assert barriers(first) == []
        played = run(tmp_path, *steps["replay"], "--to", service.url)
        assert re.search(r"learned\W+True", played)
        table = run(tmp_path, *steps["forecast"], "--url", service.url)
        assert "95 %" in table
        assert "2024-04-11T22:00:00Z" in table  # the step after the newest reading
        expect(first.get_by_role("heading", level=1)).to_have_text("Fleet")  # by itself
        page = visits.open("/entities/PV-1")
        page.wait_for_function(
            "document.getElementById('plot').data?.length", timeout=1000 * PATIENCE
        )
        names = page.evaluate("document.getElementById('plot').data.map(each => each.name)")
        assert "Forecast to come" in names
        assert any("90 %" in name for name in names), names
        visits.close()
        assert visits.complaints == []


def test_an_export_is_uploaded_looked_at_and_stored(tmp_path, browser: Browser):
    write_export(tmp_path)
    with running(tmp_path / "live") as service:
        visits = Visits(browser, service.url)
        page = visits.open("/start", size=(390, 800))
        page.get_by_label("File").set_input_files(tmp_path / "pomiary.csv")
        page.get_by_role("button", name="Look at it").click()
        expect(page.get_by_role("heading", name="The file leaves open")).to_be_visible()
        page.locator("[data-answer=timezone]").fill(ZONE)
        page.locator("[data-answer=interval]").select_option("start")
        page.get_by_role("button", name="Look again").click()
        expect(page.get_by_role("heading", name="First rows in UTC and kW")).to_be_visible()
        assert barriers(page) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        page.get_by_label("Capacity of PV-1 in kW").fill("120")
        page.get_by_role("button", name="Store").click()
        expect(page.locator("#result")).to_contain_text("new readings of 2 entities")
        page.get_by_role("link", name="Show the entities").click()
        expect(page.locator("tr[data-entity='PV-1']")).to_be_visible()
        visits.close()
        assert visits.complaints == []
