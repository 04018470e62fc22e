"""Weather from a real server that answers, and fails, as Open-Meteo does."""

import json
import socket
from datetime import UTC, date, datetime, timedelta
from email.utils import format_datetime

import numpy as np
import pandas as pd
import pytest

from clearwatt.errors import ConfigurationError
from clearwatt.weather import Coordinates, OpenMeteo, WeatherError
from clearwatt.weather import open_meteo as module

from .server import HOUR, seconds_of, value

WARSAW, GDANSK = Coordinates(52.23, 21.01), Coordinates(54.35, 18.65)
DAY = date(2024, 5, 1)


@pytest.fixture
def pauses(monkeypatch):
    """The pauses between tries, which a test does not wait for."""
    asked = []
    monkeypatch.setattr("clearwatt.http_retry.time.sleep", asked.append)
    return asked


def history(server, *variables, places=(WARSAW,), days=2, ahead=2, **options):
    with OpenMeteo(server.url, **options) as source:
        last = DAY + timedelta(days=days - 1)
        return source.history(places, variables, first=DAY, last=last, days_ahead=ahead)


def test_many_hours_and_places_come_with_one_request(server):
    north, south = history(server, "wind_speed_80m", places=(GDANSK, WARSAW), days=60)
    (query,) = server.queries
    assert query["latitude"] == "54.3500,52.2300"
    assert query["hourly"] == "wind_speed_80m_previous_day2"
    assert len(north) == 60 * 24 + 1
    for frame, place in ((north, GDANSK), (south, WARSAW)):
        moment = seconds_of(2024, 5, 7, 13)
        at = frame.loc[pd.Timestamp(moment, unit="s", tz="UTC"), "wind_speed_80m"]
        assert at == pytest.approx(value("wind_speed_80m", moment, place.latitude, ahead=2))
    (agent,) = server.agents
    assert agent.startswith("clearwatt ")


def test_radiation_is_that_of_the_hour_that_begins(server):
    """Open-Meteo gives the mean of the hour before a time; power is that of the hour after it."""
    (frame,) = history(server, "shortwave_radiation", "temperature_2m")
    noon = seconds_of(2024, 5, 1, 12)
    row = frame.loc[pd.Timestamp(noon, unit="s", tz="UTC")]
    after = value("shortwave_radiation", noon + HOUR, WARSAW.latitude, ahead=2)
    assert row["shortwave_radiation"] == pytest.approx(after)
    at_noon = value("temperature_2m", noon, WARSAW.latitude, ahead=2)
    assert row["temperature_2m"] == pytest.approx(at_noon)
    assert frame.notna().all(axis=None)


def test_the_wind_blows_towards_its_components(server):
    def change(answer):
        count = len(answer["hourly"]["time"])
        answer["hourly"]["wind_speed_80m"] = [10.0] * count
        answer["hourly"]["wind_direction_80m"] = [270.0] * count  # from the west
        return answer

    server.change = change
    (frame,) = history(server, "wind_u_80m", "wind_v_80m", ahead=0)
    assert np.allclose(frame, [10.0, 0.0], atol=1e-5)


def test_partial_hours_and_nulls_are_gaps(server):
    def change(answer):
        hourly = answer["hourly"]
        hourly["cloud_cover"][3] = None
        for column in hourly.values():
            del column[5:8], column[40:]
        return answer

    server.change = change
    (frame,) = history(server, "cloud_cover", ahead=0)
    missing = np.flatnonzero(frame["cloud_cover"].isna())
    assert missing.tolist() == [3, 5, 6, 7, *range(43, 49)]
    assert len(frame) == 49


def test_it_waits_as_long_as_a_busy_server_asks_for(server, pauses):
    server.fail(429, "Minutely API request limit exceeded", Retry_After="7")
    server.fail(503)
    date_form = format_datetime(datetime.now(UTC) + timedelta(seconds=30), usegmt=True)
    server.fail(429, "", Retry_After=date_form)
    seen = []
    history(server, "cloud_cover", on_retry=lambda error, pause: seen.append((str(error), pause)))
    assert len(server.queries) == 4
    waits = [pause for _, pause in seen]
    assert waits[:2] == [7.0, 2.0]
    assert 25 < waits[2] <= 30
    assert "Minutely API request limit exceeded" in seen[0][0]
    assert set(waits) <= set(pauses)


def test_limits_without_a_header_last_as_long_as_their_name_says(server, pauses):
    clock = seconds_of(2024, 5, 1, 23) + 1800.0  # half an hour before midnight
    server.fail(429, "Minutely API request limit exceeded. Please try again in one minute.")
    history(server, "cloud_cover", clock=lambda: clock)
    assert 60 <= max(pauses) <= 61
    server.fail(429, "Daily API request limit exceeded. Please try again tomorrow.")
    with pytest.raises(WeatherError, match="Daily API request limit") as caught:
        history(server, "cloud_cover", clock=lambda: clock)
    assert caught.value.temporary
    assert 1800 <= caught.value.pause <= 1801


