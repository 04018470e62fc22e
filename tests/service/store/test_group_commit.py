"""Deliveries that wait share a transaction; what goes wrong with one is no matter of the others."""

import threading
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager

import numpy as np
import pytest
from tests.service.processes import until

from clearwatt.errors import DataError
from clearwatt.service.records import READING, Receipt
from clearwatt.service.store import StoreUnavailableError, group_commit
from clearwatt.service.store.errors import StoreBusyError
from clearwatt.service.store.group_commit import LARGE, MOST_BYTES, MOST_DELIVERIES, GroupCommit
from clearwatt.service.store.ingest import Delivery

CALLERS = MOST_DELIVERIES + 50


def delivery(number: int, count: int = 1) -> Delivery:
    return Delivery(np.array([(number, 900 * i, number) for i in range(count)], READING), at=1.0)


class Transactions:
    """Stands for a store: each delivery is of a zone of its own, named by its entity's number."""

    def __init__(self) -> None:
        self.groups: list[list[int]] = []
        self.alone: list[int] = []
        self.going = threading.Event()
        self.going.set()
        self.began = threading.Event()
        self.refused: dict[int, Exception] = {}
        self.group = GroupCommit(self.commit, lambda each: {str(each.readings["entity"][0])})

    def commit(self, deliveries, lock_wait):
        numbers = [int(each.readings["entity"][0]) for each in deliveries]
        if lock_wait is None:
            self.alone += numbers
        else:
            self.groups.append(numbers)
            self.began.set()
            assert self.going.wait(60)
        for number in numbers:
            error = self.refused.get(number)
            if error is not None and not (lock_wait is None and isinstance(error, StoreBusyError)):
                raise error
        return [Receipt(len(each.readings), 0, 0) for each in deliveries]

    @contextmanager
    def held(self):
        """The first transaction lasts as long as the block."""
        self.going.clear()
        try:
            yield
        finally:
            self.going.set()

    def waiting(self) -> int:
        return len(self.group._waiting)


@pytest.fixture
def store():
    return Transactions()


@pytest.fixture
def pool():
    with ThreadPoolExecutor(CALLERS) as found:
        yield found


def queue(store, pool, deliveries) -> list[Future[Receipt]]:
    """Let the first delivery be under way while the others arrive, in order."""
    found = []
    for position, each in enumerate(deliveries):
        found.append(pool.submit(store.group.add, each))
        if position == 0:
            assert store.began.wait(60)
        else:
            until(lambda position=position: store.waiting() == position)
    return found


def test_what_arrives_during_a_transaction_goes_into_the_next_together(store, pool):
    with store.held():
        found = queue(store, pool, [delivery(i) for i in range(6)])
    assert [each.result(60) for each in found] == [Receipt(1, 0, 0)] * 6
    assert store.groups == [[0], [1, 2, 3, 4, 5]]
    assert store.group.add(delivery(6)) == Receipt(1, 0, 0)
    assert store.groups[2:] == [[6]]
    assert not store.alone


def test_a_group_is_limited_in_deliveries_and_bytes(store, pool):
    with store.held():
        found = queue(store, pool, [delivery(i) for i in range(MOST_DELIVERIES + 11)])
    assert [each.result(60).new for each in found] == [1] * len(found)
    assert [len(numbers) for numbers in store.groups] == [1, MOST_DELIVERIES, 10]
    store.groups.clear()
    store.began.clear()
    count = LARGE // READING.itemsize - 1
    fit = MOST_BYTES // (count * READING.itemsize)
    with store.held():
        found = queue(store, pool, [delivery(i, count) for i in range(fit + 3)])
    assert [each.result(60).new for each in found] == [count] * len(found)
    assert [len(numbers) for numbers in store.groups] == [1, fit, 2]


