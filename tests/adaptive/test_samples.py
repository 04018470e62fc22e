"""Measurements that are taken back or corrected, also where they are inputs of later samples."""

import numpy as np
import pytest


@pytest.fixture
def forecaster(small):
    x, y, at = small.stream(60)
    forecaster = small.started(x, y, at)
    rest = slice(small.WARMUP, None)
    forecaster.observe(x[rest], y[rest], at[rest])
    return forecaster


def lag_inputs(forecaster, step):
    """What networks see of an entity's past at a step of the last days, day and week before."""
    rows = forecaster.state.recent
    return rows.lagged[np.searchsorted(rows.at, step)].tolist()


def test_networks_see_the_measurements_of_a_day_and_a_week_before(forecaster, small):
    rows, last = forecaster.state.recent, int(forecaster.state.recent.at[-8])
    before = [rows.measured[np.searchsorted(rows.at, last - days * small.DAY)] for days in (1, 7)]
    np.testing.assert_allclose(lag_inputs(forecaster, last), np.transpose(before), rtol=1e-6)


def test_a_measurement_taken_back_is_no_input_of_later_samples(forecaster, small):
    last = int(forecaster.state.recent.at[-8])
    own, other = lag_inputs(forecaster, last)
    forecaster.forget([last - small.DAY], [0])
    assert lag_inputs(forecaster, last) == [[0.0, own[1]], other]


def test_a_corrected_measurement_is_the_corrected_input_of_later_samples(forecaster, small):
    last = int(forecaster.state.recent.at[-8])
    own, other = lag_inputs(forecaster, last)
    scale = forecaster.state.power
    value = float(scale.mean[0] + 0.5 * scale.scale[0])
    forecaster.correct(last - 7 * small.DAY, 0, value)
    (day, week), second = lag_inputs(forecaster, last)
    assert (day, second) == (own[0], other)
    assert week == pytest.approx(0.5, rel=1e-3)


def test_a_measurement_that_is_not_held_is_not_corrected_where_it_was_an_input(forecaster, small):
    last = int(forecaster.state.recent.at[-8])
    _, other = lag_inputs(forecaster, last)
    forecaster.forget([last - small.DAY], [0])
    assert forecaster.correct(last - small.DAY, 0, 1.0) == 0
    assert lag_inputs(forecaster, last)[0][0] == 0.0
    assert lag_inputs(forecaster, last)[1] == other
