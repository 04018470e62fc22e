"""Check of a store: names change, and what is deleted is gone and can be registered again."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace

from safetensors.numpy import load

from clearwatt.errors import ClearwattError
from clearwatt.service.records import Command, Outcome, RegisteredEntity, RemovedEntity, Zone
from clearwatt.service.status import ZoneStatus
from clearwatt.service.store import Store
from clearwatt.testing.store_records import (
    START,
    STEP,
    make_outcome,
    make_version,
    readings,
    register,
    weather,
)
from clearwatt.testing.writers import Opener


def check_removal(open_store: Opener) -> None:
    """Check renaming and deletion of zones and entities."""
    with closing(open_store()) as store:
        zone, (first, second) = register(store)
        _fill(store, zone, first, second)
        assert store.rename_entity(first.id, "Roof") == "Park", "the name before is another"
        assert store.entities(zone.id)[0].name == "Roof", "the name has not changed"
        assert store.add_entities([first])[0].number == first.number, "a name makes a conflict"
        _check_entity(store, zone, first, second)
        _check_zone(store, zone, second)


def _fill(store: Store, zone: Zone, *entities: RegisteredEntity) -> None:
    numbers = [entity.number for entity in entities]
    for time in (0, 40, 5000):
        batch = readings(numbers, times=[time] * len(numbers), values=[1.0] * len(numbers))
        store.add_readings(batch, at=1.0)
    store.add_weather(weather(zone.id, issued=0, first=0, fill=1.0), at=1.0)
    for entity in entities:
        store.commit(make_outcome(zone, entity, make_version(zone, entity, 3)))


def _check_entity(
    store: Store, zone: Zone, entity: RegisteredEntity, other: RegisteredEntity
) -> None:
    head = store.heads()[zone.id]
    seq = store.remove_entity(entity, actor="Ada", at=2.0)
    assert seq == head + 1, f"the command is {seq}, after entry {head}"
    (entry,) = store.journal(zone.id, after=head)
    assert isinstance(entry.content, Command), f"the last entry is {entry}"
    assert (entry.content.kind, entry.content.entity) == ("delete", entity.id), f"{entry}"
    assert [each.id for each in store.entities(zone.id)] == [other.id], "it is still there"
    removed = [(each.number, each.removed_at) for each in store.removed_entities(zone.id)]
    assert removed == [(entity.number, seq)], f"the journal tells of {removed}"
    assert store.unforgotten_entities() == {entity.number}, "the learner has forgotten it"
    _check_unforgotten(store, zone, entity)
    gone = RemovedEntity(entity.id, entity.number, seq)
    store.commit(Outcome(ZoneStatus(zone.id, seq, 3), removed=(gone,)))
    every = store.versions(zone=zone.id, deleted=True)
    assert not [version for version in every if version.entity == entity.id], "a version"
    assert not store.unforgotten_entities(), "it is forgotten, and counts as not forgotten"
    while store.remove_readings():
        pass
    days = store.signals(zone.id, start=START, end=START + STEP)
    assert all(entity.number not in load(day.content)["entities"] for day in days), "signals"
    assert all(10**9 in load(day.content)["entities"] for day in days), "signals of another"
    assert store.span(entity.number) is None, "a reading is left"
    assert len(store.readings(other.number, start=START, end=START + 6000 * STEP).times) == 3
    (again,) = store.add_entities([replace(entity, capacity=7.0)])
    assert again.number > other.number, "a number is used twice"
    key = f"update:{make_version(zone, entity, 3).id}"
    learned = make_outcome(zone, again, make_version(zone, again, 3))
    store.commit(replace(learned, status=ZoneStatus(zone.id, seq + 1, 4)))
    found = [event for event in store.events(entity=entity.id) if event.key == key]
    assert len(found) == 1, f"events with the key {key}: {found}"
    paths = store.unused_files()
    assert not paths, f"{paths} are in use again"


def _check_unforgotten(store: Store, zone: Zone, entity: RegisteredEntity) -> None:
    """What the store shows of a deleted entity before the learner has reached the deletion.

    Another zone may have an entity of this id by then, with versions of the same ids.
    """
    shown = [each.id for each in store.versions(entity=entity.id) if each.entity == entity.id]
    assert not shown, f"versions {shown} of a deleted entity"
    shown = [each.id for each in store.versions(zone=zone.id) if each.entity == entity.id]
    assert not shown, f"versions {shown} of a deleted entity, by zone"
    late = make_outcome(zone, entity, make_version(zone, entity, 3))
    store.commit(replace(late, status=store.status(zone.id)))
    (day,) = store.signals(zone.id, start=START, end=START + STEP)
    assert entity.number not in load(day.content)["entities"], "signals of a deleted entity"
    key = f"update:{make_version(zone, entity, 3).id}"
    keys = [event.key for event in store.events(entity=entity.id)]
    assert key not in keys, f"the key {key} is taken by a deleted entity"
    assert len(keys) == len(set(keys)) == 1, f"its events are {keys}"


def _check_zone(store: Store, zone: Zone, entity: RegisteredEntity) -> None:
    head = store.heads()[zone.id]
    before = ZoneStatus(zone.id, head, 9)
    store.remove_zone(zone, actor="Ada", at=3.0)
    assert zone.id not in {each.id for each in store.zones()}, "the zone is still there"
    assert store.journal(zone.id, after=0) == [], "its journal is still there"
    assert store.weather(zone.id, start=START, end=START + STEP) == [], "weather is still there"
    (event,) = store.events(zone=zone.id, limit=1)
    assert (event.kind, event.actor) == ("delete", "Ada"), f"the event is {event}"
    while store.remove_readings():
        pass
    assert store.span(entity.number) is None, "a reading of the zone is left"
    assert store.unused_files() == ["models/3"], "files of its models are forgotten"
    store.forget_files(["models/3"])
    assert store.unused_files() == [], "files stay noted"
    assert store.add_zone(zone) is True, "it cannot be registered again"
    base = store.heads()[zone.id]
    assert base == store.journal_base(zone.id) == head + 1, f"its journal begins after {base}"
    assert store.status(zone.id).position == base, "it begins with entries to learn"
    try:
        store.commit(Outcome(before))
    except ClearwattError:
        pass
    else:
        raise AssertionError("an outcome of before the deletion was stored")
