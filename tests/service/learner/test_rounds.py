"""The learner's loop survives a store that cannot be read, and says why it waits."""

from __future__ import annotations

from contextlib import closing

import pytest
from tests.service.tally import Tally

from clearwatt.service.files import Checkpoints, ModelFiles
from clearwatt.service.learner.context import LearnerContext
from clearwatt.service.learner.leases import EveryZone
from clearwatt.service.learner.outages import Outages
from clearwatt.service.learner.rounds import Rounds
from clearwatt.service.store import (
    StoreDamagedError,
    StoreFullError,
    StoreUnavailableError,
    open_store,
)


class OneRound:
    """An inbox that stops the loop after its first round."""

    stopped = False

    def wait(self, seconds):
        self.stopped = True
        return True


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (StoreFullError("the disk is full"), "full"),
        (StoreUnavailableError("no answer"), "unavailable"),
        (StoreDamagedError("the database is damaged"), "damaged"),
    ],
)
def test_a_store_that_cannot_be_read_is_reported_and_does_not_end_it(
    tmp_path, monkeypatch, error, kind
):
    def fail():
        raise error

    beats = []
    with closing(open_store(tmp_path / "clearwatt.db")) as store:
        monkeypatch.setattr(store, "heads", fail)
        context = LearnerContext(
            store=store,
            files=ModelFiles(tmp_path),
            checkpoints=Checkpoints(tmp_path),
            trainer=None,
            learning=Tally,
            outages=Outages(store),
            leases=EveryZone(),
            publish=lambda status: None,
            refresh=lambda zone, content: None,
            wake=lambda: None,
        )
        Rounds(context, inbox=OneRound(), publish=beats.append).run()
    assert [beat.outage for beat in beats] == [kind]


def test_damage_is_reported_until_a_restart(tmp_path):
    with closing(open_store(tmp_path / "clearwatt.db")) as store:
        outages = Outages(store)
        outages.record(StoreDamagedError("the database is damaged"))
        outages.end()  # a write beside the damage succeeded
        assert outages.reason == "damaged"
        assert store.events() == []
