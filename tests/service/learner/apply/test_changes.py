"""Entities that change: journal in, events and forecasts out; told from meters that lie."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.service.journals import STEP, Service, World, digest

from clearwatt.service.status import EntityStatus

ADAPTIVE: dict[str, Any] = {"forecaster": "adaptive", "memory": 900, "lateness": 6 * STEP}
DAY = 24
HISTORY = 30 * DAY
CHANGE = HISTORY + 25 * DAY
END = CHANGE + 8 * DAY
USUAL = 0.06
"""Upper limit of the live error of this world without a change, as a share of its readings."""


def world_of(factor: float, stop: int = END) -> World:
    """A world without drift whose first entity has a multiple of its power for some hours."""
    world = World.of(hours=2 * END, base=ADAPTIVE)
    power = world.power[:END].copy()
    power[CHANGE:stop, 0] *= factor
    people = tuple(replace(each, capacity=300.0) for each in world.entities)
    times, weather = world.times[: END + 48], world.weather[: END + 48]
    return replace(world, times=times, weather=weather, power=power, entities=people)


def played(folder: Path, world: World, until: int = END) -> Service:
    service = Service(folder, world)
    service.history(HISTORY)
    service.weather(HISTORY - DAY, END + 48)
    go_on(service, HISTORY, until)
    return service


def go_on(service: Service, start: int, until: int) -> None:
    for hour in range(start, until, DAY):
        service.send(hour, min(hour + DAY, until))
        service.catch_up()


def events(service: Service, kind: str) -> list[Any]:
    return [each for each in reversed(service.store.events(limit=1000)) if each.kind == kind]


def live_error(service: Service, start: int, stop: int) -> float:
    """RMSE of the first entity's live forecasts between two hours, as a share of its readings."""
    live, times = service.learning.state.live, service.world.times
    rows = (live.times >= times[start]) & (live.times < times[stop])
    measured = service.world.power[np.isin(times[:END], live.times[rows]), 0]
    error = np.sqrt(np.nanmean(np.square(live.forecasts[rows, 0] - measured)))
    return float(error / measured.mean())


@pytest.fixture(scope="module")
def tripled(tmp_path_factory) -> Service:
    return played(tmp_path_factory.mktemp("tripled"), world_of(3.0))


def test_a_triple_step_is_recovered_from_within_a_week_and_is_an_event(tripled):
    (event,) = events(tripled, "change")
    assert event.entity == "e0"
    assert "times what the same weather gave before: the past was rescaled" in event.message
    assert event.details["factor"] == pytest.approx(3.0, rel=0.1)
    assert abs(event.details["since"] - tripled.world.times[CHANGE]) <= 2 * STEP
    assert event.details["before"] != event.details["after"]
    assert live_error(tripled, CHANGE + 1, CHANGE + 3 * DAY) > 4 * USUAL
    assert live_error(tripled, CHANGE + 5 * DAY, END - DAY) < USUAL


def test_a_triple_step_is_no_suspicion(tripled):
    assert "suspicion" not in tripled.kinds()
    assert tripled.status.entity("e0").state == "learning"


def test_the_version_before_undoes_it(tmp_path):
    service = played(tmp_path, world_of(3.0), CHANGE + 5 * DAY)
    (event,) = events(service, "change")
    models = service.learning.state.models
    assert models is not None
    service.command("activate", "e0", version=event.details["before"])
    service.catch_up()
    assert service.status.entity("e0").predictor == event.details["before"]
    assert models.forecaster.versions[0].breaks == ()
    go_on(service, CHANGE + 5 * DAY, END)
    assert len(events(service, "change")) == 1


def test_a_thousandfold_step_is_a_lie(tmp_path):
    service = played(tmp_path, world_of(0.001))
    assert not events(service, "change")
    assert "a thousandth of before: unit?" in events(service, "suspicion")[0].message


def test_a_restart_from_a_checkpoint_finds_the_same(tmp_path, tripled):
    service = played(tmp_path, world_of(3.0), CHANGE + 2 * DAY)
    service.learning.save(tmp_path / "saved")
    service.reload(tmp_path / "saved")
    go_on(service, CHANGE + 2 * DAY, END)
    assert digest(service) == digest(tripled)


def test_a_standstill_is_shown_and_ends(tmp_path):
    # Zeros that have lasted for hours go to quarantine first, so it begins some days later.
    service = played(tmp_path, world_of(0.0, CHANGE + 5 * DAY + 12), CHANGE + 5 * DAY)
    status = service.status.entity("e0")
    assert status.state == "standing still"
    assert status.standing_since is not None
    assert 0 <= status.standing_since - service.world.times[CHANGE] <= 3 * DAY * STEP
    assert EntityStatus.from_json(status.to_json()) == status
    (begun,) = events(service, "standstill")
    assert begun.entity == "e0"
    assert "stands still since" in begun.message
    go_on(service, CHANGE + 5 * DAY, END)
    assert service.status.entity("e0").state == "learning"
    assert "runs again since" in events(service, "standstill")[1].message
    assert live_error(service, CHANGE + 6 * DAY + 19, END - DAY) < USUAL
