"""`clearwatt weather feed`: weather of a real server, sent to a service behind a socket."""

import json
import time
from datetime import UTC, datetime, timedelta

import pytest
from tests.service.application import Web, listening
from tests.weather.server import value, weather_server

from clearwatt.cli import main

PLACE = {"latitude": 52.23, "longitude": 21.01}


@pytest.fixture
def server(tmp_path, monkeypatch):
    monkeypatch.setenv("CLEARWATT_CACHE", str(tmp_path / "cache"))
    with weather_server() as running:
        yield running


@pytest.fixture
def service(tmp_path):
    """The application with two zones, and its address."""
    web = Web(tmp_path)
    web.now = time.time()
    zone = {"id": "north", "step": 900, "variables": ["temperature_2m"]}
    web.post("/v1/zones", {**zone, "settings": {"coordinates": PLACE}})
    web.post("/v1/zones", {**zone, "id": "south", "variables": ["sunshine"]})
    with listening(web) as url:
        yield web, url
    web.close()


def feed(server, url, *words):
    return main(["weather", "feed", "--url", url, "--weather-url", server.url, *words])


def test_past_days_and_the_newest_forecast_are_sent_once(server, service, capsys):
    web, url = service
    start = str(server.today - timedelta(days=3))
    assert feed(server, url, "--zone", "north", "--start", start, "--json") == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["issues"], facts["new"], facts["coordinates"]) == (4, 4, "52.23,21.01")
    *past, newest = web.store.weather("north", start=0, end=2**40)
    assert len(past) == 3
    for issue in past:
        assert issue.issued_at < issue.times[0]
        moment = int(issue.times[5])
        expected = value("temperature_2m", moment, PLACE["latitude"], ahead=2)
        assert issue.values[5, 0] == pytest.approx(expected)
    assert abs(newest.issued_at - time.time()) < 300
    last_day = datetime.fromtimestamp(int(newest.times[-1]), UTC).date()
    assert last_day == server.today + timedelta(days=6)  # seven days, today among them
    assert feed(server, url, "--zone", "north", "--start", start, "--json") == 0
    assert json.loads(capsys.readouterr().out)["new"] == 0  # cached, with its issue time


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--zone", "west"], "zone 'west' is unknown"),
        (["--zone", "south"], "has no coordinates; give --coordinates"),
        (["--zone", "south", "--coordinates", "1,2"], "'sunshine' is no weather variable"),
        (["--zone", "north", "--days", "40"], "days is 40"),
    ],
)
def test_what_cannot_be_sent_is_reported_in_one_sentence(server, service, words, says, capsys):
    assert feed(server, service[1], *words) == 2
    assert says in capsys.readouterr().err
    assert service[0].store.weather("north", start=0, end=2**40) == []
