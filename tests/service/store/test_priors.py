"""Priors are numbered, kept as they are, and checked when they are read."""

from contextlib import closing

import pytest

from clearwatt.service.priors import PriorBook
from clearwatt.service.records import Command, PriorVersion, Zone
from clearwatt.service.store import StoreDamagedError, open_store


@pytest.fixture
def store(address):
    with closing(open_store(address)) as opened:
        yield opened


def test_priors_are_numbered_and_kept(store):
    assert store.priors() == []
    first = store.add_prior("a", b"one", origin="imported", actor="Ada", at=1.0)
    assert first == PriorVersion("a", 1, "imported", "Ada", 1.0)
    second = store.add_prior("b", b"two", origin="trained", actor="system", at=2.0)
    assert store.add_prior("a", b"one", origin="trained", actor="system", at=3.0) == first
    assert store.priors() == [second, first]
    assert (store.prior("a"), store.prior("c")) == (b"one", None)
    assert store.find_damage() is None


def test_a_changed_prior_is_found(store):
    store.add_prior("a", b"one", origin="imported", actor="Ada", at=1.0)
    with store.write_session() as session:
        session.run("UPDATE priors SET content = ?", b"two")
    with pytest.raises(StoreDamagedError, match="the prior a"):
        store.prior("a")
    assert "the prior a" in store.find_damage()


def test_a_prior_that_cannot_be_read_is_logged_once(store, caplog):
    store.add_prior("a", b"one", origin="imported", actor="Ada", at=1.0)
    book = PriorBook(store)
    assert [book.all(), book.all()] == [[], []]
    assert [record.message for record in caplog.records] == ["prior not read"]


@pytest.mark.parametrize("arguments", [{"prior": "a", "at": 0}, {"priors": {"e": "a"}}])
def test_a_journal_that_names_a_missing_prior_is_damaged(store, arguments):
    store.add_zone(Zone("north", 3600, ("wind",)))
    kind = "start" if "prior" in arguments else "warmup"
    store.add_command(Command(kind, "north", None, arguments, "Ada", 0.0))
    assert "names a prior that is not stored" in store.find_damage()
