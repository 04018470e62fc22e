"""Errors, skill and coverage by lead, against figures that are known beforehand."""

import numpy as np
import pytest

from clearwatt.service.leads import lead_label, reported_leads
from clearwatt.service.learner.apply.errors_by_lead import ErrorsByLead, LeadRows
from clearwatt.service.learner.apply.intervals import ZoneIntervals
from clearwatt.service.learner.apply.live import LiveForecasts

DAY, STEP = 86_400, 3600
START = 1_700_006_400
DAYS = 4
TIMES = START + STEP * np.arange(DAYS * 24)
SIZES = np.array([10.0, 20.0])
ERRORS = {3600: 0.01, 10_800: 0.02, 21_600: 0.03, 43_200: 0.04, 86_400: 0.05}
"""Scaled error of the forecasts of each lead."""


class GivenIntervals(ZoneIntervals):
    """Intervals from 0.03 below the day-ahead forecast to 0.03 above it, without limits."""

    limits = np.array([[-9.0, -9.0], [9.0, 9.0]])

    def ends_at(self, times):
        ahead = scaled(times) + ERRORS[DAY]
        return np.stack([ahead - 0.03, ahead + 0.03], axis=2)


def scaled(times):
    """Scaled power: a line that rises by 0.001 in an hour and repeats every day."""
    hours = (times - START) // STEP % 24
    return np.stack([0.001 * hours, 0.001 * hours], axis=1) + 0.2


@pytest.fixture
def live():
    made = LiveForecasts("north")
    made.add_columns(2)
    power = (scaled(TIMES) * SIZES).astype(np.float32)
    made.record(
        TIMES,
        reconstruction=np.zeros(len(TIMES), np.float32),
        forecasts=power + (ERRORS[DAY] * SIZES).astype(np.float32),
        readings=power,
    )
    return made


def lead_rows(times, *, spread=1.0):
    errors = np.array([*ERRORS.values()])[:, None, None]
    power = scaled(times)[None] + errors
    return LeadRows(times, power, power[-1], np.full_like(power, spread))


def judged(errors):
    errors.weeks.judge(START + DAYS * DAY, steps=24)
    return {each.lead: each for each in errors.quality_of(1)}


def made():
    errors = ErrorsByLead(STEP)
    errors.weeks.add_columns(2)
    return errors


def test_leads_are_one_step_and_hours_that_are_whole_steps():
    assert reported_leads(900) == (900, 3600, 10_800, 21_600, 43_200, 86_400)
    assert reported_leads(3600) == tuple(ERRORS)
    assert reported_leads(7200) == (7200, 21_600, 43_200, 86_400)
    assert [lead_label(each) for each in (900, 3600, 86_400)] == ["15 min", "1 h", "24 h"]


def test_errors_are_those_of_the_forecasts_of_each_lead_in_the_unit_of_power(live):
    errors, last_days = made(), TIMES[24:]
    errors.add_rows(lead_rows(last_days), live, GivenIntervals(STEP), SIZES)
    found = judged(errors)
    assert list(found) == list(ERRORS)
    for lead, error in ERRORS.items():
        assert found[lead].n == 3 * 24
        assert found[lead].rmse == pytest.approx(20 * error, rel=1e-3)


def test_persistence_is_the_better_of_the_last_reading_and_the_last_day(live):
    errors, last_days = made(), TIMES[24:]
    errors.add_rows(lead_rows(last_days), live, GivenIntervals(STEP), SIZES)
    assert judged(errors)[3600].rmse_persistence == pytest.approx(0.0, abs=1e-4)  # the last day
    live.readings = live.readings + np.repeat(np.arange(DAYS) * 4.0, 24)[:, None]
    errors = made()
    errors.add_rows(lead_rows(last_days), live, GivenIntervals(STEP), SIZES)
    found = judged(errors)
    # An hour before, only the first hour of a day differs much.
    assert found[3600].rmse_persistence < 1.0 < found[86_400].rmse_persistence
    assert found[86_400].rmse_persistence == pytest.approx(4.0, rel=1e-3)
    assert found[86_400].skill == 1 - found[86_400].rmse / found[86_400].rmse_persistence


def test_persistence_knows_no_reading_that_had_not_arrived(live):
    live.readings = live.readings + np.repeat(np.arange(DAYS) * 4.0, 24)[:, None]
    rows, found = lead_rows(TIMES[24:]), []
    for delay in (0, 2 * 3600):
        errors = made()
        errors.add_rows(rows._replace(delay=delay), live, GivenIntervals(STEP), SIZES)
        found.append(judged(errors))
    assert found[1][3600].rmse_persistence == found[0][10_800].rmse_persistence
    assert found[1][3600].rmse_persistence > found[0][3600].rmse_persistence


def test_an_interval_moves_with_its_forecast_and_narrows_with_the_spread(live):
    rows = lead_rows(TIMES[24:])
    spread = rows.spread.copy()
    spread[1] = 0.5  # from 0.015 below to 0.015 above, and the error is 0.02
    errors = made()
    errors.add_rows(rows._replace(spread=spread), live, GivenIntervals(STEP), SIZES)
    coverage = {lead: each.coverage for lead, each in judged(errors).items()}
    assert coverage == {3600: 0.0, 10_800: 0.0, 21_600: 0.0, 43_200: 0.0, 86_400: 0.0}
    spread[:] = 0.9
    errors = made()
    errors.add_rows(rows._replace(spread=spread), live, GivenIntervals(STEP), SIZES)
    coverage = {lead: each.coverage for lead, each in judged(errors).items()}
    assert coverage == {3600: 1.0, 10_800: 1.0, 21_600: 0.0, 43_200: 0.0, 86_400: 0.0}


def test_forecasts_that_do_not_use_the_last_readings_have_one_error_for_all_leads(live):
    errors = made()
    for day in range(DAYS):
        errors.close_day(START + day * DAY, live, GivenIntervals(STEP), SIZES)
    found = judged(errors)
    assert [each.rmse for each in found.values()] == pytest.approx([1.0] * 5, rel=1e-3)
    assert found[3600].n == found[86_400].n == 3 * 24  # the first day has no day before it


def test_a_day_counts_once(live):
    errors = made()
    errors.add_rows(lead_rows(TIMES[24:]), live, GivenIntervals(STEP), SIZES)
    for day in range(1, DAYS):
        errors.close_day(START + day * DAY, live, GivenIntervals(STEP), SIZES)
    assert judged(errors)[3600].n == 3 * 24


def test_there_is_nothing_to_report_before_the_first_midnight():
    assert made().quality_of(0) == ()
