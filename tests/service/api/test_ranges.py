"""Which times are meant where a question does not say."""

import pytest
from tests.service.application import NOW, STEP, Web

from clearwatt.errors import DataError
from clearwatt.service.api.ranges import AHEAD, REPLAYED, check_steps, forecast_range, past_range
from clearwatt.service.api.schemas.base import TimeRange
from clearwatt.service.records import Outcome
from clearwatt.service.status import ZoneStatus

DAY = 86_400


@pytest.fixture
def web(tmp_path):
    made = Web(tmp_path)
    made.register("a")
    made.context = made.app.state.context
    made.zone = made.context.registry.zone("north")
    yield made
    made.close()


def newest_reading(web, time):
    web.store.commit(Outcome(ZoneStatus("north", 1, 1, watermark=time)))


def test_a_forecast_starts_with_the_step_that_is_now(web):
    web.now = NOW + STEP + 7.5
    assert forecast_range(web.context, web.zone, TimeRange()) == (NOW + STEP, NOW + STEP + AHEAD)
    newest_reading(web, NOW - DAY)
    assert forecast_range(web.context, web.zone, TimeRange())[0] == NOW + STEP


def test_where_the_past_is_replayed_a_forecast_starts_after_the_newest_reading(web):
    newest_reading(web, NOW - REPLAYED - STEP)
    assert forecast_range(web.context, web.zone, TimeRange())[0] == NOW - REPLAYED


def test_what_is_said_counts(web):
    span = TimeRange(start="2024-06-01T00:00:00Z", end="2024-06-01T02:00:00+01:00")
    for chosen in (forecast_range, past_range):
        assert chosen(web.context, web.zone, span) == (NOW, NOW + 3600)
    only_end = TimeRange(end="2024-06-01T00:00:00Z")
    assert forecast_range(web.context, web.zone, only_end) == (NOW - AHEAD, NOW)
    assert past_range(web.context, web.zone, only_end) == (NOW - DAY, NOW)
    only_start = TimeRange(start="2024-06-01T00:00:00Z")
    assert past_range(web.context, web.zone, only_start) == (NOW, NOW + DAY)


def test_the_past_ends_with_the_newest_reading(web):
    assert past_range(web.context, web.zone, TimeRange()) == (NOW - DAY, NOW)
    newest_reading(web, NOW - 10 * DAY)
    end = NOW - 10 * DAY + STEP
    assert past_range(web.context, web.zone, TimeRange()) == (end - DAY, end)


def test_empty_and_endless_ranges_are_refused(web):
    span = TimeRange(start="2024-06-01T00:00:00Z", end="2024-06-01T00:00:00Z")
    for chosen in (forecast_range, past_range):
        with pytest.raises(DataError, match="later end"):
            chosen(web.context, web.zone, span)
    check_steps(10, 10)
    with pytest.raises(DataError, match="at most 10"):
        check_steps(11, 10)
