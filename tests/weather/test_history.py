"""Past weather is that of runs which were there before, with the time at which they were."""

from datetime import date, timedelta
from itertools import chain

import numpy as np
import pytest

from clearwatt.weather import Coordinates, OpenMeteo, day_ahead_issues

from .server import HOUR, seconds_of, value

WARSAW = Coordinates(52.23, 21.01)


def issues_of(server, first, last, **options):
    with OpenMeteo(server.url) as source:
        found = day_ahead_issues(
            source, [WARSAW], ["wind_speed_10m"], first=first, last=last, **options
        )
        return list(chain.from_iterable(part[0] for part in found))


@pytest.mark.parametrize("ahead", [1, 2, 3])
def test_each_value_was_published_by_its_issue_time(server, ahead):
    """A run is published six hours after its start, which is `ahead` days before the value."""
    issues = issues_of(server, date(2024, 5, 1), date(2024, 5, 3), days_ahead=ahead)
    assert [issue.day.day for issue in issues] == [1, 2, 3]
    for issue in issues:
        times = issue.weather.index.asi8 // 10**9
        started = times - ahead * 24 * HOUR
        assert (started + 6 * HOUR <= issue.issued_at).all()
        expected = [value("wind_speed_10m", t, WARSAW.latitude, ahead=ahead) for t in times]
        assert np.allclose(issue.weather["wind_speed_10m"], expected)
        assert not issue.archived


def test_by_default_a_day_was_known_on_the_morning_before(server):
    (issue,) = issues_of(server, date(2024, 5, 2), date(2024, 5, 2))
    assert issue.issued_at == seconds_of(2024, 5, 1, 6)
    assert len(issue.weather) == 25


def test_days_before_the_first_kept_run_are_known_only_afterwards(server):
    issues = issues_of(server, date(2023, 12, 30), date(2024, 1, 2))
    assert [issue.archived for issue in issues] == [True, True, False, False]
    archived = issues[1]
    assert archived.issued_at > archived.weather.index[-1].timestamp()
    moment = seconds_of(2023, 12, 31, 5)
    at = archived.weather["wind_speed_10m"].iloc[5]
    assert at == pytest.approx(value("wind_speed_10m", moment, WARSAW.latitude))
    only_ahead = issues_of(server, date(2023, 12, 30), date(2024, 1, 2), archive=False)
    assert [issue.day for issue in only_ahead] == [date(2024, 1, 1), date(2024, 1, 2)]


def test_a_year_takes_four_requests_and_misses_no_day(server):
    first = date(2024, 2, 1)
    issues = issues_of(server, first, first + timedelta(days=364))
    assert len(server.queries) == 4
    assert [issue.day for issue in issues] == [first + timedelta(days=k) for k in range(365)]
