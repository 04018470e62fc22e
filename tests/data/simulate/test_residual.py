import numpy as np
import pytest

from clearwatt.data.schema import Kind
from clearwatt.data.simulate.drift import DriftEffects, SimulatedDrift
from clearwatt.data.simulate.entity_specs import SUBTYPES
from clearwatt.data.simulate.residual import SUBSTATIONS, residual_load


def test_every_simulated_subtype_has_a_substation():
    assert set(SUBSTATIONS) == set(SUBTYPES[Kind.RESIDUAL])


@pytest.mark.parametrize("name", SUBSTATIONS)
def test_load_and_load_factor_are_plausible(year, undisturbed, name):
    load = residual_load(name, SUBSTATIONS[name], year, undisturbed)
    assert -0.5 < load.min() < load.max() < 1.25
    assert 0.3 <= load.mean() <= 0.7


def test_rooftop_panels_hollow_out_sunny_noons(year, undisturbed):
    load = residual_load("x", SUBSTATIONS["rural"], year, undisturbed)
    summer_noon = np.asarray(np.abs(year.clock.local.month - 6) <= 1) & (
        np.abs(year.clock.hour - 13) < 1
    )
    ghi = year.weather.ghi_wm2
    sunny, dull = summer_noon & (ghi > 700), summer_noon & (ghi < 300)
    assert load[sunny].mean() < load[dull].mean() - 0.05


@pytest.mark.parametrize(
    ("what", "hour", "month"), [("heat_pumps", 8, 1), ("electric_vehicles", 19, 7)]
)
def test_adoption_grows_over_the_span(year, undisturbed, what, hour, month):
    steps = len(year.clock.times)
    change = SimulatedDrift(what, "x", 0, steps, None, 0.0, 0.3, "")
    before = residual_load("x", SUBSTATIONS["residential"], year, undisturbed)
    after = residual_load(
        "x", SUBSTATIONS["residential"], year, DriftEffects(steps, {what: change})
    )
    added = after - before
    assert added.min() >= -1e-12
    at = np.asarray(year.clock.local.month == month) & (np.abs(year.clock.hour - hour) < 1)
    assert added[at].mean() > added.mean() * 0.2
    peak_hour = np.abs(year.clock.hour - 19) < 1
    half = steps // 2
    if what == "electric_vehicles":
        assert added[half:][peak_hour[half:]].mean() > 2 * added[:half][peak_hour[:half]].mean()
