import json
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from tests.intervals.conftest import DAY, World

from clearwatt.errors import ConfigurationError, DataError, StateError
from clearwatt.intervals import LEVELS, Calibrator

NORMAL_5 = 1.6449
"""The 95 % quantile of the standard normal distribution."""


def covered(y, quantiles):
    """Shares of readings below each quantile."""
    return (y[..., None] < quantiles).mean(axis=(0, 1))


def issued(calibrator, world, first, last=None):
    forecasts, y, steps = world.rows(first, last)
    return y, calibrator.observe(forecasts, y, steps, levels=LEVELS)


@pytest.mark.parametrize("day", [24, 96])
def test_exchangeable_residuals_give_nominal_coverage(day):
    world = World(400, entities=4, day=day)
    y, said = issued(world.start(), world, 30)
    np.testing.assert_allclose(covered(y, said), LEVELS, atol=0.01)


def test_normal_residuals_give_normal_quantiles(world):
    world = world(400, entities=4)
    calibrator = world.start()
    calibrator.observe(*world.rows(30))
    forecasts, _, steps = world.rows(390)
    said = calibrator.snapshot.quantiles(forecasts, steps) - forecasts[..., None]
    np.testing.assert_allclose(said[..., 3].mean(), 0.0, atol=0.01)
    np.testing.assert_allclose(said[..., -1].mean(), 0.1 * NORMAL_5, rtol=0.1)
    np.testing.assert_allclose(said[..., 0].mean(), -0.1 * NORMAL_5, rtol=0.1)


def test_width_follows_the_hour_and_the_level(world):
    world = world(400, entities=2)
    night = np.tile((world.steps % DAY < 6)[:, None], 2)
    scale = np.where(night, 0.0, 0.02 + 0.2 * np.maximum(world.forecasts, 0.0) ** 2)
    world.y = world.forecasts + world.noise * scale
    y, said = issued(world.start(), world, 30)
    forecasts, night = world.forecasts[30 * DAY :], night[30 * DAY :]
    low, high = (forecasts < 0.4) & ~night, (forecasts > 0.7) & ~night
    width = said[..., -1] - said[..., 0]
    assert width[night].mean() < 0.06 * width[~night].mean()
    assert width[high].mean() > 2.5 * width[low].mean()
    inside = (y >= said[..., 0]) & (y <= said[..., -1])
    for cell in (low, high):
        # Nights are always inside, which the trackers make up for by day.
        assert inside[cell].mean() == pytest.approx(0.87, abs=0.05)


def test_quantiles_are_asymmetric_where_residuals_are(world):
    world = world(300)
    world.y = world.forecasts + 0.1 * world.noise**2
    y, said = issued(world.start(), world, 30)
    below = world.forecasts[30 * DAY :] - said[..., 0]
    above = said[..., -1] - world.forecasts[30 * DAY :]
    assert above.mean() > 2 * np.abs(below).mean()
    np.testing.assert_allclose(covered(y, said), LEVELS, atol=0.02)


def test_coverage_comes_back_when_residuals_grow(world):
    world = world(200, entities=4)
    world.y[100 * DAY :] += 0.4 * world.noise[100 * DAY :]
    calibrator = world.start()
    calibrator.observe(*world.rows(30, 100))
    y, said = issued(calibrator, world, 100)
    inside = ((y >= said[..., 0]) & (y <= said[..., -1])).mean(axis=1)
    assert inside[: 2 * DAY].mean() < 0.5  # nobody could know yet
    assert inside[5 * DAY : 15 * DAY].mean() > 0.8
    assert inside[20 * DAY :].mean() == pytest.approx(0.9, abs=0.03)


