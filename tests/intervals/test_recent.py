import numpy as np
import pytest

from clearwatt.intervals.recent import DailyResiduals, RecentStatistics, fading_sums


def test_neutral_statistics_have_no_bias_and_the_long_term_size():
    neutral = RecentStatistics.neutral(2, 72.0)
    assert neutral.bias.tolist() == [0, 0]
    assert neutral.size.tolist() == [1, 1]
    assert neutral.samples.tolist() == [72, 72]


def test_sums_are_weighted_by_row_and_leave_out_gaps():
    residuals = np.array([[1.0, 2.0], [3.0, np.nan]])
    sums = RecentStatistics.add_up(residuals, np.array([1.0, 0.0]), np.array([1.0, 0.5]))
    assert sums.samples.tolist() == [1.5, 1.0]
    assert sums.residuals.tolist() == [2.5, 2.0]
    assert sums.distances.tolist() == [1.0, 2.0]


def test_bias_and_size_are_means():
    recent = RecentStatistics(np.array([4.0, 0.0]), np.array([2.0, 0.0]), np.array([6.0, 0.0]))
    assert recent.bias.tolist() == [0.5, 0.0]
    assert recent.size.tolist() == [1.5, 0.0]


def test_statistics_fade():
    old, new = RecentStatistics.neutral(1, 8.0), RecentStatistics.neutral(1, 1.0)
    assert old.fade(np.array([0.25]), new).samples.tolist() == [3.0]


def test_replaced_entities_leave_the_others_and_the_original_alone():
    old = RecentStatistics.neutral(3, 8.0)
    columns = np.array([2, 0])
    new = RecentStatistics(np.array([1.0, 2.0]), np.array([3.0, 4.0]), np.array([5.0, 6.0]))
    replaced = old.replace(columns, new)
    assert replaced.samples.tolist() == [2, 8, 1]
    assert old.samples.tolist() == [8, 8, 8]
    for found, wanted in zip(replaced.select(columns), new, strict=True):
        assert found.tolist() == wanted.tolist()


def test_days_are_summed_without_their_gaps():
    units = np.array([[[1.0], [np.nan], [-2.0]], [[np.nan], [np.nan], [np.nan]]])
    days = DailyResiduals.from_units(units)
    assert days.counts.tolist() == [[2], [0]]
    assert days.residuals().tolist() == [[-1.0], [0.0]]
    assert days.distances(np.array([[1.0], [5.0]])).tolist() == [[3.0], [0.0]]
    np.testing.assert_array_equal(days.units, units)


def test_a_fading_sum_after_each_day():
    before, fades = np.array([8.0]), np.array([[0.5], [0.25]])
    sums = fading_sums(before, fades, np.array([[1.0], [2.0]]))
    assert sums[:, 0] == pytest.approx([5.0, 3.25])
    assert before.tolist() == [8.0]
