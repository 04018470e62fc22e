"""What every other day shows is told like what two days in a row show."""

from __future__ import annotations

import numpy as np
import pytest
from tests.data.suspicion.grid import BEGIN, DAY, judge

from clearwatt.data.suspicion import Lie


@pytest.mark.parametrize("kind", ["consumer", "residual"])
def test_a_unit_that_is_wrong_every_other_day_is_told_from_the_first_of_them(grid, kind):
    place, power = grid.places[kind], grid.power[BEGIN * DAY :].copy()
    power[np.arange(len(power)) // DAY % 2 == 1, place] /= 1000
    found = judge(grid, power)
    assert (found[0].column, found[0].lie) == (place, Lie.UNIT)
    assert 0 <= (found[0].time - grid.times[BEGIN * DAY]) // 3600 <= 2 * DAY


def test_a_factory_that_runs_every_other_day_is_at_rest(grid):
    place, power = grid.places["consumer"], grid.power[BEGIN * DAY :].copy()
    low = np.nanmin(grid.power[:, place])
    power[np.arange(len(power)) // DAY % 2 == 1, place] = low
    assert judge(grid, power) == []


def test_ten_times_is_another_unit_and_eight_times_a_change(grid):
    place, power = grid.places["consumer"], grid.power[BEGIN * DAY :].copy()
    for factor, lies in ((10, [Lie.UNIT]), (6, [])):
        changed = power.copy()
        changed[10:, place] *= factor
        assert [each.lie for each in judge(grid, changed)] == lies
