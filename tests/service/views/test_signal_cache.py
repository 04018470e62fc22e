"""A long stretch is read once and again only after something has changed."""

import numpy as np
import pytest

from clearwatt.service.records import READING, Flag, Outcome, RegisteredEntity, Verdict, Zone
from clearwatt.service.status import ZoneStatus
from clearwatt.service.store import open_store
from clearwatt.service.views.signal_cache import LEAST_ROWS, SignalCache

STEP = 900
START = 1_717_200_000
ROWS = LEAST_ROWS + 100
END = START + ROWS * STEP


class Counted:
    """A store that counts how often an entity's readings are read."""

    def __init__(self, store):
        self._store, self.reads = store, 0

    def __getattr__(self, name):
        return getattr(self._store, name)

    def readings(self, entity, *, start, end):
        self.reads += 1
        return self._store.readings(entity, start=start, end=end)


@pytest.fixture
def store(tmp_path):
    made = open_store(tmp_path / "clearwatt.db")
    made.add_zone(Zone("north", STEP, ("wind",)))
    made.add_entities([RegisteredEntity(name, "north", "consumer") for name in ("a", "b")])
    yield Counted(made)
    made.close()


def send(store, entity, values, *, first=0):
    batch = np.zeros(len(values), READING)
    batch["entity"], batch["value"] = entity.number, values
    batch["time"] = START + STEP * (first + np.arange(len(values)))
    store.add_readings(batch, at=0.0)


def test_a_part_of_what_was_read_is_not_read_again(store):
    a, _ = store.entities("north")
    send(store, a, np.arange(ROWS, dtype=float))
    cache = SignalCache(store)
    cache.signals(a, start=START, end=END)
    part = cache.signals(a, start=START + 10 * STEP, end=START + 20 * STEP)
    assert part.measured.tolist() == list(range(10, 20))
    assert store.reads == 1
    cache.signals(a, start=START - STEP, end=END)
    assert store.reads == 2


def test_new_readings_and_new_verdicts_are_seen_at_once(store):
    a, _ = store.entities("north")
    send(store, a, np.zeros(ROWS))
    cache = SignalCache(store)
    assert cache.signals(a, start=START, end=END).measured[7] == 0.0
    send(store, a, [5.0], first=7)
    assert cache.signals(a, start=START, end=END).measured[7] == 5.0
    excluded = Verdict(a.number, START + 7 * STEP, Flag.EXCLUDED)
    store.commit(Outcome(status=ZoneStatus("north", 2, 1), verdicts=(excluded,)))
    assert np.isnan(cache.signals(a, start=START, end=END).measured[7])


def test_what_was_looked_at_longest_ago_makes_room(store):
    a, b = store.entities("north")
    for entity in (a, b):
        send(store, entity, np.zeros(ROWS))
    cache = SignalCache(store, most_rows=ROWS)
    for entity in (a, b, b, a):
        cache.signals(entity, start=START, end=END)
    assert store.reads == 3


def test_short_stretches_are_not_kept(store):
    a, _ = store.entities("north")
    send(store, a, np.zeros(ROWS))
    cache = SignalCache(store)
    for _ in range(2):
        cache.signals(a, start=START, end=START + 10 * STEP)
    assert store.reads == 2