@pytest.mark.parametrize("lag", [0, 1, 2])
def test_what_is_said_uses_nothing_later_than_its_lag(world, lag):
    world = world(60)
    other = World(60)
    other.y[50 * DAY :] += 5.0
    said = [issued(each.start(lag=lag), each, 30)[1] for each in (world, other)]
    same = (50 - 30 + 1 + lag) * DAY  # day 50 is over, and known, so many days later
    np.testing.assert_array_equal(said[0][:same], said[1][:same])
    assert (said[0][same:] != said[1][same:]).any()


def same_state(one, other):
    """Both have learned the same, to the last bit."""
    for left, right in zip(one.state()[1].values(), other.state()[1].values(), strict=True):
        np.testing.assert_array_equal(left, right)
    assert one.state()[0] == other.state()[0]


@settings(max_examples=30, deadline=None)
@given(st.data(), st.sampled_from([1, 3]), st.sampled_from([0, 1, 2]))
def test_how_rows_are_grouped_makes_no_difference(data, entities, lag):
    world = World(44, entities=entities, seed=1)
    rng = np.random.default_rng(2)
    world.y[rng.random(world.y.shape) < 0.1] = np.nan
    rows = [each[rng.random(14 * DAY) < 0.9] for each in world.rows(30)]
    swapped = data.draw(st.integers(0, len(rows[0])))  # in the middle of a day, more often than not
    cuts = data.draw(st.lists(st.integers(0, len(rows[0])), max_size=12))
    whole, pieces = world.start(lag=lag), world.start(lag=lag)
    said = []
    for calibrator, places in ((whole, {swapped}), (pieces, {swapped, *cuts})):
        said.append([])
        for start, stop in pairwise([0, *sorted(places), len(rows[0])]):
            part = (each[start:stop] for each in rows)
            said[-1].append(calibrator.observe(*part, levels=LEVELS))
            if stop == swapped:
                calibrator.swap(
                    np.array([0]),
                    *(each[:, :1] for each in world.rows(23, 30)[:2]),
                    world.rows(23, 30)[2],
                )
    same_state(whole, pieces)
    np.testing.assert_array_equal(*(np.concatenate(each) for each in said))


def test_a_swap_does_not_change_how_earlier_rows_of_its_day_are_seen(world):
    world = world(40)
    forecasts, y, steps = world.rows(30, 34)
    late = 4 * DAY - 1
    calibrators = [world.start() for _ in range(2)]
    for calibrator, place in zip(calibrators, (late, late + 1), strict=True):
        calibrator.observe(forecasts[:place], y[:place], steps[:place])
        if place == late:
            calibrator.swap(np.arange(2), *world.rows(23, 30))
    reach = [each.state()[1]["batch.reach"][:late] for each in calibrators]
    assert np.isfinite(reach[0]).all()
    np.testing.assert_array_equal(*reach)


SHORT = 6
"""Steps of a day in tests of many examples."""


@settings(max_examples=60, deadline=None)
@given(
    arrays(np.float64, (6 * SHORT, 2), elements=st.floats(-1e6, 1e6)),
    arrays(np.float64, (6 * SHORT, 2), elements=st.floats(-1e6, 1e6) | st.just(np.nan)),
    st.lists(st.floats(0.001, 0.999), min_size=1, max_size=9, unique=True).map(sorted),
)
def test_quantiles_never_cross_and_stay_within_limits(forecasts, y, levels):
    steps = np.arange(6 * SHORT, dtype=np.int64)
    first, then = slice(0, SHORT), slice(SHORT, None)
    calibrator = Calibrator.start(
        forecasts[first], y[first], steps[first], day=SHORT, low=(0.0, -7.0), high=3.0
    )
    said = calibrator.observe(forecasts[then], y[then], steps[then], levels=levels)
    calibrator.swap(np.array([1]), forecasts[then, 1:], y[then, 1:], steps[then])
    for each in (said, calibrator.snapshot.quantiles(forecasts, steps, levels)):
        assert not np.isnan(each).any()
        assert (np.diff(each, axis=2) >= 0).all()
        assert (each >= np.array([0.0, -7.0])[:, None]).all()
        assert (each <= 3.0).all()


