"""After an exclusion nothing of the window is left in the networks, the corrections and trust."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.service.journals import STEP, Service, World

from clearwatt.service.learner.apply.adaptive_models import AdaptiveModels
from clearwatt.service.learner.apply.learning import inputs_at

DAY = 24
HISTORY = 30 * DAY
START, STOP = HISTORY + 8 * DAY, HISTORY + 22 * DAY
"""Hours of the poisoned fortnight."""
END = STOP + 2 * DAY
ADAPTIVE: dict[str, Any] = {
    "forecaster": "adaptive",
    "memory": 900,
    "lateness": 6 * STEP,
    "novelty_days": 2.0,
}


def world_of(poison: str) -> World:
    """A world without drift whose first entity is poisoned, silent or right for a fortnight."""
    world = World.of(hours=2 * END, base=ADAPTIVE)
    power = world.power[:END].copy()
    if poison == "high":
        power[START:STOP, 0] += 0.35 * power[START:STOP, 0].mean()
    elif poison == "silent":
        power[START:STOP, 0] = np.nan
    return replace(world, times=world.times[: END + 48], power=power)


def played(folder: Path, poison: str) -> Service:
    service = Service(folder, world_of(poison))
    service.history(HISTORY)
    service.weather(HISTORY - DAY, END + 48)
    for hour in range(HISTORY, END, DAY):
        service.send(hour, hour + DAY)
        service.catch_up()
    return service


def exclude(service: Service) -> Any:
    times = service.world.times
    service.command("exclude", "e0", start=int(times[START]), end=int(times[STOP]), reason="bad")
    service.catch_up()
    return service.store.events(limit=1)[0]


def forecasts(service: Service) -> np.ndarray:
    """Forecasts of the first entity for the next day."""
    models = service.learning.state.models
    assert isinstance(models, AdaptiveModels)
    deployed = models.forecaster.deployed
    times = service.world.times[END : END + DAY]
    at = np.arange(deployed.known + 1, times[-1] // STEP + 1)
    x = inputs_at(service.learning.state, at * STEP)
    return deployed.forecast(x, at).power[-DAY:, 0]


@pytest.fixture(scope="module")
def poisoned(tmp_path_factory) -> Service:
    return played(tmp_path_factory.mktemp("poisoned"), "high")


def test_forecasts_are_within_two_per_cent_of_those_that_never_saw_the_window(tmp_path, poisoned):
    silent = played(tmp_path, "silent")
    never = forecasts(silent)
    misled = np.abs(forecasts(poisoned) - never).mean() / never.mean()
    before = poisoned.status.entity("e0").predictor
    event = exclude(poisoned)
    assert "samples were forgotten" in event.message
    after = np.abs(forecasts(poisoned) - never).mean() / never.mean()
    assert misled > 0.02
    assert after < 0.02
    assert poisoned.status.entity("e0").predictor != before
    (update,) = [
        each
        for each in poisoned.store.events(limit=100)
        if each.kind == "update" and each.details["trigger"] == "exclusion"
    ]
    assert update.entity == "e0"
    assert "were excluded" in update.message
