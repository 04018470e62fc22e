"""A zone that rests on disk continues as if it had stayed in memory."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from tests.service.learner.station import Station
from tests.service.tally import Tally

from clearwatt.service.learner import pace, upkeep
from clearwatt.service.learner.zone_learner import ZoneLearner
from clearwatt.service.store import StoreFullError, StoreUnavailableError


@pytest.fixture
def station(tmp_path):
    made = Station(tmp_path)
    yield made
    made.store.close()


def positions(station) -> list[int]:
    return [each.position for each in station.checkpoints.newest("town")]


def test_a_zone_that_rested_continues_as_if_it_had_not(tmp_path):
    awake, rested = (Station(tmp_path / name) for name in ("awake", "rested"))
    for station in (awake, rested):
        for number in range(4):
            station.send(number, start=number)
            station.command("warmup")
            station.catch_up()
            if station is rested:
                station.learner.rest()
                assert not station.learner.in_memory
    assert rested.status == awake.status
    assert [each.position for each in rested.published] == [
        each.position for each in awake.published
    ]


def test_a_resting_zone_has_nothing_to_do_until_its_journal_grows(station):
    station.send(1)
    station.catch_up()
    station.learner.rest()
    assert station.learner.next_due(station.head) == math.inf
    assert station.learner.position == 1
    station.send(2, start=3)
    assert station.learner.next_due(station.head) < math.inf
    station.catch_up()
    assert station.status.steps == 3


def test_resting_before_the_first_entry_is_rest(station):
    station.learner.run_step(0)
    station.learner.rest()
    assert station.learner.next_due(0) == math.inf


def test_newest_readings_reach_forecasts_before_a_zone_rests(station):
    station.send(1, 2)
    station.catch_up()
    station.send(4, start=5)
    station.learner.run_step(station.head)  # the next refresh is due in a minute
    station.learner.rest()
    assert station.refreshed[-1] == ("town", b"town: 7")


def test_resting_writes_a_checkpoint_only_when_one_is_due(station, monkeypatch):
    station.send(1)
    station.catch_up()
    station.learner.rest()
    assert positions(station) == []
    monkeypatch.setattr(upkeep, "IDLE_CHECKPOINT", 0.0)
    station.send(2, start=2)
    station.learner.run_step(station.head)  # wakes
    station.learner.run_step(station.head)
    station.learner.rest()
    assert positions(station) == [2]
    station.restart()
    station.send(4, start=3)
    station.catch_up()
    assert station.status.steps == 7


def test_the_next_node_continues_from_where_a_zone_rested(station):
    station.send(1)
    station.catch_up()
    station.learner.rest()
    station.learner.finish()
    station.learner.drop_rested()
    assert positions(station) == [1]
    assert list((station.folder / "resting").iterdir()) == []


def test_a_damaged_resting_state_is_learned_again_from_the_journal(station):
    for number in range(3):
        station.send(number, start=number)
        station.command("warmup")
        station.catch_up()
    station.send(5, start=9)
    station.catch_up()
    before = station.status
    station.learner.rest()
    (tensors,) = (station.folder / "resting").rglob("*.safetensors")
    tensors.write_bytes(tensors.read_bytes()[:-1])
    station.send(50, start=10)
    station.catch_up()
    assert station.status == replace(before, position=before.position + 1, steps=before.steps + 50)


def test_a_zone_that_cannot_be_written_stays_in_memory(station, monkeypatch):
    def fail(path, save):
        raise StoreFullError("no space left")

    station.send(1)
    station.catch_up()
    monkeypatch.setattr(station.learner.context.resting, "write", fail)
    station.learner.rest()
    assert station.learner.in_memory
    assert station.outages.reason == "full"
    station.send(2, start=3)
    station.catch_up()
    assert station.status.steps == 3


def test_a_zone_without_new_entries_need_not_be_loaded(station):
    station.send(1)
    station.command("warmup")
    station.catch_up()
    learner = ZoneLearner(station.zone, station.learner.context, committed=station.head)
    assert learner.next_due(station.head) == math.inf
    assert learner.position == station.head
    learner.finish()
    station.send(2, start=3)
    station.learner = learner
    station.catch_up()
    assert station.status.steps == 3
    assert learner.next_due(station.head) > 0


def test_a_checkpoint_that_fails_leaves_the_zone_in_memory_with_its_work_due(station, monkeypatch):
    def fail(zone, position, save):
        raise StoreUnavailableError("away")

    station.send(1)
    station.catch_up()
    monkeypatch.setattr(upkeep, "IDLE_CHECKPOINT", 0.0)
    with monkeypatch.context() as patch:
        patch.setattr(station.checkpoints, "write", fail)
        station.learner.rest()
    assert station.learner.in_memory
    assert station.learner.next_due(station.head) < math.inf, "the checkpoint is tried again"
    station.learner.rest()
    assert not station.learner.in_memory
    assert positions(station) == [1]


def test_whatever_keeps_a_zone_from_resting_does_not_stop_the_learner(station, monkeypatch):
    def fail(folder):
        raise TypeError("cannot be written")

    station.send(1)
    station.catch_up()
    with monkeypatch.context() as patch:
        patch.setattr(station.learner._learning, "save", fail)
        station.learner.rest()
    assert station.learner.in_memory
    station.learner.rest()
    assert not station.learner.in_memory


def test_a_resting_state_survives_a_database_that_is_away(station, monkeypatch):
    def away(folder, **others):
        raise StoreUnavailableError("away")

    monkeypatch.setattr(pace, "FIRST_WAIT", 0.0)
    station.send(1)
    station.catch_up()
    station.learner.rest()
    station.send(2, start=3)
    with monkeypatch.context() as patch:
        patch.setattr(Tally, "load", away)
        station.learner.run_step(station.head)
    assert not station.learner.in_memory
    assert list((station.folder / "resting").iterdir()) != []
    station.catch_up()
    assert station.status.steps == 3
