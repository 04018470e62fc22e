import numpy as np
import pytest

from clearwatt.data.schema import Kind
from clearwatt.data.simulate.consumers import CONSUMERS, consumer_load
from clearwatt.data.simulate.drift import DriftEffects, SimulatedDrift
from clearwatt.data.simulate.entity_specs import SUBTYPES


def test_every_simulated_subtype_has_a_recipe():
    assert set(CONSUMERS) == set(SUBTYPES[Kind.CONSUMER])


@pytest.mark.parametrize("name", CONSUMERS)
def test_load_and_load_factor_are_plausible(year, undisturbed, name):
    load = consumer_load(name, CONSUMERS[name], year, undisturbed)
    assert load.min() > 0
    assert load.max() <= 1.1
    assert 0.3 <= load.mean() <= 0.7


def test_recipes_leave_room_for_the_rhythm_of_the_day():
    for name, recipe in CONSUMERS.items():
        assert recipe.base + recipe.heating + recipe.cooling < 1, name


def test_an_office_works_on_working_days(year, undisturbed):
    load, clock = consumer_load("x", CONSUMERS["office"], year, undisturbed), year.clock
    noon = np.abs(clock.hour - 11) < 1
    assert load[noon & (clock.weekday < 5)].mean() > 1.5 * load[noon & (clock.weekday == 6)].mean()


def test_factories_close_at_christmas(year, undisturbed):
    load = consumer_load("x", CONSUMERS["factory_two_shift"], year, undisturbed)
    morning = np.asarray((year.clock.hour >= 9) & (year.clock.hour < 12) & (year.clock.weekday < 5))
    date = year.clock.local.strftime("%m-%d")
    closed = morning & np.asarray((date > "12-26") & (date < "12-31"))
    assert load[closed].mean() < 0.4 * load[morning & ~closed].mean()


def test_a_cold_store_needs_more_in_summer(year, undisturbed):
    load = consumer_load("x", CONSUMERS["cold_store"], year, undisturbed)
    month = np.asarray(year.clock.local.month)
    assert load[month == 7].mean() > 1.15 * load[month == 1].mean()


def test_a_tariff_empties_the_evening_and_fills_the_night(year):
    steps = len(year.clock.times)
    household = CONSUMERS["household_block"]

    def load(strength):
        change = SimulatedDrift("tariff", "x", 0, 0, None, 0.4, strength, "")
        return consumer_load("x", household, year, DriftEffects(steps, {"tariff": change}))

    before, after, hour = load(0.0), load(0.4), year.clock.hour
    assert after[np.abs(hour - 18.5) < 1].mean() < 0.85 * before[np.abs(hour - 18.5) < 1].mean()
    assert after[np.abs(hour - 1.5) < 1].mean() > 1.05 * before[np.abs(hour - 1.5) < 1].mean()
    assert after.mean() == pytest.approx(before.mean(), rel=0.03)
