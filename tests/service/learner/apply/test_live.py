"""Live errors and skill of a zone, against a computation of their own."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from clearwatt.packing import tensors_below
from clearwatt.service.learner.apply.live import LiveForecasts

DAY, STEP = 86_400, 3600
HOURS = 20 * 24 + 5
TIMES = 1_700_006_400 + STEP * np.arange(HOURS)


@pytest.fixture(scope="module")
def stream():
    """Readings with gaps and forecasts with gaps (n x 2), of which the second are poor."""
    rng = np.random.default_rng(1)
    readings = 50 + 20 * np.sin(np.arange(HOURS) / 24 * 2 * np.pi)[:, None]
    readings = readings + rng.normal(0, 3, (HOURS, 2))
    forecasts = readings + rng.normal(0, [2.0, 9.0], (HOURS, 2))
    readings[rng.random((HOURS, 2)) < 0.1] = np.nan
    readings[30:90, 0] = np.nan
    forecasts[200:220] = np.nan
    return forecasts.astype(np.float32), readings.astype(np.float32)


def recorded(stream, cuts, *, commit=True):
    """The stream in blocks, each committed; returns what the last midnight says."""
    forecasts, readings = stream
    live, midnights = LiveForecasts("north"), []
    live.add_columns(2)
    for start, stop in zip([0, *cuts], [*cuts, HOURS], strict=True):
        piece = slice(start, stop)
        live.record(
            TIMES[piece],
            reconstruction=np.zeros(stop - start, np.float32),
            forecasts=forecasts[piece],
            readings=readings[piece],
        )
        for midnight in live.new_midnights():
            midnights.append(midnight)
            live.skill.judge(midnight, steps=24)
        if commit:
            live.days(np.array([1, 2]))
    return live, midnights


def expected_skill(stream, column, end):
    """Errors of forecasts and of persistence, with pandas."""
    forecast, reading = (pd.Series(each[:, column].astype(float), TIMES) for each in stream)
    earlier = [reading.reindex(TIMES - days * DAY).to_numpy() for days in range(1, 8)]
    persistence = pd.DataFrame(earlier, columns=TIMES).bfill().iloc[0]
    both = pd.DataFrame({"own": forecast - reading, "reference": persistence - reading}).dropna()
    both = both[(both.index >= end - 14 * DAY) & (both.index < end)]
    return len(both), *((both**2).mean() ** 0.5)


def test_the_skill_is_that_of_an_independent_computation(stream):
    live, midnights = recorded(stream, range(7, HOURS, 7))
    assert midnights == [int(TIMES[0]) + day * DAY for day in range(1, 21)]
    for column in (0, 1):
        count, own, reference = expected_skill(stream, column, midnights[-1])
        found = live.skill_of(column)
        assert found.n == count > 200
        assert found.rmse == pytest.approx(own, rel=1e-6)
        assert found.rmse_persistence == pytest.approx(reference, rel=1e-6)
        assert found.skill == pytest.approx(1 - own / reference, rel=1e-5)
    assert [live.skill_of(column).worse for column in (0, 1)] == [False, True]


def test_the_skill_does_not_depend_on_how_rows_are_grouped(stream):
    single = recorded(stream, range(1, HOURS))
    for cuts, commit in (((), True), (range(5, HOURS, 31), True), (range(24, HOURS, 24), False)):
        live, midnights = recorded(stream, cuts, commit=commit)
        assert midnights == single[1]
        for name, tensor in live.skill.tensors().items():
            assert tensor.numpy().tobytes() == single[0].skill.tensors()[name].numpy().tobytes()


def test_before_the_first_midnight_nothing_is_known(stream):
    live = LiveForecasts("north")
    live.add_columns(1)
    assert live.skill_of(0).n == 0
    assert live.skill_of(0).skill is None


def test_rows_that_are_kept_do_not_grow_with_the_skill(stream):
    live, _ = recorded(stream, range(24, HOURS, 24))
    assert len(live.times) <= 8 * 24
    assert len(live.skill.sums) <= 14


def saved(live):
    return live.values(), {f"live.{name}": each for name, each in live.tensors().items()}


def test_a_saved_state_is_restored(stream):
    live, _ = recorded(stream, range(24, HOURS, 24))
    found = LiveForecasts("north")
    found.restore(*saved(live))
    for column in (0, 1):
        assert found.errors_of(column) == live.errors_of(column)
        assert found.skill_of(column) == live.skill_of(column)


def test_a_state_of_an_earlier_version_is_restored_and_counts_from_there(stream):
    live, _ = recorded(stream, range(24, HOURS, 24))
    values, tensors = saved(live)
    for name in tensors_below(tensors, "live.skill."):
        del tensors[f"live.skill.{name}"]
    readings = tensors.pop("live.readings")
    tensors["live.errors"] = tensors["live.forecasts"] - readings
    found = LiveForecasts("north")
    found.restore(values, tensors)
    assert found.errors_of(1).rmse_week == pytest.approx(live.errors_of(1).rmse_week)
    assert found.skill_of(1).n == 0
    later = live.times[-24:] + DAY
    found.record(
        later,
        reconstruction=np.zeros(24, np.float32),
        forecasts=np.full((24, 2), 50, np.float32),
        readings=np.full((24, 2), 50, np.float32),
    )
    (midnight,) = found.new_midnights()
    found.skill.judge(midnight, steps=24)
    assert 0 < found.skill_of(1).n <= 24
