"""Which zones rest when a learner has too little memory for all of them."""

from __future__ import annotations

from contextlib import closing

import numpy as np
import pytest
from tests.service.learner.station import Here
from tests.service.tally import Tally

from clearwatt.service.files import Checkpoints, ModelFiles
from clearwatt.service.folders import DiskFolders
from clearwatt.service.learner import memory_limit
from clearwatt.service.learner.context import LearnerContext
from clearwatt.service.learner.leases import EveryZone
from clearwatt.service.learner.memory_limit import MemoryLimit, resident_bytes
from clearwatt.service.learner.outages import Outages
from clearwatt.service.learner.rounds import Rounds
from clearwatt.service.records import READING, Command, RegisteredEntity, Zone
from clearwatt.service.store import open_store


class Sleeper:
    """A zone of one byte."""

    def __init__(self, *, busy: bool = False) -> None:
        self.awake, self.busy = True, busy

    @property
    def may_rest(self) -> bool:
        return self.awake and not self.busy

    def rest(self) -> None:
        self.awake = False


@pytest.fixture
def clock(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(memory_limit.time, "monotonic", lambda: now[0])
    return now


def limit_of(count: int, zones: list[Sleeper]) -> MemoryLimit:
    return MemoryLimit(count, used=lambda: sum(zone.awake for zone in zones), release=lambda: None)


def test_the_idle_zone_that_worked_longest_ago_rests_first(clock):
    zones = [Sleeper() for _ in range(4)]
    limit = limit_of(2, zones)
    for order in (2, 0, 3, 1):
        clock[0] += 1
        limit.note_work(zones[order])
    assert limit.make_room(lambda zone: zone is zones[2])
    assert [zone.awake for zone in zones] == [False, True, True, False]


def test_zones_in_a_step_stay_and_others_wait(clock):
    zones = [Sleeper(busy=True) for _ in range(2)]
    limit = limit_of(1, zones)
    for zone in zones:
        limit.note_work(zone)
    clock[0] += 1000
    assert not limit.make_room(lambda zone: False)


def test_a_zone_with_a_backlog_rests_after_its_turn(clock):
    zones = [Sleeper(), Sleeper()]
    limit = limit_of(1, zones)
    for zone in zones:
        limit.note_work(zone)
    assert not limit.make_room(lambda zone: True)
    clock[0] += memory_limit.TURN
    assert limit.make_room(lambda zone: True)
    assert sum(zone.awake for zone in zones) == 1


def test_a_zone_that_cannot_be_written_is_not_the_only_one_that_is_tried(clock):
    class Stuck(Sleeper):
        def rest(self) -> None:
            """It cannot be written."""

    zones = [Stuck(), Sleeper(), Sleeper()]
    limit = limit_of(2, zones)
    for zone in zones:
        clock[0] += 1
        limit.note_work(zone)
    clock[0] += 1
    assert not limit.make_room(lambda zone: False)
    assert limit.make_room(lambda zone: False)
    assert [zone.awake for zone in zones] == [True, False, True]


def test_one_zone_has_room_however_low_the_limit():
    assert MemoryLimit(0).make_room(lambda zone: False)


def test_the_memory_of_this_process_is_told():
    assert 10_000_000 < resident_bytes() < 100_000_000_000


class Caught:
    """An inbox that stops the loop as soon as every zone has applied its journal."""

    def __init__(self, store) -> None:
        self._store, self.stopped = store, False

    def wait(self, seconds):
        applied = {zone: status.position for zone, status in self._store.statuses().items()}
        self.stopped = applied == dict(self._store.heads())
        return True


def learn(folder, limit: MemoryLimit | None):
    """Learn three zones; returns their statuses, and how many were in memory at most."""
    most = [0]
    with closing(open_store(folder / "clearwatt.db")) as store:
        if not store.zones():
            _fill(store)

        def publish(status):
            most[0] = max(most[0], sum(zone.in_memory for zone in rounds._zones.values()))

        context = LearnerContext(
            store=store,
            files=ModelFiles(folder),
            checkpoints=Checkpoints(folder),
            trainer=Here(),
            learning=Tally,
            outages=Outages(store),
            leases=EveryZone(),
            publish=publish,
            refresh=lambda zone, content: None,
            wake=lambda: None,
            resting=DiskFolders(folder / "resting"),
        )
        rounds = Rounds(context, inbox=Caught(store), publish=lambda beat: None, memory=limit)
        rounds.run()
        if limit is not None:
            left = [name for name, zone in rounds._zones.items() if zone.in_memory]
            assert left == [], "zones that have grown rest, too, if nobody waits for their place"
        return store.statuses(), most[0]


def _fill(store) -> None:
    for name in ("a", "b", "c"):
        store.add_zone(Zone(name, 900, ("wind",)))
        (entity,) = store.add_entities([RegisteredEntity(f"pv {name}", name, "generator")])
        for start in range(30):
            readings = np.zeros(2, READING)
            readings["entity"], readings["value"] = entity.number, (start, 1)
            readings["time"] = 900 * (2 * start + np.arange(2))
            store.add_readings(readings, at=0.0)
            if start % 10 == 5:
                store.add_command(Command("warmup", name, None, {}, "test", 0.0))


def test_zones_take_turns_in_too_little_memory_and_end_up_as_with_enough(tmp_path):
    statuses, most = learn(tmp_path / "enough", None)
    assert most == 3
    assert learn(tmp_path / "little", MemoryLimit(0)) == (statuses, 1)


def test_zones_without_new_entries_are_not_loaded_after_a_restart(tmp_path):
    statuses, _ = learn(tmp_path, MemoryLimit(0))
    assert learn(tmp_path, MemoryLimit(0)) == (statuses, 0)
