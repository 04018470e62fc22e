"""What a web node takes over from the others, and which one does the regular work."""

from contextlib import closing

import numpy as np
import pytest
from tests.service.application import NOW, STEP

from clearwatt.service.api.security.auth import create_token
from clearwatt.service.api.security.sessions import Sessions
from clearwatt.service.cluster.monitor import ClusterMonitor, summarise
from clearwatt.service.cluster.news import News, NewsSender
from clearwatt.service.cluster.web_node import RemoteChanges, WebNode
from clearwatt.service.files import ModelFiles
from clearwatt.service.forecasting.forecasts import ForecastService
from clearwatt.service.records import READING, RegisteredEntity, Zone
from clearwatt.service.registry import Registry
from clearwatt.service.store import UnregisteredEntityError, open_store
from clearwatt.service.store.ingest import EntityCache

NORTH = Zone("north", 900, ("wind",))


@pytest.fixture
def stores(address):
    with closing(open_store(address)) as store, closing(open_store(address)) as other:
        yield store, other


class Forecaster:
    """Notes what it is told."""

    def __init__(self):
        self.calls = []

    def __getattr__(self, name):
        return lambda *values, **named: self.calls.append((name, *values, *named.values()))


def test_one_web_node_at_a_time_does_the_regular_work(stores):
    nodes = [
        WebNode(store, store.register_node(name, "web"))
        for store, name in zip(stores, ("a", "b"), strict=True)
    ]
    for node in (*nodes, *nodes):
        node.run_round()
    assert [node.does_regular_work() for node in nodes] == [True, False]
    stores[1].drain_node("a", draining=True)
    for node in nodes:
        node.run_round()
    assert [node.does_regular_work() for node in nodes] == [False, True]
    nodes[1].leave()
    stores[0].drain_node("a", draining=False)
    nodes[0].run_round()
    assert nodes[0].does_regular_work()


def test_zones_and_entities_of_another_node_are_seen_and_deleted_ones_forgotten(stores):
    store, other = stores
    registry, forecaster = Registry(store), Forecaster()
    changes = RemoteChanges(store, registry, forecaster, lambda zone: None)
    changes.check_registry()
    other.add_zone(NORTH)
    (farm,) = other.add_entities([RegisteredEntity("farm", "north", "generator")])
    changes.check_registry()
    assert set(registry.snapshot.entities) == {"farm"}
    other.rename_entity("farm", "Hill")
    changes.check_registry()
    assert registry.snapshot.entities["farm"].name == "Hill"
    other.remove_entity(farm, actor="Ada", at=1.0)
    changes.check_registry()
    assert set(registry.snapshot.entities) == set()
    assert ("forget_zone", "north") in forecaster.calls


def test_readings_of_an_entity_that_another_node_has_deleted_are_refused(stores):
    store, other = stores
    store.add_zone(NORTH)
    farm, park = store.add_entities(
        [RegisteredEntity(name, "north", "generator") for name in ("farm", "park")]
    )
    batch = np.zeros(2, READING)
    batch["entity"], batch["time"] = [farm.number, park.number], NOW
    store.add_readings(batch, at=1.0)
    other.remove_entity(farm, actor="Ada", at=2.0)
    batch["time"] += STEP
    with pytest.raises(UnregisteredEntityError):
        store.add_readings(batch, at=3.0)
    store.add_readings(batch[1:], at=3.0)
    assert store.newest([farm.number, park.number])[park.number] == NOW + STEP


def hold(store, zone) -> int:
    """Take a zone; its fencing number."""
    return store.take_zones(store.register_node("learner", "learner"), limit=1)[zone]


