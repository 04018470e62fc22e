import numpy as np
import pytest
from sklearn.metrics import mean_pinball_loss

from clearwatt.errors import ConfigurationError
from clearwatt.intervals import LEVELS, crps, interval, pinball

RNG = np.random.default_rng(0)
TARGETS = RNG.normal(size=500)
QUANTILES = np.sort(RNG.normal(size=(500, len(LEVELS))), axis=1)


def test_pinball_is_that_of_scikit_learn():
    found = pinball(TARGETS, QUANTILES, levels=LEVELS)
    wanted = [
        mean_pinball_loss(TARGETS, q, alpha=a) for q, a in zip(QUANTILES.T, LEVELS, strict=True)
    ]
    np.testing.assert_allclose(found, wanted)


def test_crps_of_a_normal_forecast_is_nearly_the_closed_form():
    normal = RNG.normal(size=200_000)
    levels = np.linspace(0.005, 0.995, 199)
    quantiles = np.quantile(normal, levels)
    found = crps(TARGETS, np.tile(quantiles, (500, 1)), levels=levels)
    # Gneiting and Raftery (2007), equation 21, for the standard normal distribution.
    density = np.exp(-(TARGETS**2) / 2) / np.sqrt(2 * np.pi)
    below = (normal[None, :20_000] < TARGETS[:, None]).mean(axis=1)
    closed = (TARGETS * (2 * below - 1) + 2 * density - 1 / np.sqrt(np.pi)).mean()
    assert found == pytest.approx(closed, rel=0.02)


def test_the_ends_of_an_interval_belong_to_it():
    quantiles = np.zeros((4, len(LEVELS)))
    quantiles[:, 4:] = 1.0
    found = interval(np.array([0.0, 1.0, 1.1, np.nan]), quantiles, levels=LEVELS, share=0.9)
    assert found.coverage == pytest.approx(2 / 3)
    assert found.width == 1.0


def test_an_interval_needs_its_levels():
    with pytest.raises(ConfigurationError, match=r"needs levels 0\.2 and 0\.8"):
        interval(TARGETS, QUANTILES, levels=LEVELS, share=0.6)


def test_nothing_measured_has_no_score():
    empty = np.full(500, np.nan)
    assert np.isnan(interval(empty, QUANTILES, levels=LEVELS, share=0.5).coverage)
    assert np.isnan(pinball(empty, QUANTILES, levels=LEVELS)).all()
