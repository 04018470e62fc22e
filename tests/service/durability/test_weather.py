"""A real service fetches weather by itself, is killed meanwhile, and forecasts with it."""

import queue
import threading
import time
from contextlib import closing
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from tests.service.processes import until
from tests.service.running import PATIENCE, SETTINGS, running, settled
from tests.weather.server import HOUR, value, weather_server

from clearwatt.service.api.schemas.entities import NewEntity
from clearwatt.service.api.schemas.zones import NewZone
from clearwatt.service.client import Client
from clearwatt.service.client.calls import Series
from clearwatt.service.records import WeatherIssue
from clearwatt.service.store import open_store
from clearwatt.service.times import seconds, text, texts
from clearwatt.service.weather_pull import PERIOD, PHASE

pytestmark = pytest.mark.slow

DAYS = 30
LATITUDE = 52.23
ZONE = NewZone(
    id="north",
    step=900,
    variables=["wind_speed_10m", "temperature_2m"],
    settings={
        **SETTINGS,
        "weather": "open-meteo",
        "coordinates": {"latitude": LATITUDE, "longitude": 21.01},
    },
)


def readings(now):
    """A wind farm in quarter-hours, up to now."""
    times = np.arange(now // 900 * 900 - DAYS * 24 * HOUR, now, 900)
    power = [5 * value("wind_speed_10m", int(moment), LATITUDE) for moment in times]
    return [Series("farm", texts(times), power)]


class Killer:
    """Kills a service at its first request for the past, and shortly after its second answer."""

    def __init__(self, server):
        self.server, self.asked = server, 0
        self.services = queue.Queue()  # a request may come before its service is known here
        server.change = self.change

    def change(self, answer):
        if "start_date" in self.server.queries[-1]:
            self.asked += 1
            if self.asked == 1:
                self.services.get(timeout=PATIENCE).process.kill()
            elif self.asked == 2:
                victim = self.services.get(timeout=PATIENCE).process
                threading.Timer(0.02, victim.kill).start()
        return answer


def test_weather_is_fetched_once_through_kills_and_forecasts_use_it(tmp_path):
    now = int(time.time())
    with weather_server() as server:
        options, killer = ("--weather-url", server.url), Killer(server)
        with running(tmp_path / "data", *options) as service, Client(service.url) as client:
            killer.services.put(service)
            client.add_zone(ZONE)
            entity = NewEntity(id="farm", zone="north", kind="generator", capacity=100.0)
            client.add_entities([entity])
            client.send_measurements(readings(now))
            service.process.wait(PATIENCE)
        with running(tmp_path / "data", *options) as service:
            killer.services.put(service)
            service.process.wait(PATIENCE)
        with running(tmp_path / "data", *options) as service, Client(service.url) as client:
            until(lambda: len(stored(tmp_path / "data")) > DAYS, PATIENCE)
            client.warmup(zone="north")
            until(lambda: client.entity("farm").state == "learning", PATIENCE)
            until(lambda: settled(client), PATIENCE)
            start = (int(time.time()) // 900 + 8) * 900
            (forecast,) = client.forecasts(
                ["farm"], start=text(start), end=text(start + 24 * HOUR)
            ).forecasts
            assert service.stop() == 0
    assert killer.asked >= 2
    issues = stored(tmp_path / "data")
    today = datetime.fromtimestamp(now, UTC).date()
    past = [issue for issue in issues if len(issue.times) == 25]
    days = [datetime.fromtimestamp(issue.times[0], UTC).date() for issue in past]
    assert days == [today - timedelta(days=DAYS - k) for k in range(DAYS)]
    newest = [issue.issued_at for issue in issues if len(issue.times) > 25]
    assert (
        len({(moment - PHASE) // PERIOD for moment in newest}) == len(newest) == len(issues) - DAYS
    )
    assert set(forecast.sources) == {"model"}
    assert seconds(forecast.weather.newest) == newest[-1]


def stored(data_dir):
    """The weather in the journal, in order of issue; each entry is another issue."""
    with closing(open_store(data_dir / "clearwatt.db")) as store:
        entries = store.journal("north", after=0, limit=10**6)
        issues = [each.content for each in entries if isinstance(each.content, WeatherIssue)]
        assert len({issue.issued_at for issue in issues}) == len(issues)
        return sorted(issues, key=lambda issue: issue.issued_at)
