"""Settings refuse what makes no sense, by name."""

import pytest

from clearwatt.adaptive import (
    AdaptiveSettings,
    Correction,
    FastSettings,
    NetworkGroup,
    NetworkSettings,
    NoveltySettings,
)
from clearwatt.errors import ConfigurationError

HOURLY = AdaptiveSettings().schedule(24, None)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: NetworkSettings(groups=()), "no groups"),
        (lambda: NetworkGroup(half_life=0.0), "half_life is 0.0"),
        (lambda: NetworkSettings(decay=1.0), "decay is 1.0"),
        (lambda: FastSettings(corrections=()), "no corrections"),
        (lambda: FastSettings(ridge=0.0), "ridge is 0.0"),
        (lambda: FastSettings(every=0), "every"),
        (lambda: Correction("weather", 3.0), "'weather'"),
        (lambda: Correction("level", 0.0), "half_life is 0.0"),
        (lambda: NoveltySettings(alpha=0.0), "alpha is 0.0"),
        (lambda: NoveltySettings(capacity=-1.0), "capacity is -1.0"),
        (lambda: NoveltySettings(oldest=float("inf")), "oldest is inf"),
        (lambda: AdaptiveSettings(recency=0.0), "recency is 0.0"),
        (lambda: AdaptiveSettings(memory=190).memory_for(HOURLY, 1), "memory is 190"),
        (lambda: AdaptiveSettings(fast=FastSettings(every=30)).schedule(24, None), "refresh is 30"),
    ],
)
def test_nonsense_is_refused(make, message):
    with pytest.raises(ConfigurationError, match=message):
        make()


@pytest.mark.parametrize(
    ("delay", "same_hour", "same_weekday"), [(24, 24, 168), (25, 48, 168), (200, 216, 336)]
)
def test_lags_are_the_last_known_of_the_same_hour(delay, same_hour, same_weekday):
    clock = AdaptiveSettings().schedule(24, delay).clock
    assert (clock.same_hour, clock.same_weekday) == (same_hour, same_weekday)


@pytest.mark.parametrize(
    ("day", "entities", "memory"),
    [(24, 1, 3_000), (96, 1, 12_000), (288, 1, 12_000), (96, 60, 5_000), (96, 500, 3_000)],
)
def test_a_hundred_and_twenty_five_days_are_held_within_limits(day, entities, memory):
    settings = AdaptiveSettings()
    assert settings.memory_for(settings.schedule(day, None), entities) == memory


def test_more_than_the_last_days_are_held_of_every_minute():
    settings = AdaptiveSettings()
    schedule = settings.schedule(1440, None)
    assert settings.memory_for(schedule, 1) == 2 * schedule.recent_steps > 12_000
