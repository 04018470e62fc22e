"""AdaptiveRegressor: scikit-learn's contract, times, streaming, saving, bad input."""

from copy import deepcopy

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import check_estimator

from clearwatt import AdaptiveRegressor
from clearwatt.adaptive import AdaptiveSettings, NetworkGroup, NetworkSettings, NoveltySettings
from clearwatt.errors import ConfigurationError, DataError, StateError
from clearwatt.training.fleet import Training

SMALL = AdaptiveSettings(
    networks=NetworkSettings(members=1, width=16, warm_up=Training(epochs=20, patience=None)),
    novelty=NoveltySettings(capacity=1.0),
)
WARM_UP = 24 * 40


def hourly(hours: int = 24 * 75):
    """A park whose output doubles after 50 days, with hour and season among the inputs."""
    rng = np.random.default_rng(0)
    times = pd.date_range("2024-03-01", periods=hours, freq="h", tz="UTC")
    wind = rng.random(hours)
    angle = 2 * np.pi * times.hour / 24
    year = 2 * np.pi * times.dayofyear / 366
    X = pd.DataFrame(
        {
            "wind": wind,
            "hour_sin": np.sin(angle),
            "hour_cos": np.cos(angle),
            "day_of_year_sin": np.sin(year),
        },
        index=times,
    )
    park = pd.Series(30 * wind**2 + 5 * np.sin(angle) + rng.normal(0, 0.5, hours), index=times)
    park.iloc[24 * 50 :] *= 2
    return X, park


@pytest.fixture(scope="module")
def data():
    return hourly()


@pytest.fixture(scope="module")
def warmed(data):
    X, y = data
    return AdaptiveRegressor(settings=SMALL, random_state=0).fit(X[:WARM_UP], y[:WARM_UP])


@pytest.fixture
def model(warmed):
    return deepcopy(warmed)


@pytest.mark.slow
def test_check_estimator_passes_as_a_whole():
    training = Training(epochs=60, patience=None)
    settings = AdaptiveSettings(
        networks=NetworkSettings(members=1, groups=(NetworkGroup(),), warm_up=training)
    )
    results = check_estimator(AdaptiveRegressor(settings=settings, random_state=0), on_skip=None)
    assert {result["status"] for result in results} <= {"passed", "skipped"}
    skipped = {result["check_name"] for result in results if result["status"] == "skipped"}
    assert skipped <= {"check_array_api_input"}


def test_it_follows_a_park_that_doubles(model, data):
    X, y = data
    frozen = model.predict(X[WARM_UP:])
    model.partial_fit(X[WARM_UP : 24 * 65], y[WARM_UP : 24 * 65])
    later = slice(24 * 65, None)
    learned = np.sqrt(np.mean((model.predict(X[later]) - y[later]) ** 2))
    assert learned < 0.5 * np.sqrt(np.mean((frozen[24 * 25 :] - y[later]) ** 2))
    assert any(type(event).__name__ == "NetworkUpdate" for event in model.events_)
    assert all(event.explanation for event in model.events_)


def test_blocks_of_any_size_give_the_same_forecasts(data):
    X, y = data
    whole, pieces = (
        AdaptiveRegressor(settings=SMALL, random_state=0).fit(X[:WARM_UP], y[:WARM_UP])
        for _ in range(2)
    )
    end = 24 * 55
    whole.partial_fit(X[WARM_UP:end], y[WARM_UP:end])
    for start in range(WARM_UP, end, 100):
        part = slice(start, min(start + 100, end))
        pieces.partial_fit(X[part], y[part])
    np.testing.assert_array_equal(whole.predict(X[end:]), pieces.predict(X[end:]))
    # Single-precision forecasts of an unfinished period round differently.
    np.testing.assert_allclose(
        whole.predict(X[end:], quantiles=True),
        pieces.predict(X[end:], quantiles=True),
        rtol=1e-4,
        atol=1e-4,
    )


def test_predicting_changes_nothing(model, data):
    X, _ = data
    tomorrow = X[WARM_UP : WARM_UP + 24]
    first = model.predict(tomorrow)
    model.predict(X[WARM_UP : WARM_UP + 21 * 24])
    np.testing.assert_array_equal(model.predict(tomorrow), first)


def test_the_first_block_of_partial_fit_is_the_warm_up(model, data):
    X, y = data
    other = AdaptiveRegressor(settings=SMALL, random_state=0)
    other.partial_fit(X[:WARM_UP], y[:WARM_UP])
    tomorrow = X[WARM_UP : WARM_UP + 24]
    np.testing.assert_array_equal(other.predict(tomorrow), model.predict(tomorrow))


def test_step_numbers_serve_as_well_as_dates(model, data):
    X, y = data
    numbers = np.arange(len(X))
    arrays = AdaptiveRegressor(settings=SMALL, calendar=[1, 2], season=[3], random_state=0)
    arrays.fit(X.to_numpy()[:WARM_UP], y[:WARM_UP].to_numpy(), at=numbers[:WARM_UP])
    tomorrow = slice(WARM_UP, WARM_UP + 24)
    found = arrays.predict(X.to_numpy()[tomorrow], at=numbers[tomorrow])
    np.testing.assert_array_equal(found, model.predict(X[tomorrow]))


