"""What both estimators have in common: samples that River passes one by one."""

import warnings

import numpy as np
import pandas as pd
import pytest
from river import compat

from clearwatt import AdaptiveRegressor, ClearRegressor

COLUMNS = ["temperature", "wind"]
WARMUP = 240


@pytest.mark.parametrize(
    "model",
    [
        ClearRegressor(epochs=2, patience=None, width=16, predictor_width=16, random_state=0),
        AdaptiveRegressor(random_state=0),
    ],
    ids=["clear", "adaptive"],
)
def test_river_streams_samples_without_a_warning_for_each(model):
    x = np.random.default_rng(0).normal(size=(WARMUP + 30, 2))
    frame, y = pd.DataFrame(x, columns=COLUMNS), x[:, 0] + x[:, 1]
    model.fit(frame[:WARMUP], y[:WARMUP])
    expected = model.predict(frame[WARMUP : WARMUP + 1])[0]
    wrapped = compat.SKL2RiverRegressor(model)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        forecasts = []
        for row, target in zip(x[WARMUP:], y[WARMUP:], strict=True):
            sample = dict(zip(COLUMNS, row, strict=True))
            forecasts.append(wrapped.predict_one(sample))
            wrapped.learn_one(sample, target)
    assert forecasts[0] == pytest.approx(expected, rel=1e-5)
    assert np.isfinite(forecasts).all()
