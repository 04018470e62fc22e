"""Fleet priors: an entity without history forecasts at once, and its own experts take over."""

from dataclasses import replace

import numpy as np
import pytest

from clearwatt.adaptive import (
    AdaptiveForecaster,
    AdaptiveSettings,
    FleetPrior,
    NetworkSettings,
    ZoneSamples,
    prior_training,
    train_prior,
    updates,
)
from clearwatt.adaptive.ensemble import stack_weights
from clearwatt.adaptive.period import held_samples
from clearwatt.adaptive.prior_intervals import calibrator_of_prior
from clearwatt.adaptive.refit import refit_corrections
from clearwatt.adaptive.updates import HeldSamples
from clearwatt.data.features import CALENDAR_COLUMNS
from clearwatt.errors import ConfigurationError, DataError, StateError
from clearwatt.packing import Packed, to_bytes

DAY = 24
COLUMNS = ("wind", "cloud", *CALENDAR_COLUMNS)
CAPACITY = 40.0
SETTINGS = AdaptiveSettings(memory=600, networks=NetworkSettings(width=16, members=1))


def zone(seed, entities=3, *, days=40, day=DAY, scale=1.0, first=0):
    """A zone whose entities are generators that follow the wind, each a little differently."""
    rng = np.random.default_rng(seed)
    at = first + np.arange(days * day)
    hours = at * 24 / day
    weather = np.sin(hours[:, None] / [11.0, 29.0] + seed) + 0.3 * rng.normal(size=(len(at), 2))
    calendar = np.zeros((len(at), len(CALENDAR_COLUMNS)))
    angle = 2 * np.pi * hours / 24
    calendar[:, 0], calendar[:, 1] = np.sin(np.floor(hours) / 24 * 2 * np.pi), np.cos(angle)
    own = 0.3 * (1 + 0.1 * rng.normal(size=entities))
    y = np.clip(0.5 + own * weather[:, :1] + 0.05 * rng.normal(size=(len(at), entities)), 0, 1)
    x = np.concatenate([scale * weather, calendar], axis=1)
    return ZoneSamples(x, y, at, COLUMNS, (("generator",),) * entities)


@pytest.fixture(scope="module")
def prior():
    """A prior of two zones, with few networks."""
    return train_prior([zone(1), zone(2)], day=DAY, settings=SETTINGS, source="two zones")


def start(prior, **options):
    """A forecaster of an entity without history."""
    options = {"kinds": ["generator"], "sizes": [CAPACITY], "at": 0, "day": DAY} | options
    options = {"settings": SETTINGS} | options
    return AdaptiveForecaster.from_prior(prior, **options)


def rmse(forecasts, measured):
    return float(np.sqrt(np.nanmean((forecasts - measured) ** 2)))


def test_an_entity_without_history_forecasts_at_once(prior):
    new = zone(7, 1)
    forecaster = start(prior)
    ahead = slice(0, 2 * DAY)
    found = forecaster.deployed.forecast(new.x[ahead], new.at[ahead]).power
    power = CAPACITY * new.y[ahead]
    assert forecaster.versions[0].fleet
    assert rmse(found, power) < 0.6 * rmse(power.mean(), power)


def test_its_own_networks_take_over(prior):
    new = zone(7, 1, days=60)
    measured = np.where(new.y > 0.5, 1 - new.y, new.y)  # not as the rest of the fleet
    forecaster = start(prior)
    live = forecaster.live(new.x, CAPACITY * measured, new.at)
    errors = [
        rmse(live[part], CAPACITY * measured[part])
        for part in (slice(0, 7 * DAY), slice(-7 * DAY, None))
    ]
    assert errors[1] < 0.7 * errors[0]
    assert forecaster.trainings[0] > 0
    assert not forecaster.versions[0].fleet


def other_than_the_fleet(days):
    """Inputs, power and steps of an entity that is not as the rest of the fleet."""
    new = zone(7, 1, days=days)
    return new.x, CAPACITY * np.where(new.y > 0.5, 1 - new.y, new.y), new.at


def until_update(prior):
    """A forecaster from a prior after its first update, and its networks before."""
    forecaster = start(prior)
    first = forecaster.versions[0]
    x, y, at = other_than_the_fleet(60)
    for row in range(0, len(at), 6):
        forecaster.observe(x[row : row + 6], y[row : row + 6], at[row : row + 6])
        if forecaster.trainings[0]:
            return forecaster, first
    raise AssertionError("no update within 60 days")


