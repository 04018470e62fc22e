"""When the next checkpoint of a zone is due."""

from __future__ import annotations

import math
import time
from contextlib import closing

import pytest

from clearwatt.service.files import Checkpoints, ModelFiles
from clearwatt.service.learner.upkeep import IDLE_CHECKPOINT, MOST_TRAINING, Upkeep
from clearwatt.service.records import Outcome
from clearwatt.service.status import ZoneStatus
from clearwatt.service.store import open_store


class State:
    """A state after its third entry."""

    position = 3

    def save(self, folder) -> None:
        (folder / "state").write_text("three")


@pytest.fixture
def upkeep(tmp_path):
    with closing(open_store(tmp_path / "clearwatt.db")) as store:
        yield Upkeep("town", store, ModelFiles(tmp_path), Checkpoints(tmp_path))


def commit(upkeep, *, due=False) -> None:
    upkeep.record(Outcome(ZoneStatus("town", position=3)), due=due)


def test_an_idle_zone_has_one_an_hour_after_the_last_if_entries_were_applied(upkeep):
    assert upkeep.next_checkpoint(0) == math.inf
    commit(upkeep)
    assert upkeep.next_checkpoint(3) == pytest.approx(time.monotonic() + IDLE_CHECKPOINT, abs=60)


def test_what_would_take_long_to_apply_again_makes_one_due_at_once(upkeep):
    commit(upkeep, due=True)
    assert upkeep.next_checkpoint(3) <= time.monotonic()


def test_short_trainings_add_up_until_a_checkpoint_is_worth_it(upkeep):
    upkeep.note_training(0.6 * MOST_TRAINING)
    commit(upkeep)
    assert not upkeep.due
    upkeep.note_training(0.6 * MOST_TRAINING)
    commit(upkeep)
    assert upkeep.due
    upkeep.checkpoint(State())
    upkeep.note_training(0.6 * MOST_TRAINING)
    commit(upkeep)
    assert not upkeep.due, "those before the checkpoint do not count any more"
