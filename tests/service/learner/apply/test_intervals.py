"""Intervals of a zone: they cover what they should, survive everything, and reach who forecasts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.service.journals import STEP, Service, World
from tests.service.learner.apply.test_zone_learning import played

from clearwatt.errors import StateError
from clearwatt.files import load_state, save_state
from clearwatt.intervals import LEVELS, MovedForecasts, QuantileSnapshot
from clearwatt.service.forecasting.forecasts import ForecastService
from clearwatt.service.learner.apply.intervals import ZoneIntervals
from clearwatt.service.learner.apply.zone_learning import ZoneLearning


@pytest.fixture(scope="module")
def world() -> World:
    return World.of()


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory, world: World) -> Service:
    return played(tmp_path_factory.mktemp("intervals") / "a", world)


def forecast(service: Service, world: World, **options):
    forecaster = ForecastService(service.store, service.files)
    start = int(world.times[len(world.power)])
    try:
        return forecaster.forecast(["e0", "e1"], start, start + 24 * STEP, **options)
    finally:
        forecaster.close()


def test_the_interval_held_about_as_much_as_it_says(service):
    for name in ("e0", "e1"):
        interval = service.status.entities[name].interval
        assert interval.n_week == 7 * 24
        assert 0.75 < interval.coverage_week <= 1.0
        assert 0 < interval.width_week < 50, "half of the capacity, for a hasty model"


def test_forecasts_come_with_quantiles_that_ascend_and_hold_a_day_like_yesterday(service, world):
    for column, each in enumerate(forecast(service, world, levels=LEVELS)):
        assert each.quantiles.shape == (7, 24)
        assert (np.diff(each.quantiles, axis=0) >= 0).all()
        yesterday = world.power[-24:, column]
        held = (yesterday >= each.quantiles[0]) & (yesterday <= each.quantiles[-1])
        assert held.mean() > 0.6


def test_without_levels_there_are_none(service, world):
    assert [each.quantiles for each in forecast(service, world)] == [None, None]


def test_they_are_the_same_however_entries_are_grouped(tmp_path, service, world):
    twin = played(tmp_path / "b", world, limit=3)
    assert state_of(twin.learning) == state_of(service.learning)
    assert twin.store.intervals("north") == service.store.intervals("north")


def test_a_checkpoint_brings_them_back(tmp_path: Path, service, world):
    service.learning.save(tmp_path)
    found = ZoneLearning.load(tmp_path, zone=world.zone, store=service.store, files=service.files)
    assert state_of(found) == state_of(service.learning)


def test_intervals_of_another_release_make_a_checkpoint_unusable_by_name(tmp_path, service, world):
    service.learning.save(tmp_path)
    saved = load_state(tmp_path / "zone")
    saved.values["intervals"]["version"] = 1
    save_state(tmp_path / "zone", saved.values, saved.tensors)
    # A StateError sets the checkpoint aside and folds the journal again; any other would not.
    with pytest.raises(StateError, match="intervals were saved with version 1"):
        ZoneLearning.load(tmp_path, zone=world.zone, store=service.store, files=service.files)


def test_what_is_forgotten_is_in_no_window_any_more(tmp_path, world):
    service = played(tmp_path / "c", world)
    intervals = service.learning.state.intervals
    start = STEP * int(intervals.window.steps[10])
    service.command("exclude", "e0", start=start, end=start + 5 * STEP)
    service.catch_up()
    assert np.isnan(intervals.window.y[10:15, 0]).all()
    assert np.isfinite(intervals.window.y[10:15, 1]).all()


def test_a_rolled_back_model_recalibrates_the_intervals(tmp_path, world):
    service = played(tmp_path / "d", world)
    before = service.store.intervals("north")
    service.command("activate", None, version="predictor:e0:0")
    service.catch_up()
    after = service.store.intervals("north")
    assert after.revision > before.revision
    assert after.content != before.content


def test_a_damaged_snapshot_costs_intervals_and_no_forecast(tmp_path, world):
    service = played(tmp_path / "e", world)
    with service.store.write_session() as session:
        session.run("UPDATE intervals SET content = ?", b"damaged")
    answers = forecast(service, world, levels=LEVELS)
    assert [each.quantiles for each in answers] == [None, None]
    assert all(np.isfinite(each.values).all() for each in answers)


def state_of(learning: ZoneLearning) -> tuple:
    intervals = learning.state.intervals
    tensors = {name: each.numpy().tobytes() for name, each in intervals.tensors().items()}
    return intervals.values(), tensors


def near_intervals(days: int) -> ZoneIntervals:
    """Intervals of a meter with errors of 0.1 a day ahead and 0.01 an hour ahead."""
    rng, rows = np.random.default_rng(4), 24 * days
    times = STEP * np.arange(rows)
    noise, ahead = rng.normal(size=(2, rows, 1)), rng.uniform(0.3, 0.7, size=(rows, 1))
    y = (ahead + 0.1 * noise[0]).astype(np.float32)
    hour = y + 0.01 * noise[1]
    found, start = ZoneIntervals(STEP), slice(24 * 10)
    x = np.empty((rows, 0), np.float32)
    found.begin(ahead[start], y[start], x=x[start], times=times[start], limits=[(0.0, 1.0)])
    for day in range(10, days):
        part = slice(24 * day, 24 * (day + 1))
        found.observe(ahead[part], y[part], x=x[part], times=times[part])
        known = y[part].astype(np.float64)
        found.observe_leads(hour[None, part], known, times[part], leads=[1], horizon=24)
    return found


def widths(intervals: ZoneIntervals) -> np.ndarray:
    """Widths of the published 90 % interval an hour and a day after the newest reading."""
    stored = intervals.new_snapshot("north", np.array([7]))
    assert stored is not None
    half = np.full((2, 1), 0.5)
    moved = MovedForecasts(half, np.array([[0.5], [1.0]]), np.array([[1], [24]]))
    snapshot = QuantileSnapshot.unpack(stored.content)
    ends = snapshot.quantiles(half, np.array([0, 0]), (0.05, 0.95), moved=moved)
    return np.diff(ends)[:, 0, 0]


def test_published_intervals_of_the_next_hours_have_the_width_of_their_own_errors():
    hour, day = widths(near_intervals(60))
    assert 3.29 * 0.01 < hour < 2 * 3.29 * 0.01  # it began as wide as a day ahead
    assert day == pytest.approx(3.29 * 0.1, rel=0.25)


def test_saved_intervals_of_the_next_hours_go_on():
    saved = near_intervals(20)
    again = ZoneIntervals(STEP)
    again.restore(saved.values(), saved.tensors())
    assert again.near is not None
    before = again.near.snapshot.logarithm
    for each in (saved, again):
        power, y = np.full((1, 24, 1), 0.5), np.full((24, 1), 1.0)
        times = STEP * np.arange(24 * 20, 24 * 21)
        each.observe_leads(power, y, times, leads=[1], horizon=24)
    wanted, found = (each.near.state()[1] for each in (saved, again) if each.near)
    for name, values in wanted.items():
        np.testing.assert_array_equal(found[name], values)
    assert found["logarithm"][0, 0] > before[0, 0] + 0.4  # after a day outside
    again.join(
        np.full(240, 0.5), np.full(240, 0.5, np.float32), times=STEP * np.arange(240), limits=(0, 1)
    )
    assert again.near.limits.shape == (2, 2)
    again.leave(0)
    assert again.near.limits.shape == (2, 1)
