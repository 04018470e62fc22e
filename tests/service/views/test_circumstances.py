"""When and in which weather forecasts were wrong, in words."""

import numpy as np
import pytest

from clearwatt.service.views.circumstances import bias_words, worst_hours, worst_weather

MIDNIGHT = 1_717_200_000  # UTC
TIMES = MIDNIGHT + 3600 * np.arange(24 * 14, dtype=np.int64)
HOURS = TIMES // 3600 % 24


def test_the_worst_hours_are_local():
    errors = np.where((HOURS >= 10) & (HOURS < 16), 8.0, 2.0)
    found = worst_hours(TIMES, errors, "Europe/Berlin")
    assert found.words == "in the afternoon (12 to 18 h)"
    assert (found.inside, found.elsewhere) == (8.0, 2.0)
    assert worst_hours(TIMES, np.full(len(TIMES), 3.0), "Europe/Berlin") is None
    assert worst_hours(TIMES[:5], errors[:5], "UTC") is None, "too few readings"


def test_the_worst_weather_is_a_third_of_the_variable_that_tells_most():
    wind = np.tile(np.arange(24.0), 14)
    weather = np.column_stack([np.full(len(TIMES), 7.0), wind])
    errors = np.where(wind > 17, -9.0, -1.0)
    found = worst_weather(weather, ["sun", "wind_speed"], errors)
    assert found.words == "when wind speed was above 15.3"
    assert found.inside == pytest.approx((6 * 9 + 2) / 8)
    assert found.elsewhere == 1.0
    assert worst_weather(weather, ["sun", "wind_speed"], np.ones(len(TIMES))) is None


@pytest.mark.parametrize(
    ("errors", "words"),
    [
        ([2.0, 3.0, -0.5], "mostly too high"),
        ([-2.0, -3.0, 0.5], "mostly too low"),
        ([2.0, -2.0, 0.1], "sometimes too high, sometimes too low"),
    ],
)
def test_the_side_of_the_errors(errors, words):
    assert bias_words(np.array(errors)) == words
