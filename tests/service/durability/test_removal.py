"""Zones and entities are deleted while the service is killed; nothing of them comes back."""

import signal

import pytest
from tests.service.processes import until
from tests.service.running import PATIENCE, SETTINGS, running, settled, small_grid

from clearwatt.service.client import Client, ServiceError
from clearwatt.service.client.replay import Plan, Replay

pytestmark = pytest.mark.slow


def play(url: str) -> None:
    with Client(url, patience=PATIENCE) as client:
        for _ in Replay(client, small_grid(400), Plan(warmup=200, settings=SETTINGS)).run():
            pass
        until(lambda: settled(client), PATIENCE)


def model_files(data):
    return {folder.name for folder in (data / "models").iterdir()}


def test_what_is_deleted_stays_deleted_and_can_be_played_again(tmp_path):
    data = tmp_path / "data"
    with running(data) as service, Client(service.url, patience=PATIENCE) as client:
        play(service.url)
        client.delete_entity("park")
        assert client.delete_zone("south").entities == ["town"]
        service.kill()
    with running(data) as service, Client(service.url, patience=PATIENCE) as client:
        assert [zone.id for zone in client.zones().zones] == ["north"]
        assert [entity.id for entity in client.entities().entities] == ["farm"]
        with pytest.raises(ServiceError, match="'park' is unknown"):
            client.forecasts(["park"])
        until(lambda: not any("town" in name for name in model_files(data)), PATIENCE)
        until(lambda: not any("park" in name for name in model_files(data)), PATIENCE)
        until(lambda: [each.name for each in (data / "zones").iterdir()] == ["north"], PATIENCE)
        play(service.url)
        states = {entity.id: entity.state for entity in client.entities().entities}
        assert states == dict.fromkeys(("farm", "park", "town"), "learning")
        assert service.process.poll() is None
        service.process.send_signal(signal.SIGTERM)
        assert service.process.wait(timeout=PATIENCE) == 0
    log = (tmp_path / "data.log").read_text()
    assert '"degraded"' not in log
    assert "Traceback" not in log