def test_a_forecast_far_beyond_a_nearly_flat_warm_up_has_quantiles(world):
    world = world(40, entities=1)
    world.forecasts[: 30 * DAY] = 0.0
    world.forecasts[0] = 1e-310
    _, said = issued(world.start(), world, 30)
    assert np.isfinite(said).all()


def test_a_wild_reading_does_not_widen_everything_for_months(world):
    def widths(wild):
        own = world(60, entities=1)
        if wild:
            own.y[32 * DAY : 33 * DAY : 7] = 1e5
        _, said = issued(own.start(), own, 30)
        return (said[..., -1] - said[..., 0])[10 * DAY :]

    assert np.median(widths(wild=True)) < 1.5 * np.median(widths(wild=False))


def test_rows_without_a_measurement_teach_nothing(world):
    world = world(60)
    calibrator, other = world.start(), world.start()
    for each in (calibrator, other):
        each.observe(*world.rows(30, 46))
    forecasts, y, steps = world.rows(46, 58)
    calibrator.observe(forecasts, np.full_like(y, np.nan), steps)
    forecasts, _, steps = world.rows(58)
    np.testing.assert_allclose(
        calibrator.snapshot.quantiles(forecasts, steps),
        other.snapshot.quantiles(forecasts, steps),
        rtol=1e-12,
    )


def test_a_saved_calibrator_goes_on_as_if_it_had_never_stopped(world):
    world = world(70)
    calibrator = world.start(low=0.0)
    rows = world.rows(30)
    calibrator.observe(*(each[:325] for each in rows))
    calibrator.swap(np.arange(2), *world.rows(23, 30))
    calibrator.observe(*(each[325:333] for each in rows))
    values, saved = calibrator.state()
    kept = {name: array.copy() for name, array in saved.items()}
    again = Calibrator.from_state(json.loads(json.dumps(values)), kept)
    said = [c.observe(*(r[333:] for r in rows), levels=LEVELS) for c in (calibrator, again)]
    np.testing.assert_array_equal(*said)


def test_a_state_of_another_version_is_refused(world):
    values, saved = world(40).start().state()
    with pytest.raises(StateError, match="version 99"):
        Calibrator.from_state({**values, "version": 99}, saved)


def test_a_copy_goes_on_by_itself(world):
    world = world(40)
    calibrator = world.start()
    before = {name: array.copy() for name, array in calibrator.state()[1].items()}
    calibrator.copy().observe(*world.rows(30))
    for name, array in calibrator.state()[1].items():
        np.testing.assert_array_equal(array, before[name])


def test_a_new_model_is_believed_from_its_first_day(world):
    world = world(120, entities=2)
    calibrator = world.start()
    calibrator.observe(*world.rows(30, 60))
    world.forecasts[:, 1] += 0.5 * World(120, seed=5).noise[:, 1]  # the second's is far worse
    forecasts, y, steps = world.rows(53, 60)
    before = calibrator.snapshot.quantiles(*world.rows(60, 61)[::2])
    calibrator.swap(np.array([1]), forecasts[:, 1:], y[:, 1:], steps)
    after = calibrator.snapshot.quantiles(*world.rows(60, 61)[::2])
    np.testing.assert_array_equal(after[:, 0], before[:, 0])
    y, said = issued(calibrator, world, 60, 63)
    assert ((y >= said[..., 0]) & (y <= said[..., -1]))[:, 1].mean() > 0.85


def test_widths_are_back_some_days_after_a_swap(world):
    world = world(120)
    calibrator, other = world.start(), world.start()
    for each in (calibrator, other):
        each.observe(*world.rows(30, 60))
    forecasts, y, steps = world.rows(53, 60)
    calibrator.swap(np.arange(2), forecasts, y, steps)
    ratios = []
    for first in (60, 75):
        widths = [
            np.ptp(c.snapshot.quantiles(*world.rows(first, first + 1)[::2]), axis=2)
            for c in (calibrator, other)
        ]
        ratios.append((widths[0] / widths[1]).mean())
        for each in (calibrator, other):
            each.observe(*world.rows(first, first + 15))
    assert ratios[0] > 1.2
    assert ratios[1] == pytest.approx(1.0, abs=0.05)


