"""The supervisor: one learner from start to stop, whatever becomes of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.service.processes import alive, until

from clearwatt.service.learner import supervisor as module
from clearwatt.service.learner.process import LearnerConfig
from clearwatt.service.learner.supervisor import Supervisor
from clearwatt.service.records import Command, Zone
from clearwatt.service.store import StoreFullError, open_store

HERE = Path(__file__).parents[1]


@pytest.fixture
def config(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(HERE))
    import tally

    return LearnerConfig(tmp_path, workers=1, log_level="critical", learning=tally.Tally)


def test_a_learner_that_keeps_dying_is_started_again_ever_later(config, monkeypatch, tmp_path):
    monkeypatch.setattr(module, "FIRST_WAIT", 0.05)
    store = open_store(tmp_path / "clearwatt.db")
    store.add_zone(Zone("town", 900, ("wind",)))
    store.add_command(Command("hold", "town", None, {}, "test", 0.0))  # kills who applies it
    events = []
    supervisor = Supervisor(config, changed=lambda *_: None, record=events.append)
    supervisor.start()
    until(lambda: len(events) >= 2)
    supervisor.stop()
    waits = [event.details["wait_s"] for event in events]
    assert waits[:2] == pytest.approx([0.05, 0.1])
    assert events[0].kind == "learner restarted"
    assert events[0].key != events[1].key
    assert not supervisor.health.alive
    store.close()


def test_a_stop_right_after_the_start_leaves_nothing_behind(config):
    supervisor = Supervisor(config, changed=lambda *_: None, record=lambda _: None)
    supervisor.start()
    pid = until(lambda: supervisor.pid)
    supervisor.stop()
    assert not alive(pid)
    assert supervisor.pid is None


def test_without_a_start_there_is_nothing_to_stop(config):
    supervisor = Supervisor(config, changed=lambda *_: None, record=lambda _: None)
    supervisor.wake()
    supervisor.stop()
    assert supervisor.health == module.Health(alive=False, restarts=0, heartbeat_age=None)


def test_listeners_and_records_that_fail_do_not_end_the_supervision(config, tmp_path):
    store = open_store(tmp_path / "clearwatt.db")
    store.add_zone(Zone("town", 900, ("wind",)))
    heard = []

    def changed(zone, position, generation):
        heard.append(position)
        raise ValueError("a page could not be drawn")

    def record(event):
        raise StoreFullError("no space left")

    supervisor = Supervisor(config, changed=changed, record=record)
    supervisor.start()
    for seq in (1, 2):
        store.add_command(Command("resume", "town", None, {}, "test", 0.0))
        supervisor.wake()
        until(lambda seq=seq: seq in heard)
    first = supervisor.pid
    store.add_command(Command("hold", "town", None, {}, "test", 0.0))
    supervisor.wake()
    until(lambda: supervisor.pid not in (None, first))
    supervisor.stop()
    assert supervisor.health.restarts >= 1
    store.close()