def test_its_own_kernel_regression_begins_when_it_no_longer_starts(prior, monkeypatch):
    few = replace(SETTINGS, memory=None)  # 40 days are few samples
    monkeypatch.setattr(updates, "MEMORY_DAYS", 30)
    forecaster = start(prior, settings=few)
    x, y, at = other_than_the_fleet(60)
    seen = set()
    for row in range(0, len(at), DAY):
        forecaster.observe(x[row : row + DAY], y[row : row + DAY], at[row : row + DAY])
        version = forecaster.versions[0]
        seen.add((version.fleet or version.from_fleet, version.kernel is not None))
    assert seen == {(True, False), (False, True)}


def distance(params, others):
    return sum(float((params[name] - others[name]).square().sum()) for name in params) ** 0.5


def test_a_few_days_change_the_networks_of_a_fleet_a_little(prior, monkeypatch):
    forecaster, first = until_update(prior)
    change = forecaster.state.ensemble.versions[0]
    held = np.isfinite(held_samples(forecaster.state).y).sum()
    monkeypatch.setattr(updates, "MEMORY_DAYS", 1)  # as if memory were full
    whole, _ = until_update(prior)
    share = distance(change.params, first.params) / distance(whole.versions[0].params, first.params)
    assert change.from_fleet
    assert not change.fleet
    assert not whole.versions[0].from_fleet
    assert share == pytest.approx(held / SETTINGS.memory, rel=0.2)


