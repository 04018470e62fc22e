"""Connections are lent to one at a time, kept while they work, and never more than allowed."""

import pytest

from clearwatt.service.store import StoreUnavailableError
from clearwatt.service.store.pool import Pool


class Connection:
    """One that can break."""

    def __init__(self) -> None:
        self.broken = self.closed = False

    def close(self) -> None:
        self.closed = True


def pool(**options):
    return Pool(Connection, Connection.close, usable=lambda c: not c.broken, **options)


def test_a_connection_is_used_again():
    connections = pool()
    with connections.borrow() as first:
        pass
    with connections.borrow() as second:
        assert second is first


def test_one_that_broke_is_closed_and_replaced():
    connections = pool()
    with connections.borrow() as first:
        first.broken = True
    assert first.closed
    with connections.borrow() as second:
        assert not second.broken
    second.broken = True  # while it lies idle
    with connections.borrow() as third:
        assert third is not second
    assert second.closed


def test_there_are_never_more_than_the_limit():
    connections = pool(limit=1, wait=0.01)
    with (
        connections.borrow(),
        pytest.raises(StoreUnavailableError, match=r"all 1 .* busy"),
        connections.borrow(),
    ):
        pass
    with connections.borrow():
        pass


def test_a_connection_that_cannot_be_opened_does_not_use_up_the_limit():
    def refuse():
        raise StoreUnavailableError("away")

    connections = Pool(refuse, Connection.close, limit=1, wait=0.01)
    for _ in range(3):
        with pytest.raises(StoreUnavailableError, match="away"), connections.borrow():
            pass


def test_closing_closes_the_idle_at_once_and_the_lent_when_they_come_back():
    connections = pool()
    with connections.borrow() as idle:
        pass
    with connections.borrow() as lent:
        with connections.borrow() as other:
            pass
        connections.close()
        assert other.closed
        assert not lent.closed
    assert lent.closed
    assert idle.closed
    with pytest.raises(StoreUnavailableError, match="closed"), connections.borrow():
        pass
