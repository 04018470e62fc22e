"""Playing a data set into a real service: in order or not, at once or with a power cut between."""

import threading
from dataclasses import replace

import pytest
from tests.service.durability.feeding import free_port
from tests.service.processes import until
from tests.service.running import PATIENCE, SETTINGS, running, small_grid, standing

from clearwatt.data.neighbours import with_neighbours, without_neighbours
from clearwatt.errors import ConfigurationError, DataError
from clearwatt.service.client import Client
from clearwatt.service.client.deliveries import DeliveryFaults
from clearwatt.service.client.replay import MOST_READINGS, Plan, Replay

HOUR = 3600


def play(url: str, plan: Plan, hours: int = 900) -> Replay:
    with Client(url, patience=PATIENCE) as client:
        *_, last = Replay(client, small_grid(hours), plan).run()
    return last


@pytest.fixture(scope="module")
def in_order(tmp_path_factory):
    """What is to come of the grid, and of playing it in order."""
    with (
        running(tmp_path_factory.mktemp("order") / "data") as service,
        Client(service.url) as client,
    ):
        last = play(service.url, Plan(settings=SETTINGS))
        yield standing(client), last, client


def test_everything_is_played_and_learned_from(in_order):
    found, last, client = in_order
    assert (last.sent, last.new, last.duplicates, last.corrections) == (2700, 2700, 0, 0)
    assert last.time == last.end
    assert {entity["state"] for entity in found["entities"]} == {"learning"}
    assert sum(entity["updates"] for entity in found["entities"]) >= 3
    forecast = client.forecasts(
        ["farm", "town"], start="2024-02-01T00:00:00Z", end="2024-02-02T00:00:00Z"
    )
    assert {source for each in forecast.forecasts for source in each.sources} == {"model"}


def test_the_same_again_changes_nothing(in_order):
    found, _, client = in_order
    again = play(client.url, Plan(settings=SETTINGS))
    assert again.new == again.corrections == 0
    assert again.sent == again.duplicates < 2700
    assert standing(client) == found


@pytest.mark.slow
def test_disorder_and_a_power_cut_lead_to_the_same_state(in_order, tmp_path):
    """Readings shuffled and sent twice, the service killed in the middle and started again."""
    port = free_port()
    plan = Plan(speed=HOUR * 150, disorder=DeliveryFaults(2 * HOUR, 0.2), settings=SETTINGS)
    played = []
    with running(tmp_path / "data", "--port", port) as service:
        thread = threading.Thread(target=lambda: played.append(play(service.url, plan)))
        thread.start()
        with Client(service.url) as client:
            until(lambda: any(entity.updates for entity in client.entities().entities), PATIENCE)
        service.kill()
    with running(tmp_path / "data", "--port", port) as service, Client(service.url) as client:
        thread.join(timeout=PATIENCE)
        assert played
        assert played[0].duplicates > 0
        assert standing(client) == in_order[0]


@pytest.mark.slow
def test_a_history_too_short_to_learn_from_is_reported(tmp_path):
    with running(tmp_path / "data") as service, pytest.raises(DataError, match="cannot warm up"):
        play(service.url, Plan(warmup=20, settings=SETTINGS), hours=100)


def test_the_speed_decides_how_much_is_sent_at_once():
    assert Plan(speed=1).steps_at_once(900, 95) == 1
    assert Plan(speed=90_000).steps_at_once(900, 95) == 10
    assert Plan().steps_at_once(900, 95) * 95 <= MOST_READINGS
    assert Plan().steps_at_once(900, 10_000) == 1


@pytest.mark.parametrize("speed", [0, -1, float("nan")])
def test_speeds_that_are_none(speed):
    with pytest.raises(ConfigurationError, match="speed"):
        Plan(speed=speed)


def test_a_warm_up_longer_than_the_data_set():
    assert Plan().history(67_764) == 10_000
    assert Plan().history(336) == 120  # of a short data set enough to learn from
    assert Plan().history(50) == 50
    with pytest.raises(ConfigurationError, match="take fewer"):
        Plan(warmup=101).history(100)


@pytest.fixture
def neighbouring_grid():
    """A grid whose southern zone has nearly the weather of the northern one."""
    grid = small_grid(500)
    weather = dict(grid.weather)
    weather["south"] = 0.9 * weather["north"] + 0.1 * weather["south"]
    return with_neighbours(replace(grid, weather=weather))


@pytest.mark.slow
def test_the_weather_of_neighbours_is_sent_and_learned_from(neighbouring_grid, tmp_path):
    with running(tmp_path / "data") as service, Client(service.url, patience=PATIENCE) as client:
        *_, last = Replay(
            client, neighbouring_grid, Plan(warmup=200, settings={"memory": 300})
        ).run()
        assert last.time == last.end
        assert client.zone("north").variables == [
            *("wind", "sun", "neighbour.south.wind", "neighbour.south.sun")
        ]
        found = client.forecasts(["farm"], start="2024-01-20T00:00:00Z", end="2024-01-21T00:00:00Z")
        assert set(found.forecasts[0].sources) == {"model"}
        # A zone does not wait for the weather of its neighbours.
        client.send_weather(
            "north",
            issued_at="2024-01-21T00:00:00Z",
            times=[f"2024-01-25T{hour:02}:00:00Z" for hour in range(24)],
            values=dict.fromkeys(("wind", "sun"), [1.0] * 24),
        )
        later = client.forecasts(["farm"], start="2024-01-25T00:00:00Z", end="2024-01-25T23:00:00Z")
        assert set(later.forecasts[0].sources) == {"model"}


@pytest.mark.slow
def test_a_zone_registered_without_neighbours_goes_on_without_them(neighbouring_grid, tmp_path):
    short = neighbouring_grid.slice(end="2024-01-04T00:00:00Z")
    with running(tmp_path / "data") as service, Client(service.url, patience=PATIENCE) as client:
        for grid in (without_neighbours(short), short):
            *_, last = Replay(client, grid, Plan(warmup=0)).run()
        assert last.time == last.end
        assert client.zone("north").variables == ["wind", "sun"]
