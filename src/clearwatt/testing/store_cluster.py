"""Check of a store: nodes share zones by leases, and read each other's folders."""

from __future__ import annotations

from contextlib import closing

from clearwatt.errors import ClearwattError
from clearwatt.service.records import NodeIdentity, Outcome, Zone
from clearwatt.service.status import ZoneStatus
from clearwatt.service.store import ConflictError, LeaseLostError, Store
from clearwatt.testing.writers import Opener

ZONES = ("east", "north", "west")


def check_cluster(open_store: Opener) -> None:
    """Check leases, fencing numbers, folders, newest readings and secrets, by two connections."""
    with closing(open_store()) as store, closing(open_store()) as other:
        for zone in ZONES:
            store.add_zone(Zone(zone, 900, ("wind",)))
        first, second = store.register_node("a", "learner"), other.register_node("b", "learner")
        _check_leases(store, other, first, second)
        _check_replaced_node(store, other, first)
        _check_folders(store, other)
        _check_news(store, other)


def _check_leases(store: Store, other: Store, first: NodeIdentity, second: NodeIdentity) -> None:
    held = store.take_zones(first, limit=2)
    assert sorted(held) == ["east", "north"], f"two of three zones were asked for: {held}"
    rest = other.take_zones(second, limit=3)
    assert sorted(rest) == ["west"], f"a zone is held by two nodes: {rest}"
    assert store.holders() == {"east": "a", "north": "a", "west": "b"}
    assert store.renew_zones(first) == held, "a lease was not renewed"
    store.commit(Outcome(ZoneStatus("east", 0, 1)), fence=held["east"])
    store.release_leases(first, ["east"])
    taken = other.take_zones(second, limit=1)
    assert taken["east"] > held["east"], "the fencing number of a taken zone does not rise"
    assert _is_refused(store, "east", held["east"]), "a node writes a zone that another holds"
    other.commit(Outcome(ZoneStatus("east", 0, 2)), fence=taken["east"])
    assert store.status("east").generation == 2
    assert store.take_lease(first, "*work") and store.take_lease(first, "*work")
    assert not other.take_lease(second, "*work"), "a lease is held by two nodes"
    names = {node.name: node.zones for node in other.nodes()}
    assert names == {"a": ("north",), "b": ("east", "west")}, f"{names}"


def _is_refused(store: Store, zone: str, fence: int) -> bool:
    try:
        store.commit(Outcome(ZoneStatus(zone, 0, 9)), fence=fence)
    except LeaseLostError:
        return True
    return False


def _check_replaced_node(store: Store, other: Store, node: NodeIdentity) -> None:
    assert not store.beat(node, {"queue": 3}), "the node was not told to give its zones away"
    other.drain_node("a", draining=True)
    assert store.beat(node, {"queue": 3}), "the node was told to give its zones away"
    (known,) = (each for each in other.nodes() if each.name == "a")
    assert known.content == {"queue": 3} and 0 <= known.age < 60, f"{known}"
    new = other.register_node("a", "learner")
    assert "north" not in other.holders(), "a node that was started again holds its zones"
    assert other.beat(new, {}), "a drained node that dies takes zones again"
    try:
        store.beat(node, {})
    except ConflictError:
        pass
    else:
        raise AssertionError("two processes are the same node")
    other.leave(new)
    assert [each.name for each in store.nodes()] == ["b"], "a node that left is listed"
    try:
        store.drain_node("a", draining=True)
    except ClearwattError:
        return
    raise AssertionError("a node that is not there was drained")


def _check_folders(store: Store, other: Store) -> None:
    files = {"state.json": b"{}", "zone/tensors": bytes(range(256))}
    store.put_folder("zones/east/checkpoint-1", files)
    assert other.folder("zones/east/checkpoint-1") == files, "a folder is not as it was stored"
    other.put_folder("zones/east/checkpoint-1", {"state.json": b"[]"})
    assert store.folder("zones/east/checkpoint-1") == {"state.json": b"[]"}, "files of before"
    store.put_folder("zones/easter/checkpoint-9", {"x": b"1"})
    assert other.folder_names("zones/east") == ["checkpoint-1"], "folders of another parent"
    store.move_folder("zones/east/checkpoint-1", "zones/east/damaged")
    paths = {"zones/east/damaged", "zones/east/checkpoint-1", "zones/nowhere"}
    assert other.existing_folders(paths) == {"zones/east/damaged"}
    assert not other.folder("zones/east/checkpoint-1")
    store.remove_folder("zones/east/damaged")
    assert other.folder_names("zones/east") == [], "a deleted folder is there"


def _check_news(store: Store, other: Store) -> None:
    store.add_zone(Zone("lake", 900, ("wind",)))
    assert store.latest_content("lake") is None
    assert not store.put_latest("lake", b"of nobody", fence=1), "nobody holds the zone"
    node = store.register_node("newest", "learner")
    fence = _hold(store, node, "lake")
    for number, content in enumerate((b"first", b"second"), start=1):
        assert store.put_latest("lake", content, fence=fence)
        assert other.latest_content("lake") == (number, content)
    store.release_leases(node, ["lake"])
    assert _hold(other, other.register_node("next", "learner"), "lake") > fence
    assert not store.put_latest("lake", b"late", fence=fence), "another node holds the zone"
    assert other.latest_content("lake") == (2, b"second")
    assert other.latest_revisions() == {"lake": 2}
    before = other.registry_revision()
    store.add_zone(Zone("south", 900, ("wind",)))
    assert other.registry_revision() > before, "a new zone is not noticed"
    key = store.secret("key", create=b"one")
    assert other.secret("key", create=b"two") == key == b"one", "nodes have different secrets"


def _hold(store: Store, node: NodeIdentity, zone: str) -> int:
    """Take every zone that is free; the fencing number of one."""
    return store.take_zones(node, limit=1000)[zone]
