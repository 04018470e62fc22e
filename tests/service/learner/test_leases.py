"""Leases of learner nodes: an equal share each, given away when others come, lost when replaced."""

from contextlib import ExitStack, closing

import pytest

from clearwatt.service.learner.leases import EveryZone, NodeLeases
from clearwatt.service.records import Outcome, Zone
from clearwatt.service.status import ZoneStatus
from clearwatt.service.store import ConflictError, LeaseLostError, open_store


@pytest.fixture
def store(address):
    with closing(open_store(address)) as store:
        for number in range(5):
            store.add_zone(Zone(f"zone-{number}", 900, ("wind",)))
        yield store


class Member:
    """A learner node whose rounds are run by hand."""

    def __init__(self, store, name):
        self.changes, self.replacements = 0, 0
        self.identity = store.register_node(name, "learner")
        self.leases = NodeLeases(store, self.identity, changed=self._change, replaced=self._replace)

    def _change(self):
        self.changes += 1

    def _replace(self):
        self.replacements += 1

    def round(self):
        """Renew, then give away what is too much, as the learner's loop does."""
        self.leases.run_round()
        for zone in list(self.leases.surplus()):
            self.leases.release(zone)
        return set(self.leases.held())


def test_a_single_learner_has_every_zone():
    leases = EveryZone()
    assert leases.held() is None
    assert list(leases.surplus()) == []


def test_the_first_node_takes_all_zones_and_gives_a_share_to_the_next(store):
    first = Member(store, "a")
    assert first.round() == {f"zone-{number}" for number in range(5)}
    second = Member(store, "b")
    assert second.round() == set()
    assert len(first.round()) == 3
    assert len(second.round()) == 2
    assert not first.round() & second.round(), "a zone is held by two nodes"
    assert first.changes and second.changes


def test_a_draining_node_gives_everything_away_until_it_resumes(store):
    first, second = Member(store, "a"), Member(store, "b")
    for member in (first, second, first, second):
        member.round()
    store.drain_node("a", draining=True)
    assert first.round() == set()
    assert len(second.round()) == 5
    store.drain_node("a", draining=False)
    first.round()
    second.round()
    assert len(first.round()) == 2


def test_zones_of_a_node_that_leaves_are_taken_at_once(store):
    first = Member(store, "a")
    first.round()
    first.leases.leave()
    assert len(Member(store, "b").round()) == 5


def test_a_node_that_was_started_again_replaces_its_earlier_process(store):
    first = Member(store, "a")
    first.round()
    fence = first.leases.held()["zone-0"]
    again = Member(store, "a")
    assert len(again.round()) == 5
    with pytest.raises(ConflictError, match="another process is the node 'a'"):
        first.leases.run_round()
    assert first.replacements == 1
    assert dict(first.leases.held()) == {}
    with pytest.raises(LeaseLostError, match="zone-0"):
        store.commit(Outcome(ZoneStatus("zone-0", 0, 1)), fence=fence)


def test_an_expired_lease_is_taken_and_what_its_holder_writes_later_is_refused(store, monkeypatch):
    with monkeypatch.context() as patch, ExitStack() as stack:
        patch.setattr("clearwatt.service.store.leases.SECONDS", -1.0)
        paused = Member(store, "a")
        paused.round()
        fences = dict(paused.leases.held())
        stack.close()
    other = Member(store, "b")
    other.leases.run_round()
    taken = other.leases.held()
    assert taken, "nobody took over"
    for zone, fence in taken.items():
        assert fence > fences[zone]
        with pytest.raises(LeaseLostError):
            store.commit(Outcome(ZoneStatus(zone, 0, 7)), fence=fences[zone])
        store.commit(Outcome(ZoneStatus(zone, 0, 1)), fence=fence)
        assert store.status(zone).generation == 1


def test_zones_registered_later_are_taken_and_deleted_ones_dropped(store):
    member = Member(store, "a")
    member.round()
    store.add_zone(Zone("late", 900, ("wind",)))
    assert "late" in member.round()
    store.remove_zone(Zone("late", 900, ("wind",)), actor="Ada", at=1.0)
    assert "late" not in member.round()


def test_a_paused_process_is_not_taken_for_one_that_was_started_after_its_successor_left(store):
    paused = Member(store, "a")
    paused.round()
    successor = Member(store, "a")
    successor.leases.leave()
    Member(store, "a").round()
    with pytest.raises(ConflictError):
        paused.leases.run_round()
    assert store.renew_zones(paused.identity) == {}
