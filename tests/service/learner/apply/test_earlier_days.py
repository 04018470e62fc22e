"""Beginnings of the last days are kept, the older the fewer, however often days are added."""

from clearwatt.clock import SECONDS_PER_DAY as DAY
from clearwatt.service.learner.apply.earlier_days import LONGEST, WEEK, WEEKS, days_to_keep


def test_the_newest_days_are_kept_every_third_before_them_and_one_a_week():
    kept: list[int] = []
    for day in range(100, 150):
        kept = days_to_keep([*kept, day * DAY + 3600])
        ages = [day - time // DAY for time in kept]
        assert ages[-3:] == [2, 1, 0][-len(ages) :]
        assert len(kept) <= 10
        assert max(ages) < WEEKS
        recent = [age for age in ages if age < LONGEST]
        assert len(recent) <= 7
    assert max(recent) >= LONGEST - 3  # there is one from before a lie that is told late
    assert max(ages) >= 3 * WEEK  # and one from before a fortnight that was wrong


def test_days_without_readings_are_skipped():
    assert days_to_keep([3 * DAY, 4 * DAY, 20 * DAY]) == [20 * DAY]