def test_news_are_taken_over_and_a_look_finds_what_was_missed(stores):
    store, other = stores
    store.add_zone(NORTH)
    forecaster, announced = Forecaster(), []
    changes = RemoteChanges(store, Registry(store), forecaster, announced.append)
    fence = hold(other, "north")
    other.put_latest("north", b"one", fence=fence)
    changes.take(News({"north": 4}, frozenset({"north"}), frozenset({"north"})))
    assert ("reload", "north", 4) in forecaster.calls
    assert ("refresh", "north", b"one") in forecaster.calls
    assert ("forget_inputs", "north") in forecaster.calls
    assert set(announced) == {"north"}
    changes.look()
    forecaster.calls.clear()
    changes.look()
    assert forecaster.calls == [], "nothing has changed"
    other.put_latest("north", b"two", fence=fence)
    other.add_entities([RegisteredEntity("farm", "north", "generator")])
    changes.look()
    assert ("refresh", "north", b"two") in forecaster.calls


def test_the_health_of_a_cluster_is_that_of_its_learners(stores):
    store, other = stores
    monitor = ClusterMonitor(store, NewsSender(lambda message: None))
    assert monitor.health.heartbeat_age is None
    monitor.run_round()
    assert not monitor.health.alive, "there is no learner"
    for name, queue in (("a", 3), ("b", 4)):
        node = other.register_node(name, "learner")
        told = {"queue": queue, "training": 1, "degraded": {name: "why"}, "outage": None}
        other.beat(node, {**told, "updating": [name]})
    monitor.run_round()
    health = monitor.health
    assert (health.alive, health.queue, health.training) == (True, 7, 2)
    assert health.degraded == {"a": "why", "b": "why"}
    assert health.updating == ("a", "b")
    assert health.heartbeat_age < 60
    assert summarise(store.nodes(), elapsed=100.0).heartbeat_age >= 100


def test_web_nodes_share_the_key_of_sessions():
    token = create_token("Ada", "operate").token
    cookie = Sessions(key=b"k" * 32).new_cookie(token)
    assert Sessions(key=b"k" * 32).token(cookie, lambda identity: token) == token
    assert Sessions(key=b"x" * 32).token(cookie, lambda identity: token) is None


def test_new_weather_is_told_to_the_other_web_nodes(tmp_path):
    told = []
    with closing(open_store(tmp_path / "clearwatt.db")) as store:
        forecaster = ForecastService(store, ModelFiles(tmp_path), weather_changed=told.append)
        forecaster.forget_weather("north")
        forecaster.forget_inputs("south")
        forecaster.close()
    assert told == ["north"]


def test_a_web_node_has_all_zones_in_memory_before_it_answers(stores):
    store, _ = stores
    store.add_zone(NORTH)
    forecaster = Forecaster()
    RemoteChanges(store, Registry(store), forecaster, lambda zone: None).load_all()
    assert ("deployed", "north") in forecaster.calls


def test_a_deletion_that_another_thread_has_noticed_is_not_hidden_from_a_batch(stores):
    store, other = stores
    store.add_zone(NORTH)
    (farm,) = store.add_entities([RegisteredEntity("farm", "north", "generator")])
    cache = EntityCache()
    with store.read_session() as session:
        cache.is_current(session, cache.removals)
        seen = cache.removals
        cache.find(session, np.array([farm.number], np.int32))
    other.remove_entity(farm, actor="Ada", at=2.0)
    with store.read_session() as session:
        assert not cache.is_current(session, seen), "the thread that notices it"
        assert not cache.is_current(session, seen), "the thread that waited meanwhile"
        with pytest.raises(UnregisteredEntityError):
            cache.find(session, np.array([farm.number], np.int32))


def test_newest_readings_that_cannot_be_read_do_not_stop_the_rest(stores, tmp_path, caplog):
    store, other = stores
    store.add_zone(NORTH)
    other.put_latest("north", b"of another release", fence=hold(other, "north"))
    forecaster = ForecastService(store, ModelFiles(tmp_path))
    changes = RemoteChanges(store, Registry(store), forecaster, lambda zone: None)
    changes.load_all()
    changes.look()
    forecaster.close()
    assert caplog.text.count("forecasts not refreshed") == 1
