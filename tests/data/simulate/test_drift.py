import numpy as np
import pandas as pd
import pytest

from clearwatt.data.simulate.drift import (
    DriftEffects,
    SimulatedDrift,
    entity_changes,
    resolve_factors,
)
from clearwatt.data.simulate.entity_specs import entity_specs
from clearwatt.data.simulate.rules import DRIFT_NAMES, RULES
from clearwatt.errors import ConfigurationError


def change(**overrides):
    given = {"start": 10, "ramp": 4, "end": None, "nominal": 0.5, "strength": 0.5} | overrides
    return SimulatedDrift(what="tariff", entity="x", description="", **given)


def test_a_change_grows_over_its_ramp_and_stays():
    effect = change().effect(20)
    assert (effect[:10] == 0).all()
    assert effect[10:14].tolist() == [0.125, 0.25, 0.375, 0.5]
    assert (effect[14:] == 0.5).all()


def test_a_step_that_ends():
    effect = change(ramp=0, end=13).effect(20)
    assert np.flatnonzero(effect).tolist() == [10, 11, 12]


def test_the_log_tells_from_and_to():
    times = pd.date_range("2023-01-01", periods=20, freq="15min", tz="UTC")
    record = change(end=13).record(times)
    assert (record.start, record.end) == (times[10], times[13])
    assert change(end=25).record(times).end is None


def test_a_drift_that_does_not_strike_is_zero():
    assert (DriftEffects(5, {}).effect("tariff") == 0).all()
    assert DriftEffects(5, {}).nominal("tariff") == 0


def test_factors_default_to_one_and_scale_the_strength_only():
    ordinary, double = resolve_factors(None), resolve_factors({"tariff": 2})
    assert set(ordinary) == set(DRIFT_NAMES) and set(ordinary.values()) == {1.0}
    member = next(m for m in entity_specs(95) if m.subtype == "household_block")
    once = entity_changes(member, ordinary, steps=5000, seed=0).by_name["tariff"]
    twice = entity_changes(member, double, steps=5000, seed=0).by_name["tariff"]
    assert twice.strength == 2 * once.strength
    assert (twice.nominal, twice.start, twice.ramp) == (once.nominal, once.start, once.ramp)


@pytest.mark.parametrize("factor", [-0.1, float("nan"), float("inf"), "2", None])
def test_a_bad_factor_is_refused_by_name_and_value(factor):
    with pytest.raises(ConfigurationError, match=r"outage") as refusal:
        resolve_factors({"outage": factor})
    assert repr(factor) in str(refusal.value)


def test_an_unknown_drift_is_refused_with_the_known_names():
    with pytest.raises(ConfigurationError, match="'outtage'") as refusal:
        resolve_factors({"outtage": 0})
    for name in DRIFT_NAMES:
        assert name in str(refusal.value)


@pytest.mark.parametrize("entities", [3, 12, 95])
def test_every_drift_strikes_someone_in_every_grid(entities):
    factors = resolve_factors(None)
    struck = {
        what
        for m in entity_specs(entities)
        for what in entity_changes(m, factors, steps=9000, seed=5).by_name
    }
    assert struck == {rule.what for rule in RULES}


def test_nothing_but_wear_strikes_during_the_papers_warm_up():
    factors, steps = resolve_factors(None), 67_764
    starts = [
        (c.what, c.start)
        for m in entity_specs(95)
        for c in entity_changes(m, factors, steps=steps, seed=0).by_name.values()
    ]
    slow = {"soiling", "degradation", "heat_pumps", "electric_vehicles"}
    assert min(start for what, start in starts if what not in slow) > 10_000
