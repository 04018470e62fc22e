import json

import numpy as np
import pytest

from clearwatt import ClearRegressor
from clearwatt.errors import ConfigurationError, DataError, StateError
from clearwatt.intervals import LEVELS

DAY = 24
WARM = 20 * DAY


def data(days=60, entities=2, seed=0):
    """Inputs and power whose noise depends on the hour; the world changes half-way."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(days * DAY, 3))
    loud = np.where(np.arange(days * DAY) % DAY < 12, 0.1, 0.5)[:, None]
    y = x @ rng.normal(size=(3, entities)) + loud * rng.normal(size=(days * DAY, entities))
    y[days * DAY // 2 :] += 2.0 * x[days * DAY // 2 :, :1]
    return x, y


def regressor(**options):
    return ClearRegressor(
        novelty_capacity=60,
        latent=3,
        width=8,
        layers=1,
        predictor_width=8,
        predictor_layers=1,
        epochs=30,
        update_epochs=5,
        learning_rate=0.01,
        steps_per_day=DAY,
        random_state=0,
        **options,
    )


@pytest.fixture(scope="module")
def streamed():
    x, y = data()
    model = regressor().fit(x[:WARM], y[:WARM])
    return model.partial_fit(x[WARM:], y[WARM:])


def test_quantiles_have_an_axis_of_their_own(streamed):
    x, _ = data()
    assert streamed.predict(x[:5], quantiles=True).shape == (5, 2, len(LEVELS))
    assert streamed.predict(x[:5], quantiles=(0.1, 0.9)).shape == (5, 2, 2)
    for no in (None, False):
        np.testing.assert_array_equal(
            streamed.predict(x[:5], quantiles=no), streamed.predict(x[:5])
        )


def test_one_series_has_one_axis_less():
    x, y = data(entities=1)
    model = regressor().fit(x[:WARM], y[:WARM, 0])
    assert model.predict(x[:5], quantiles=True).shape == (5, len(LEVELS))


def test_quantiles_are_in_units_of_y_and_ascend():
    x, y = data()
    y = 1000.0 * y + 500.0
    model = regressor().fit(x[:WARM], y[:WARM]).partial_fit(x[WARM:-DAY], y[WARM:-DAY])
    said = model.predict(x[-DAY:], quantiles=True)
    assert (np.diff(said, axis=2) >= 0).all()
    inside = (y[-DAY:] >= said[..., 0]) & (y[-DAY:] <= said[..., -1])
    assert inside.mean() > 0.6


def test_rows_are_those_that_come_next_unless_told(streamed):
    x, _ = data()
    row = np.repeat(x[:1], DAY, axis=0)
    width = np.ptp(streamed.predict(row, quantiles=True), axis=2)
    assert width[12:].mean() > 1.2 * width[:12].mean()  # the stream ended with a day
    told = np.ptp(streamed.predict(row, quantiles=True, steps=np.arange(DAY) + 12), axis=2)
    np.testing.assert_allclose(told[:12], width[12:])


def test_how_the_stream_is_cut_makes_no_difference(streamed):
    assert streamed.events_, "nothing was swapped"
    x, y = data()
    model = regressor().fit(x[:WARM], y[:WARM])
    for start in range(WARM, len(x), 37):
        model.partial_fit(x[start : start + 37], y[start : start + 37])
    np.testing.assert_allclose(
        model.predict(x[:DAY], quantiles=True), streamed.predict(x[:DAY], quantiles=True), rtol=1e-3
    )


def test_a_saved_model_goes_on_with_its_quantiles(tmp_path):
    x, y = data()
    model = regressor().fit(x[:WARM], y[:WARM]).partial_fit(x[WARM : 2 * WARM], y[WARM : 2 * WARM])
    model.save(tmp_path)
    again = ClearRegressor.load(tmp_path)
    for each in (model, again):
        each.partial_fit(x[2 * WARM :], y[2 * WARM :])
    np.testing.assert_array_equal(
        model.predict(x[:9], quantiles=True), again.predict(x[:9], quantiles=True)
    )


def test_a_model_saved_without_quantiles_says_so(tmp_path, streamed):
    x, y = data()
    streamed.save(tmp_path)
    manifest = json.loads((tmp_path / "state.json").read_text())
    del manifest["values"]["extra"]["calibration"], manifest["sha256"]  # nor a checksum
    (tmp_path / "state.json").write_text(json.dumps(manifest))
    old = ClearRegressor.load(tmp_path)
    np.testing.assert_array_equal(old.predict(x[:5]), streamed.predict(x[:5]))
    old.partial_fit(x[:5], y[:5])
    with pytest.raises(StateError, match="fit it again"):
        old.predict(x[:5], quantiles=True)


def test_a_block_that_fails_leaves_the_quantiles_as_they_were(streamed):
    x, y = data()
    before = streamed.predict(x[:5], quantiles=True)
    with pytest.raises(DataError):
        streamed.partial_fit(x[:5], y[:5, :1])
    np.testing.assert_array_equal(streamed.predict(x[:5], quantiles=True), before)


def test_what_cannot_be_is_refused_by_name(streamed):
    x, y = data()
    with pytest.raises(ConfigurationError, match="level is 5;"):
        streamed.predict(x[:5], quantiles=(5.0,))
    with pytest.raises(DataError, match="each of the 5 rows"):
        streamed.predict(x[:5], quantiles=True, steps=[1.5] * 5)
    with pytest.raises(ConfigurationError, match="steps_per_day is 0"):
        regressor().set_params(steps_per_day=0).fit(x[:WARM], y[:WARM])


def test_quantiles_stay_within_limits_in_units_of_y(tmp_path):
    x, y = data()
    y = 1000.0 * y + 500.0
    limits = (-300.0, np.array([700.0, np.inf]))
    model = regressor(limits=limits).fit(x[:WARM], y[:WARM])
    free = regressor().fit(x[:WARM], y[:WARM]).predict(x[WARM:], quantiles=True)
    said = model.predict(x[WARM:], quantiles=True)
    assert free.min() < -300.0
    assert free[:, 0].max() > 700.0
    np.testing.assert_array_equal(said, np.clip(free, -300.0, limits[1][:, None]))
    np.testing.assert_array_equal(
        model.predict(x[WARM:]), regressor().fit(x[:WARM], y[:WARM]).predict(x[WARM:])
    )
    model.save(tmp_path)
    again = ClearRegressor.load(tmp_path).predict(x[WARM:], quantiles=True)
    np.testing.assert_array_equal(again, said)


def test_limits_are_looked_at_before_anything_is_trained():
    x, y = data()
    with pytest.raises(ConfigurationError, match="limits 1 and 0"):
        regressor(limits=(1.0, 0.0)).fit(x[:WARM], y[:WARM])