def test_the_season_is_found_by_name_and_never_guessed(model, data):
    X, y = data
    view = model.forecaster_.state.frame.view
    assert (view.weather, view.season) == ((0,), (3,))
    arrays = AdaptiveRegressor(settings=SMALL).fit(X.to_numpy()[:500], y.to_numpy()[:500])
    view = arrays.forecaster_.state.frame.view
    assert (view.weather, view.season) == ((0, 1, 2, 3), ())


def test_without_times_each_row_is_the_next_step(data):
    X, y = data
    arrays = AdaptiveRegressor(settings=SMALL).fit(X.to_numpy()[:500], y.to_numpy()[:500])
    rows = X.to_numpy()[500:510]
    np.testing.assert_array_equal(arrays.predict(rows[::-1])[::-1], arrays.predict(rows))


def test_quantiles_ascend_and_stay_within_the_limits(data):
    X, y = data
    model = AdaptiveRegressor(settings=SMALL, limits=(0, 31), random_state=0)
    model.fit(X[:WARM_UP], y[:WARM_UP].clip(0, 31))
    model.partial_fit(X[WARM_UP:1200], y[WARM_UP:1200].clip(0, 31))
    found = model.predict(X[1200:1400], quantiles=True)
    assert found.shape == (200, 7)
    assert (np.diff(found, axis=1) >= 0).all()
    assert found.min() >= 0
    assert found.max() <= 31
    assert model.predict(X[1200:1400]).max() <= 31


def test_several_entities_with_gaps(data):
    X, y = data
    both = pd.DataFrame({"park": y, "twin": 2 * y})
    both.iloc[100:140, 1] = np.nan
    model = AdaptiveRegressor(settings=SMALL).fit(X[:WARM_UP], both[:WARM_UP])
    assert model.predict(X[WARM_UP : WARM_UP + 5]).shape == (5, 2)
    assert model.predict(X[WARM_UP : WARM_UP + 5], quantiles=[0.1, 0.9]).shape == (5, 2, 2)
    assert sum(weight[1] for weight in model.trust_.values()) == pytest.approx(1)
    with pytest.raises(DataError, match="same ones in the same order"):
        model.partial_fit(X[WARM_UP:1000], both[["twin", "park"]][WARM_UP:1000])


def test_save_and_load_equals_never_having_stopped(model, data, tmp_path):
    X, y = data
    model.save(tmp_path / "model")
    loaded = AdaptiveRegressor.load(tmp_path / "model")
    end = 24 * 52
    for each in (model, loaded):
        each.partial_fit(X[WARM_UP:end], y[WARM_UP:end])
    np.testing.assert_array_equal(loaded.predict(X[end:]), model.predict(X[end:]))
    np.testing.assert_array_equal(
        loaded.predict(X[end:], quantiles=True), model.predict(X[end:], quantiles=True)
    )
    assert loaded.get_params() == model.get_params()


def test_a_clone_is_not_fitted(model):
    with pytest.raises(NotFittedError, match="call fit"):
        clone(model).predict([[0.0] * 4])


def test_what_fails_changes_nothing(model, data):
    X, y = data
    tomorrow = X[WARM_UP : WARM_UP + 24]
    before = model.predict(tomorrow)
    with pytest.raises(DataError, match="rows in order of time"):
        model.partial_fit(X[WARM_UP:1000][::-1], y[WARM_UP:1000][::-1])
    with pytest.raises(ValueError, match="NaN"):
        model.fit(X * np.nan, y)
    np.testing.assert_array_equal(model.predict(tomorrow), before)


def test_times_that_do_not_fit_are_refused_by_name(model, data):
    X, y = data
    with pytest.raises(DataError, match="has no times"):
        model.predict(X[:3].reset_index(drop=True))
    odd = X[WARM_UP : WARM_UP + 3].set_axis(X.index[:3] + pd.Timedelta(minutes=7))
    with pytest.raises(DataError, match=r"00:07:00.*not a multiple of 0 days 01:00:00"):
        model.predict(odd)
    with pytest.raises(DataError, match="time zone"):
        model.predict(X[WARM_UP : WARM_UP + 3].tz_localize(None))
    with pytest.raises(DataError, match="step numbers"):
        model.predict(X[:3], at=[1, 2, 3])
    with pytest.raises(DataError, match="warmed up without times"):
        bare = X.reset_index(drop=True)
        AdaptiveRegressor(settings=SMALL).fit(bare[:500], y[:500]).predict(X[500:510])


def test_an_unknown_calendar_input_is_refused_by_name(data):
    X, y = data
    with pytest.raises(ConfigurationError, match="no input 'hours'"):
        AdaptiveRegressor(settings=SMALL, calendar=["hours"]).fit(X[:500], y[:500])


def test_a_foreign_state_is_refused(model, tmp_path):
    model.forecaster_.save(tmp_path / "bare")
    with pytest.raises(StateError, match="no AdaptiveRegressor"):
        AdaptiveRegressor.load(tmp_path / "bare")


def test_settings_are_parameters_to_search():
    model = AdaptiveRegressor()
    assert model.get_params()["settings__recency"] == 365.0
    assert "settings__networks__width" in model.get_params()
    model.set_params(settings__memory=500, settings__networks__width=8)
    assert (model.settings.memory, model.settings.networks.width) == (500, 8)
    assert model.settings.recency == 365.0
