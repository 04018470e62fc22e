"""The parts of a forecast are held until its measurement is learned, and no longer."""

import numpy as np

DAYS = 14


def learned(small, y, *, days=DAYS):
    x, _, at = small.stream(60)
    forecaster = small.started(x, y, at)
    stop = small.WARMUP + days * small.DAY
    forecaster.observe(x[small.WARMUP : stop], y[small.WARMUP : stop], at[small.WARMUP : stop])
    return forecaster


def test_only_a_missing_measurement_is_waited_for(small):
    _, y, _ = small.stream(60)
    start = small.WARMUP + (DAYS - 5) * small.DAY
    y[start : start + small.DAY, 1] = np.nan
    state = learned(small, y).state
    open_period = state.unlearned.at >= state.boundary - state.frame.schedule.refresh
    waiting = state.unlearned.place[~open_period]
    np.testing.assert_array_equal(waiting, np.ones(small.DAY))


def test_a_late_measurement_is_learned_with_the_forecast_as_it_was_issued(small):
    x, y, at = small.stream(60)
    late = small.WARMUP + (DAYS - 1) * small.DAY + 3
    in_time = learned(small, y)
    gappy = y.copy()
    gappy[late, 0] = np.nan
    missing = learned(small, gappy)
    before = missing.state.corrections.moments
    missing.observe(x[[late]], y[[late]], at[[late]])
    stop = small.WARMUP + DAYS * small.DAY
    following = slice(stop, stop + small.DAY)
    for each in (in_time, missing):
        each.observe(x[following], y[following], at[following])
    assert not np.array_equal(before, missing.state.corrections.moments)
    np.testing.assert_allclose(
        missing.state.corrections.moments, in_time.state.corrections.moments, rtol=0.05, atol=0.2
    )


def test_a_measurement_taken_back_and_sent_again_is_not_learned_twice(small):
    x, y, at = small.stream(60)
    again = small.WARMUP + (DAYS - 2) * small.DAY
    once, twice = (learned(small, y) for _ in range(2))
    assert twice.forget(at[[again]]) == 2
    twice.observe(x[[again]], y[[again]], at[[again]])
    stop = small.WARMUP + DAYS * small.DAY
    following = slice(stop, stop + small.DAY)
    for each in (once, twice):
        each.observe(x[following], y[following], at[following])
    np.testing.assert_array_equal(once.state.trust.products, twice.state.trust.products)
    np.testing.assert_array_equal(once.state.corrections.moments, twice.state.corrections.moments)


def test_a_reading_of_the_last_days_takes_little_memory(small):
    _, y, _ = small.stream(60)
    state = learned(small, y).state
    own = [column for column in state.recent if column.ndim == 2 and column.shape[1] == 2]
    assert sum(column.nbytes for column in own) <= 32 * state.recent.size * len(state.names)
