"""Files of deleted entities are deleted, and never those of others with the same id."""

from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path

import pytest
from tests.service.journals import SETTINGS, Service, World

from clearwatt.service.files import Checkpoints
from clearwatt.service.learner.apply.zone_learning import ZoneLearning
from clearwatt.service.learner.context import LearnerContext
from clearwatt.service.learner.leases import EveryZone
from clearwatt.service.learner.outages import Outages
from clearwatt.service.learner.removal import remove_leftovers, remove_model_files
from clearwatt.service.learner.zone_learner import ZoneLearner
from clearwatt.service.records import Command, Outcome, ServiceEvent
from clearwatt.training.fleet import Job, train
from clearwatt.training.streams import Stream, TrainingResults

HISTORY = 300


@pytest.fixture
def service(tmp_path: Path) -> Service:
    """A zone of two entities, with a history and the command to learn from it."""
    made = Service(tmp_path, World.of(hours=HISTORY + 24, entities=2, base=SETTINGS))
    made.history(HISTORY)
    return made


def delete(service: Service, entity: str) -> None:
    (found,) = (each for each in service.store.entities("north") if each.id == entity)
    service.store.remove_entity(found, actor="Ada", at=1.0)


def register_in_south(service: Service) -> ZoneLearning:
    """Register e1 in another zone, with its history and the command to learn from it."""
    world, store = service.world, service.store
    zone = replace(world.zone, id="south")
    store.add_zone(zone)
    (entity,) = store.add_entities([replace(world.entities[1], zone="south")])
    store.add_weather(replace(world.issue(0, HISTORY + 24), zone="south"), at=0.0)
    readings = world.readings(0, HISTORY, service.numbers)
    readings = readings[readings["entity"] == service.numbers[1]]
    readings["entity"] = entity.number
    store.add_readings(readings, at=0.0)
    arguments = {"end": int(world.times[HISTORY - 1])}
    store.add_command(Command("warmup", "south", None, arguments, "test", 0.0))
    return ZoneLearning(zone, store=store, files=service.files)


def begin(service: Service, learning: ZoneLearning) -> Stream[Outcome]:
    """The entries to apply, with the entities of now."""
    store, zone = service.store, learning.state.zone.id
    entities = [*store.removed_entities(zone), *store.entities(zone)]
    return learning.apply(store.journal(zone, after=learning.position), entities)


def run(stream: Stream[Outcome]) -> Outcome:
    try:
        jobs = next(stream)
        while True:
            jobs = stream.send(train(jobs))
    except StopIteration as stop:
        outcome: Outcome = stop.value
        return outcome


def assert_south_is_readable(service: Service) -> None:
    version = service.store.version("predictor:e1:0")
    assert version is not None, "the other zone's version is gone"
    assert (version.zone, version.status) == ("south", "deployed")
    assert service.files.read(version.path).tensors


def folders(service: Service) -> set[str]:
    return {f"models/{each.name}" for each in (service.folder / "models").iterdir()}


def stored_paths(service: Service) -> set[str]:
    return {version.path for version in service.store.versions()}


def test_a_deletion_spares_the_files_of_the_same_id_in_another_zone(service):
    service.catch_up()
    delete(service, "e1")
    south = register_in_south(service)
    outcome = run(begin(service, south))  # written, but not committed yet
    service.catch_up()
    remove_model_files(service.store, service.files)
    service.store.commit(outcome)
    assert_south_is_readable(service)


@pytest.mark.slow
def test_a_training_that_outlasts_the_deletion_spares_the_same_id_in_another_zone(service):
    north = begin(service, service.learning)
    jobs = next(north)
    delete(service, "e1")
    service.store.commit(run(begin(service, register_in_south(service))))
    trained = train(jobs)
    with pytest.raises(StopIteration) as stop:
        while True:
            trained = train(north.send(trained))
    service.store.commit(stop.value.value)
    assert_south_is_readable(service)
    service.catch_up()
    remove_model_files(service.store, service.files)
    assert_south_is_readable(service)
    assert folders(service) == stored_paths(service)


def test_files_that_were_written_and_deleted_in_one_batch_are_gone(service):
    delete(service, "e1")
    service.catch_up()
    remove_model_files(service.store, service.files)
    assert folders(service) == stored_paths(service)


def test_files_that_a_killed_replay_has_written_again_are_gone_after_the_start(service, tmp_path):
    service.catch_up()
    delete(service, "e1")
    service.catch_up()
    remove_model_files(service.store, service.files)
    again = ZoneLearning(service.world.zone, store=service.store, files=service.files)
    run(begin(service, again))  # not committed, because it was before
    assert folders(service) > stored_paths(service)
    remove_leftovers(service.store, service.files, Checkpoints(tmp_path))
    assert folders(service) == stored_paths(service)


class Trainer:
    """Trains at once, in this process."""

    waiting = 0

    def submit(self, jobs: Sequence[Job]) -> Future[TrainingResults]:
        future: Future[TrainingResults] = Future()
        future.set_result(train(jobs))
        return future


def test_a_learner_that_replays_a_deletion_deletes_the_files_again(service, tmp_path):
    service.catch_up()
    delete(service, "e1")
    service.catch_up()
    remove_model_files(service.store, service.files)
    context = LearnerContext(
        store=service.store,
        files=service.files,
        checkpoints=Checkpoints(tmp_path),
        trainer=Trainer(),
        learning=ZoneLearning,
        outages=Outages(service.store),
        leases=EveryZone(),
        publish=lambda status: None,
        refresh=lambda zone, content: None,
        wake=lambda: None,
    )
    learner, head = ZoneLearner(service.world.zone, context), service.store.heads()["north"]
    for _ in range(20):
        learner.run_step(head)
    assert learner.position == head
    assert learner.has_removed, "the deletion was not replayed"
    assert folders(service) == stored_paths(service)


def test_the_last_entity_takes_the_shared_models_with_it(service):
    service.catch_up()
    key = "update:autoencoder:north:1"
    shared = ServiceEvent(key, "update", "the autoencoder was updated", 1.0, zone="north")
    service.store.add_event(shared)
    for name in ("e0", "e1"):
        delete(service, name)
    service.catch_up()
    remove_model_files(service.store, service.files)
    assert service.store.versions() == []
    assert folders(service) == set()
    service.store.add_event(replace(shared, message="of the next models"))
    found = [each.message for each in service.store.events(kinds=["update"])]
    assert found == ["of the next models", shared.message]
