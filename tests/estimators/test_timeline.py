import numpy as np
import pandas as pd
import pytest

from clearwatt.errors import DataError
from clearwatt.estimators.timeline import Timeline, times_of

QUARTERS = pd.date_range("2024-01-01T06:00", periods=8, freq="15min")


def test_the_usual_step_of_dates_gives_the_steps_of_a_day():
    timeline = Timeline.of(QUARTERS.delete(3), None)
    assert (timeline.day, timeline.origin) == (96, "2024-01-01T00:00:00")
    assert timeline.has_times


def test_steps_count_from_the_midnight_before_the_first_date():
    timeline = Timeline.of(QUARTERS, None)
    later = ["2024-01-01T06:00", "2024-01-02T00:15", "2023-12-31T23:45"]
    assert timeline.steps(later, 3).tolist() == [24, 97, -1]


def test_given_steps_per_day_replace_the_usual_step():
    hourly = Timeline.of(QUARTERS, 24)
    assert hourly.day == 24
    with pytest.raises(DataError, match="06:15:00 is not a multiple of 0 days 01:00:00"):
        hourly.steps(QUARTERS, len(QUARTERS))


def test_step_numbers_are_steps():
    timeline = Timeline.of(np.arange(5), None)
    assert (timeline.day, timeline.has_times) == (24, True)
    assert timeline.steps([7, 9], 2).tolist() == [7, 9]
    with pytest.raises(DataError, match="give whole numbers"):
        timeline.steps([7.5, 9.0], 2)


def test_without_times_there_are_no_steps():
    timeline = Timeline.of(None, 48)
    assert (timeline.day, timeline.has_times) == (48, False)
    with pytest.raises(DataError, match="warmed up without times"):
        timeline.steps([1], 1)


@pytest.mark.parametrize(
    ("given", "rows", "says"),
    [
        ([1, 2], 2, "give dates, not step numbers"),
        (QUARTERS[:2], 3, "a time for each of 3 rows"),
        (QUARTERS.tz_localize("UTC"), 8, "differ in having a time zone"),
    ],
    ids=["numbers", "too few", "time zone"],
)
def test_times_that_do_not_fit_the_warm_up_are_refused(given, rows, says):
    with pytest.raises(DataError, match=says):
        Timeline.of(QUARTERS, None).steps(given, rows)


@pytest.mark.parametrize(
    ("times", "says"),
    [
        (pd.date_range("2024-01-01", periods=4, freq="7h"), "does not divide a day"),
        (QUARTERS[:1], "one time tells no step length"),
    ],
    ids=["seven hours", "one time"],
)
def test_dates_without_a_usable_step_are_refused(times, says):
    with pytest.raises(DataError, match=says):
        Timeline.of(times, None)


def test_times_are_those_given_or_the_dates_of_the_index():
    frame = pd.DataFrame({"wind": np.zeros(8)}, index=QUARTERS)
    assert times_of(frame, None) is frame.index
    assert times_of(frame, [1, 2]) == [1, 2]
    assert times_of(frame.reset_index(drop=True), None) is None
    assert times_of(frame.to_numpy(), None) is None