def test_malformed_json_is_asked_for_again(server, pauses):
    server.failures += [(200, {}, b'{"latitude": 52.2, "hourly": {"ti')] * 2
    (frame,) = history(server, "cloud_cover")
    assert frame.notna().all(axis=None)
    assert len(server.queries) == 3


def test_a_wrong_request_is_not_repeated(server):
    server.fail(400, "Parameter 'end_date' is out of allowed range")
    with pytest.raises(WeatherError, match="400: Parameter 'end_date' is out of") as caught:
        history(server, "cloud_cover")
    assert not caught.value.temporary
    assert len(server.queries) == 1


def test_connection_refused(pauses):
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))  # so that nobody else listens there
        port = silent.getsockname()[1]
        with (
            OpenMeteo(f"http://127.0.0.1:{port}", patience=5) as source,
            pytest.raises(WeatherError, match=f"no weather server answers at .*{port}") as caught,
        ):
            source.forecast([WARSAW], ["cloud_cover"])
    assert caught.value.temporary


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda a: {**a, "latitude": -52.25}, "for another place, -52.25,21"),
        (lambda a: {**a, "utc_offset_seconds": 3600}, "not in UTC"),
        (lambda a: {**a, "hourly_units": {}}, "is in None, not in %"),
        (lambda a: [a, a], "2 answers came for 1 places"),
        (lambda a: {"hello": "world"}, "no hourly values"),
        (lambda a: {**a, "hourly": {**a["hourly"], "cloud_cover": [1]}}, "1 values for 72 times"),
        (
            lambda a: {**a, "hourly": {**a["hourly"], "cloud_cover": ["x"] * 72}},
            "not numbers",
        ),
        (lambda a: {**a, "hourly": {**a["hourly"], "time": ["2024-05-01"] * 72}}, "no times"),
    ],
)
def test_an_answer_that_was_not_asked_for_is_an_error(server, tmp_path, change, says):
    server.change = change
    with pytest.raises(WeatherError, match=says):
        history(server, "cloud_cover", ahead=0, cache=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_the_same_is_asked_once(server, tmp_path):
    first = history(server, "cloud_cover", cache=tmp_path)
    again = history(server, "cloud_cover", cache=tmp_path)
    assert len(server.queries) == 1
    pd.testing.assert_frame_equal(first[0], again[0])
    history(server, "cloud_cover", cache=tmp_path, refresh=True)
    assert len(server.queries) == 2
    (file,) = tmp_path.iterdir()
    file.write_bytes(file.read_bytes()[:100])  # damaged
    history(server, "cloud_cover", cache=tmp_path)
    assert len(server.queries) == 3
    assert json.loads(file.read_bytes())["fetched_at"] > 0


def test_a_forecast_is_kept_for_an_hour_with_the_time_of_its_fetch(server, tmp_path):
    clock = [float(seconds_of(2024, 5, 1, 6))]
    with OpenMeteo(server.url, cache=tmp_path, clock=lambda: clock[0]) as source:
        first = source.forecast([WARSAW], ["temperature_2m", "shortwave_radiation"], days=3)
        clock[0] += 3000
        again = source.forecast([WARSAW], ["temperature_2m", "shortwave_radiation"], days=3)
        assert first.fetched_at == again.fetched_at == clock[0] - 3000
        clock[0] += 3000
        later = source.forecast([WARSAW], ["temperature_2m", "shortwave_radiation"], days=3)
    assert later.fetched_at == clock[0]
    assert len(server.queries) == 2
    (frame,) = first.frames
    assert len(frame) == 73
    assert frame.notna().all(axis=None)


def test_requests_to_a_public_server_have_pauses(server, monkeypatch, pauses):
    monkeypatch.setattr(module, "is_loopback", lambda _: False)
    with OpenMeteo(server.url) as source:
        for day in (1, 2, 3):
            when = date(2024, 5, day)
            source.history([WARSAW], ["cloud_cover"], first=when, last=when, days_ahead=2)
    assert sum(pause > 0.5 for pause in pauses) >= 2


@pytest.mark.parametrize(
    ("text", "says"),
    [("91,0", "latitude is 91"), ("0,-181", "longitude"), ("nan,0", "latitude"), ("52", "place")],
)
def test_places_that_do_not_exist(text, says):
    with pytest.raises(ConfigurationError, match=says):
        Coordinates.parse(text)


def test_unknown_variables_are_named_before_a_request(server):
    with pytest.raises(ConfigurationError, match="'temperatur' is no weather variable"):
        history(server, "temperatur")
    assert server.queries == []
