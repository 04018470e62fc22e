"""Streams by lead: fresh residuals help the next hours, and nothing is known too early."""

import numpy as np
import pytest

from clearwatt.adaptive.lead_stream import correct_stream
from clearwatt.clock import Clock

STEPS = 24 * 60
AT = np.arange(100, 100 + STEPS)


@pytest.fixture(scope="module")
def stream():
    """Forecasts whose errors last for hours, and the measurements, of two entities."""
    rng = np.random.default_rng(0)
    base = 2 + np.sin(AT / 24 * 2 * np.pi)[:, None] * [1.0, 0.5]
    errors = np.zeros((STEPS, 2))
    for step in range(1, STEPS):
        errors[step] = 0.9 * errors[step - 1] + 0.1 * rng.standard_normal(2)
    return base, base + errors


def corrected(stream, lead, at=AT):
    base, measured = stream
    return correct_stream(base, measured, at, clock=Clock(24, lead))


def rmse(power, measured):
    return float(np.sqrt(np.nanmean(np.square(power - measured)[STEPS // 4 :])))


def test_the_error_grows_with_the_lead_to_that_of_the_forecast(stream):
    base, measured = stream
    errors = [rmse(corrected(stream, lead), measured) for lead in (1, 3, 6, 12)]
    assert errors == sorted(errors)
    assert errors[0] < 0.55 * rmse(base, measured)
    assert errors[-1] < 1.05 * rmse(base, measured)


@pytest.mark.parametrize("lead", [1, 5])
def test_noise_in_what_is_not_known_yet_changes_no_bit(stream, lead):
    base, measured = stream
    row = 700
    noisy = measured.copy()
    noisy[row - lead + 1 :] = np.random.default_rng(1).random((STEPS - row + lead - 1, 2))
    plain, again = corrected(stream, lead), corrected((base, noisy), lead)
    assert (again[: row + 1] == plain[: row + 1]).all()
    assert (again[row + 1] != plain[row + 1]).any()


def test_gaps_in_measurements_and_in_time_stop_nothing(stream):
    base, measured = stream
    holes = measured.copy()
    holes[200:400, 0] = np.nan
    later = AT + np.where(np.arange(STEPS) > 800, 500, 0)
    power = corrected((base, holes), 3, later)
    assert np.isfinite(power).all()
    assert rmse(power, measured) < rmse(base, measured)


def test_without_measurements_the_forecast_stays(stream):
    base, measured = stream
    power = corrected((base, np.full_like(measured, np.nan)), 2)
    np.testing.assert_allclose(power, base)
