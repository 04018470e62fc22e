import numpy as np
import pytest

from clearwatt.experiment.intervals import Intervals, Swap, issued, judged, lag_of
from clearwatt.intervals import LEVELS, Calibrator

DAY = 24
AT = np.arange(60 * DAY, dtype=np.int64)


@pytest.fixture
def stream():
    rng = np.random.default_rng(0)
    forecasts = rng.random((len(AT), 2))
    return forecasts, forecasts + 0.1 * rng.normal(size=forecasts.shape)


def calibrator(stream, lag=1):
    forecasts, y = stream
    warm = slice(0, 30 * DAY)
    return Calibrator.start(forecasts[warm], y[warm], AT[warm], day=DAY, lag=lag)


def test_a_swap_widens_its_entity_from_the_row_it_serves(stream):
    forecasts, y = (each[30 * DAY :] for each in stream)
    place, known = 10 * DAY + 5, 9 * DAY + 5
    swap = Swap(place, known, 1, forecasts[known - 7 * DAY : known, 1] + 0.5)
    said, with_it = (
        issued(calibrator(stream), forecasts, y, at=AT[30 * DAY :], swaps=swaps)
        for swaps in ([], [swap])
    )
    np.testing.assert_array_equal(said[:place], with_it[:place])
    np.testing.assert_allclose(said[:, 0], with_it[:, 0])
    wider = (
        np.ptp(with_it, axis=2)[place : place + DAY, 1]
        / np.ptp(said, axis=2)[place : place + DAY, 1]
    )
    assert (wider > 1.3).all()


@pytest.mark.parametrize("delay", [1, 6, DAY, 36, 2 * DAY])
@pytest.mark.parametrize("place", [10 * DAY, 11 * DAY + 5, 13 * DAY + 23])
def test_nothing_said_at_or_after_a_swap_depends_on_what_is_not_known_then(stream, delay, place):
    forecasts, y = (each[30 * DAY :] for each in stream)
    known = place + 1 - delay
    swap = Swap(place, known, 1, forecasts[known - 7 * DAY : known, 1] + 0.5)
    for step in (place, place + 7):
        later = y.copy()
        later[step + 1 - delay :] += 5.0
        said, again = (
            issued(
                calibrator(stream, lag_of(delay, DAY)),
                forecasts,
                each,
                at=AT[30 * DAY :],
                swaps=[swap],
            )
            for each in (y, later)
        )
        np.testing.assert_array_equal(said[: step + 1], again[: step + 1])


def test_without_a_swap_quantiles_are_those_of_a_calibrator_that_lags(stream):
    forecasts, y = (each[30 * DAY :] for each in stream)
    said = issued(calibrator(stream), forecasts, y, at=AT[30 * DAY :], swaps=[])
    wanted = calibrator(stream).observe(forecasts, y, AT[30 * DAY :], levels=LEVELS)
    np.testing.assert_array_equal(said, wanted)


def test_a_swap_after_the_end_changes_nothing(stream):
    forecasts, y = (each[30 * DAY :] for each in stream)
    late = Swap(len(y), len(y) - DAY, 0, forecasts[:DAY, 0])
    for swaps in ([], [late]):
        said = issued(calibrator(stream), forecasts, y, at=AT[30 * DAY :], swaps=swaps)
        assert not np.isnan(said).any()


def test_scores_look_at_three_days_after_updates_and_drifts():
    targets = np.zeros(20 * DAY)
    quantiles = np.tile(np.linspace(-1, 1, len(LEVELS)), (len(targets), 1))
    targets[5 * DAY : 6 * DAY] = 2.0
    found = judged(
        targets, quantiles, at=AT[: len(targets)], day=DAY, updates=[DAY, 4 * DAY], drifts=[5 * DAY]
    )
    assert found.overall.coverage_90 == pytest.approx(19 / 20)
    assert found.overall.width_90 == 2.0
    assert found.after_updates.samples == 6 * DAY
    assert found.after_updates.coverage_90 == pytest.approx(5 / 6)
    assert found.least_after_update == pytest.approx(2 / 3)
    assert found.after_drifts.coverage_90 == pytest.approx(2 / 3)
    assert Intervals.from_dict(found.to_dict()) == found


def test_what_was_never_measured_has_no_score():
    targets = np.full(DAY, np.nan)
    found = judged(
        targets, np.zeros((DAY, len(LEVELS))), at=AT[:DAY], day=DAY, updates=[0], drifts=[]
    )
    assert found == Intervals(None, None, None, None)
