"""Counters, few values and spikes are told; real days that look alike are not."""

from __future__ import annotations

import numpy as np
import pytest
from tests.data.suspicion.cases import HISTORY, case_of
from tests.data.suspicion.grid import BEGIN, DAY, KINDS, judge, lying

from clearwatt.data.suspicion import Lie
from clearwatt.data.suspicion.patterns import counter, few_values, spikes

PATTERNS = {
    "counter": (Lie.COUNTER, Lie.UNIT),
    "daily counter": (Lie.COUNTER, Lie.NIGHT),
    "held": (Lie.FEW_VALUES, Lie.SHIFT),
    "rounded": (Lie.FEW_VALUES,),
    "spikes": (Lie.SPIKES, Lie.NOISE),
    "zeros": (Lie.SPIKES, Lie.NOISE),
}
"""Kinds by which each may be told."""


def kinds_of(grid, power, place) -> list[Lie]:
    found = judge(grid, power)
    assert {each.column for each in found} <= {place}
    return [each.lie for each in found]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("lie", PATTERNS)
def test_a_pattern_that_no_power_has_is_told(grid, lie, kind):
    if (lie, kind) == ("rounded", "pv"):
        pytest.skip("in winter, few readings remain that are not zero")
    if (lie, kind) == ("counter", "wind"):
        pytest.skip("in a calm week, a counter of energy stands still")
    place = grid.places[kind]
    kinds = kinds_of(grid, lying(grid, lie, place), place)
    assert set(kinds) & set(PATTERNS[lie])
    assert Lie.NONE not in kinds, "it goes on"


@pytest.mark.parametrize("lie", ["held", "rounded", "spikes"])
def test_it_ends_on_the_first_day_without_the_pattern(grid, lie):
    place, repaired = grid.places["consumer"], 5 * DAY + 8
    power = lying(grid, lie, place)
    power[repaired:, place] = grid.power[BEGIN * DAY + repaired :, place]
    *_, last = judge(grid, power)
    assert last.lie is Lie.NONE
    hours = (last.time - grid.times[BEGIN * DAY]) // 3600 - repaired
    assert -10 <= hours <= DAY, "a reading of a spiking meter may be right"


@pytest.mark.parametrize("kind", ["pv", "wind"])
def test_a_plant_that_trips_every_noon_is_no_counter(grid, kind):
    place, power = grid.places[kind], grid.power[BEGIN * DAY :].copy()
    hours = np.arange(len(power)) % DAY
    power[(hours >= 12) | (hours < 5), place] = 0
    assert Lie.COUNTER not in kinds_of(grid, power, place)


@pytest.mark.parametrize("kind", KINDS)
def test_a_plant_held_at_one_value_for_hours_has_not_few_values(grid, kind):
    place, power = grid.places[kind], grid.power[BEGIN * DAY :].copy()
    hours = np.arange(len(power)) % DAY
    power[(hours >= 9) & (hours < 15), place] = 0.3 * np.nanmax(grid.power[:, place])
    assert Lie.FEW_VALUES not in kinds_of(grid, power, place)


def test_fine_steps_are_no_lie(grid):
    place, power = grid.places["consumer"], grid.power[BEGIN * DAY :].copy()
    step = 0.01 * np.nanmax(power[:, place])
    power[:, place] = np.round(power[:, place] / step) * step
    assert kinds_of(grid, power, place) == []


def test_an_hour_of_more_power_every_day_is_no_lie(grid):
    place, power = grid.places["consumer"], grid.power[BEGIN * DAY :].copy()
    power[3::DAY, place] += 0.4 * np.nanmax(power[:, place])
    assert Lie.SPIKES not in kinds_of(grid, power, place)


def sunny_days(rng: np.random.Generator, height: np.ndarray, *, rows: int) -> np.ndarray:
    """Photovoltaics by the day (h x rows) under broken clouds; at most 1."""
    hours = np.arange(rows) / rows * 24
    arc = np.clip(np.sin(np.pi * (hours - 6) / 12), 0, None)
    clouds = rng.uniform(0.8, 1, (len(height), rows))
    return np.minimum(1.4 * arc * height[:, None] * clouds, 1)


@pytest.mark.parametrize("sign", [1, -1])
def test_a_plant_that_reaches_its_limit_for_the_first_time_has_no_spikes(sign):
    height = np.r_[np.full(HISTORY, 0.5), np.full(5, 1.0)]
    days = sign * sunny_days(np.random.default_rng(1), height, rows=DAY)
    assert not spikes(case_of(days)).shows[0]
    days[HISTORY:, 3::8] = sign * 1.2
    assert spikes(case_of(days)).shows[0], "at night, too"


def test_dark_days_of_a_meter_with_fine_steps_have_not_few_values():
    rng, height = np.random.default_rng(2), np.full(HISTORY + 5, 0.5)
    height[-2:] = 0.006
    days = np.round(sunny_days(rng, height, rows=4 * DAY), 3)
    assert len(np.unique(days[-1])) <= 12
    assert not few_values(case_of(days)).shows[0]
    days[-2:] = np.round(4 * sunny_days(rng, np.full(2, 0.5), rows=4 * DAY)) / 4
    assert few_values(case_of(days)).shows[0]


@pytest.mark.parametrize(("rows", "tells"), [(12, False), (24, True)])
def test_a_single_day_of_few_readings_that_rise_is_no_counter(rows, tells):
    days = np.random.default_rng(3).uniform(0.2, 0.8, (HISTORY + 5, rows))
    days[-1] = np.linspace(0.2, 0.8, rows)
    assert counter(case_of(days)).shows[0] == tells
    days[-2] = days[-1]
    assert counter(case_of(days)).shows[0], "two days tell"
