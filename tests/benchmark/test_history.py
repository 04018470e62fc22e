"""What is given out, and when."""

from dataclasses import replace

import numpy as np
import pytest

from clearwatt.errors import ConfigurationError

DAY = 24


def test_nothing_is_known_before_its_delay_is_over(coast, hills):
    for history in (coast, hills):
        for each in history.rounds(7):
            first = history.times[history.first + each.steps.start]
            assert each.known.times[-1] <= first - (history.times[1] - history.times[0]) * DAY


def test_everything_is_known_once_its_delay_is_over(coast):
    known = coast.known_samples(10)
    assert len(known.y) == coast.first + 10 - DAY + 1
    np.testing.assert_array_equal(known.y, coast.measured[: len(known.y)])


def test_rounds_forecast_every_step_once_and_hand_every_sample_over_once(hills):
    rounds = list(hills.rounds(30))
    steps = np.concatenate([np.arange(hills.steps)[each.steps] for each in rounds])
    np.testing.assert_array_equal(steps, np.arange(hills.steps))
    assert sum(each.new for each in rounds) == len(rounds[-1].known.y)
    np.testing.assert_array_equal(
        np.concatenate([each.x for each in rounds]), hills.x[hills.first :]
    )


def test_a_round_lasts_so_many_steps_of_the_clock_also_across_a_gap(hills):
    clock = hills.at[hills.first :]
    assert np.diff(clock).max() > 1
    for each in hills.rounds(DAY):
        own = clock[each.steps]
        assert own[-1] - own[0] < DAY


def test_lagged_power_is_that_of_the_clock(hills):
    lagged = hills.lagged_power(DAY)[:, 0]
    power = dict(zip(hills.at.tolist(), hills.measured[:, 0].tolist(), strict=True))
    for step, at in enumerate(hills.at.tolist()):
        assert lagged[step] == pytest.approx(power.get(at - DAY, np.nan), nan_ok=True)


def test_weather_of_neighbours_is_beside_the_inputs_that_all_peers_see(coast, hills):
    assert coast.columns[:3] == ("wind_ms", "warmth", "neighbour.hills.wind_ms")
    assert coast.wide.shape[1] == len(coast.columns) == coast.x.shape[1] + 1
    np.testing.assert_array_equal(coast.x[:, :2], coast.wide[:, :2])
    np.testing.assert_array_equal(coast.x[:, 2:], coast.wide[:, 3:])
    np.testing.assert_array_equal(coast.neighbours, coast.wide[:, [2]])
    # Where the hills have no weather, that of the coast stands for it: no step is lost.
    assert np.isfinite(coast.wide).all()
    assert np.diff(coast.at).max() == 1 < np.diff(hills.at).max()


def test_power_that_is_not_known_yet_is_refused(coast):
    with pytest.raises(ConfigurationError, match="23 steps before is not known yet"):
        coast.lagged_power(DAY - 1)


def test_a_warm_up_shorter_than_the_delay_is_refused(coast):
    with pytest.raises(ConfigurationError, match="shorter than the delay of 500 steps"):
        replace(coast, delay=500)


def test_some_entities_are_what_they_are_among_all(coast):
    town = coast.select_entities([1])
    assert town.entities == ("town",)
    np.testing.assert_array_equal(town.known_samples(50).y[:, 0], coast.known_samples(50).y[:, 1])


def test_the_fingerprint_tells_every_measurement_and_setting(coast):
    changed = coast.measured.copy()
    changed[-1, 0] += 1
    others = [
        replace(coast, measured=changed),
        replace(coast, delay=48),
        replace(coast, seed=1),
        replace(coast, limits=((0.0, 2.0),) * 2),
        coast.select_entities([0]),
    ]
    assert len({coast.fingerprint(), *(each.fingerprint() for each in others)}) == 6
    assert coast.fingerprint() == replace(coast).fingerprint()
