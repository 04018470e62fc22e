"""What is delivered counts, not in which order or how often."""

import pytest
from tests.service.running import running

from clearwatt.service.client import Client

from .delivery import in_disorder
from .feeding import Feeder, settle
from .remains import remains

pytestmark = [pytest.mark.xdist_group("durability"), pytest.mark.slow]  # one worker makes the twin


def test_the_twin_has_learned_enough_to_be_worth_comparing(twin):
    updates = [key for key in twin.remains["events"] if key.startswith("update:")]
    assert len(updates) >= 10
    assert {key.split(":")[1] for key in updates} == {"autoencoder", "predictor"}
    kinds = {kind for kind, *_ in twin.remains["events"].values()}
    assert {"warmup", "update", "late", "correction"} <= kinds
    assert set(map(len, twin.remains["readings"].values())) == {200 + 6 * twin.world.blocks}


def test_disorder_and_duplicates_lead_to_the_same_state(twin, tmp_path):
    requests = twin.world.requests(in_disorder)
    with (
        running(tmp_path / "data") as service,
        Client(service.url) as client,
        Feeder(service.url, requests) as feeder,
    ):
        twin.world.begin(client)
        feeder.deliver()
        settle(client)
        assert service.stop() == 0
    found = remains(tmp_path / "data")
    for part in ("readings", "versions", "signals", "states"):
        assert found[part] == twin.remains[part], part
