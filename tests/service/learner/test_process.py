"""The learner as a process: it learns, waits its turn, stops soon, and can be killed any time."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest
from tests.service.processes import PATIENCE, alive, niced, until

from clearwatt.errors import ConfigurationError
from clearwatt.service.files import Checkpoints, ModelFiles
from clearwatt.service.learner.process import LearnerConfig, main
from clearwatt.service.learner.supervisor import Supervisor
from clearwatt.service.learner.updater import NICENESS
from clearwatt.service.records import READING, Command, RegisteredEntity, Zone
from clearwatt.service.status import ZoneStatus
from clearwatt.service.store import open_store
from clearwatt.training.streams import drive

HERE = Path(__file__).parents[1]
ROOT = HERE.parents[1]
LONG = 4_000
"""Epochs of a training that takes some seconds: long enough to be caught at it."""
FOREVER = 100_000_000
SOON = 60.0
"""Seconds that a busy machine may take to stop a learner."""


@pytest.fixture
def tally(monkeypatch):
    """The class in a module that spawned processes find, too."""
    monkeypatch.syspath_prepend(str(HERE))
    import tally

    return tally.Tally


class Site:
    """A data directory with zones, what is sent to them, and a learner under supervision."""

    def __init__(self, folder: Path, folds, zones=("town",)) -> None:
        self.store = open_store(folder / "clearwatt.db")
        self.folder = folder
        for zone in zones:
            self.store.add_zone(Zone(zone, 900, ("wind",)))
        entities = self.store.add_entities(
            [RegisteredEntity(zone, zone, "generator") for zone in zones]
        )
        self.numbers = {entity.zone: entity.number for entity in entities}
        self.config = LearnerConfig(folder, workers=1, log_level="error", learning=folds)
        self.changes: list[tuple[str, int, int]] = []
        self.supervisor = Supervisor(
            self.config,
            changed=lambda *each: self.changes.append(each),
            record=self.store.add_event,
        )

    def send(self, value: float, *, at: int, zone: str = "town") -> None:
        reading = np.array([(self.numbers[zone], 900 * at, value)], READING)
        self.store.add_readings(reading, at=0.0)
        self.supervisor.wake()

    def train(self, *, zone: str = "town", epochs: int = 3) -> None:
        self.command("warmup", zone, epochs=epochs)

    def command(self, kind, zone="town", **arguments) -> None:
        self.store.add_command(Command(kind, zone, None, arguments, "test", 0.0))
        self.supervisor.wake()

    def status(self, zone: str = "town") -> ZoneStatus:
        return self.store.status(zone)

    def total(self, zone: str = "town") -> int:
        return self.status(zone).steps

    def end(self) -> None:
        self.supervisor.stop()
        self.store.close()


@pytest.fixture
def site(tmp_path, tally):
    made = Site(tmp_path, tally, zones=("town", "village"))
    yield made
    made.end()


def test_what_arrives_is_learned_and_a_stop_leaves_a_checkpoint(site, monkeypatch):
    monkeypatch.setattr("clearwatt.service.learner.supervisor.STOP_WITHIN", SOON)
    site.supervisor.start()
    site.send(1, at=0)
    until(lambda: site.total() == 1)
    site.send(2, at=1)
    until(lambda: site.total() == 3)
    until(lambda: ("town", 2, 0) in site.changes)  # told after it can be read
    beat = until(lambda: (h := site.supervisor.health).heartbeat_age is not None and h)
    assert beat.alive
    assert beat.degraded == {}
    site.train(zone="village", epochs=FOREVER)
    until(lambda: niced(NICENESS, site.supervisor.pid))
    pid, began = site.supervisor.pid, time.monotonic()
    site.supervisor.stop()
    assert time.monotonic() - began < SOON, "a training under way must not delay a stop"
    assert not alive(pid)
    newest = next(Checkpoints(site.folder).newest("town"))
    assert newest.position == 2
    assert site.store.events(kinds=["learner restarted"]) == []


def test_it_waits_for_a_damaged_database_to_be_restored(tmp_path, tally, capfd):
    database = tmp_path / "clearwatt.db"
    database.write_text("not a database " * 1000)
    config = LearnerConfig(tmp_path, workers=1, log_level="error", learning=tally)
    context = get_context("spawn")
    ours, theirs = context.Pipe()
    learner = context.Process(target=main, args=(config, theirs))
    learner.start()
    try:
        until(lambda: "store not opened" in capfd.readouterr().err or not learner.is_alive())
        database.unlink()
        assert ours.poll(PATIENCE), "it has ended"
        assert ours.recv()[0] == "heartbeat"
    finally:
        ours.send(("stop",))
        learner.join(PATIENCE)
    assert learner.exitcode == 0


def test_a_zone_that_trains_does_not_hold_up_another(site):
    site.train(epochs=FOREVER)
    site.supervisor.start()
    until(lambda: niced(NICENESS, site.supervisor.pid))
    site.send(4, at=0, zone="village")
    until(lambda: site.total("village") == 4)
    assert "town" not in site.store.statuses()
    until(lambda: site.supervisor.health.training == 1)


def test_a_zone_that_fails_does_not_hold_up_another(site, tmp_path):
    site.command("drop", unless=str(tmp_path / "never"))
    site.send(4, at=0, zone="village")
    site.supervisor.start()
    until(lambda: site.total("village") == 4)
    health = until(lambda: (h := site.supervisor.health).degraded and h)
    assert list(health.degraded) == ["town"]
    assert health.queue == 1
    assert health.restarts == 0


@pytest.mark.slow
def test_killed_in_the_middle_of_a_training_it_ends_up_the_same(tmp_path, tally):
    site = Site(tmp_path, tally)
    site.send(5, at=0)
    site.train(epochs=LONG)
    site.send(2, at=1)
    (tmp_path / "twin").mkdir()
    twin = tally(Zone("town", 900, ()), store=site.store, files=ModelFiles(tmp_path / "twin"))
    expected = drive(twin.apply(site.store.journal("town", after=0), [])).status
    site.supervisor.start()
    worker = until(lambda: site.supervisor.pid and niced(NICENESS, site.supervisor.pid))
    learner = site.supervisor.pid
    os.kill(learner, signal.SIGKILL)
    until(lambda: not alive(worker))  # it does not outlive the learner
    again = until(lambda: site.supervisor.pid not in (None, learner) and site.supervisor.pid)
    os.kill(until(lambda: niced(NICENESS, again)), signal.SIGKILL)  # and now only its worker
    until(lambda: site.total() == 7)
    assert site.status() == expected
    (event,) = site.store.events(kinds=["learner restarted"])
    assert "killed by signal 9" in event.message
    assert site.supervisor.health.restarts == 1
    assert len(site.store.events(kinds=["update"])) == 1
    site.end()


def test_a_second_learner_waits_until_the_first_is_gone(tmp_path, tally):
    site = Site(tmp_path, tally)
    site.send(3, at=0)
    context = get_context("spawn")
    pipes, learners = [], []
    for _ in range(2):
        ours, theirs = context.Pipe()
        learners.append(context.Process(target=main, args=(site.config, theirs)))
        pipes.append(ours)
        learners[-1].start()
        theirs.close()
        if len(learners) == 1:
            until(pipes[0].poll)  # the first has the lock
    until(lambda: _has_open(learners[1].pid, tmp_path / "learner.lock"))
    assert not pipes[1].poll(1), "two learners at once"
    os.kill(learners[0].pid, signal.SIGKILL)
    assert pipes[1].poll(PATIENCE), "the second never took over"
    pipes[1].send(("stop",))
    for learner in learners:
        learner.join(PATIENCE)
        assert not learner.is_alive()
    assert learners[1].exitcode == 0
    site.store.close()


def _has_open(pid: int, file: Path) -> bool:
    for link in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):  # closed in the meantime
            if link.readlink() == file:
                return True
    return False


def test_it_ends_with_a_parent_that_is_killed(tmp_path):
    script = (
        "import sys, time\n"
        f"sys.path.insert(0, {str(HERE)!r})\n"
        "from pathlib import Path\n"
        "from tally import Tally\n"
        "from clearwatt.service.learner.process import LearnerConfig\n"
        "from clearwatt.service.learner.supervisor import Supervisor\n"
        "if __name__ == '__main__':\n"
        f"    config = LearnerConfig(Path({str(tmp_path)!r}), learning=Tally)\n"
        "    supervisor = Supervisor(config, changed=print, record=print)\n"
        "    supervisor.start()\n"
        "    while supervisor.health.heartbeat_age is None:\n"
        "        time.sleep(0.02)\n"
        "    print(supervisor.pid, flush=True)\n"
        "    time.sleep(600)\n"
    )
    path = tmp_path / "parent.py"
    path.write_text(script)
    parent = subprocess.Popen(
        [sys.executable, str(path)],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert parent.stdout is not None
    learner = int(parent.stdout.readline())
    parent.kill()
    parent.communicate()
    until(lambda: not alive(learner))


def test_a_configuration_is_checked_and_keeps_its_password_to_itself(tmp_path):
    with pytest.raises(ConfigurationError, match="choose one of processes, ray"):
        LearnerConfig(tmp_path, updater="threads")
    config = LearnerConfig(tmp_path, database="postgresql://me:hush@host/db")
    assert "hush" not in repr(config)
