"""Applications with an empty store, with models, and with a zone that learns."""

import pytest
from tests.service.application import Web
from tests.service.journals import Service, World
from tests.service.plant import Plant

from clearwatt.service.times import text


@pytest.fixture
def web(tmp_path):
    made = Web(tmp_path)
    yield made
    made.close()


@pytest.fixture
def planted(tmp_path):
    """Three entities with models in service and two days of weather."""
    plant = Plant(tmp_path)
    plant.deploy()
    plant.weather()
    made = Web(tmp_path, store=plant.store, files=plant.files)
    made.plant = plant
    yield made
    made.close()


@pytest.fixture
def learned(tmp_path):
    """A zone that was warmed up over HTTP, and its state in this process."""
    service = Service(tmp_path, World.of(novelty_capacity=20, alpha=1.0))
    made = Web(tmp_path, store=service.store, files=service.files)
    made.now = float(service.world.times[-1])
    service.weather(0, 400)
    service.send(0, 320)
    end = text(int(service.world.times[300]))
    made.warmup = made.post("/v1/zones/north/warmup", {"end": end})
    service.catch_up()
    made.service = service
    yield made
    made.close()
