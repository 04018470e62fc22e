import numpy as np
import pytest

from clearwatt.clock import Clock
from clearwatt.intervals import LEVELS, Calibrator, ModelSwap, replay_quantiles, window_rows

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
    swap = ModelSwap(place, known, 1, forecasts[known - 7 * DAY : known, 1] + 0.5)
    said, with_it = (
        replay_quantiles(calibrator(stream), forecasts, y, at=AT[30 * DAY :], swaps=swaps)
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
    swap = ModelSwap(place, known, 1, forecasts[known - 7 * DAY : known, 1] + 0.5)
    for step in (place, place + 7):
        later = y.copy()
        later[step + 1 - delay :] += 5.0
        said, again = (
            replay_quantiles(
                calibrator(stream, Clock(DAY, delay).lag_days),
                forecasts,
                each,
                at=AT[30 * DAY :],
                swaps=[swap],
            )
            for each in (y, later)
        )
        np.testing.assert_array_equal(said[: step + 1], again[: step + 1])


def day_by_day(calibrator, forecasts, y, at):
    """Quantiles of each day by a calibrator that has learned all days before the last one."""
    quantiles, learned = [], 0
    for day in np.unique(at // DAY):
        known = int(np.searchsorted(at, (day - 1) * DAY))
        calibrator.observe(forecasts[learned:known], y[learned:known], at[learned:known])
        learned, rows = known, at // DAY == day
        quantiles.append(calibrator.snapshot.quantiles(forecasts[rows], at[rows], LEVELS))
    return np.concatenate(quantiles)


@pytest.mark.parametrize("missing", [(), (5,), (5, 6, 7, 20)], ids=["none", "a day", "days"])
def test_without_a_swap_quantiles_are_from_all_that_is_known_on_each_day(stream, missing):
    kept = ~np.isin(AT // DAY - 30, missing) & (AT >= 30 * DAY + 5)
    forecasts, y, at = stream[0][kept], stream[1][kept], AT[kept]
    said = replay_quantiles(calibrator(stream), forecasts, y, at=at, swaps=[])
    np.testing.assert_array_equal(said, day_by_day(calibrator(stream), forecasts, y, at))


def test_a_swap_after_the_end_changes_nothing(stream):
    forecasts, y = (each[30 * DAY :] for each in stream)
    late = ModelSwap(len(y), len(y) - DAY, 0, forecasts[:DAY, 0])
    for swaps in ([], [late]):
        said = replay_quantiles(calibrator(stream), forecasts, y, at=AT[30 * DAY :], swaps=swaps)
        assert not np.isnan(said).any()


def test_a_new_model_is_tried_on_the_last_days_it_could_know():
    assert window_rows(10 * DAY, DAY) == slice(3 * DAY, 10 * DAY)
    assert window_rows(5, DAY) == slice(0, 5)
