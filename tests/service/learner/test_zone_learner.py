"""One zone's learning: committed once, in order, and never stopped for good by trouble."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from pathlib import Path

import pytest
from tests.service.learner.station import Station
from tests.service.tally import Tally

from clearwatt.files import MANIFEST
from clearwatt.service.files import KEPT_VERSIONS
from clearwatt.service.learner import pace
from clearwatt.service.learner.apply.zone_learning import ZoneLearning
from clearwatt.service.learner.updater import TrainingLostError
from clearwatt.service.learner.zone_learner import CROWD, ZoneLearner
from clearwatt.service.records import RegisteredEntity
from clearwatt.service.store import (
    StoreDamagedError,
    StoreFullError,
    StoreUnavailableError,
    open_store,
)


@pytest.fixture
def station(tmp_path):
    made = Station(tmp_path)
    yield made
    made.store.close()


def damage(folder: Path) -> None:
    (tensors,) = folder.glob("*.safetensors")
    tensors.write_bytes(tensors.read_bytes()[:-1])


def positions(station) -> list[int]:
    return [each.position for each in station.checkpoints.newest("town")]


def test_applied_entries_are_committed_and_published(station):
    station.send(1, 2, 3)
    station.catch_up()
    assert station.status.steps == 6
    station.command("warmup")
    station.catch_up()
    assert station.status.generation == 1
    assert station.store.version("autoencoder:town:1").status == "deployed"
    assert [status.position for status in station.published] == [1, 2]
    assert positions(station) == [2], "an update has a checkpoint"
    assert station.learner.position == 2


def test_an_entity_deleted_at_the_beginning_of_a_step_stays_up_to_its_deletion(
    station, monkeypatch
):
    station.restart(ZoneLearning)
    station.send(1, 2, 3)

    def delete_after(read):
        def read_and_delete(zone):
            found = read(zone)
            monkeypatch.undo()
            station.store.remove_entity(station.entity, actor="Ada", at=1.0)
            return found

        return read_and_delete

    for name in ("entities", "removed_entities"):  # whichever is read first
        monkeypatch.setattr(station.store, name, delete_after(getattr(station.store, name)))
    station.catch_up()
    assert station.published[0].entities["pv"].received == 3
    assert station.status.position == 2
    assert not station.status.entities
    assert station.learner.error is None


def test_a_warm_up_waits_while_trainings_do_and_what_came_before_it_does_not(station):
    station.send(1, 2, 3)
    station.command("warmup")
    station.send(4, start=9)
    station.trainer.waiting = CROWD
    station.catch_up()
    assert station.status.steps == 6
    assert station.status.generation == 0
    assert station.learner.error is None
    station.trainer.waiting = 0
    station.learner.run_step(station.head)  # begins, before the second it would wait is over
    station.learner.run_step(station.head)
    station.catch_up()
    assert station.status.steps == 10
    assert station.status.generation == 1


def test_a_restart_applies_entries_again_without_going_back(station):
    station.send(1)
    station.command("warmup")
    station.catch_up()
    for hour in range(1, 5):
        station.send(hour, start=hour)
        station.catch_up()
    before = station.status
    assert positions(station) == [2]
    station.published.clear()
    station.restart()
    station.catch_up()
    assert station.published == [], "what was committed before is not committed again"
    station.send(100, start=9)
    station.catch_up()
    assert [status.position for status in station.published] == [7]
    assert station.status.steps == before.steps + 100
    assert station.status.encoder == before.encoder


def test_a_status_that_cannot_be_read_is_not_replaced(station, monkeypatch):
    station.send(1, 2)
    station.catch_up()
    before = station.status
    station.restart()
    station.send(3, start=9)

    def fail(zones=None):
        raise StoreDamagedError("page 7")

    with monkeypatch.context() as patched:
        patched.setattr(station.store, "statuses", fail)
        station.learner.run_step(station.head)
    assert station.status == before
    for _ in range(5):
        station.learner.run_step(station.head)  # without the pause after an error
    assert station.status.steps > before.steps


@pytest.mark.parametrize("damaged", [1, 2])
def test_damaged_checkpoints_are_reported_and_entries_applied_again(station, damaged):
    for number in range(3):
        station.send(number, start=number)
        station.command("warmup")
        station.catch_up()
    before = station.status
    newest = list(station.checkpoints.newest("town"))[:damaged]
    for checkpoint in newest:
        damage(station.folder / checkpoint.path)
    station.restart()
    station.catch_up()
    station.send(50, start=9)
    station.catch_up()
    events = station.store.events(kinds=["damaged"])
    assert sorted(event.details["file"] for event in events) == sorted(
        checkpoint.path for checkpoint in newest
    )
    after = station.status
    assert after == replace(before, position=after.position, steps=before.steps + 50)
    station.restart()
    station.catch_up()
    assert len(station.store.events(kinds=["damaged"])) == damaged, "told once"


def test_a_checkpoint_from_beyond_the_journal_is_not_used(station):
    station.send(1)
    station.command("warmup")
    station.catch_up()
    (checkpoint,) = station.checkpoints.newest("town")
    folder = station.folder / checkpoint.path
    folder.rename(folder.with_name("checkpoint-99"))
    station.restart()
    station.send(2, start=5)
    station.catch_up()
    (event,) = station.store.events(kinds=["damaged"])
    assert "the journal ends with 3" in event.message
    assert station.status.steps == 3


def test_a_checkpoint_of_a_deleted_zone_is_not_used_by_one_with_its_id(station):
    station.send(1)
    station.command("warmup")
    station.catch_up()
    assert list(station.checkpoints.newest("town"))
    station.store.remove_zone(station.zone, actor="Ada", at=1.0)
    station.store.add_zone(station.zone)
    (station.entity,) = station.store.add_entities([RegisteredEntity("pv", "town", "generator")])
    station.restart()
    station.send(2, start=5)
    station.catch_up()
    assert station.status.steps == 2, "it continues where the deleted zone was"


def test_a_zone_deleted_while_it_is_learned_is_dropped_without_an_error(station, caplog):
    station.send(1)
    station.learner.run_step(station.head)  # loads
    head = station.head
    apply = station.learner._learning.apply

    def delete_meanwhile(*arguments):
        station.store.remove_zone(station.zone, actor="Ada", at=1.0)
        return apply(*arguments)

    station.learner._learning.apply = delete_meanwhile
    station.learner.run_step(head)
    assert station.learner.is_lost
    assert station.learner.next_due(head + 1) == math.inf
    assert [each.message for each in caplog.records] == ["zone deleted while it was learned"]


def test_a_zone_that_is_registered_again_reports_an_error_of_its_first_entries(station):
    station.send(1)
    station.catch_up()
    station.store.remove_zone(station.zone, actor="Ada", at=1.0)
    station.store.add_zone(station.zone)
    (station.entity,) = station.store.add_entities([RegisteredEntity("pv", "town", "generator")])

    class Failing(Tally):
        def apply(self, *arguments):
            raise ValueError("no forecasts today")

    station.restart(Failing)
    station.send(2, start=5)
    for _ in range(2):  # loads, and fails
        station.learner.run_step(station.head)
    assert station.status.error == "ValueError: no forecasts today"
    assert not station.learner.is_lost


def test_a_zone_that_another_node_has_taken_is_dropped_and_nothing_is_written(station):
    node = station.store.register_node("a", "learner")
    fence = station.store.take_zones(node, limit=1)["town"]
    learner = ZoneLearner(station.zone, station.learner.context, fence=fence)
    station.send(1)
    learner.run_step(station.store.heads()["town"])  # loads
    station.store.release_leases(node, ["town"])
    station.store.take_zones(station.store.register_node("b", "learner"), limit=1)
    learner.run_step(station.store.heads()["town"])
    assert learner.is_lost
    assert learner.next_due(99) == float("inf")
    assert station.store.status("town").position == 0
    assert station.store.events(kinds=["degraded"]) == []


def test_an_entry_that_cannot_be_applied_stops_its_zone_right_before_it(
    station, tmp_path, monkeypatch
):
    monkeypatch.setattr(pace, "FIRST_WAIT", 0.0)
    repaired = tmp_path / "repaired"
    for number in range(5):
        station.send(1, start=number)
    station.command("drop", unless=str(repaired))
    station.send(10, start=9)
    for _ in range(40):
        station.learner.run_step(station.head)
    assert station.status.position == 5
    assert station.status.steps == 5
    assert station.status.error == "KeyError: 'entry 6\\nTraceback and other noise'"
    assert station.learner.error == station.status.error
    assert station.kinds() == ["degraded"], "the same trouble is told once"
    repaired.touch()
    station.catch_up()
    assert station.status.steps == 15
    assert station.status.error is None
    assert station.learner.error is None


def test_trouble_on_the_way_back_is_forgotten_when_it_is_over(station, tmp_path, monkeypatch):
    """A release that cannot apply what another one could; the next can, without new entries."""
    monkeypatch.setattr(pace, "FIRST_WAIT", 0.0)
    needed = tmp_path / "needed"
    needed.touch()
    station.send(1)
    station.command("drop", unless=str(needed))
    station.catch_up()
    needed.unlink()
    station.restart()
    for _ in range(20):
        station.learner.run_step(station.head)
    assert station.status.error is not None
    assert station.status.position == 2, "what forecasts rely on does not go back"
    needed.touch()
    station.restart()
    station.catch_up()
    assert station.status.error is None


def test_a_training_that_fails_does_not_stop_the_zone(station):
    station.trainer.failure = RuntimeError("a singular matrix")
    station.command("warmup")
    station.send(4)
    station.catch_up()
    assert station.status.pending_rows == 1
    assert station.status.steps == 4
    (event,) = station.store.events(kinds=["training failed"])
    assert "a singular matrix" in event.message


def test_a_training_whose_workers_were_killed_is_repeated_with_the_same_outcome(tmp_path):
    (tmp_path / "calm").mkdir()
    calm, killed = Station(tmp_path / "calm"), Station(tmp_path)
    killed.trainer.failure = TrainingLostError("a training worker was killed 3 times")
    for station in (calm, killed):
        station.command("warmup")
        station.send(4)
    for _ in range(3):
        killed.learner.run_step(killed.head)
    assert killed.status.position == 0
    assert "killed 3 times" in killed.status.error
    killed.trainer.failure = None
    calm.catch_up()
    for _ in range(20):  # without waiting for the pause after a failure
        killed.learner.run_step(killed.head)
    assert killed.status == calm.status
    for station in (calm, killed):
        station.store.close()


class Stubborn:
    """A store that fails to commit while it is told to; all else is the real one's."""

    def __init__(self, store, error) -> None:
        self.store, self.error, self.failing = store, error, True

    def __getattr__(self, name):
        return getattr(self.store, name)

    def commit(self, outcome, *, fence=None) -> None:
        if self.failing:
            raise self.error
        self.store.commit(outcome, fence=fence)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (StoreFullError("the disk is full"), "full"),
        (StoreUnavailableError("no answer"), "unavailable"),
    ],
)
def test_an_outcome_is_kept_until_it_can_be_written(tmp_path, monkeypatch, error, kind):
    monkeypatch.setattr(pace, "FIRST_WAIT", 0.0)
    station = Station(tmp_path, Stubborn(open_store(tmp_path / "clearwatt.db"), error))
    station.send(7)
    for _ in range(5):
        station.learner.run_step(station.head)
    assert station.outages.reason == kind
    assert station.store.statuses() == {}
    station.store.failing = False
    station.catch_up()
    assert station.status.steps == 7
    assert station.kinds() == [kind], "told once, when it is over"
    assert station.outages.reason is None
    station.store.close()


