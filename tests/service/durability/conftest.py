"""A service that is left alone, for others to be compared with."""

from pathlib import Path
from typing import NamedTuple

import pytest
from tests.service.running import running

from clearwatt.service.client import Client

from .delivery import World, in_order
from .feeding import Feeder, settle
from .remains import remains

BLOCKS = 40


class Twin(NamedTuple):
    """What was delivered, and what it led to without any trouble."""

    world: World
    remains: dict


def uninterrupted(folder: Path, blocks: int) -> Twin:
    """Deliver everything in order to a service that nobody touches."""
    world = World(blocks)
    with (
        running(folder / "data") as service,
        Client(service.url) as client,
        Feeder(service.url, world.requests(in_order)) as feeder,
    ):
        world.begin(client)
        feeder.deliver()
        settle(client)
        assert service.stop() == 0
    return Twin(world, remains(folder / "data"))


@pytest.fixture(scope="session")
def twin(tmp_path_factory: pytest.TempPathFactory) -> Twin:
    """The twin of all tests that take seconds."""
    return uninterrupted(tmp_path_factory.mktemp("twin"), BLOCKS)
