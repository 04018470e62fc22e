"""Meters that lie are told from a changed world, on a small simulated grid by the hour."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from tests.data.suspicion.grid import BEGIN, DAY, KINDS, STEP, Grid, judge, lying

from clearwatt.data.suspicion import Lie, MeterWatch, explain
from clearwatt.data.suspicion.recovery import Past, Suspect, has_ended
from clearwatt.data.suspicion.reference import features
from clearwatt.data.suspicion.rules import Health
from clearwatt.data.suspicion.statistics import Statistic
from clearwatt.data.suspicion.watch import DAYS as DAYS_HELD
from clearwatt.packing import pack, unpack

LIES = ("sign", "thousand", "thousandth", "replay", "mirror", "random", "shift", "frozen")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("lie", LIES)
def test_a_lie_is_told_and_nobody_else_is_suspected(grid, lie, kind):
    if (lie, kind) == ("shift", "wind"):
        pytest.skip("in a calm week, forecasts are wrong by as many hours")
    place = grid.places[kind]
    found = judge(grid, lying(grid, lie, place))
    assert found, "a week of lies must be noticed"
    assert {verdict.column for verdict in found} == {place}
    hours = (found[0].time - grid.times[grid.start]) / 3600
    assert -24 <= hours <= 72, "it began when the lie did, or when it could be told"


def since_of(grid: Grid, power: np.ndarray, place: int) -> float:
    """Hours from the first wrong reading to that from which on a meter is suspected."""
    found = judge(grid, power)
    assert {verdict.column for verdict in found} == {place}
    return float(found[0].time - grid.times[grid.start]) / 3600


@pytest.mark.parametrize("lie", ["hundredth", "thousand"])
@pytest.mark.parametrize("kind", ["wind", "residual"])
def test_a_unit_is_wrong_from_the_first_reading_even_if_a_day_in_between_is_calm(grid, lie, kind):
    power, place = lying(grid, lie, grid.places[kind]), grid.places[kind]
    power[2 * DAY : 3 * DAY, place] *= 0.3
    assert -12 <= since_of(grid, power, place) <= 2


@pytest.mark.parametrize("lie", ["replay", "clipped"])
@pytest.mark.parametrize("kind", ["consumer", "residual"])
def test_what_is_repeated_or_cut_off_is_suspected_from_its_first_reading(grid, lie, kind):
    power, place = lying(grid, lie, grid.places[kind]), grid.places[kind]
    changed = power[:, place] != grid.power[BEGIN * DAY :, place]
    first = int(np.flatnonzero(changed)[0]) - 10
    assert since_of(grid, power, place) == first


@pytest.mark.parametrize("day", [3, 4, 5])
@pytest.mark.parametrize(
    "case",
    ["replay", "clipped", "hundredth", "thousandth", "thousand", "sign", "thousand pv", "frozen"],
)
def test_nothing_wrong_is_trusted_after_a_repair(grid, case, day):
    lie, _, kind = case.partition(" ")
    place, repaired = grid.places[kind or "consumer"], day * DAY + 15
    power, truth = lying(grid, lie, place), grid.power[BEGIN * DAY :, place]
    power[repaired:, place] = truth[repaired:]
    *_, last = judge(grid, power)
    wrong = np.abs(power[:, place] - truth) > 0.02 * truth.max()
    assert last.lie is Lie.NONE
    hours = (last.time - grid.times[BEGIN * DAY]) // 3600 - 1 - np.flatnonzero(wrong)[-1]
    assert 0 <= hours <= 24


@pytest.mark.parametrize("kind", KINDS)
def test_a_day_without_jumps_ends_the_suspicion_of_noise(grid, kind):
    place, repaired = grid.places[kind], 4 * DAY + 8
    power, truth = lying(grid, "random", place), grid.power[BEGIN * DAY :, place]
    power[repaired:, place] = truth[repaired:]
    watch, cut, until = copy.deepcopy(grid.watch), BEGIN * DAY, 6 * DAY + 1
    found = watch.observe(grid.times[cut:][:until], grid.x[cut:][:until], power[:until])
    assert found[-1].lie is Lie.NONE
    hours = (found[-1].time - grid.times[cut]) // 3600 - repaired
    assert -1 <= hours <= 24, "one reading after another may be right by chance"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("lie", ["replay", "hundredth", "thousandth", "sign", "frozen"])
def test_a_reading_that_the_lie_excludes_ends_its_suspicion_on_the_same_day(grid, lie, kind):
    if (lie, kind) == ("frozen", "pv"):
        pytest.skip("power at night is told first, and says nothing of the day")
    place, repaired = grid.places[kind], 5 * DAY + 8
    power = lying(grid, lie, place)
    power[repaired:, place] = grid.power[BEGIN * DAY + repaired :, place]
    watch, cut, found = copy.deepcopy(grid.watch), BEGIN * DAY, []
    for day in range(7):  # the day of the repair, and the day on which it is told
        rows = slice(cut + day * DAY, cut + (day + 1) * DAY)
        found += watch.observe(grid.times[rows], grid.x[rows], power[day * DAY : (day + 1) * DAY])
    assert found[-1].lie is Lie.NONE
    assert watch.lie[place] == Lie.NONE


@pytest.mark.parametrize("kind", ["consumer", "residual"])
def test_a_unit_that_was_too_large_ends_on_the_day_of_the_repair(grid, kind):
    place, repaired = grid.places[kind], 5 * DAY + 8
    power = lying(grid, "thousand", place)
    power[repaired:, place] = grid.power[BEGIN * DAY + repaired :, place]
    watch, cut, until = copy.deepcopy(grid.watch), BEGIN * DAY, 6 * DAY + 1
    found = watch.observe(grid.times[cut:][:until], grid.x[cut:][:until], power[:until])
    assert found[-1].lie is Lie.NONE
    assert abs((found[-1].time - grid.times[cut]) // 3600 - repaired) <= 1


def test_hours_late_do_not_end_because_much_is_as_expected_hours_later():
    late = 5
    hours = np.arange(5 * DAY)
    expected = 1 + np.sin(2 * np.pi * hours / 60)  # slow, as wind
    past = Past(np.tile(expected[:DAY], (28, 1)), np.tile(expected[:DAY], (4, 1)))
    power = np.roll(expected, late)
    suspect = Suspect(
        Lie.SHIFT, late, 0, power, expected, past, loose=True, end=5 * 86_400, step=STEP
    )
    well = Health(Lie.NONE, well=True, sure=False, odd=False)
    assert not suspect.health(well).well
    right = np.concatenate([power[: 3 * DAY], expected[3 * DAY :]])
    assert suspect._replace(power=right).health(well).well


def test_a_calm_day_does_not_end_the_suspicion_of_a_wrong_unit(grid):
    place = grid.places["wind"]
    power = lying(grid, "hundredth", place)
    power[5 * DAY :, place] *= 0.5
    assert all(verdict.lie is Lie.UNIT for verdict in judge(grid, power))


def test_a_wind_farm_that_stays_at_one_level_is_stuck_even_if_some_day_was_like_it(grid):
    place, watch, cut = grid.places["wind"], copy.deepcopy(grid.watch), BEGIN * DAY
    power = grid.power[cut:].copy()
    level = 0.3 * np.nanmax(grid.power[:cut, place])
    noise = np.random.default_rng(2).standard_normal(len(power) - DAY)
    power[DAY:, place] = level * (1 + 0.01 * noise)
    like, calm = (watch.trusted[place] - 1 - np.arange(2)) % DAYS_HELD
    variance = 0.05 * np.nanmedian(watch.past_statistics[:, place, Statistic.VARIANCE])
    varied = level + np.sqrt(12 * variance) * (np.arange(DAY) < 2)
    watch.past_power[like, :, place] = varied
    watch.past_statistics[like, place, [Statistic.LEVEL, Statistic.VARIANCE]] = level, variance
    watch.past_statistics[calm, place, Statistic.VARIANCE] = 0
    rows = slice(cut, cut + 3 * DAY + 1)  # two days at that level
    found = watch.observe(grid.times[rows], grid.x[rows], power[: 3 * DAY + 1])
    assert [(each.column, each.lie) for each in found] == [(place, Lie.FROZEN)]


def test_a_wrong_unit_does_not_end_with_readings_that_fit_nothing(grid):
    place = grid.places["consumer"]
    power = lying(grid, "hundredth", place)
    power[5 * DAY :, place] = lying(grid, "random", place)[5 * DAY :, place]
    assert all(verdict.lie is Lie.UNIT for verdict in judge(grid, power))


def test_after_days_a_lie_is_not_taken_for_another_one(grid):
    place = grid.places["consumer"]
    power = lying(grid, "mirror", place)
    power[5 * DAY :, place] = lying(grid, "hundredth", place)[5 * DAY :, place]
    assert Lie.UNIT not in {verdict.lie for verdict in judge(grid, power)}


def test_some_days_without_relation_do_not_make_it_usual(grid):
    place, watch, cut = grid.places["consumer"], copy.deepcopy(grid.watch), BEGIN * DAY
    newest = (watch.trusted[place] - 1 - np.arange(5)) % DAYS_HELD
    watch.past_statistics[newest, place, Statistic.COVARIANCE] = 0
    power = grid.power[cut:].copy()
    wind = power[10:, grid.places["wind"]]
    power[10:, place] = wind / wind.max() * np.nanmax(power[:, place])
    found = watch.observe(grid.times[cut:], grid.x[cut:], power)
    assert {verdict.column for verdict in found} == {place}


@pytest.mark.parametrize("kind", ["pv", "consumer", "residual"])
def test_one_day_as_close_as_usual_ends_a_suspicion(grid, kind):
    place, cut, watch = grid.places[kind], BEGIN * DAY, copy.deepcopy(grid.watch)
    power = lying(grid, "random", place)
    power[4 * DAY :, place] = grid.watch.reference.expect(
        features(grid.x[cut:][:, list(grid.watch.weather)], grid.times[cut:])
    )[4 * DAY :, place]
    until = 5 * DAY + 1
    found = watch.observe(grid.times[cut:][:until], grid.x[cut:][:until], power[:until])
    assert found[-1].lie is Lie.NONE


def test_what_looked_like_a_thousandth_on_calm_days_is_not_ended_by_a_hundredth(grid):
    place, power = grid.places["wind"], grid.power[:, grid.places["wind"]].astype(np.float64)
    days = power[: BEGIN * DAY].reshape(-1, DAY)
    past = Past(days[-28:], days[-4:])
    windiest = days[np.nanargmax(days.max(axis=1))]
    assert grid.watch.lie[place] == Lie.NONE
    assert not has_ended(Lie.UNIT, -3, power=windiest / 100, past=past)
    assert has_ended(Lie.UNIT, -3, power=windiest, past=past)


def test_two_hours_of_power_a_day_end_a_wrong_sign(grid):
    day = np.where(np.isin(np.arange(DAY), (7, 18)), 4.0, 0.0)
    past = Past(np.tile(day, (28, 1)), np.tile(-day, (4, 1)))
    assert has_ended(Lie.SIGN, 0, power=day, past=past)
    assert not has_ended(Lie.SIGN, 0, power=-day, past=past)


def test_what_has_lasted_for_long_is_not_made_usual_on_a_day_of_another_lie(grid):
    place, cut, watch = grid.places["consumer"], BEGIN * DAY, copy.deepcopy(grid.watch)
    watch.end_days_before(10**6)
    watch.lie[place], watch.since[place] = Lie.FROZEN, grid.times[cut] - 70 * 86400
    power, until = lying(grid, "sign", place), 2 * DAY + 1
    watch.observe(grid.times[cut:][DAY:until], grid.x[cut:][DAY:until], power[DAY:until])
    assert watch.lie[place] != Lie.NONE


def test_calm_days_of_a_wind_farm_do_not_prolong_its_suspicion(grid):
    place, cut = grid.places["wind"], BEGIN * DAY
    power = lying(grid, "random", place)
    expected = grid.watch.reference.expect(
        features(grid.x[cut:][:, list(grid.watch.weather)], grid.times[cut:])
    )[:, place]
    power[4 * DAY :, place] = expected[4 * DAY :]
    for calm in (5, 7):
        day = slice(calm * DAY, (calm + 1) * DAY)
        power[day, place] = 0.05 * (expected[day].max() - expected[day])
    assert judge(grid, power)[-1].lie is Lie.NONE


def test_power_at_the_hours_of_rest_is_no_rest(grid):
    """Another meter's: one day without relation, then power in the small hours only."""
    place = grid.places["consumer"]
    power = grid.power[BEGIN * DAY :].copy()
    usual = power[: 2 * DAY, place].reshape(2, DAY).mean(axis=0)
    order, high = np.argsort(usual), float(usual.max())
    days = power[2 * DAY :, place].reshape(-1, DAY)
    days[0] = usual.mean() + usual.std() * np.where(np.arange(DAY) // 3 % 2, -1, 1)
    days[1:] = 0
    days[1][order[:4]] = high
    found = judge(grid, power)
    assert [(each.column, each.lie) for each in found] == [(place, Lie.UNRELATED)]
    days[1] = 0
    assert judge(grid, power) == [], "an outage"


@pytest.mark.parametrize(
    ("lie", "words"),
    [
        ("thousandth", "a thousandth of before: unit?"),
        ("thousand", "a thousand times of before: unit?"),
        ("ten", "ten times of before: unit?"),
        ("daily counter", "energy of a counter"),
        ("held", "a few different values"),
        ("spikes", "jump to one value"),
        ("sign", "opposite sign"),
        ("replay", "repeat an earlier day"),
        ("shift", "h late: clock"),
    ],
)
def test_the_reason_says_what_to_check(grid, lie, words):
    verdict = judge(grid, lying(grid, lie, grid.places["residual"]))[-1]
    assert words in explain(verdict.lie, verdict.size)


def every_other_day(grid: Grid, lie: str, place: int) -> np.ndarray:
    """Readings of the last days, wrong on the second, fourth, sixth and eighth of them."""
    power, wrong = grid.power[BEGIN * DAY :].copy(), lying(grid, lie, place)
    days = np.arange(len(power)) // DAY % 2 == 1
    power[days, place] = wrong[days, place]
    return power


@pytest.mark.parametrize("kind", KINDS)
def test_a_lie_that_comes_and_goes_is_suspected_until_four_days_in_a_row_are_right(grid, kind):
    place = grid.places[kind]
    found = judge(grid, every_other_day(grid, "sign", place))
    assert {each.column for each in found} == {place}
    assert [each.lie is Lie.NONE for each in found] == [False, True, False], "until the end"


@pytest.mark.parametrize("silent", [False, True])
@pytest.mark.parametrize("kind", ["consumer", "residual"])
def test_a_suspicion_that_came_back_ends_on_the_fourth_day_without_lies(grid, kind, silent):
    place, power = grid.places[kind], grid.power[BEGIN * DAY :].copy()
    wrong = lying(grid, "sign", place)
    for day in (1, 3):
        rows = slice(day * DAY, (day + 1) * DAY)
        power[rows, place] = wrong[rows, place]
    if silent:
        power[5 * DAY : 6 * DAY, place] = np.nan
    watch, cut, until = copy.deepcopy(grid.watch), BEGIN * DAY, 7 * DAY + 1
    rows = slice(cut, cut + until)
    assert watch.observe(grid.times[rows], grid.x[rows], power[:until])[-1].lie is not Lie.NONE
    watch.observe(grid.times[cut + until :], grid.x[cut + until :], power[until:])
    last = watch.end_days_before(10**6)
    assert [each.lie for each in last] == [Lie.NONE]
    assert (last[0].time - grid.times[cut + 4 * DAY]) // 3600 <= 0, "from the repair on"


def test_states_of_earlier_releases_load(grid):
    values, tensors = pack(grid.watch)
    del tensors["ended"]
    watch = unpack(MeterWatch, values, tensors)
    assert (watch.ended == -1).all()
    assert len(watch.ended) == len(watch.lie)


@pytest.mark.parametrize("factor", [0.0, 0.05, 0.3, 0.7, 1.4, 3.0])
def test_a_level_that_changes_for_good_is_no_lie(grid, factor):
    power = grid.power[BEGIN * DAY :].copy()
    power[10:, list(grid.places.values())[:1]] *= factor
    power[10:, grid.places["consumer"]] *= factor
    assert judge(grid, power) == []


def test_a_repaired_meter_is_well_again_within_two_days(grid):
    power, place = lying(grid, "sign", grid.places["pv"]), grid.places["pv"]
    power[4 * DAY :, place] = grid.power[(BEGIN + 4) * DAY :, place]
    found = judge(grid, power)
    last, lies = found[-1], [verdict.lie for verdict in found]
    assert Lie.SIGN in lies
    assert (lies.count(Lie.NONE), last.lie) == (1, Lie.NONE)
    hours = (last.time - grid.times[(BEGIN + 4) * DAY]) / 3600
    assert -12 <= hours <= 24, "from the repair on, or the night before it, when all is zero"


def test_blocks_and_restarts_do_not_change_verdicts(grid):
    power, cut = lying(grid, "random", 0), BEGIN * DAY
    expected = judge(grid, power)
    watch, found = copy.deepcopy(grid.watch), []
    for start in range(0, len(power), 7):
        rows = slice(cut + start, cut + start + 7)
        found += watch.observe(grid.times[rows], grid.x[rows], power[start : start + 7])
        watch = unpack(MeterWatch, *pack(watch))
    assert found + watch.end_days_before(10**6) == expected


def test_entities_join_and_leave_without_changing_the_others(grid):
    place = grid.places["residual"]
    power = lying(grid, "thousandth", place)
    expected = judge(grid, power)
    watch, cut = copy.deepcopy(grid.watch), BEGIN * DAY
    fresh = MeterWatch.start(grid.columns, 1, step=STEP)
    fresh.learn_history(grid.times[:cut], grid.x[:cut], grid.power[:cut, :1])
    watch.join(fresh)
    watch.leave(0)
    moved = np.column_stack([power, power[:, 0]])[:, 1:]
    found = watch.observe(grid.times[cut:], grid.x[cut:], moved) + watch.end_days_before(10**6)
    assert [(each.column + 1, *each[1:]) for each in found] == [tuple(each) for each in expected]


def test_a_confirmed_meter_is_not_suspected_of_the_same_again(grid):
    place = grid.places["consumer"]
    power, watch, cut = lying(grid, "thousandth", place), copy.deepcopy(grid.watch), BEGIN * DAY
    half = 5 * DAY
    assert watch.observe(grid.times[cut:][:half], grid.x[cut:][:half], power[:half])
    watch.confirm(place)
    assert watch.lie[place] == Lie.NONE
    assert watch.observe(grid.times[cut:][half:], grid.x[cut:][half:], power[half:]) == []