def test_a_large_delivery_neither_waits_nor_lets_others_wait(store, pool):
    with store.held():
        first = queue(store, pool, [delivery(0)])
        large = delivery(1, LARGE // READING.itemsize)
        assert pool.submit(store.group.add, large).result(60).new == len(large.readings)
        assert not first[0].done()
    assert (store.groups, store.alone) == ([[0]], [1])


def test_a_refused_delivery_fails_alone(store, pool):
    store.refused[3] = DataError("no such entity")
    with store.held():
        found = queue(store, pool, [delivery(i) for i in range(6)])
    with pytest.raises(DataError, match="no such entity"):
        found[3].result(60)
    assert [found[i].result(60) for i in (0, 1, 2, 4, 5)] == [Receipt(1, 0, 0)] * 5
    assert sorted(store.alone) == [1, 2, 3, 4, 5]
    with pytest.raises(DataError):
        store.group.add(delivery(3))
    assert len(store.alone) == 5, "a lone delivery is not tried twice"


def test_a_locked_zone_has_transactions_of_its_own_until_it_is_free(store, pool):
    store.refused[1] = StoreBusyError("locked")
    entered, free = threading.Semaphore(0), threading.Event()
    commit = store.commit

    def wait_for_the_lock(deliveries, lock_wait):
        if lock_wait is None and deliveries[0].readings["entity"][0] == 1:
            entered.release()
            assert free.wait(60)
        return commit(deliveries, lock_wait)

    store.group._commit = wait_for_the_lock
    with store.held():
        found = queue(store, pool, [delivery(i) for i in range(3)])
    assert entered.acquire(timeout=60)
    assert [found[i].result(60).new for i in (0, 2)] == [1, 1]
    again = pool.submit(store.group.add, delivery(1))
    until(lambda: store.group._apart["1"] == 2)
    assert store.group.add(delivery(7)).new == 1
    assert store.groups == [[0], [1, 2], [7]], "the next delivery of the zone is in no group"
    assert not found[1].done()
    assert not again.done()
    assert not entered.acquire(timeout=0), "a locked zone occupies one connection"
    store.refused.clear()
    free.set()
    assert (found[1].result(60).new, again.result(60).new) == (1, 1)
    assert store.group.add(delivery(1)).new == 1
    assert store.groups[3:] == [[1]]


def test_a_delivery_does_not_wait_for_ever_for_those_before_it(store, pool, monkeypatch):
    monkeypatch.setattr(group_commit, "TURN_WAIT", 0.01)
    count = LARGE // READING.itemsize
    entered, free = threading.Event(), threading.Event()
    commit = store.commit

    def take_long(deliveries, lock_wait):
        entered.set()
        assert free.wait(60)
        return commit(deliveries, lock_wait)

    store.group._commit = take_long
    first = pool.submit(store.group.add, delivery(1, count))
    assert entered.wait(60)
    with pytest.raises(StoreBusyError, match=r"readings of 1 wait .* send them again"):
        store.group.add(delivery(1, count))
    free.set()
    assert first.result(60).new == count
    assert store.group.add(delivery(1, count)).new == count


def test_a_delivery_of_several_zones_has_its_turn_before_later_ones(store, pool):
    order, entered, free = [], threading.Event(), threading.Event()

    def commit(deliveries, lock_wait):
        zones = sorted(set(deliveries[0].readings["entity"].tolist()))
        order.append(zones)
        if zones == [1]:
            entered.set()
            assert free.wait(60)
        return [Receipt(len(each.readings), 0, 0) for each in deliveries]

    def large(*zones: int) -> Delivery:
        count = LARGE // READING.itemsize
        return Delivery(np.concatenate([delivery(zone, count).readings for zone in zones]), at=1.0)

    group = GroupCommit(commit, lambda each: set(map(str, each.readings["entity"].tolist())))
    found = [pool.submit(group.add, large(1))]
    assert entered.wait(60)
    found.append(pool.submit(group.add, large(1, 2)))
    until(lambda: len(group._queues["2"]) == 1)
    found.append(pool.submit(group.add, large(2)))
    until(lambda: len(group._queues["2"]) == 2)
    free.set()
    assert all(each.result(60).new for each in found)
    assert order == [[1], [1, 2], [2]]
    assert not group._queues


def test_an_outage_is_told_to_all_who_wait_and_to_nobody_after_it(store, pool):
    store.refused[0] = StoreUnavailableError("away")
    with store.held():
        found = queue(store, pool, [delivery(i) for i in range(6)])
    for each in found:
        with pytest.raises(StoreUnavailableError, match="away"):
            each.result(60)
    assert (store.groups, store.alone) == ([[0]], [])
    assert store.group.add(delivery(1)) == Receipt(1, 0, 0)


def test_many_threads_get_a_receipt_each(store, pool):
    found = [pool.submit(store.group.add, delivery(i)) for i in range(2000)]
    assert [each.result(60) for each in found] == [Receipt(1, 0, 0)] * 2000
    assert sorted(n for numbers in store.groups for n in numbers) == list(range(2000))
    assert store.waiting() == 0
