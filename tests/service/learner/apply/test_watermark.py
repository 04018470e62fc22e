"""The watermark follows meters that report, and no single reading that is dated ahead."""

import numpy as np
import pytest

from clearwatt.service.learner.apply.watermark import SILENT, find_series_watermark

STEP = 900
DAY = 86_400
NOW = 1_717_200_000
USUAL = np.arange(NOW - 3 * DAY, NOW + 1, STEP)


def watermark(*series: np.ndarray, lateness: int = 7200) -> int | None:
    return find_series_watermark(series, step=STEP, lateness=lateness)


def test_it_is_the_newest_reading_if_meters_agree():
    assert watermark(USUAL, USUAL[:-3], USUAL[:-8]) == NOW
    assert watermark(USUAL) == NOW
    assert watermark(USUAL, USUAL[:0]) == NOW
    assert watermark() is None


@pytest.mark.parametrize("meters", [2, 3, 50])
@pytest.mark.parametrize("readings", [1, 3])
@pytest.mark.parametrize("days", [1, 8, 400])
def test_single_readings_that_are_ahead_do_not_count(meters, readings, days):
    ahead = np.append(USUAL, NOW + days * DAY + STEP * np.arange(readings))
    assert watermark(ahead, *[USUAL] * (meters - 1)) == NOW


def test_one_meter_in_ten_may_be_wrong():
    ahead = np.append(USUAL, NOW + DAY)
    assert watermark(*[ahead] * 3, *[USUAL] * 27) == NOW
    assert watermark(*[ahead] * 4, *[USUAL] * 27) == NOW + DAY


def test_a_meter_that_goes_on_alone_is_followed():
    longer = np.arange(NOW - DAY, NOW + DAY + 1, STEP)
    assert watermark(longer, USUAL, USUAL) == NOW + DAY


def test_meters_that_are_silent_for_a_week_have_no_say():
    rare = NOW + np.array([0, 2 * DAY, 4 * DAY, 6 * DAY, SILENT + STEP])
    assert watermark(rare, USUAL, USUAL) == NOW + SILENT + STEP


def test_a_meter_alone_decides_for_itself():
    assert watermark(np.append(USUAL, NOW + DAY)) == NOW + DAY


def test_without_lateness_the_next_step_counts_at_once():
    assert watermark(np.append(USUAL, NOW + STEP), USUAL, lateness=0) == NOW + STEP
