"""The service fetches weather by itself: what is due, once, whatever fails."""

from __future__ import annotations

from contextlib import closing
from datetime import UTC, date, datetime, timedelta

import numpy as np
import pytest
from tests.weather.server import HOUR, seconds_of, value, weather_server

from clearwatt.service.records import READING, Outcome, RegisteredEntity, ServiceEvent, Zone
from clearwatt.service.registry import Registry
from clearwatt.service.settings import ZoneSettings
from clearwatt.service.status import ZoneStatus
from clearwatt.service.store import StoreFullError, open_store
from clearwatt.service.weather_gaps import missing_days
from clearwatt.service.weather_pull import STALE, WeatherPull

DAY = 24 * HOUR
NOW = seconds_of(2024, 5, 20, 8)
PLACES = {"north": (54.35, 18.65), "south": (50.06, 19.94)}


class Bench:
    """A store with two zones that fetch weather, and a clock that a test turns."""

    def __init__(self, folder, server):
        self.server, self.now = server, float(NOW)
        self.store = open_store(folder / "clearwatt.db")
        for name in PLACES:
            self.add_zone(name)
        self.entity = self.store.add_entities([RegisteredEntity("park", "north", "generator")])[0]
        self.stored = []
        self.pull = self.started()

    def add_zone(self, name, **settings):
        latitude, longitude = PLACES.get(name, (0.0, 0.0))
        place = {"latitude": latitude, "longitude": longitude}
        found = settings or {"weather": "open-meteo", "coordinates": place}
        variables = ("wind_speed_10m", "shortwave_radiation", "neighbour.other.wind_speed_10m")
        self.store.add_zone(Zone(name, 3600, variables, settings=found))

    def started(self, registry=None):
        """As after a start of the process: nothing is known but the store."""
        return WeatherPull(
            self.store,
            registry or Registry(self.store),
            url=self.server.url,
            stored=self.stored.append,
            clock=lambda: self.now,
        )

    def round(self, after=0.0):
        self.now += after
        self.server.today = datetime.fromtimestamp(self.now, UTC).date()
        self.pull.run_round()
        return {state.zone: state for state in self.pull.states}

    def issues(self, zone="north"):
        return self.store.weather(zone, start=0, end=2**40)

    def readings(self, since):
        times = np.arange(since, NOW, HOUR)
        readings = np.zeros(len(times), READING)
        readings["entity"], readings["time"] = self.entity.number, times
        self.store.add_readings(readings, at=self.now)


@pytest.fixture
def bench(tmp_path):
    with weather_server() as server:
        made = Bench(tmp_path, server)
        with closing(made.store):
            yield made


