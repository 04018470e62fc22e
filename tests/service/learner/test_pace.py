"""How much is folded at once: more while it is quick, less after trouble, all of it in the end."""

import numpy as np
import pytest

from clearwatt.service.learner import pace
from clearwatt.service.learner.pace import Pace
from clearwatt.service.records import READING, RegisteredEntity, Zone
from clearwatt.service.store import open_store


@pytest.fixture
def store(tmp_path):
    made = open_store(tmp_path / "clearwatt.db")
    made.add_zone(Zone("town", 900, ("wind",)))
    (entity,) = made.add_entities([RegisteredEntity("pv", "town", "generator")])
    for number in range(300):
        made.add_readings(np.array([(entity.number, 900 * number, 1.0)], READING), at=0.0)
    yield made
    made.close()


def sizes(steps, store, *, after=0, times=20):
    """How many entries each step takes, none of them left out."""
    found = []
    for _ in range(times):
        entries = steps.take(store, "town", after=after)
        assert [entry.seq for entry in entries] == [*range(after + 1, after + 1 + len(entries))]
        found.append(len(entries))
        if not entries:
            break
        after = entries[-1].seq
        steps.succeed()
    return found


def test_quick_steps_grow_until_all_is_taken(store):
    found = sizes(Pace(), store)
    assert sum(found) == 300
    growing = found[:-2]  # the last takes the rest, then there is none
    assert growing == [pace.FIRST_ENTRIES * 2**k for k in range(len(growing))]
    assert len(growing) >= 3


def test_only_a_zone_that_keeps_up_pauses(store):
    steps = Pace()
    steps.take(store, "town", after=0)
    steps.succeed()
    busy = steps.not_before
    steps.take(store, "town", after=299)
    steps.succeed()
    assert steps.not_before - busy >= pace.PAUSE


def test_after_a_failure_steps_halve_down_to_one_and_grow_again(store):
    steps = Pace()
    taken = []
    for _ in range(5):
        taken.append(len(steps.take(store, "town", after=0)))
        steps.fail()
        steps.halve()
    assert taken == [8, 4, 2, 1, 1]
    assert steps.is_reduced
    assert sizes(steps, store, times=4) == [1, 2, 4, 8]
