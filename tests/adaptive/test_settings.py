"""Settings refuse what makes no sense, by name."""

import pytest

from clearwatt.adaptive import Fast, Group, Settings, Slow, Speed
from clearwatt.errors import ConfigurationError


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Slow(groups=()), "no groups"),
        (lambda: Group(half_life=0.0), "half_life is 0.0"),
        (lambda: Slow(decay=1.0), "decay is 1.0"),
        (lambda: Fast(speeds=()), "no speeds"),
        (lambda: Fast(ridge=0.0), "ridge is 0.0"),
        (lambda: Fast(every=0), "every"),
        (lambda: Speed("weather", 3.0), "'weather'"),
        (lambda: Speed("level", 0.0), "half_life is 0.0"),
        (lambda: Settings(recency=0.0), "recency is 0.0"),
        (lambda: Settings(memory=190).clock(24, None), "memory is 190"),
        (lambda: Settings(fast=Fast(every=30)).clock(24, None), "refresh is 30"),
    ],
)
def test_nonsense_is_refused(make, message):
    with pytest.raises(ConfigurationError, match=message):
        make()


@pytest.mark.parametrize(
    ("delay", "same_hour", "same_weekday"), [(24, 24, 168), (25, 48, 168), (200, 216, 336)]
)
def test_lags_are_the_last_known_of_the_same_hour(delay, same_hour, same_weekday):
    clock = Settings().clock(24, delay)
    assert (clock.same_hour, clock.same_weekday) == (same_hour, same_weekday)
