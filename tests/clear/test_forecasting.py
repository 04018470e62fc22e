"""Forecasts do not depend on which other rows are asked for."""

import numpy as np

from clearwatt.clear.forecasting import forecasts, reconstructions
from clearwatt.strategies import FineTune, GenerativeReplay
from clearwatt.testing.scenario import observe, scenario, start


def test_a_row_alone_is_forecast_as_among_others():
    instance, x = observe(start(FineTune(), entities=(0, 1))), scenario().x
    models = [(instance.autoencoders[0], part) for part in instance.predictors]
    whole = forecasts(models, x)
    singly = np.concatenate([forecasts(models, x[row : row + 1]) for row in range(len(x))])
    assert whole.shape == (len(x), 2)
    assert np.allclose(whole, singly, rtol=1e-12, atol=1e-14)


def test_each_predictor_forecasts_from_its_own_autoencoder():
    strategy = GenerativeReplay(density="gaussian", fit_samples=300)
    instance, x = observe(start(strategy, entities=(0, 1))), scenario().x
    parts = list(zip(instance.autoencoders, instance.predictors, strict=True))
    crossed = [(parts[1][0], parts[0][1]), (parts[0][0], parts[1][1])]
    assert not np.allclose(forecasts(parts, x), forecasts(crossed, x))
    assert np.array_equal(instance.predict(x), forecasts(parts, x))
    assert np.array_equal(instance.reconstruct(x, 1), reconstructions(parts[1][0], x))
