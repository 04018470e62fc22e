"""Group commit: deliveries that arrive while a transaction is under way share the next one."""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager

from clearwatt.service.records import Receipt
from clearwatt.service.store.errors import StoreBusyError, StoreUnavailableError
from clearwatt.service.store.ingest import Delivery

MOST_DELIVERIES = 256
MOST_BYTES = 2**18
"""Upper limits of one transaction, so that the first of its deliveries does not wait long."""
LARGE = 10_000
"""Bytes (500 readings) from which on a delivery has its own transaction, beside the others: the
commit is a small part of it, and several such make use of more than one core."""
LOCK_WAIT = 1.0
"""Seconds that a group waits for a locked zone: a learner commits in less, unless it hangs."""
TURN_WAIT = 30.0
"""Seconds that a delivery waits for the one before it of the same zone, if both are alone."""


class _Ticket:
    """A delivery that waits; once ``called``, it leads the next transaction or has its result."""

    def __init__(self, delivery: Delivery, zones: Collection[str]) -> None:
        self.delivery, self.zones = delivery, zones
        self.called = threading.Event()
        self.leads = False
        self.receipt: Receipt | None = None
        self.error: Exception | None = None


class GroupCommit:
    """Commits deliveries of many threads together; each returns after the commit of its own.

    The first thread to come leads: it commits what waits, its own delivery first, and calls the
    next one that waits to lead. So a lone delivery is never delayed. A transaction that fails is
    repeated delivery by delivery, each in its own thread, so that one that is refused or has to
    wait for a locked zone fails or delays only itself. While a zone has such a transaction,
    further deliveries of this zone have their own, too, one after the other, so that a locked zone
    occupies one connection.

    Args:
        commit: Commits deliveries in one transaction. Raises StoreBusyError if another one has
            locked a zone for longer than so many seconds (None: as long as the store waits).
        zones: The zones of a delivery, as far as they are known.
    """

    def __init__(
        self,
        commit: Callable[[Sequence[Delivery], float | None], list[Receipt]],
        zones: Callable[[Delivery], Collection[str]],
    ) -> None:
        self._commit, self._zones = commit, zones
        self._lock = threading.Lock()
        self._waiting: deque[_Ticket] = deque()
        self._apart: Counter[str] = Counter()
        self._led = False
        self._turns = threading.Condition()
        self._queues: dict[str, deque[object]] = {}

    def add(self, delivery: Delivery) -> Receipt:
        """Commit a delivery, together with others or alone."""
        ticket = _Ticket(delivery, self._zones(delivery))
        if self._joins(ticket):
            ticket.called.wait()
            if ticket.leads:
                self._lead()
            if ticket.error is not None:
                raise ticket.error
            if ticket.receipt is not None:
                return ticket.receipt
        return self._commit_alone(ticket)

    def _joins(self, ticket: _Ticket) -> bool:
        """Let a delivery wait for a transaction with others; False if it has its own."""
        with self._lock:
            if ticket.delivery.readings.nbytes >= LARGE or self._is_apart(ticket):
                self._apart.update(ticket.zones)
                return False
            self._waiting.append(ticket)
            if not self._led:
                self._call_leader()
            return True

    def _is_apart(self, ticket: _Ticket) -> bool:
        return bool(self._apart) and any(zone in self._apart for zone in ticket.zones)

    def _call_leader(self) -> None:
        """Let the first ticket lead, or nobody if none waits; the lock is held."""
        self._led = bool(self._waiting)
        if self._led:
            self._waiting[0].leads = True
            self._waiting[0].called.set()

    def _lead(self) -> None:
        """Commit the next group; whatever happens, its threads and the next leader are called."""
        group = self._take_group()
        done: list[_Ticket] = group
        try:
            receipts = self._commit([ticket.delivery for ticket in group], LOCK_WAIT)
            for ticket, receipt in zip(group, receipts, strict=True):
                ticket.receipt = receipt
        except StoreBusyError:
            pass
        except StoreUnavailableError as error:
            done = [*group, *self._take_all()]  # none of them waits for the same again
            for ticket in done:
                ticket.error = type(error)(*error.args)
        except Exception as error:
            if len(group) == 1:
                group[0].error = error  # it would be the same again
        finally:
            with self._lock:
                for ticket in done:
                    if ticket.receipt is None and ticket.error is None:
                        self._apart.update(ticket.zones)
                self._call_leader()
            for ticket in done:
                ticket.called.set()

    def _take_group(self) -> list[_Ticket]:
        """Remove the tickets of the next transaction from those that wait."""
        group: list[_Ticket] = []
        size = 0
        with self._lock:
            while self._waiting and len(group) < MOST_DELIVERIES:
                size += self._waiting[0].delivery.readings.nbytes
                if group and size > MOST_BYTES:
                    break
                group.append(self._waiting.popleft())
        return group

    def _take_all(self) -> list[_Ticket]:
        with self._lock:
            found = list(self._waiting)
            self._waiting.clear()
        return found

    def _commit_alone(self, ticket: _Ticket) -> Receipt:
        try:
            with self._turn(ticket.zones):
                return self._commit([ticket.delivery], None)[0]
        finally:
            with self._lock:
                self._apart -= Counter(ticket.zones)  # drops zones that are down to 0

    @contextmanager
    def _turn(self, zones: Collection[str]) -> Iterator[None]:
        """Wait until every lone delivery of these zones that came before is committed."""
        place = object()
        with self._turns:
            queues = [self._queues.setdefault(zone, deque()) for zone in set(zones)]
            for queue in queues:
                queue.append(place)
        try:
            with self._turns:
                first = self._turns.wait_for(
                    lambda: all(queue[0] is place for queue in queues), TURN_WAIT
                )
            if not first:
                raise StoreBusyError(
                    f"readings of {', '.join(sorted(zones))} wait for those sent before them, for "
                    f"{TURN_WAIT:g} s by now; send them again"
                )
            yield
        finally:
            with self._turns:
                for queue in queues:
                    queue.remove(place)
                for zone in set(zones):
                    if not self._queues[zone]:
                        del self._queues[zone]
                self._turns.notify_all()
