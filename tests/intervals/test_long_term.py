import numpy as np
import pytest

from clearwatt.intervals.cells import FAR, ResidualCells
from clearwatt.intervals.levels import LEARNED_LEVELS
from clearwatt.intervals.long_term import LongTermStatistics, fade_factors
from clearwatt.intervals.pending import PendingResiduals
from clearwatt.intervals.quantile_model import QuantileModel
from clearwatt.intervals.rates import CalibrationRates

CELLS = ResidualCells(24, 12, np.zeros(1), np.ones(1))
RATES = CalibrationRates(usual=10.0, start_days=5.0, step=0.1)


def started(days=20, scale=1.0):
    residuals = scale * np.random.default_rng(0).normal(size=(24 * days, 1))
    steps = np.arange(24 * days)
    places = CELLS.places(np.zeros((24 * days, 1), np.int64), steps)
    return LongTermStatistics.start(residuals, places, cells=CELLS, rates=RATES)


def model(statistics):
    one = np.ones(1)
    parts = {"bias": 0 * one, "size": one, "wide": 0 * one, "table": statistics.table()}
    return QuantileModel(*statistics.sums.spread(), **parts)


def updated(statistics, residuals):
    """After pending rows that all have the same residual."""
    now = model(statistics)
    pending = PendingResiduals.empty(CELLS, 1)
    pending.residuals[:] = residuals
    units = now.spread.normalise(pending.residuals, pending.places)
    pending = pending._replace(z=units, reach=units)
    return statistics.update(pending, now, cells=CELLS, rates=RATES)


def test_half_of_the_past_is_left_after_a_half_life():
    assert fade_factors(24, 2.0, 48) == pytest.approx(0.5 ** (np.arange(49) / 48))


@pytest.mark.parametrize(("days", "counted"), [(20, 5), (3, 3)])
def test_a_warm_up_counts_for_some_days_at_most(days, counted):
    statistics = started(days)
    assert statistics.sums.samples.sum() == pytest.approx(24 * counted)
    assert statistics.counts.sum() == pytest.approx(24 * counted)


def test_the_table_ascends_and_does_not_depend_on_the_scale():
    table = started().table()
    assert (np.diff(table) >= 0).all()
    assert table[0, 0] < 0 < table[0, -1]
    assert started(scale=50.0).table() == pytest.approx(table)


def test_trackers_follow_readings_beyond_their_quantiles():
    high = updated(started(), 100.0).offsets
    low = updated(started(), -100.0).offsets
    levels, days = np.asarray(LEARNED_LEVELS), 4
    assert high[0] == pytest.approx(RATES.step * days * levels)
    assert low[0] == pytest.approx(RATES.step * days * (levels - 1))


def test_unmeasured_days_change_nothing():
    before = started()
    after = updated(before, np.nan)
    np.testing.assert_array_equal(after.sums, before.sums)
    np.testing.assert_array_equal(after.counts, before.counts)
    np.testing.assert_array_equal(after.offsets, before.offsets)


def test_outliers_are_clipped_before_they_are_summed():
    before = started()
    far, farther = (updated(before, value).sums for value in (1e6, 1e9))
    np.testing.assert_allclose(far.distances, farther.distances)
    most = FAR * before.sums.spread().scale.max()
    grown = far.distances.sum() - 0.5 ** (4 / RATES.usual) * before.sums.distances.sum()
    assert grown == pytest.approx(4 * 24 * most)