def test_a_zone_whose_damage_cannot_be_recorded_is_reported_by_the_learner(tmp_path):
    error = StoreDamagedError("the database is damaged")
    station = Station(tmp_path, Stubborn(open_store(tmp_path / "clearwatt.db"), error))
    station.send(7)
    for _ in range(3):
        station.learner.run_step(station.head)
    assert station.outages.reason == "damaged"
    assert station.learner.next_due(station.head) > time.monotonic(), "it waits"
    station.store.close()


def test_trouble_is_tried_again_later_and_later(station, tmp_path):
    station.command("drop", unless=str(tmp_path / "never"))
    for wait in (1, 2, 4):
        station.learner.run_step(station.head)  # loads
        began = time.monotonic()
        station.learner.run_step(station.head)  # applies, and fails
        ended = time.monotonic()
        assert began + wait <= station.learner.next_due(station.head) <= ended + wait


def test_a_burst_is_applied_in_batches_of_bounded_size(station, monkeypatch):
    monkeypatch.setattr(pace, "MOST_READINGS", 10)
    monkeypatch.setattr(pace, "SHORT", math.inf)  # however slow the machine is
    for number in range(30):
        station.send(1, 1, 1, 1, start=4 * number)
    station.catch_up()
    assert [status.position for status in station.published] == [*range(3, 31, 3)]
    assert station.status.steps == 120


