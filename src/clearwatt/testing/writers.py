"""Checks of a store with several writing threads and processes, one of which is killed."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable
from contextlib import closing
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Barrier
from uuid import uuid4

import numpy as np

from clearwatt.service.records import READING, Readings, RegisteredEntity, ServiceEvent, Zone
from clearwatt.service.store import ConflictError, Store

Opener = Callable[[], Store]
"""Opens the store to check; the same one each time, in any process."""

BATCHES, WRITERS = 20, 4
PATIENCE = 120
"""Seconds after which a started process counts as dead."""
SPAWN = multiprocessing.get_context("spawn")


def check_concurrent_writers(open_store: Opener) -> None:
    """Check that a reader who follows journal or events by number sees each once, in order."""
    with closing(open_store()) as store:
        zone, numbers = _register(store, WRITERS)
        ready = SPAWN.Barrier(2)
        remote = SPAWN.Process(target=_write_all, args=(open_store, zone, numbers[:2], ready))
        threads = [
            threading.Thread(target=_write, args=(store, zone, number)) for number in numbers[2:]
        ]
        remote.start()
        ready.wait(PATIENCE)  # so that all of them write at once
        for thread in threads:
            thread.start()
        seen, told = _follow(store, zone, until=lambda: _have_ended(remote, threads))
        remote.join()
        wanted = WRITERS * BATCHES
        assert seen == list(range(1, wanted + 1)), f"followed the journal and saw {seen}"
        assert told == sorted(set(told)), f"events come out of order: {told}"
        assert len(told) == wanted, f"followed the events and saw {len(told)} of {wanted}"
        for number in numbers:
            found = len(store.readings(number, start=0, end=2**40).times)
            assert found == 10 * BATCHES, f"{found} readings of {10 * BATCHES} are there"


def check_killed_writer(open_store: Opener) -> None:
    """Check that everything acknowledged to a process before SIGKILL is stored completely."""
    with closing(open_store()) as store:
        zone, (number,) = _register(store, 1)
        acknowledged = _write_until_killed(open_store, zone, number)
        found = store.readings(number, start=0, end=2**40).times
        batches = len(found) // 10
        assert batches >= acknowledged, f"{acknowledged} batches acknowledged, {batches} there"
        assert np.array_equal(found, _batch(number, 0, batches)["time"]), "a batch is half there"
        assert store.heads()[zone] == batches, "the journal and the readings differ"
        store.add_readings(_batch(number, batches), at=1.0)
        assert store.heads()[zone] == batches + 1, "the store cannot be written to any more"


def check_exclusive(open_store: Opener) -> None:
    """Check that one service at a time holds the store, and the next can after it ends."""
    ours, theirs = SPAWN.Pipe()
    with closing(open_store()) as store:
        other = SPAWN.Process(target=_hold, args=(open_store, theirs))
        other.start()
        assert ours.recv() == "held", "a store nobody has could not be held"
        assert not _can_hold(store), "a second service was let in"
        os.kill(other.pid or 0, signal.SIGKILL)
        other.join()
        deadline = threading.Event()
        assert any(_can_hold(store) or deadline.wait(0.05) for _ in range(200)), (
            "the store stays held by a process that is gone"
        )


def _register(store: Store, entities: int) -> tuple[str, list[int]]:
    zone = uuid4().hex
    store.add_zone(Zone(zone, 900, ("wind",)))
    names = [RegisteredEntity(f"{zone}-{i}", zone, "consumer") for i in range(entities)]
    return zone, [entity.number for entity in store.add_entities(names)]


def _batch(number: int, batch: int, batches: int = 1) -> Readings:
    """Ten readings per batch."""
    readings = np.empty(10 * batches, dtype=READING)
    readings["entity"], readings["value"] = number, batch
    readings["time"] = 900 * np.arange(10 * batch, 10 * (batch + batches))
    return readings


def _write(store: Store, zone: str, number: int) -> None:
    for batch in range(BATCHES):
        store.add_readings(_batch(number, batch), at=1.0)
        store.add_event(ServiceEvent(f"{zone}:{number}:{batch}", "test", "", 1.0, zone=zone))


def _write_all(open_store: Opener, zone: str, numbers: list[int], ready: Barrier) -> None:
    with closing(open_store()) as store:
        writers = [threading.Thread(target=_write, args=(store, zone, n)) for n in numbers]
        ready.wait(PATIENCE)
        for writer in writers:
            writer.start()
        for writer in writers:
            writer.join()


def _have_ended(
    remote: multiprocessing.process.BaseProcess, threads: list[threading.Thread]
) -> bool:
    return not remote.is_alive() and not any(thread.is_alive() for thread in threads)


def _follow(store: Store, zone: str, *, until: Callable[[], bool]) -> tuple[list[int], list[int]]:
    """Numbers seen by a reader that always asks for those after the last one."""
    seen: list[int] = []
    told: list[int] = []
    over = False
    while not over:
        over = until()  # before reading, so that the last round sees everything
        seen += [e.seq for e in store.journal(zone, after=seen[-1] if seen else 0)]
        told += [e.seq for e in store.events(zone=zone, after=told[-1] if told else 0, limit=999)]
    return seen, told


def _write_until_killed(open_store: Opener, zone: str, number: int) -> int:
    """Start a process that writes, kill it after a few batches; returns the number confirmed."""
    ours, theirs = SPAWN.Pipe(duplex=False)
    writer = SPAWN.Process(target=_write_for_ever, args=(open_store, number, theirs))
    writer.start()
    theirs.close()
    acknowledged = 0
    while acknowledged < 25:
        acknowledged = ours.recv()
    os.kill(writer.pid or 0, signal.SIGKILL)
    try:
        while True:
            acknowledged = ours.recv()
    except EOFError:
        writer.join()
        return acknowledged


def _write_for_ever(open_store: Opener, number: int, pipe: Connection) -> None:
    store = open_store()
    batch = 0
    while True:
        store.add_readings(_batch(number, batch), at=1.0)
        batch += 1
        pipe.send(batch)


def _hold(open_store: Opener, pipe: Connection) -> None:
    with open_store().exclusive():
        pipe.send("held")
        pipe.recv()


def _can_hold(store: Store) -> bool:
    try:
        with store.exclusive():
            return True
    except ConflictError:
        return False