def test_a_fleet_start_ends_also_if_readings_are_missing(prior):
    """After as many days as memory would hold without gaps."""
    x, y, at = other_than_the_fleet(60)
    y[np.random.default_rng(1).random(len(y)) < 0.4] = np.nan
    forecaster, shares = start(prior), []
    for row in range(0, len(at), 6):
        before = forecaster.trainings[0]
        forecaster.observe(x[row : row + 6], y[row : row + 6], at[row : row + 6])
        if forecaster.trainings[0] > before:
            shares.append((at[row] // DAY, forecaster.versions[0].from_fleet))
    assert shares[0][1]
    assert not shares[-1][1]
    assert [from_fleet for day, from_fleet in shares if day > SETTINGS.memory / DAY + 7].count(
        True
    ) == 0


def test_corrections_are_not_fitted_again_to_a_thinned_past(prior):
    forecaster, _ = until_update(prior)
    state = forecaster.state
    held = held_samples(state)
    kept = np.random.default_rng(1).random(len(held.at)) < 0.5
    thinned = HeldSamples(
        held.at[kept], held.seen[kept], held.lagged[kept], held.y[kept], held.novel[kept]
    )
    again = refit_corrections(state, 0, state.ensemble.versions[0], thinned)
    np.testing.assert_array_equal(again.corrections.products, state.corrections.products)


def test_what_networks_have_learned_is_not_corrected_again(prior):
    forecaster, _ = until_update(prior)
    state = forecaster.state
    again = refit_corrections(state, 0, state.ensemble.versions[0], held_samples(state))
    np.testing.assert_allclose(
        state.past[-1].coefficients, again.corrections.solve(), rtol=1e-4, atol=1e-4
    )


def test_networks_that_waited_for_approval_are_not_corrected_twice_either(prior):
    forecaster = start(prior)
    forecaster.require_approval()
    x, y, at = other_than_the_fleet(60)
    for row in range(0, len(at), 6):
        forecaster.observe(x[row : row + 6], y[row : row + 6], at[row : row + 6])
        if forecaster.candidates:
            break
    (candidate,) = forecaster.candidates
    before = forecaster.state
    forecaster.activate(candidate)
    state = forecaster.state
    again = refit_corrections(before, 0, candidate, held_samples(before))
    assert candidate.from_fleet
    assert not np.array_equal(state.corrections.products, before.corrections.products)
    np.testing.assert_array_equal(state.corrections.products, again.corrections.products)


def test_corrections_of_the_same_networks_stay_as_they_were(prior):
    x, y, at = other_than_the_fleet(6)
    forecaster = start(prior)
    forecaster.observe(x, y, at)
    state = forecaster.state
    again = refit_corrections(state, 0, forecaster.versions[0], held_samples(state))
    assert forecaster.versions[0].fleet
    assert abs(state.corrections.products).max() > 1
    np.testing.assert_allclose(
        again.corrections.products, state.corrections.products, rtol=1e-3, atol=1e-3
    )
    np.testing.assert_allclose(
        again.corrections.moments, state.corrections.moments, rtol=1e-3, atol=1e-3
    )


def test_a_start_of_an_earlier_release_goes_on_as_one_of_today(prior):
    x, y, at = other_than_the_fleet(40)
    cut = 3 * DAY
    forecaster = start(prior)
    forecaster.observe(x[:cut], y[:cut], at[:cut])
    packed = forecaster.pack()
    past = packed.values["past"]
    older = [
        {name: value for name, value in each.items() if name != "from_fleet"}
        for each in past["networks"]
    ]
    values = packed.values | {"past": past | {"networks": older}}
    again = AdaptiveForecaster.unpack(Packed(values, packed.tensors))
    expected = forecaster.live(x[cut:], y[cut:], at[cut:])
    assert forecaster.trainings[0] > 0
    np.testing.assert_array_equal(again.live(x[cut:], y[cut:], at[cut:]), expected)


def test_a_warm_up_comes_from_no_fleet():
    old = zone(3, 1)
    forecaster = AdaptiveForecaster.fit(
        old.x, old.y, old.at, day=DAY, columns=COLUMNS, settings=SETTINGS
    )
    assert not forecaster.versions[0].from_fleet


@pytest.mark.parametrize(("many", "passes"), [(10**6, 3), (100, 2)])
def test_fewer_passes_over_many_samples(monkeypatch, many, passes):
    found = []

    def record(trained):
        found.extend(each.epochs for each in trained)
        return stack_weights(trained)

    monkeypatch.setattr(prior_training, "stack_weights", record)
    monkeypatch.setattr(prior_training, "MANY_SAMPLES", many)
    train_prior([zone(1), zone(2)], day=DAY, settings=SETTINGS)
    assert set(found) == {passes}


def test_hours_of_readings_are_learned_from(prior):
    new = zone(7, 1)
    forecaster, plain = start(prior), start(prior)
    hours = slice(0, 13)
    forecaster.observe(new.x[hours], CAPACITY * (new.y[hours] - 0.3), new.at[hours])
    ahead = slice(13, 13 + 2 * DAY)
    low = forecaster.deployed.forecast(new.x[ahead], new.at[ahead]).power
    high = plain.deployed.forecast(new.x[ahead], new.at[ahead]).power
    assert low.mean() < high.mean()


def test_a_stopped_start_goes_on_as_if_it_had_not_stopped(prior, tmp_path):
    new, cut = zone(7, 1), 5 * DAY + 3
    forecaster = start(prior)
    forecaster.observe(new.x[:cut], CAPACITY * new.y[:cut], new.at[:cut])
    forecaster.save(tmp_path / "state")
    again = AdaptiveForecaster.load(tmp_path / "state")
    assert again.digest() == forecaster.digest()
    rest = slice(cut, None)
    expected = forecaster.live(new.x[rest], CAPACITY * new.y[rest], new.at[rest])
    found = again.live(new.x[rest], CAPACITY * new.y[rest], new.at[rest])
    np.testing.assert_array_equal(found, expected)


def test_it_is_the_same_prior_after_a_file(prior, tmp_path):
    prior.save(tmp_path / "region.prior")
    again = FleetPrior.load(tmp_path / "region.prior")
    assert again.digest == prior.digest
    assert again.source == "two zones"
    new = zone(7, 1)
    expected, found = (
        start(each).deployed.forecast(new.x[:DAY], new.at[:DAY]).power for each in (prior, again)
    )
    np.testing.assert_array_equal(found, expected)


def test_a_damaged_file_is_refused(prior, tmp_path):
    path = tmp_path / "region.prior"
    content = bytearray(prior.to_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(StateError, match="checksum"):
        FleetPrior.load(path)
    path.write_bytes(b"something else")
    with pytest.raises(StateError, match="no fleet prior"):
        FleetPrior.load(path)
    with pytest.raises(StateError, match="cannot be read"):
        FleetPrior.load(tmp_path / "none.prior")
    path.write_bytes(replace(prior, version=1).to_bytes())
    with pytest.raises(StateError, match="version 1; this release reads"):
        FleetPrior.load(path)
    path.write_bytes(to_bytes(SETTINGS.networks))
    with pytest.raises(StateError, match="no fleet prior"):
        FleetPrior.load(path)


def test_other_units_of_the_inputs_give_the_same_forecasts(prior):
    new, units = zone(7, 1), {"wind": (-3.0, 4.0), "cloud": (1.0, 2.0)}
    scaled = new.x.copy()
    for column, (low, span) in enumerate(units.values()):
        scaled[:, column] = (new.x[:, column] - low) / span
    expected = start(prior).deployed.forecast(new.x[:DAY], new.at[:DAY]).power
    found = start(prior, ranges=units).deployed.forecast(scaled[:DAY], new.at[:DAY]).power
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-4 * CAPACITY)


def test_more_inputs_and_shorter_steps_are_possible(prior):
    new = zone(7, 1, day=96)
    columns = ("snow", *COLUMNS, "neighbour.west.wind")
    more = np.random.default_rng(0).normal(size=(len(new.at), 2))
    x = np.concatenate([more[:, :1], new.x, more[:, 1:]], axis=1)
    settings = replace(SETTINGS, memory=2400)
    forecaster = start(prior, columns=columns, day=96, settings=settings)
    found = forecaster.deployed.forecast(x[:96], new.at[:96]).power
    assert rmse(found, CAPACITY * new.y[:96]) < 0.2 * CAPACITY
    forecaster.observe(x[:960], CAPACITY * new.y[:960], new.at[:960])


def test_a_missing_variable_is_named(prior):
    with pytest.raises(ConfigurationError, match="cloud"):
        start(prior, columns=("wind", *CALENDAR_COLUMNS))


def test_networks_of_another_shape_are_refused(prior):
    with pytest.raises(ConfigurationError, match="width"):
        start(prior, settings=AdaptiveSettings())


@pytest.mark.parametrize("order", [slice(1, None), slice(None, None, -1)])
def test_trust_in_other_experts_is_refused(prior, order):
    others = replace(SETTINGS.fast, corrections=SETTINGS.fast.corrections[order])
    with pytest.raises(ConfigurationError, match="expert 3 of the prior is 'level, 3 d'"):
        start(prior, settings=replace(SETTINGS, fast=others))


def test_an_entity_that_joins_again_has_other_version_numbers(prior):
    new = zone(7, 1, days=60)
    forecaster = start(prior, names=["park"])
    forecaster.renumber("park", 3)
    forecaster.observe(new.x, CAPACITY * np.where(new.y > 0.5, 1 - new.y, new.y), new.at)
    assert forecaster.versions[0].number > 3


def test_an_unknown_kind_and_a_capacity_of_zero_are_refused(prior):
    with pytest.raises(ConfigurationError, match="consumer"):
        start(prior, kinds=["consumer"])
    with pytest.raises(ConfigurationError, match="capacity"):
        start(prior, sizes=[0.0])


def test_a_fleet_of_one_is_refused():
    with pytest.raises(DataError, match="two entities"):
        train_prior([zone(1, 1)], day=DAY)


def test_an_entity_joins_a_zone_that_has_learned_for_long(prior):
    old, new = zone(3, 1), zone(3, 1)
    forecaster = AdaptiveForecaster.fit(
        old.x[: 30 * DAY],
        old.y[: 30 * DAY],
        old.at[: 30 * DAY],
        day=DAY,
        columns=COLUMNS,
        settings=SETTINGS,
    )
    alone = AdaptiveForecaster.unpack(forecaster.pack())
    forecaster.join_from_prior(
        "new", prior, kind="generator", size=CAPACITY, columns=COLUMNS, ranges={}
    )
    ahead = slice(30 * DAY, 32 * DAY)
    found = forecaster.deployed.forecast(old.x[ahead], old.at[ahead]).power
    assert rmse(found[:, 1], CAPACITY * new.y[ahead, 0]) < 0.15 * CAPACITY
    expected = alone.deployed.forecast(old.x[ahead], old.at[ahead]).power
    np.testing.assert_allclose(found[:, :1], expected, rtol=0, atol=1e-6)
    both = np.concatenate([old.y, CAPACITY * new.y], axis=1)
    forecaster.observe(old.x[ahead], both[ahead], old.at[ahead])
    assert forecaster.versions[1].fleet


def test_intervals_are_wide_enough_from_the_first_day(prior):
    new = zone(11, 1)
    forecasts = start(prior).live(new.x, CAPACITY * new.y, new.at)
    calibrator = calibrator_of_prior([prior.kind("generator")], [CAPACITY], day=DAY)
    week = slice(0, 7 * DAY)
    low, high = calibrator.observe(
        forecasts[week], CAPACITY * new.y[week], new.at[week], levels=(0.05, 0.95)
    )[:, 0].T
    inside = (new.y[week, 0] * CAPACITY >= low) & (new.y[week, 0] * CAPACITY <= high)
    assert inside.mean() > 0.8
    assert (high - low).mean() < 0.6 * CAPACITY
