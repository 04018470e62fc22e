"""A replay ends when all is learned, and says so if that does not come to pass."""

import json
import sqlite3
from dataclasses import replace

import pytest
from tests.service.running import PATIENCE, SETTINGS, running, small_grid

from clearwatt.cli.main import main
from clearwatt.errors import DataError
from clearwatt.service.client import Client, ServiceUnreachableError
from clearwatt.service.client.learner_progress import learner_progress, wait_until_learned
from clearwatt.service.client.replay import Plan, Replay

ZONES = ("north", "south")
OPTIONS = [f"--set={key}={json.dumps(value)}" for key, value in SETTINGS.items()]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with a data set, and a service beside it."""
    folder = tmp_path_factory.mktemp("learned")
    small_grid(500).save(folder / "grid")
    with running(folder / "data") as service:
        yield folder, service


def replay(folder, url, *more):
    return main(["replay", str(folder / "grid"), "--to", url, *OPTIONS, "--json", *more])


def test_it_ends_when_the_learner_has_caught_up(place, capsys):
    folder, service = place
    assert replay(folder, service.url) == 0
    with Client(service.url) as client:
        now = learner_progress(client, ZONES)
        newest = client.measurements(
            "farm", start="2024-01-21T00:00:00Z", end="2024-01-22T00:00:00Z"
        ).times[-1]
        assert {zone.watermark for zone in client.zones().zones} == {newest}
    assert now.behind == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out)["learned"] is True
    assert printed.err.splitlines()[-1].startswith("sent up to 2024-01-21T19:00:00Z")
    assert printed.err.splitlines()[-1].endswith("learned up to 2024-01-21T19:00:00Z")


def test_a_name_that_the_service_does_not_take_is_explained(place):
    grid = small_grid(200)
    (farm, *others) = grid.entities
    power = grid.power.rename(columns={"farm": "Zähler"})
    named = replace(grid, power=power, entities=(replace(farm, name="Zähler"), *others))
    with (
        Client(place[1].url) as client,
        pytest.raises(DataError, match="entity 'Zähler': id: an id has 1 to 100 characters"),
    ):
        next(Replay(client, named, Plan()).run())


def test_it_does_not_wait_if_told_so(place, capsys):
    folder, service = place
    assert replay(folder, service.url, "--no-wait") == 0
    assert json.loads(capsys.readouterr().out)["learned"] is None
    assert replay(folder, service.url, "--no-wait", "--report") == 2
    assert "leave out --no-wait" in capsys.readouterr().err


def test_a_zone_that_does_not_learn_and_a_service_that_is_gone(place, capsys):
    folder, service = place
    with sqlite3.connect(folder / "data" / "clearwatt.db", timeout=60) as database:
        database.execute("UPDATE journals SET head = head + 1 WHERE zone = 'north'")
        database.execute(
            "INSERT INTO journal SELECT zone, head, 'readings', X'00', 0.0, NULL FROM "
            "journals "
            "WHERE zone = 'north'"
        )
    database.close()
    with Client(service.url, patience=PATIENCE) as client:
        waiting = wait_until_learned(client, ZONES, patience=1.0)
        with pytest.raises(DataError, match="zone north does not learn"):
            list(waiting)
    capsys.readouterr()
    assert replay(folder, service.url, "--patience", "1") == 2
    printed = capsys.readouterr()
    assert json.loads(printed.out)["learned"] is False
    assert "all was sent, but not all is learned" in printed.err
    service.kill()
    with Client(service.url, patience=0.1) as client, pytest.raises(ServiceUnreachableError):
        list(wait_until_learned(client, ZONES, patience=1.0))
