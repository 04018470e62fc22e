import numpy as np
import pytest

from clearwatt.data.simulate.drift import DriftEffects, SimulatedDrift
from clearwatt.data.simulate.pv_park import pv_park


def struck(year, what, strength, start=0):
    steps = len(year.clock.times)
    change = SimulatedDrift(what, "pv", start, 0, None, strength, strength, "")
    return DriftEffects(steps, {what: change})


def test_an_undisturbed_park_yields_what_german_parks_yield(year, undisturbed):
    output = pv_park("pv", year, undisturbed)
    assert 0.09 < output.mean() < 0.13
    assert (output[year.sun.zenith > 90] == 0).all()


def test_degradation_grows_with_age(year, undisturbed):
    new, old = (
        pv_park("pv", year, undisturbed),
        pv_park("pv", year, struck(year, "degradation", 0.1)),
    )
    day = new > 0.01
    loss = 1 - old[day] / new[day]
    assert (np.diff(loss) > 0).all()
    assert loss[-1] == pytest.approx(0.1, rel=0.02)


def test_rain_washes_the_dust_off(year, undisturbed):
    clean, dirty = (
        pv_park("pv", year, undisturbed),
        pv_park("pv", year, struck(year, "soiling", 0.2)),
    )
    day = clean > 0.01
    loss = 1 - dirty[day] / clean[day]
    assert loss.min() >= 0.0 and loss.max() <= 0.2
    assert (np.diff(loss) < -0.02).any()


def test_an_extension_raises_the_output_from_its_day_on(year, undisturbed):
    half = len(year.clock.times) // 2
    output = pv_park("pv", year, struck(year, "capacity_added", 0.5, start=half))
    full = pv_park("pv", year, undisturbed)
    day = full > 0.01
    ratio = np.divide(output, full, where=day, out=np.ones_like(full))
    assert ratio[:half][day[:half]] == pytest.approx(1 / 1.5)
    assert ratio[half:][day[half:]] == pytest.approx(1.0)