def test_a_swap_without_anything_to_try_it_on_only_widens(world):
    world = world(40)
    calibrator = world.start()
    calibrator.observe(*world.rows(30))
    before = calibrator.snapshot.quantiles(*world.rows(39)[::2])
    calibrator.swap(np.arange(2), np.empty((0, 2)), np.empty((0, 2)), np.empty(0, np.int64))
    after = calibrator.snapshot.quantiles(*world.rows(39)[::2])
    assert (np.ptp(after, axis=2) > np.ptp(before, axis=2)).all()


def test_an_entity_that_joins_changes_nothing_for_the_others(world):
    world = world(60, entities=3)
    first = Calibrator.start(*(e[:, :2] if e.ndim == 2 else e for e in world.rows(0, 30)), day=DAY)
    alone = first.copy()
    forecasts, y, steps = world.rows(0, 30)
    first.add(forecasts[:, 2], y[:, 2], steps, low=0.0)
    together = world.start(low=(-np.inf, -np.inf, 0.0))
    forecasts, y, steps = world.rows(30)
    said = first.observe(forecasts, y, steps, levels=LEVELS)
    np.testing.assert_allclose(said, together.observe(forecasts, y, steps, levels=LEVELS))
    np.testing.assert_allclose(
        said[:, :2], alone.observe(forecasts[:, :2], y[:, :2], steps, levels=LEVELS)
    )


def test_some_columns_can_be_asked_for(world):
    world = world(40, entities=3)
    calibrator = world.start(high=(0.5, 0.6, 0.7))
    forecasts, _, steps = world.rows(30)
    columns = np.array([2, 0])
    np.testing.assert_array_equal(
        calibrator.snapshot.quantiles(forecasts[:, columns], steps, columns=columns),
        calibrator.snapshot.quantiles(forecasts, steps)[:, columns],
    )


def test_any_level_lies_between_its_neighbours(world):
    world = world(40)
    calibrator = world.start()
    forecasts, _, steps = world.rows(30)
    few, more = (
        calibrator.snapshot.quantiles(forecasts, steps, levels)
        for levels in ((0.1, 0.9), (0.1, 0.2, 0.9))
    )
    np.testing.assert_array_equal(few, more[..., [0, 2]])
    assert ((more[..., 1] > more[..., 0]) & (more[..., 1] < more[..., 2])).all()


def test_state_stays_small(world):
    world = world(200, day=96)
    calibrator = world.start()
    before = calibrator.state_bytes
    calibrator.observe(*world.rows(30))
    assert calibrator.state_bytes == before <= 64 * 1024


def test_what_cannot_be_is_refused_by_name(world):
    world = world(40)
    calibrator = world.start()
    forecasts, y, steps = world.rows(30)
    with pytest.raises(DataError, match=r"y have shape \(240, 1\)"):
        calibrator.observe(forecasts, y[:, :1], steps)
    with pytest.raises(DataError, match="y is infinite"):
        calibrator.observe(forecasts, np.full_like(y, np.inf), steps)
    calibrator.observe(forecasts, y, steps)
    with pytest.raises(DataError, match="step 720 comes after step 959"):
        calibrator.observe(forecasts, y, steps)
    with pytest.raises(ConfigurationError, match="limits 1 and 0"):
        world.start(low=1.0, high=0.0)
    with pytest.raises(ConfigurationError, match="day is 0"):
        Calibrator.start(forecasts, y, steps, day=0)
    with pytest.raises(ConfigurationError, match="lag is -1"):
        world.start(lag=-1)
