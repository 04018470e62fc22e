"""Stop and go on: a saved forecaster goes on to the last bit as if it had never stopped."""

import numpy as np
import pytest

from clearwatt.adaptive import AdaptiveForecaster, Settings, Slow
from clearwatt.errors import StateError
from clearwatt.files import save_state
from clearwatt.training.fleet import Training

DAY = 24
TINY = Settings(
    memory=400,
    slow=Slow(
        width=8,
        members=1,
        warm_up=Training(epochs=2, patience=None),
        update=Training(epochs=1, patience=None),
    ),
)


def stream(days, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(days * DAY, 14))
    y = x[:, :2] + 0.1 * rng.normal(size=(days * DAY, 2))
    y[rng.random(len(y)) < 0.05] = np.nan
    y[40 * DAY :: 50] *= 1e3  # wild, so that what is believed of readings has to be kept, too
    return x, y, np.arange(days * DAY)


@pytest.mark.parametrize("stop", [35 * DAY, 35 * DAY + 3])
def test_stopped_and_read_back_it_goes_on_as_if_it_had_not(tmp_path, stop):
    x, y, at = stream(50)
    forecaster = AdaptiveForecaster.fit(
        x[: 20 * DAY], y[: 20 * DAY], at[: 20 * DAY], day=DAY, settings=TINY, seed=3
    )
    first, rest = slice(20 * DAY, stop), slice(stop, None)
    forecaster.live(x[first], y[first], at[first])
    forecaster.save(tmp_path / "state")
    expected = forecaster.live(x[rest], y[rest], at[rest])

    again = AdaptiveForecaster.load(tmp_path / "state")
    np.testing.assert_array_equal(again.live(x[rest], y[rest], at[rest]), expected)
    assert again.trainings == forecaster.trainings > 0
    assert again.settings == TINY


def test_another_state_is_refused(tmp_path):
    save_state(tmp_path, {"settings": 1}, {})
    with pytest.raises(StateError, match="no adaptive forecaster"):
        AdaptiveForecaster.load(tmp_path)
