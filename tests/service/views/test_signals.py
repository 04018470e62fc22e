"""Signals put readings beside forecasts and errors, whole or in means."""

import numpy as np
import pytest
from safetensors.numpy import save

from clearwatt.service.records import (
    READING,
    Flag,
    Outcome,
    RegisteredEntity,
    SignalDay,
    Verdict,
    Zone,
)
from clearwatt.service.status import ZoneStatus
from clearwatt.service.store import open_store
from clearwatt.service.views.signals import Signals, signals_of

DAY, STEP = 86_400, 3600
START = 1_717_200_000


@pytest.fixture
def store(tmp_path):
    made = open_store(tmp_path / "clearwatt.db")
    made.add_zone(Zone("north", STEP, ("wind",)))
    yield made
    made.close()


def day(start, forecast, entities):
    times = start + STEP * np.arange(24, dtype=np.int64)
    content = {
        "times": times,
        "reconstruction": np.full(24, 0.5, np.float32),
        "forecast": np.full((24, len(entities)), forecast, np.float32),
        "entities": np.array(entities, np.int64),
    }
    return SignalDay("north", start, save(content))


def test_days_are_joined_cut_and_put_beside_the_readings(store):
    early, late = store.add_entities(
        [
            RegisteredEntity("early", "north", "consumer"),
            RegisteredEntity("late", "north", "consumer"),
        ]
    )
    days = (day(START, 2.0, [early.number]), day(START + DAY, 3.0, [early.number, late.number]))
    readings = np.zeros(30, READING)
    readings["entity"], readings["value"] = late.number, 5.0
    readings["time"] = START + 12 * STEP + STEP * np.arange(30)
    store.add_readings(readings, at=0.0)
    wild = Verdict(late.number, START + 30 * STEP, Flag.QUARANTINED, "spike")
    store.commit(
        Outcome(status=ZoneStatus("north", 1, 1), signals=days, verdicts=(wild,)),
    )
    found = signals_of(store, late, start=START + 20 * STEP, end=START + 40 * STEP)
    assert found.times.tolist() == [START + STEP * k for k in range(20, 40)]
    assert np.isnan(found.forecast[:4]).all()
    assert (found.forecast[4:] == 3.0).all()
    assert np.isnan(found.measured[10])
    assert np.nanmax(found.error) == np.nanmin(found.error) == 2.0
    assert (found.reconstruction == 0.5).all()


def test_an_entity_without_any_signal_has_none(store):
    (entity,) = store.add_entities([RegisteredEntity("a", "north", "consumer")])
    assert len(signals_of(store, entity, start=START, end=START + DAY).times) == 0


def test_thinning_gives_means_of_what_is_known():
    n = 1001
    values = np.arange(n, dtype=np.float64)
    values[:20] = np.nan
    signals = Signals(np.arange(n), values, values, values, np.full(n, np.nan))
    assert signals.means(n) is signals
    thin = signals.means(100)
    assert len(thin.times) == 100
    assert np.isnan(thin.measured[0])
    assert thin.measured[50] == pytest.approx(values[500:510].mean(), abs=1)
    assert np.isnan(thin.reconstruction).all()
    assert np.all(np.diff(thin.times) > 0)


def test_extremes_lose_no_peak_and_keep_their_order():
    n = 10_001
    rng = np.random.default_rng(0)
    values = rng.normal(size=n)
    values[1234], values[5678] = 50.0, -40.0
    values[3000:3200] = np.nan
    times = np.arange(n) * STEP
    signals = Signals(times, values, -values, np.abs(values), np.full(n, np.nan))
    assert signals.extremes(n) is signals
    thin = signals.extremes(200)
    assert len(thin.times) <= 200
    assert np.all(np.diff(thin.times) > 0)
    for whole, few in zip(signals.columns[:3], thin.columns[:3], strict=True):
        assert np.nanmax(few) == np.nanmax(whole)
        assert np.nanmin(few) == np.nanmin(whole)
        assert set(few[np.isfinite(few)]) <= set(whole)
    assert abs(thin.times[np.nanargmax(thin.measured)] - 1234 * STEP) <= 102 * STEP
    assert np.isnan(thin.reconstruction).all()
    rising = Signals(times, *[np.arange(float(n))] * 4).extremes(100)
    assert np.all(np.diff(rising.measured) > 0)


def test_a_part_of_signals_is_cut_at_its_start_and_before_its_end():
    values = np.arange(10.0)
    part = Signals(np.arange(10), values, values, values, values).between(3, 6)
    assert part.times.tolist() == part.error.tolist() == [3, 4, 5]
