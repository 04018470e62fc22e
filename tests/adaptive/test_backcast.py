"""The past of an entity that joins a running zone, back-cast from the other entities."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from clearwatt.adaptive import AdaptiveForecaster, NoveltySettings, ZoneSamples, train_prior
from clearwatt.adaptive.backcast import backcast_readings
from clearwatt.adaptive.breaks import EVERY_DAY, Break
from clearwatt.adaptive.events import NetworkUpdate
from clearwatt.adaptive.period import held_samples
from clearwatt.data.features import CALENDAR_COLUMNS
from clearwatt.training.streams import drive

COLUMNS = ("wind", "cloud", *CALENDAR_COLUMNS)
JOINED = 40
"""Day on which the entity joins."""
DAYS = 60


@pytest.fixture
def zone(small):
    """Two entities that run and one that joins; it is like the second, which no fleet is."""
    x, power, at = small.stream(DAYS)
    rng = np.random.default_rng(2)
    wind, cloud = power[:, 0], np.clip(2 - x[:, 1] + 0.3 * np.abs(x[:, 0]), 0, None) / 4
    new = 0.9 * cloud + 0.01 * rng.normal(size=len(at))
    settings = replace(small.SETTINGS, memory=1000, novelty=NoveltySettings(capacity=30.0))
    y = np.stack([wind, cloud, new], axis=1)
    return SimpleNamespace(x=x, y=y, at=at, settings=settings, first=JOINED * small.DAY)


@pytest.fixture
def prior(small, zone):
    """A prior of entities that follow the other weather variable."""
    share = np.clip(zone.y[:, [0]] / 3, 0, 1)
    noise = 0.02 * np.random.default_rng(3).normal(size=(len(share), 3))
    samples = ZoneSamples(zone.x, share + noise, zone.at, COLUMNS, (("generator",),) * 3)
    return train_prior([samples], day=small.DAY, settings=zone.settings)


def joined(small, zone, prior, *, others=(0, 1), **options):
    """A forecaster of others that has run until the new entity joined."""
    forecaster = AdaptiveForecaster.fit(
        zone.x[: zone.first],
        zone.y[: zone.first, list(others)],
        zone.at[: zone.first],
        day=small.DAY,
        columns=COLUMNS,
        names=[f"old {place}" for place in others],
        settings=replace(zone.settings, **options),
    )
    forecaster.join_from_prior("new", prior, kind="generator", size=1.0, columns=COLUMNS, ranges={})
    return forecaster


def follow(small, zone, forecaster, days, *, since=0, others=(0, 1)):
    """The updates of the new entity's networks in some days after it joined."""
    rows = slice(zone.first + since * small.DAY, zone.first + days * small.DAY)
    y = zone.y[rows][:, [*others, 2]]
    changes = forecaster.observe(zone.x[rows], y, zone.at[rows])
    updates = (each.event for each in changes if isinstance(each.event, NetworkUpdate))
    return [event for event in updates if event.entity == "new"]


def error_of_networks(zone, forecaster):
    """Mean absolute error of the new entity's networks before it joined, in deviations."""
    state = forecaster.state
    seen = state.frame.view.see(zone.x[: zone.first], zone.at[: zone.first])
    forecast = state.ensemble.mean_forecast(seen)[:, -1]
    mean, scale = state.power.mean[-1], state.power.scale[-1]
    return float(np.abs(forecast - (zone.y[: zone.first, 2] - mean) / scale).mean())


def test_networks_learn_a_past_that_others_tell(small, zone, prior):
    with_past, without = (joined(small, zone, prior, backcast=use) for use in (True, False))
    events = follow(small, zone, with_past, 8)
    assert not follow(small, zone, without, 8)
    found = [event for event in events if event.trigger == "backcast"]
    assert found
    assert (found[0].step - zone.first) / small.DAY == pytest.approx(4, abs=1)
    assert found[0].trained_on > 500
    assert found[0].samples < 6 * small.DAY
    assert "reconstructed from other entities" in found[0].explanation
    assert error_of_networks(zone, with_past) < 0.5 * error_of_networks(zone, without)


def test_others_that_do_not_tell_it_are_not_asked(small, zone, prior):
    forecaster = joined(small, zone, prior, others=(0,))
    assert not follow(small, zone, forecaster, 12, others=(0,))
    assert forecaster.versions[-1].fleet


def test_attempts_become_rarer_where_others_do_not_tell_it(small, zone, prior):
    forecaster, tried = joined(small, zone, prior, others=(0,)), []
    for day in range(16):
        follow(small, zone, forecaster, day + 1, since=day, others=(0,))
        tried.append(forecaster.state.first_steps[0].tried)
    attempts = np.array(sorted({step for step in tried if step})) - zone.first
    assert len(attempts) >= 3
    assert attempts[0] / small.DAY == pytest.approx(4, abs=1)
    assert (attempts[1:] >= 1.4 * attempts[:-1] - 1).all()


def test_novelty_updates_networks_whose_past_others_do_not_tell(small, zone, prior):
    novelty, daily = NoveltySettings(capacity=5.0), replace(zone.settings.fast, every=24)
    forecaster = joined(small, zone, prior, others=(0,), novelty=novelty, fast=daily)
    events = follow(small, zone, forecaster, 18, others=(0,))
    assert {event.trigger for event in events} == {"novelty"}


def test_a_past_of_others_that_was_left_out_is_not_used(small, zone, prior):
    forecaster = joined(small, zone, prior)
    follow(small, zone, forecaster, 8)
    state = forecaster.state
    held, place = held_samples(state), state.names.index("old 1")
    version = state.ensemble.versions[place]
    rewired = Break(zone.first, zone.first, weekdays=EVERY_DAY)
    changed = replace(version, breaks=(rewired,))
    last = replace(state.past[-1], ensemble=state.ensemble.with_version(place, changed))
    state = state._replace(past=(*state.past[:-1], last))
    assert backcast_readings(state, held, 2) is None, "the other one does not tell it"


