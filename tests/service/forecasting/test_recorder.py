"""Vintages reach the store soon, once, and never at the cost of an answer."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.service.plant import NOW, STEP, Plant

from clearwatt.service.forecasting.recorder import HOURLY_STEPS, Recorder
from clearwatt.service.records import ServiceEvent, Vintage
from clearwatt.service.store import StoreFullError

DEADLINE = 60.0


@pytest.fixture
def store(tmp_path: Path):
    made = Plant(tmp_path).store
    yield made
    made.close()


def vintage(entity: str = "e0", *, value: float = 1.0, at: float = 0.0, steps: int = 4) -> Vintage:
    return Vintage(
        entity=entity,
        issued_at=NOW + at,
        weather_issued_at=NOW,
        encoder="autoencoder:north:0",
        predictor=f"predictor:{entity}:0",
        start=NOW,
        step=STEP,
        values=np.full(steps, value, np.float32),
        sources=np.zeros(steps, np.uint8),
    )


def kept(store, entity: str = "e0") -> list[float]:
    """First values, the oldest vintage first."""
    found = store.vintages(entity, start=NOW, end=NOW + STEP, limit=100_000)
    return [float(each.values[0]) for each in found][::-1]


def test_forecasts_of_a_deleted_entity_are_not_those_of_another_with_its_id(store):
    old, other, *_ = store.entities("north")
    recorder = Recorder(store, interval=60)
    whole = replace(vintage(old.id, steps=HOURLY_STEPS // 2), number=old.number)
    recorder.record([whole, replace(vintage(old.id, value=2.0, steps=2000), number=old.number)])
    recorder.record([replace(vintage(other.id), number=other.number)])
    store.remove_entity(old, actor="Ada", at=1.0)
    (new,) = store.add_entities([replace(old, number=-1)])
    recorder.record([replace(whole, number=new.number, issued_at=NOW + 5.0)])
    recorder.close()
    (found,) = store.vintages(old.id, start=NOW, end=NOW + STEP)
    assert found.issued_at == NOW + 5.0
    assert kept(store, other.id) == [1.0]
    assert recorder.counts.skipped == 0, "the allowance of the deleted entity is used"


def test_what_is_recorded_is_in_the_store_after_closing(store):
    recorder = Recorder(store, interval=60)
    recorder.record([vintage("e0"), vintage("e1", value=2.0)])
    recorder.close()
    assert kept(store, "e0") == [1.0]
    assert kept(store, "e1") == [2.0]
    assert recorder.counts.written == 2


def test_it_is_written_without_being_asked(store, monkeypatch):
    written, add = threading.Event(), store.add_vintages

    def observed(vintages):
        add(vintages)
        written.set()

    monkeypatch.setattr(store, "add_vintages", observed)
    recorder = Recorder(store, interval=0.01)
    recorder.record([vintage()])
    assert written.wait(DEADLINE)
    assert kept(store) == [1.0]
    recorder.close()


def test_the_same_answer_in_a_row_is_one_vintage(store):
    recorder = Recorder(store)
    for at, value in enumerate([1.0, 1.0, 2.0, 2.0, 1.0]):
        recorder.record([vintage(value=value, at=at)])
    recorder.close()
    assert kept(store) == [1.0, 2.0, 1.0]


def test_another_version_that_says_the_same_is_another_vintage(store):
    from dataclasses import replace

    recorder = Recorder(store)
    recorder.record([vintage()])
    recorder.record([replace(vintage(at=1), predictor="predictor:e0:1")])
    recorder.close()
    assert len(kept(store)) == 2


def test_a_full_store_keeps_them_waiting_and_takes_them_when_it_can(store, monkeypatch):
    full, tried, add = threading.Event(), threading.Event(), store.add_vintages
    full.set()

    def sometimes_full(vintages):
        tried.set()
        if full.is_set():
            raise StoreFullError("no space left")
        add(vintages)

    monkeypatch.setattr(store, "add_vintages", sometimes_full)
    recorder = Recorder(store, interval=0.01)
    recorder.record([vintage()])
    assert tried.wait(DEADLINE)
    assert recorder.counts.waiting == 1
    full.clear()
    recorder.close()
    assert kept(store) == [1.0]
    assert (recorder.counts.written, recorder.counts.lost) == (1, 0)


def test_what_finds_no_room_is_counted_as_lost(store, monkeypatch):
    def full(vintages):
        raise StoreFullError("no space left")

    monkeypatch.setattr(store, "add_vintages", full)
    recorder = Recorder(store, capacity=10)
    for value in range(5):
        recorder.record([vintage(value=value, steps=4)])
    assert (recorder.counts.waiting, recorder.counts.lost) == (2, 3)
    recorder.close()
    assert (recorder.counts.waiting, recorder.counts.lost) == (0, 5)


def test_what_the_store_never_takes_does_not_hold_up_the_rest(store, monkeypatch):
    refused, add = threading.Event(), store.add_vintages

    def picky(vintages):
        if any(each.entity == "stranger" for each in vintages):
            refused.set()
            raise ValueError("no such entity")
        add(vintages)

    monkeypatch.setattr(store, "add_vintages", picky)
    recorder = Recorder(store, interval=0.01)
    recorder.record([vintage("stranger")])
    assert refused.wait(DEADLINE)
    while recorder.counts.lost == 0:
        threading.Event().wait(0.001)
    recorder.record([vintage("e0")])
    recorder.close()
    assert kept(store) == [1.0]
    assert recorder.counts.lost == 1


def test_more_than_one_batch_is_written_in_order(store):
    recorder = Recorder(store)
    recorder.record([vintage(value=value, at=4.0 * value) for value in range(2500)])
    recorder.close()
    assert kept(store) == list(map(float, range(2500)))


def test_events_are_recorded_too(store):
    recorder = Recorder(store)
    recorder.queue_event(ServiceEvent("fallback:north:weather:1", "fallback", "no weather", at=0.0))
    recorder.close()
    assert [event.message for event in store.events(kinds=["fallback"])] == ["no weather"]


def test_callers_who_ask_a_lot_do_not_fill_the_disk(store):
    recorder = Recorder(store, interval=60)
    for request in range(1000):
        recorder.record([vintage(value=float(request), at=request / 100, steps=100_000)])
    recorder.record([vintage("e1")])
    recorder.close()
    found = store.vintages("e0", start=NOW, end=NOW + STEP, limit=100_000)
    assert 0 < sum(len(each.values) for each in found) <= HOURLY_STEPS
    assert recorder.counts.skipped == 1000 - len(found)
    assert kept(store, "e1") == [1.0], "others are kept as always"


def test_an_hour_later_forecasts_are_kept_again(store):
    recorder = Recorder(store, interval=60)
    for hour in range(3):
        for request in range(30):
            value = float(30 * hour + request)
            recorder.record([vintage(value=value, at=3600.0 * hour, steps=192)])
    recorder.close()
    assert len(kept(store)) == 3 * (HOURLY_STEPS // 192)