def test_slow_batches_become_shorter(station, monkeypatch):
    monkeypatch.setattr(pace, "SHORT", 1e-9)
    for number in range(pace.FIRST_ENTRIES + 3):
        station.send(1, start=number)
    station.catch_up()
    first = pace.FIRST_ENTRIES
    assert [status.position for status in station.published] == [
        first,
        first + 1,
        first + 2,
        first + 3,
    ]


def test_finishing_writes_a_checkpoint_of_all_applied_entries(station):
    station.send(1)
    station.catch_up()
    assert positions(station) == []
    station.learner.finish()
    assert positions(station) == [1]


def test_old_model_files_are_removed_once_no_checkpoint_can_ask_for_them(station):
    for _ in range(KEPT_VERSIONS + 3):
        station.command("warmup", epochs=1)
        station.catch_up()
    left = sorted(
        version.number
        for version in station.store.versions(zone="town")
        if (station.folder / version.path).exists()
    )
    assert left == [*range(3, KEPT_VERSIONS + 4)]


@pytest.mark.parametrize("content", ["[" * 100_000, "{}", '{"format": "clearwatt-state"}'])
def test_a_checkpoint_that_cannot_be_read_gives_way_to_the_one_before(station, content):
    for _ in range(2):
        station.send(1, 2, 3, start=3 * station.head)
        station.catch_up()
        station.learner.finish()
    newest, older = station.checkpoints.newest("town")
    (station.folder / newest.path / MANIFEST).write_text(content)
    station.restart()
    station.learner.run_step(station.head)
    assert station.learner.position == older.position
    station.catch_up()
    assert station.status.steps == 12
    assert station.status.error is None
    assert station.kinds() == ["damaged"]


def test_what_the_newest_readings_change_is_passed_on_but_no_more_often_than_told(station):
    station.send(1, 2, 3)
    station.catch_up()
    assert station.refreshed == [("town", b"town: 6")]
    station.send(4, start=3)
    station.catch_up()
    assert station.status.steps == 10
    assert len(station.refreshed) == 1
    assert station.learner.next_due(station.head) < time.monotonic() + 61  # it is made later
    station.restart()
    station.catch_up()
    assert station.refreshed[1:] == [("town", b"town: 10")]


def test_a_refresh_that_fails_does_not_stop_learning(station, monkeypatch):
    def fail(learning):
        raise ArithmeticError("no")

    monkeypatch.setattr(Tally, "find_latest", fail)
    station.send(1, 2, 3)
    station.catch_up()
    assert station.status.steps == 6
    assert station.learner.error is None
    assert station.refreshed == []