def test_entities_without_a_past_are_not_asked(small, zone, prior):
    forecaster = joined(small, zone, prior, others=(0,))
    forecaster.join_from_prior(
        "twin", prior, kind="generator", size=1.0, columns=COLUMNS, ranges={}
    )
    rows = slice(zone.first, zone.first + 8 * small.DAY)
    forecaster.observe(zone.x[rows], zone.y[rows][:, [0, 1, 1]], zone.at[rows])
    assert forecaster.trainings.tolist() == [0, 0, 0]


def test_reconstructed_readings_do_not_count_as_readings(small, zone, prior):
    forecaster = joined(small, zone, prior)
    assert follow(small, zone, forecaster, 8)
    held = held_samples(forecaster.state)
    assert np.isnan(held.y[held.at < zone.first, 2]).all()
    assert forecaster.state.progress.measured[2] < zone.first + 8 * small.DAY


def test_reconstructed_readings_are_close_to_the_real_ones(small, zone, prior):
    forecaster = joined(small, zone, prior)
    follow(small, zone, forecaster, 8)
    state = forecaster.state
    held = held_samples(state)
    found = backcast_readings(state, held, 2)
    rows = np.isfinite(found.y)
    real = (zone.y[held.at[rows], 2] - state.power.mean[2]) / state.power.scale[2]
    assert rows.sum() == (held.at < zone.first).sum()
    assert np.abs(found.y[rows] - real).mean() < 0.2 * real.std()


def test_an_excluded_window_before_it_joined_is_not_reconstructed(small, zone, prior):
    forecaster = joined(small, zone, prior)
    window = np.arange(zone.first - 15 * small.DAY, zone.first - 5 * small.DAY)
    forecaster.forget(window, ["new"])
    forecaster = AdaptiveForecaster.unpack(forecaster.pack())
    follow(small, zone, forecaster, 8)
    held = held_samples(forecaster.state)
    found = backcast_readings(forecaster.state, held, 2)
    assert np.isin(held.at, window).any()
    assert np.isnan(found.y[np.isin(held.at, window)]).all()
    assert np.isfinite(found.y).any()


def test_an_excluded_window_of_another_entity_is_not_reconstructed(small, zone, prior):
    forecaster = joined(small, zone, prior)
    follow(small, zone, forecaster, 8)
    before = held_samples(forecaster.state)
    window = before.at[before.at < zone.first][:30]
    forecaster.forget(window, ["old 1"])
    held = held_samples(forecaster.state)
    found = backcast_readings(forecaster.state, held, 2)
    assert np.isnan(found.y[np.isin(held.at, window)]).all()


def test_a_real_reading_takes_the_place_of_a_reconstructed_one(small, zone, prior):
    forecaster = joined(small, zone, prior)
    follow(small, zone, forecaster, 8)
    step = int(forecaster.state.reservoir.at.min())
    late = np.full((1, 3), np.nan)
    late[0, 2] = 0.123
    forecaster.observe(zone.x[step : step + 1], late, np.array([step]))
    held = held_samples(forecaster.state)
    (row,) = np.flatnonzero(held.at == step)
    assert np.isfinite(held.y[row, 2])
    assert np.isnan(backcast_readings(forecaster.state, held, 2).y[row])


def test_a_start_that_stops_continues_as_if_it_had_not(small, zone, prior):
    whole, half = (joined(small, zone, prior) for _ in range(2))
    follow(small, zone, whole, 10)
    follow(small, zone, half, 3)
    resumed = AdaptiveForecaster.unpack(half.pack())
    for day in range(3, 10):
        follow(small, zone, resumed, day + 1, since=day)
    assert resumed.trainings[2] > 0
    assert resumed.digest() == whole.digest()


def test_only_a_state_with_a_new_entity_says_when_it_joined(small, zone, prior):
    forecaster = joined(small, zone, prior)
    (first,) = forecaster.state.first_steps
    assert (first.entity, first.step) == ("new", zone.first)
    assert "first_steps" in forecaster.pack().values["state"]
    forecaster.leave("new")
    assert "first_steps" not in forecaster.pack().values["state"]
    assert AdaptiveForecaster.unpack(forecaster.pack()).state.first_steps == ()


def test_the_start_ends_when_memory_is_full_of_its_own_samples(small, zone, prior, monkeypatch):
    monkeypatch.setattr("clearwatt.adaptive.updates.MEMORY_DAYS", 6)
    forecaster = joined(small, zone, prior)
    follow(small, zone, forecaster, 15)
    assert not forecaster.versions[2].from_fleet
    assert forecaster.state.first_steps == ()


def test_networks_that_waited_for_approval_have_learned_the_past(small, zone, prior):
    forecaster = joined(small, zone, prior)
    forecaster.require_approval("new")
    (event, *_) = follow(small, zone, forecaster, 8)
    assert event.trigger == "backcast"
    assert forecaster.versions[2].fleet
    forecaster.activate(forecaster.candidates[0])
    assert forecaster.versions[2].from_fleet
    assert not forecaster.versions[2].fleet


def test_networks_trained_again_after_an_exclusion_learn_the_past(small, zone, prior):
    forecaster = joined(small, zone, prior)
    follow(small, zone, forecaster, 8)
    forecaster.forget(np.arange(zone.first, zone.first + small.DAY), ["new"])
    ((event, _),) = drive(forecaster.retrain("new"))
    assert event.trigger == "exclusion"
    assert event.trained_on > 500
