"""Killed at any moment, under load, again and again: the service ends up as if nothing had been."""

import logging
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tests.service.processes import alive, spawned, until
from tests.service.running import PATIENCE, Running, running

from clearwatt.service.client import Client

from .conftest import Twin, uninterrupted
from .delivery import HISTORY, HOUR, START, ZONES, Readings, World, in_order
from .feeding import Feeder, asking, free_port, settle
from .harm import kill, trains
from .remains import check_same, remains

_LOG = logging.getLogger(__name__)
pytestmark = pytest.mark.xdist_group("durability")

KILLS = 50
SOON = 3.0
"""Seconds within which a service is killed that is killed at any moment."""
AIMED = 180.0
"""Seconds after which one is killed although what was waited for did not happen."""
PAUSE = 0.03
"""Seconds between two requests: 130 readings per second and more, as long as there is a service."""

Moment = Callable[[Running, Path], bool]
"""Waits for the moment to kill a service with a data directory; whether it came."""


def at_any_moment(seconds: float) -> Moment:
    def wait(service: Running, data_dir: Path) -> bool:
        time.sleep(seconds)  # not for anything: the moment is to be any
        return True

    return wait


def in_training(service: Running, data_dir: Path) -> bool:
    return seen(lambda: trains(service), every=0.02)


def in_a_swap(service: Running, data_dir: Path) -> bool:
    """When the file of a new version has appeared, and is being committed or was just now."""
    models = data_dir / "models"
    models.mkdir(exist_ok=True)
    before = set(models.iterdir())
    return seen(lambda: set(models.iterdir()) - before, every=0.002)


def seen(condition: Callable[[], object], *, every: float) -> bool:
    deadline = time.monotonic() + AIMED
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(every)
    return True


def survive(world: World, data_dir: Path, moments: list[Moment], database: str | None) -> int:
    """Deliver everything to a service that is killed at these moments; how many of them came."""
    port, requests = free_port(), world.requests(in_order)
    options = ["--port", port, *(["--database", database] if database else [])]
    came = 0
    with Feeder(f"http://127.0.0.1:{port}", requests, pause=PAUSE) as feeder:
        for life, moment in enumerate(moments):
            with running(data_dir, *options) as service:
                if life == 0:
                    with Client(service.url) as client:
                        world.begin(client)
                feeder.allow(len(requests) * (life + 1) // (len(moments) + 1))
                came += moment(service, data_dir)
                assert feeder.acknowledged < len(requests), "the load was to go on"
                kill(service, all_at_once=life % 2 == 1)
        with running(data_dir, *options) as service, Client(service.url) as client:
            feeder.deliver()
            settle(client)
            assert service.stop() == 0
    return came


def delivered(world: World) -> dict[tuple[str, int], float | None]:
    """What was acknowledged last of each entity and time."""
    requests = [each for each in world.requests(in_order) if isinstance(each, Readings)]
    return {
        (name, START + HOUR * row): value for each in requests for name, row, value in each.items
    }


def check_all_there(found: dict, world: World) -> None:
    stored = {
        (name, time): None if value == "nan" else float(value)
        for name, readings in found["readings"].items()
        for time, value, _ in readings
        if time >= START + HOUR * HISTORY
    }
    assert stored == delivered(world)


@pytest.mark.slow
def test_killed_three_times_it_ends_up_as_its_twin(twin: Twin, tmp_path):
    """At any moment, in a training, in a swap; the slow test below does it fifty times."""
    moments = [in_training, in_a_swap, at_any_moment(0.5)]
    assert survive(twin.world, tmp_path / "data", moments, None) == len(moments)
    found = remains(tmp_path / "data")
    check_all_there(found, twin.world)
    check_same(found, twin.remains)


@pytest.fixture(scope="module")
def long_twin(tmp_path_factory: pytest.TempPathFactory) -> Twin:
    """What fifty kills are compared with, on either database."""
    return uninterrupted(tmp_path_factory.mktemp("long-twin"), 6 * KILLS)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_killed_fifty_times_it_ends_up_as_its_twin(kind, request, long_twin: Twin, tmp_path):
    database = None if kind == "sqlite" else request.getfixturevalue("postgres")
    updates = [key for key in long_twin.remains["events"] if key.startswith("update:")]
    assert len(updates) >= 10
    rng = np.random.default_rng(KILLS)
    moments: list[Moment] = [at_any_moment(rng.uniform(0, SOON)) for _ in range(KILLS)]
    moments[2::6] = [in_training] * len(moments[2::6])
    moments[5::6] = [in_a_swap] * len(moments[5::6])
    came = survive(long_twin.world, tmp_path / "data", moments, database)
    _LOG.info("%s: %d kills, %d as aimed, %d updates", kind, KILLS, came, len(updates))
    assert came > 0.9 * KILLS
    found = remains(tmp_path / "data", database)
    check_all_there(found, long_twin.world)
    check_same(found, long_twin.remains)


@pytest.mark.slow
def test_killed_learners_and_workers_are_not_noticed_by_those_who_ask(twin: Twin, tmp_path):
    requests = twin.world.requests(in_order)
    with (
        running(tmp_path / "data") as service,
        Client(service.url) as client,
        Feeder(service.url, requests, pause=PAUSE) as feeder,
    ):
        twin.world.begin(client)
        until(lambda: all(zone.state == "learning" for zone in client.zones().zones), PATIENCE)
        with asking(service.url, list(ZONES)) as answers:
            feeder.allow(len(requests))
            worker = until(lambda: trains(service), PATIENCE)
            os.kill(worker, signal.SIGKILL)
            until(lambda: trains(service) not in (None, worker), PATIENCE)
            (learner,) = spawned(service.process.pid)
            os.kill(learner, signal.SIGKILL)
            until(lambda: not alive(learner), PATIENCE)
            asked = len(answers)
            feeder.deliver()
            settle(client)
            assert len(answers) > asked + 10
        assert client.events(kinds=["learner restarted"]).events
        assert service.stop() == 0
    assert set().union(*answers) == {"model"}
    check_same(remains(tmp_path / "data"), twin.remains)
