"""An entity is deleted: the others forecast on as before, also after a replay of the journal."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.service.journals import SETTINGS, STEP, Service, World, digest

from clearwatt.service.forecasting.fallback import Source
from clearwatt.service.forecasting.forecasts import ForecastService
from clearwatt.service.learner.apply.zone_learning import ZoneLearning
from clearwatt.service.learner.removal import remove_model_files
from clearwatt.service.records import Entry
from clearwatt.service.registry import Registry

ADAPTIVE: dict[str, Any] = {
    "forecaster": "adaptive",
    "memory": 400,
    "novelty_days": 1.0,
    "lateness": 6 * STEP,
}
KINDS = {"adaptive": ADAPTIVE, "clear": SETTINGS}
HISTORY, HOURS = 300, 420


@pytest.fixture(params=KINDS)
def service(request: pytest.FixtureRequest, tmp_path: Path) -> Service:
    """A zone of three entities that has learned for some days."""
    made = Service(tmp_path, World.of(hours=HOURS, entities=3, base=KINDS[request.param]))
    made.history(HISTORY)
    send(made, HISTORY, 380)
    return made


def send(service: Service, start: int, stop: int) -> None:
    service.weather(start, min(stop + 48, HOURS + 48))
    service.send(start, stop)
    service.catch_up()


def delete(service: Service, entity: str) -> None:
    (found,) = (each for each in service.store.entities("north") if each.id == entity)
    service.store.remove_entity(found, actor="Ada", at=1.0)


def forecasts(service: Service, *names: str) -> dict[str, np.ndarray]:
    """Forecasts and quantiles of entities, by default all, as the web process makes them."""
    start = int(service.world.times[380])
    web = ForecastService(service.store, service.files, clock=lambda: float(start))
    every = [entity.id for entity in service.store.entities("north")]
    found = web.forecast(names or every, start, start + 24 * STEP, levels=(0.1, 0.5, 0.9))
    web.close()
    assert all(not each.sources.any() for each in found), "a fallback answers"
    return {each.entity: np.vstack([each.values, each.quantiles]) for each in found}


def test_the_others_forecast_as_before_and_learn_on(service):
    before = forecasts(service, "e0", "e2")
    delete(service, "e1")
    service.catch_up()
    after = forecasts(service)
    assert after.keys() == {"e0", "e2"}
    for name, values in after.items():
        np.testing.assert_array_equal(values, before[name])
    assert service.learning.state.columns == ["e0", "e2"]
    assert service.status.entities.keys() == {"e0", "e2"}
    rows = service.learning.state.rows.next
    service.entities = service.store.entities("north")
    world = service.world
    service.world = World(
        world.times, world.weather, world.power[:, [0, 2]], world.zone, world.entities
    )
    send(service, 380, HOURS)
    assert service.learning.state.rows.next > rows, "no row closes without the deleted entity"
    assert forecasts(service).keys() == {"e0", "e2"}


def test_a_replay_of_the_journal_leads_to_the_same_state(service, tmp_path):
    delete(service, "e1")
    service.catch_up()
    while service.store.remove_readings():
        pass
    service.learning.save(tmp_path / "checkpoint")
    service.reload(tmp_path / "checkpoint")
    found, status = digest(service), service.status
    again = ZoneLearning(service.world.zone, store=service.store, files=service.files)
    service.learning = again
    service.catch_up(7)
    assert digest(service) == found
    assert service.status == status


def test_models_of_a_deleted_entity_do_not_answer_for_another_with_its_id(service):
    start = int(service.world.times[380])
    registry = Registry(service.store)
    web = ForecastService(
        service.store, service.files, registry=registry, clock=lambda: float(start)
    )
    (before,) = web.forecast(["e0"], start, start + 6 * STEP)
    registry.remove_entity("e1", actor="Ada", at=1.0)
    (new,), _ = registry.add_entities([replace(service.world.entities[1], capacity=None)])
    for _ in range(2):  # before the learner reaches the deletion, and after
        other, found = web.forecast(["e0", "e1"], start, start + 6 * STEP, levels=(0.1, 0.9))
        assert (found.predictor, found.quantiles) == (None, None)
        assert "e1 has no model yet" in found.missing[0].reason
        assert Source.MODEL not in found.sources
        np.testing.assert_array_equal(other.values, before.values)
        assert service.status.entity("e1", number=new.number).state == "waiting"
        service.catch_up()
        web.reload("north", generation=service.status.generation)
    assert service.status.entities["e1"].number == new.number
    web.close()


@pytest.mark.slow
def test_the_same_id_begins_anew(service):
    old = service.store.version(service.status.entities["e1"].predictor)
    keys = {event.key for event in service.store.events(entity="e1", limit=1000)}
    delete(service, "e1")
    (new,) = service.store.add_entities([service.world.entities[1]])
    readings = service.world.readings(0, HISTORY, service.numbers)
    readings = readings[readings["entity"] == service.numbers[1]]
    readings["entity"] = new.number
    service.store.add_readings(readings, at=1.0)
    service.command("warmup", "e1", end=int(service.world.times[HISTORY - 1]))
    service.catch_up()
    remove_model_files(service.store, service.files)
    status = service.status.entities["e1"]
    assert status.state == "learning"
    assert service.learning.state.columns == ["e0", "e2", "e1"]
    version = service.store.version(status.predictor)
    assert version.at > old.at
    assert service.files.read(version.path).tensors
    assert forecasts(service).keys() == {"e0", "e2", "e1"}
    assert {event.key for event in service.store.events(entity="e1", limit=1000)}.isdisjoint(keys)


@pytest.mark.slow
def test_a_zone_without_entities_waits_and_can_learn_again(service):
    for name in ("e0", "e1", "e2"):
        delete(service, name)
    service.catch_up()
    assert service.status.state == "waiting"
    assert not service.status.entities
    service.entities = service.store.add_entities(service.world.entities)
    service.send(0, HISTORY)
    service.command("warmup", end=int(service.world.times[HISTORY - 1]))
    service.catch_up()
    assert forecasts(service).keys() == {"e0", "e1", "e2"}


def test_readings_of_a_deleted_entity_are_not_kept_waiting(service):
    delete(service, "e1")
    late = service.world.readings(380, 385, service.numbers)
    entry = Entry(service.store.heads()["north"] + 1, "north", late, 1.0)
    service.catch_up()
    service.run([entry])  # accepted by a process that did not know of the deletion yet
    assert service.learning.state.waiting == {}
