"""The warm-up of a zone does without meters that cannot be learned from."""

import numpy as np
import pytest
from tests.service.journals import STEP, Service, World

from clearwatt.service.records import READING


def single(service: Service, entity: int, time: int, value: float = 30.0) -> None:
    """Send one reading."""
    reading = np.zeros(1, READING)
    reading["entity"], reading["time"], reading["value"] = service.numbers[entity], time, value
    service.store.add_readings(reading, at=0.0)


@pytest.mark.parametrize("fault", ["constant", "null", "in W"])
def test_one_bad_meter_does_not_block_the_warm_up_of_its_zone(tmp_path, fault):
    world = World.of(400, entities=3)
    good = world.power[:, 1].copy()
    world.power[:, 1] = {"constant": 42.0, "null": np.nan, "in W": 1000 * good}[fault]
    service = Service(tmp_path, world)
    service.history()
    service.catch_up()
    (event,) = service.store.events(kinds=["warmup"])
    assert "e1 has 0 readings that can be learned from" in event.message
    assert event.details["entities"] == ["e0", "e2"]
    states = {name: entity.state for name, entity in service.status.entities.items()}
    assert states["e0"] == states["e2"] == "learning"
    assert states.get("e1") != "learning"

    world.power[:, 1] = good
    service.weather(300, 400)
    service.send(0, 340)
    service.command("warmup", "e1")
    service.catch_up()
    assert service.status.entities["e1"].state == "learning", "it is repaired, and learns"


def test_a_warm_up_of_bad_meters_only_is_refused(tmp_path):
    world = World.of(400)
    world.power[:] = 42.0
    service = Service(tmp_path, world)
    service.history()
    service.catch_up()
    (event,) = service.store.events(kinds=["command refused"])
    assert "can be learned from" in event.message


def test_a_reading_of_long_ago_does_not_block_the_warm_up_of_its_zone(tmp_path):
    service = Service(tmp_path, World.of(400, entities=3))
    single(service, 1, STEP * (int(service.world.times[0]) // STEP - 500_000))
    service.history()
    service.catch_up()
    (event,) = service.store.events(kinds=["warmup"])
    assert event.details["entities"] == ["e0", "e2"]
    assert "e1 has a history that begins at" in event.message


@pytest.mark.parametrize("before_warm_up", [True, False])
@pytest.mark.parametrize("hours", [24, 8 * 24])
def test_one_reading_that_is_dated_ahead_makes_no_other_late(tmp_path, before_warm_up, hours):
    world = World.of(400, entities=3, lateness=2 * STEP)
    service = Service(tmp_path, world)
    service.store.add_weather(world.issue(0, 400), at=0.0)
    service.send(0, 300)
    ahead = int(world.times[300]) + hours * STEP
    if before_warm_up:
        single(service, 1, ahead)
        service.command("warmup")
    else:
        service.command("warmup")
        service.send(300, 301)
        single(service, 1, ahead)
    for hour in range(301 - before_warm_up, 340):
        service.send(hour, hour + 1)
    service.catch_up()
    assert "late" not in service.kinds()
    assert service.status.watermark == world.times[339]
    assert service.status.until >= world.times[330]
    series = service.store.readings(
        service.numbers[0], start=int(world.times[300]), end=int(world.times[340])
    )
    assert set(series.flags) == {0}


def test_a_meter_whose_clock_is_a_day_ahead_makes_no_other_late(tmp_path):
    world = World.of(400, entities=3, lateness=2 * STEP)
    service = Service(tmp_path, world)
    service.store.add_weather(world.issue(0, 400), at=0.0)
    service.send(0, 300)
    service.command("warmup")
    for hour in range(300, 340):
        readings = world.readings(hour, hour + 1, service.numbers)
        readings["time"][1] += 24 * STEP
        service.store.add_readings(readings, at=float(world.times[hour] + 60))
    service.catch_up()
    assert "late" not in service.kinds()
    assert world.times[339] <= service.status.watermark <= world.times[340]
