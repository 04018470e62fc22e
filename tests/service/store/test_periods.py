"""Which month or year a partition covers."""

from datetime import UTC, datetime
from itertools import pairwise

import pytest

from clearwatt.service.store.periods import AHEAD, find_period, month, year
from clearwatt.service.store.schema import CHUNK


def at(*date: int) -> float:
    return datetime(*date, tzinfo=UTC).timestamp()


NOW = at(2026, 11, 18, 6)


def test_months_follow_each_other_without_gaps_and_begin_with_a_chunk():
    months = [month(at(2023, 11, 30, 23, 59), later=later) for later in range(30)]
    assert months[0] == (at(2023, 11, 1), at(2023, 12, 1), "2023_11")
    assert all(one.stop == other.start for one, other in pairwise(months))
    assert all(each.start % CHUNK == 0 for each in months)
    assert year(at(2024, 2, 29)) == (at(2024, 1, 1), at(2025, 1, 1), "2024")


@pytest.mark.parametrize(
    ("time", "name"),
    [
        (NOW, "2026_11"),
        (month(NOW, later=AHEAD).stop - 1, "2027_02"),
        (month(NOW, later=AHEAD).stop, None),
        (at(2025, 1, 1), "2025_01"),
        (at(2025, 1, 1) - 1, "2024"),
        (at(1990, 6, 1), "1990"),
        (0.0, "1970"),
        (-1.0, None),
        (1e300, None),
        (float("nan"), None),
    ],
)
def test_recent_times_need_a_month_and_old_ones_a_year(time, name):
    found = find_period(time, now=NOW, known=[])
    assert (found and found.name) == name


def test_a_year_of_which_a_part_has_partitions_is_divided_into_months():
    known = [month(at(2020, 3, 1))[:2]]
    assert find_period(at(2020, 3, 31), now=NOW, known=known) is None
    for time, name in ((at(2020, 4, 1), "2020_04"), (at(2021, 4, 1), "2021")):
        found = find_period(time, now=NOW, known=known)
        assert found is not None
        assert found.name == name
