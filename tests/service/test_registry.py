"""Zones and entities in memory are those of the store, at little cost to it."""

import threading
from dataclasses import replace

import pytest

from clearwatt.service.records import RegisteredEntity, Zone
from clearwatt.service.registry import Registry, UnknownIdError
from clearwatt.service.store import open_store

ZONE = Zone("north", 900, ("wind",))


class Counted:
    """How often a store is read."""

    def __init__(self, store, monkeypatch):
        self.reads = 0
        inner = store.entities

        def entities(*arguments):
            self.reads += 1
            return inner(*arguments)

        monkeypatch.setattr(store, "entities", entities)


@pytest.fixture
def store(tmp_path):
    made = open_store(tmp_path / "clearwatt.db")
    yield made
    made.close()


def people(*names):
    return [RegisteredEntity(name, "north", "consumer") for name in names]


def test_what_is_registered_here_is_known_at_once(store):
    registry = Registry(store)
    assert registry.add_zone(ZONE)
    assert not registry.add_zone(ZONE)
    added, created = registry.add_entities(people("a", "b"))
    assert (len(added), created) == (2, 2)
    assert registry.add_entities(people("b", "c"))[1] == 1
    assert registry.entity("c").number == registry.snapshot.entities["c"].number >= 0
    assert [entity.id for entity in registry.zone_entities("north")] == ["a", "b", "c"]
    assert registry.snapshot.numbers[registry.entity("b").number].id == "b"


def test_what_another_process_registers_is_found_at_once_and_strangers_cost_little(
    store, monkeypatch
):
    registry = Registry(store)
    registry.add_zone(ZONE)
    store.add_entities(people("late"))
    counted = Counted(store, monkeypatch)
    assert registry.entity("late").zone == "north"
    for _ in range(50):
        with pytest.raises(UnknownIdError, match="POST /v1/entities"):
            registry.entity("nobody")
    registry.find_all({"late", "nobody"})
    assert counted.reads == 1
    store.add_entities(people("later"))
    assert "later" in registry.find_all({"later"}).entities
    assert counted.reads == 2
    with pytest.raises(UnknownIdError, match="POST /v1/zones"):
        registry.zone("south")


def test_nothing_is_lost_when_many_register_at_once(store):
    registry = Registry(store)
    registry.add_zone(ZONE)
    names = [f"e{k}" for k in range(24)]
    threads = [
        threading.Thread(target=registry.add_entities, args=(people(name),)) for name in names
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert registry.snapshot.entities.keys() == set(names)


def test_a_repeated_registration_keeps_the_name_that_was_changed(store):
    registry = Registry(store)
    registry.add_zone(replace(ZONE, name="Old"))
    registry.rename_zone("north", "New")
    assert not registry.add_zone(replace(ZONE, name="Old"))
    assert registry.zone("north").name == store.zones()[0].name == "New"


def test_a_zone_that_another_process_registered_is_found_by_registering_it(store):
    registry = Registry(store)
    assert not registry.snapshot.zones
    store.add_zone(replace(ZONE, name="Theirs"))
    assert not registry.add_zone(replace(ZONE, name="Ours"))
    assert registry.zone("north").name == "Theirs"


def test_an_entity_deleted_during_its_registration_is_not_put_back(store, monkeypatch):
    registry = Registry(store)
    registry.add_zone(ZONE)
    registry.add_entities(people("a", "b"))
    add = store.add_entities
    deletion = threading.Thread(
        target=lambda: registry.remove_entity("a", actor="Ada", at=1.0), daemon=True
    )

    def add_and_delete(entities):
        added = add(entities)
        deletion.start()
        deletion.join(timeout=0.5)  # at once if nothing keeps it from deleting now
        return added

    monkeypatch.setattr(store, "add_entities", add_and_delete)
    registry.add_entities(people("a", "b"))
    deletion.join()
    assert [entity.id for entity in store.entities()] == ["b"]
    assert registry.snapshot.entities.keys() == {"b"}
