"""Damaged files are found, told of, and done without."""

import pytest
from tests.service.running import running

from clearwatt.service.client import Client
from clearwatt.service.files import Checkpoints

from .conftest import Twin
from .delivery import in_order
from .feeding import DAY, Feeder, free_port, settle
from .harm import damage
from .remains import check_same, remains

pytestmark = [pytest.mark.xdist_group("durability"), pytest.mark.slow]


def predictor_of(client: Client, entity: str) -> str | None:
    (forecast,) = client.forecasts([entity], start=DAY[0], end=DAY[1]).forecasts
    assert set(forecast.sources) == {"model"}
    return forecast.predictor


def test_a_damaged_model_and_a_damaged_checkpoint(twin: Twin, tmp_path):
    data_dir, requests, port = tmp_path / "data", twin.world.requests(in_order), free_port()
    with Feeder(f"http://127.0.0.1:{port}", requests) as feeder:
        with running(data_dir, "--port", port) as service, Client(service.url) as client:
            twin.world.begin(client)
            feeder.deliver(len(requests) // 2)
            settle(client)
            broken = predictor_of(client, "farm")
            assert broken is not None
            assert not broken.endswith(":0")
            assert service.stop() == 0
        (folder,) = (data_dir / "models").glob(f"{broken.replace(':', '%3A')}@*")
        damage(folder)
        # Of the other zone: one that learns again from an earlier checkpoint mends its models.
        damage(data_dir / next(Checkpoints(data_dir).newest("south")).path / "clear")
        with running(data_dir, "--port", port) as service, Client(service.url) as client:
            used = predictor_of(client, "farm")
            name, _, number = broken.rpartition(":")
            assert used == f"{name}:{int(number) - 1}"
            feeder.deliver()
            settle(client)
            told = client.events(kinds=["damaged"]).events
            assert {event.zone for event in told} == {"north", "south"}
            assert predictor_of(client, "farm") not in (used, broken)
            assert service.stop() == 0
    found = remains(data_dir)
    assert found["versions"].pop(broken)[0] == "damaged"
    check_same(found, {**twin.remains, "versions": without(twin.remains["versions"], broken)})


def without(versions: dict[str, object], version: str) -> dict[str, object]:
    return {name: facts for name, facts in versions.items() if name != version}
