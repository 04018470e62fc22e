"""Nodes of a cluster: zones are shared, taken over and given back, and nothing is lost."""

from contextlib import closing

import pytest
from tests.service.durability.conftest import Twin, uninterrupted
from tests.service.durability.delivery import ZONES, World, in_order
from tests.service.durability.feeding import DAY, Feeder, settle
from tests.service.durability.remains import check_same, remains
from tests.service.processes import until
from tests.service.running import PATIENCE

from clearwatt.service.client import Client
from clearwatt.service.store import open_store

from .nodes import cluster

BLOCKS = 12


@pytest.fixture(scope="session")
def short_twin(tmp_path_factory) -> Twin:
    """What the same delivery leads to on one undisturbed machine."""
    return uninterrupted(tmp_path_factory.mktemp("short-twin"), BLOCKS)


def holders(database) -> dict[str, str]:
    with closing(open_store(database)) as store:
        return dict(store.holders())


@pytest.mark.slow
def test_a_killed_and_a_paused_learner_are_replaced_and_the_end_is_as_if_nothing_had_been(
    postgres, tmp_path, short_twin
):
    world = World(BLOCKS)
    requests = world.requests(in_order)
    with cluster(tmp_path, postgres) as nodes:
        first, second = nodes.web("web-1"), nodes.web("web-2")
        for name in ("learner-1", "learner-2"):
            nodes.add(name, "learner")
        with Client(first) as client, Client(second) as other, Feeder(first, requests) as feeder:
            world.begin(client)
            until(lambda: set(holders(postgres).values()) == {"learner-1", "learner-2"}, PATIENCE)
            feeder.deliver(len(requests) // 3)
            victim = holders(postgres)["north"]
            nodes.nodes[victim].kill()
            survivor = ({"learner-1", "learner-2"} - {victim}).pop()
            until(lambda: set(holders(postgres).values()) == {survivor}, PATIENCE)
            feeder.deliver(2 * len(requests) // 3)
            settle(client)
            nodes.add("learner-3", "learner")
            until(lambda: "learner-3" in holders(postgres).values(), PATIENCE)
            nodes.nodes[survivor].pause()
            until(lambda: set(holders(postgres).values()) == {"learner-3"}, PATIENCE)
            feeder.deliver()
            nodes.nodes[survivor].resume()
            settle(other)
            for zone in ZONES:
                answers = other.zone_forecasts(zone, start=DAY[0], end=DAY[1]).forecasts
                assert {source for each in answers for source in each.sources} == {"model"}
        for name in (survivor, "learner-3", "web-1", "web-2"):
            assert nodes.nodes[name].stop() == 0
    check_same(remains(tmp_path, postgres, cluster=True), short_twin.remains)
