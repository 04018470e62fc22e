"""A service trains priors from the readings of zones that share them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.service.journals import World

from clearwatt.adaptive import FleetPrior
from clearwatt.service.learner import fleet_samples
from clearwatt.service.learner.fleet_samples import find_groups, read_samples
from clearwatt.service.learner.fleet_training import FleetTraining
from clearwatt.service.records import Flag, Outcome, Verdict
from clearwatt.service.status import ZoneStatus
from clearwatt.service.store import open_store

DAY = 86_400
HOURS = 20 * 24


class Region:
    """Zones with two consumers each, and what a service has stored of them."""

    def __init__(self, folder) -> None:
        self.address = str(folder / "clearwatt.db")
        self.store = open_store(self.address)
        self.now = 0.0
        self.training = FleetTraining(self.store, self.address, clock=lambda: self.now)

    def add(self, name: str, *, variables=("wind", "sun"), hours: int = HOURS, **settings):
        world = World.of(hours, 2, base={})
        self.store.add_zone(replace(world.zone, id=name, variables=variables, settings=settings))
        entities = self.store.add_entities(
            [replace(each, id=f"{name}-{each.id}", zone=name) for each in world.entities]
        )
        issue = world.issue(0, hours)
        self.store.add_weather(
            replace(issue, zone=name, values=issue.values[:, : len(variables)]), at=0.0
        )
        self.store.add_readings(world.readings(0, hours, [e.number for e in entities]), at=0.0)
        self.store.commit(Outcome(ZoneStatus(name, position=1, settings=settings)))
        return world, entities


@pytest.fixture
def region(tmp_path):
    return Region(tmp_path)


def test_of_many_zones_and_entities_a_part_is_used_spread_over_all(region, monkeypatch):
    monkeypatch.setattr(fleet_samples, "MOST_ZONES", 3)
    for name in ("a", "b", "c", "d", "e"):
        region.add(name, hours=15 * 24)
    (group,) = find_groups(region.store)
    assert [zone.id for zone, _ in group.zones] == ["a", "c", "e"]
    assert group.entities == 6
    monkeypatch.setattr(fleet_samples, "MOST_ENTITIES", 1)
    (group,) = find_groups(region.store)
    assert group.entities == 3


def test_zones_that_do_not_share_are_replaced_by_others(region, monkeypatch):
    monkeypatch.setattr(fleet_samples, "MOST_ZONES", 3)
    for name in ("a", "b", "c", "d", "e"):
        region.add(name, hours=15 * 24, share_with_fleet=name in "bde")
    (group,) = find_groups(region.store)
    assert [zone.id for zone, _ in group.zones] == ["b", "d", "e"]


def test_zones_with_the_same_weather_train_together(region):
    region.add("north")
    region.add("south")
    region.add("calm", variables=("wind",))
    groups = find_groups(region.store)
    found = [sorted(zone.id for zone, _ in group.zones) for group in groups]
    assert sorted(found) == [["calm"], ["north", "south"]]
    assert all(group.can_train for group in groups)


def test_zones_that_do_not_share_are_left_out(region):
    region.add("north", share_with_fleet=False)
    region.add("south")
    (group,) = find_groups(region.store)
    assert [zone.id for zone, _ in group.zones] == ["south"]


def test_entities_with_a_short_past_are_left_out(region):
    region.add("north", hours=10 * 24)
    assert find_groups(region.store) == []


def test_samples_are_shares_of_capacity_without_bad_readings(region):
    world, entities = region.add("north")
    bad = int(world.times[5])
    verdict = Verdict(entities[0].number, bad, Flag.QUARANTINED, "out of range")
    status = region.store.status("north")
    region.store.commit(Outcome(replace(status, position=2), verdicts=(verdict,)))
    (group,) = find_groups(region.store)
    (zone,) = read_samples(region.store, group)
    expected = world.power / 100.0
    expected[5, 0] = np.nan
    np.testing.assert_allclose(zone.y, expected, rtol=1e-6)
    np.testing.assert_allclose(zone.x[:, :2], world.weather[:HOURS], rtol=1e-6)
    np.testing.assert_array_equal(zone.at, world.times[:HOURS] // 3600)
    assert zone.kinds == (("consumer",), ("consumer",))


@pytest.mark.slow
def test_priors_are_trained_in_the_background_and_again_when_they_are_old(region):
    region.add("north")
    region.add("south", share_with_fleet=False)
    region.training.run_round()
    (first,) = region.store.priors()
    assert (first.origin, first.number) == ("trained", 1)
    prior = FleetPrior.from_bytes(region.store.prior(first.digest))
    assert prior.kinds["consumer"].entities == 2
    assert prior.weather == ("wind", "sun")
    assert "north" not in str(prior.source)
    (event,) = region.store.events(kinds=["prior"])
    assert "prior 1 was trained on 2 entities" in event.message
    region.now = 6 * DAY
    region.training.run_round()
    assert len(region.store.priors()) == 1
    region.now = 8 * DAY
    region.training.run_round()
    assert len(region.store.priors()) == 2


def test_a_training_that_is_stopped_leaves_nothing(region):
    region.add("north")
    with region.training:
        pass
    region.training.run_round()
    assert region.store.priors() == []


def test_nothing_is_trained_without_two_of_a_kind(region):
    region.training.run_round()
    assert region.store.priors() == []


def test_entities_with_hardly_a_reading_in_a_long_time_are_left_out(region):
    world, entities = region.add("north", hours=24)
    region.store.add_weather(replace(world.issue(0, 24), times=world.times[:24] + 30 * DAY), at=0.0)
    late = world.readings(0, 1, [entity.number for entity in entities])
    late["time"] += 30 * DAY
    region.store.add_readings(late, at=0.0)
    (group,) = find_groups(region.store)
    assert read_samples(region.store, group) == []