def test_zones_get_a_forecast_with_one_request_and_the_next_after_six_hours(bench):
    bench.round()
    (query,) = bench.server.queries
    assert query["latitude"].count(",") == 1
    for zone, (latitude, _) in PLACES.items():
        (issue,) = bench.issues(zone)
        assert issue.issued_at == NOW
        assert issue.times[0] == NOW // DAY * DAY and issue.times[-1] >= NOW + 6 * DAY
        noon = int(np.searchsorted(issue.times, NOW // DAY * DAY + 12 * HOUR))
        wind, sun, neighbour = issue.values[noon].tolist()
        moment = int(issue.times[noon])
        assert wind == pytest.approx(value("wind_speed_10m", moment, latitude))
        assert sun == pytest.approx(value("shortwave_radiation", moment + HOUR, latitude))
        assert np.isnan(neighbour)
    assert sorted(bench.stored) == ["north", "south"]
    bench.round(600)
    bench.pull = bench.started()
    bench.round()
    assert len(bench.server.queries) == 1
    bench.round(6 * HOUR)
    assert len(bench.server.queries) == 2
    assert len(bench.issues()) == 2


def test_days_with_readings_get_the_weather_that_was_forecast_for_them(bench):
    bench.readings(seconds_of(2024, 5, 1, 5))
    bench.round()
    *past, newest = bench.issues()
    assert newest.issued_at == NOW
    days = [datetime.fromtimestamp(issue.times[0], UTC).date() for issue in past]
    assert days == [date(2024, 5, 1) + timedelta(days=k) for k in range(19)]
    for issue in past:
        assert issue.issued_at == issue.times[0] - 18 * HOUR  # the morning before
        moment = int(issue.times[3])
        expected = value("wind_speed_10m", moment, PLACES["north"][0], ahead=2)
        assert issue.values[3, 0] == pytest.approx(expected)
    assert len(bench.server.queries) == 2
    bench.round(60)
    bench.readings(seconds_of(2024, 4, 28))  # older ones arrive
    bench.round(60)
    assert bench.server.queries[-1]["start_date"] == "2024-04-28"
    assert len(bench.issues()) == 23


def test_what_is_stored_is_not_asked_for_again_after_a_kill(bench, monkeypatch):
    """Each issue is one transaction, and the store alone says what is missing."""
    bench.readings(seconds_of(2024, 5, 1))
    kept, keep = [], bench.store.add_weather

    def add_until_killed(issue, *, at):
        if len(kept) == 8:
            raise KeyboardInterrupt
        kept.append(issue.issued_at)
        return keep(issue, at=at)

    monkeypatch.setattr(bench.store, "add_weather", add_until_killed)
    with pytest.raises(KeyboardInterrupt):
        bench.round()
    monkeypatch.undo()
    before = len(bench.server.queries)
    bench.pull = bench.started()
    bench.round(30)
    (query,) = bench.server.queries[before:]
    assert query["start_date"] == "2024-05-07"  # two forecasts and six days were stored
    issued = [issue.issued_at for issue in bench.issues()]
    assert len(issued) == len(set(issued)) == 20
    assert bench.store.events(kinds=["correction"]) == []


def test_failures_wait_and_become_an_event_when_weather_is_stale(bench):
    bench.round()
    bench.server.fail(429, "Hourly API request limit exceeded", Retry_After="3600")
    state = bench.round(6 * HOUR)["north"]
    assert (state.failures, state.stale) == (1, False)
    assert "429" in state.error
    asked = len(bench.server.queries)
    bench.round(3500)
    assert len(bench.server.queries) == asked
    bench.server.failures += [(200, {}, b"<html>")] * 2
    assert bench.round(200)["north"].failures == 2
    state = bench.round(STALE - 6 * HOUR)["north"]
    assert state.stale and state.issued_at == NOW
    bench.pull = bench.started()
    bench.server.fail(503)
    bench.round(1)
    events = bench.store.events(kinds=["weather stale"], zone="north")
    assert len(events) == 1
    assert "2024-05-20T08:00:00Z" in events[0].message and "JSON" in events[0].message
    state = bench.round(3600)["north"]
    assert (state.stale, state.error) == (False, None)
    assert len(bench.store.events(kinds=["weather restored"], zone="north")) == 1


def test_a_place_that_fails_does_not_keep_the_others_from_their_weather(bench):
    def change(answer):
        for part in answer if isinstance(answer, list) else [answer]:
            if part["latitude"] < 52:
                part["latitude"] = -10.0
        return answer

    bench.server.change = change
    states = bench.round()
    assert states["north"].error is None and states["north"].issued_at == NOW
    assert "another place" in states["south"].error
    assert bench.issues("south") == []


def test_an_error_of_history_does_not_keep_forecasts_away(bench):
    bench.readings(seconds_of(2024, 5, 1))
    answer = bench.server.answer

    def refuse_history(target):
        if "start_date" in target:
            bench.server.fail(400, "Parameter 'start_date' is out of allowed range")
        return answer(target)

    bench.server.answer = refuse_history
    states = bench.round()
    assert "out of allowed range" in states["north"].error
    assert len(bench.issues()) == 1
    asked = len(bench.server.queries)
    bench.round(3600)
    assert len(bench.server.queries) == asked  # until tomorrow
    bench.round(5 * HOUR)
    assert len(bench.issues()) == 2


def test_settings_that_change_while_it_runs(bench):
    bench.add_zone("west", alpha=1.5)
    bench.pull = bench.started()
    assert "west" not in bench.round()
    place = {"latitude": 51.1, "longitude": 17.0}
    settings = ZoneSettings.read({"weather": "open-meteo", "coordinates": place}).plain()
    event = ServiceEvent("command:west:1", "settings", "", NOW, zone="west")
    bench.store.commit(Outcome(ZoneStatus("west", position=1, settings=settings), events=(event,)))
    assert bench.round(10)["west"].issued_at == NOW + 10
    off = ZoneSettings.read({}).plain()
    event = ServiceEvent("command:west:2", "settings", "", NOW, zone="west")
    bench.store.commit(Outcome(ZoneStatus("west", position=2, settings=off), events=(event,)))
    assert "west" not in bench.round(6 * HOUR)
    assert len(bench.issues("west")) == 1


def test_a_deleted_zone_is_forgotten_and_its_id_may_be_used_again(bench):
    registry = Registry(bench.store)
    bench.pull = bench.started(registry)
    bench.readings(seconds_of(2024, 5, 18))
    assert set(bench.round()) == {"north", "south"}
    registry.remove_zone("north", actor="tests", at=bench.now)
    asked = len(bench.server.queries)
    assert set(bench.round(10)) == {"south"}
    assert len(bench.server.queries) == asked
    PLACES["north"] = (60.0, 10.0)
    try:
        bench.add_zone("north")
    finally:
        PLACES["north"] = (54.35, 18.65)
    registry.refresh()
    assert bench.round(10)["north"].issued_at == NOW + 20
    assert bench.server.queries[-1]["latitude"] == "60.0000"


def test_a_store_that_fails_keeps_no_other_zone_from_its_weather(bench, monkeypatch):
    keep = bench.store.add_weather

    def add(issue, *, at):
        if issue.zone == "north":
            raise StoreFullError("no space left")
        return keep(issue, at=at)

    monkeypatch.setattr(bench.store, "add_weather", add)
    states = bench.round()
    assert "no space left" in states["north"].error
    assert states["south"].issued_at == NOW
    monkeypatch.undo()
    assert bench.round(60)["north"].issued_at == NOW + 60


def test_missing_days_are_those_with_an_uncovered_hour():
    rng = np.random.default_rng(5)
    first, last = date(2024, 1, 1), date(2024, 1, 20)
    start = seconds_of(2024, 1, 1)
    for _ in range(200):
        begins = start + 1800 * rng.integers(-100, 1000, size=rng.integers(0, 8))
        spans = [(int(b), int(b + 1800 * rng.integers(0, 300))) for b in begins]
        missing = set()
        for hour in range(20 * 24):
            moment = start + hour * HOUR
            if not any(b <= moment <= e for b, e in spans):
                missing.add(first + timedelta(days=hour // 24))
        found = list(missing_days(spans, first=first, last=last))
        days = [b + timedelta(days=k) for b, e in found for k in range((e - b).days + 1)]
        assert days == sorted(missing)
        assert all(b <= e for b, e in found)
    assert list(missing_days([], first=last, last=first)) == []
