"""Times are RFC 3339 with a zone; whatever else is sent is refused with the remedy."""

import numpy as np
import pytest

from clearwatt.errors import DataError
from clearwatt.service.times import exact_seconds, optional_text, seconds, text, texts


@pytest.mark.parametrize(
    "given",
    [
        "2024-06-01T00:00:00Z",
        "2024-06-01t00:00:00z",
        "2024-06-01 02:00:00+02:00",
        "2024-05-31T18:30:00.000-05:30",
    ],
)
def test_all_spellings_of_a_moment_are_one(given):
    assert seconds(given) == exact_seconds(given) == 1_717_200_000


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ("2024-06-01T00:00:00", "no time zone"),
        ("20240601T000000Z", "not an RFC 3339 time"),
        ("2024-W22-6T00:00:00Z", "not an RFC 3339 time"),
        ("٢٠٢٤-06-01T00:00:00Z", "not an RFC 3339 time"),
        ("2024-02-30T00:00:00Z", "no time of the calendar"),
        ("0001-01-01T00:00:00+12:00", "no time of the calendar"),
        (1_717_200_000, "is a number"),
        (None, "is text"),
        (True, "is text"),
    ],
)
def test_what_is_no_such_time_is_refused_with_the_remedy(given, why):
    with pytest.raises(DataError, match=why) as refusal:
        seconds(given)
    assert "2024-05-01T12:15:00Z" in str(refusal.value)


def test_a_plus_that_an_address_has_turned_into_a_space_is_explained():
    with pytest.raises(DataError, match=r"%2B.*2024-05-01T14:15:00%2B02:00"):
        seconds("2024-05-01T14:15:00 02:00")


def test_fractions_are_cut_off_except_where_they_would_move_a_reading():
    assert seconds("2024-06-01T00:00:00.75Z") == 1_717_200_000
    assert seconds("1969-12-31T23:59:59.5Z") == -1
    with pytest.raises(DataError, match="fractions"):
        exact_seconds("2024-06-01T00:00:00.75Z")


def test_times_go_out_in_utc_and_come_back_the_same():
    times = np.array([0, 1_717_200_000, 4_102_444_799])
    assert texts(times) == [text(int(time)) for time in times]
    assert [seconds(each) for each in texts(times)] == times.tolist()
    assert text(1_717_200_000.25) == "2024-06-01T00:00:00.250Z"
    assert optional_text(None) is None
