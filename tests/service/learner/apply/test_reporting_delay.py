"""The reporting delay is what most deliveries need, whatever outages and histories do."""

import numpy as np
import pytest

from clearwatt.service.learner.apply.reporting_delay import FEWEST, MOST, ReportingDelays

QUARTER, DAY = 900, 86_400
NOW = 1_700_006_400


def deliver(delays: ReportingDelays, count: int, *, every: int, steps: int, lag: int) -> None:
    """Deliveries of so many quarter hours of entity 7, some seconds after the last of them."""
    for place in range(count):
        last = NOW + place * every
        times = last - QUARTER * np.arange(steps)
        delays.add(np.full(steps, 7), times, received=float(last + lag))


def test_it_is_not_known_before_some_deliveries():
    delays = ReportingDelays()
    deliver(delays, FEWEST - 1, every=QUARTER, steps=1, lag=60)
    assert delays.delay is None
    deliver(delays, 1, every=QUARTER, steps=1, lag=60)
    assert delays.delay == delays.delay_of(7) == 60
    assert delays.delay_of(8) is None


@pytest.mark.parametrize(
    ("steps", "lag", "low", "high"),
    [
        (1, 1000, 1000, 1200),  # telemetry
        (4, 300, 3000, 3600),  # each hour, its four quarters
        (96, 2 * 3600, 25 * 3600, 31 * 3600),  # once a day, yesterday
        (1, -300, 0, 60),  # stamped with the end of its interval, and a clock that is fast
    ],
)
def test_it_is_the_age_of_the_oldest_reading_of_a_usual_delivery(steps, lag, low, high):
    delays = ReportingDelays()
    deliver(delays, 20, every=steps * QUARTER, steps=steps, lag=lag)
    assert low <= delays.delay <= high


def test_an_outage_that_is_caught_up_and_a_history_change_nothing():
    delays = ReportingDelays()
    deliver(delays, 50, every=QUARTER, steps=1, lag=60)
    usual = delays.delay
    deliver(delays, 1, every=QUARTER, steps=3 * 96, lag=60)
    deliver(delays, 20, every=QUARTER, steps=30 * 96, lag=60)
    assert delays.delay == usual


def test_it_follows_a_change_within_days_and_its_size_is_bounded():
    delays = ReportingDelays()
    deliver(delays, 10 * MOST, every=QUARTER, steps=1, lag=60)
    assert delays.counts.sum() <= MOST
    deliver(delays, MOST, every=QUARTER, steps=1, lag=6 * 3600)
    assert delays.delay >= 6 * 3600


def test_it_survives_a_restart_and_forgets_who_has_left():
    delays, again = ReportingDelays(), ReportingDelays()
    deliver(delays, 10, every=QUARTER, steps=1, lag=60)
    delays.add(np.array([9, 3]), np.array([NOW, NOW]), received=NOW + 60.0)
    again.restore(delays.tensors())
    assert again.delay_of(7) == delays.delay_of(7) == 60
    again.remove(7)
    assert again.numbers.tolist() == [3, 9]
    assert again.delay_of(7) is None
