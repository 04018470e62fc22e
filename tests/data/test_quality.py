import dataclasses

import numpy as np
import pandas as pd
import pytest

from clearwatt.data.quality import Reason, assess, assess_readings
from clearwatt.data.quality_rules import CONSUMER, QualityRules
from clearwatt.data.schema import Entity, Kind
from clearwatt.data.simulate import simulate_grid
from clearwatt.errors import DataError

DAY = 96
DAYS = 40
STEPS = DAY * DAYS
AT = 35 * DAY + 48  # noon of a day with weeks of history before it
ENTITIES = {
    "shop": Entity("shop", Kind.CONSUMER, 100.0, "here", {"subtype": "shop"}),
    "office": Entity("office", Kind.CONSUMER, 50.0, "here", {"subtype": "office"}),
    "park": Entity("park", Kind.GENERATOR, 10.0, "here", {"subtype": "pv"}),
    "roof": Entity("roof", Kind.GENERATOR, 4.0, "here", {"subtype": "pv"}),
    "biogas": Entity("biogas", Kind.GENERATOR, 2.0, "here", {"subtype": "biogas"}),
    "suburb": Entity("suburb", Kind.RESIDUAL, 20.0, "here"),
}


def readings():
    """Forty ordinary days of six ordinary entities."""
    rng = np.random.default_rng(0)
    times = pd.date_range("2024-05-01", periods=STEPS, freq="15min", tz="UTC", name="time")
    hour = np.arange(STEPS) % DAY / 4
    sun = np.maximum(np.sin((hour - 6) / 12 * np.pi), 0) * (hour >= 6) * (hour <= 18)
    demand = 0.4 + 0.2 * np.sin((hour - 8) / 24 * 2 * np.pi)
    noise = rng.normal(0, 0.01, (STEPS, 4))
    return pd.DataFrame(
        {
            "shop": 100 * (demand + noise[:, 0]),
            "office": 50 * (demand + noise[:, 1]),
            "park": np.where(sun > 0, 10 * sun * (0.8 + noise[:, 2]), -0.05),
            "roof": 4 * sun * (0.8 + noise[:, 3]),
            "biogas": np.full(STEPS, 2.0),
            "suburb": 20 * (demand - sun + noise[:, 0]),
        },
        index=times,
        dtype=np.float32,
    )


def judge(power, **changes):
    entities = [ENTITIES[name] for name in power.columns]
    return assess_readings(power, entities, QualityRules(**changes))


def verdicts(power, name, **changes):
    report = judge(power, **changes)
    return report.codes[:, report.entities.index(name)]


def spoil(name, values, *, at=AT):
    power = readings()
    power.iloc[at : at + len(values), power.columns.get_loc(name)] = values
    return power


def only(codes, reason, where):
    """Whether exactly the readings of ``where`` carry ``reason`` and all others are fine."""
    expected = np.zeros(STEPS, dtype=np.uint8)
    expected[where] = reason
    return np.array_equal(codes, expected)


def test_ordinary_days_pass_with_flat_nights_and_a_plant_at_rated_power():
    assert judge(readings()).ok.all()


def test_a_flatline_is_flagged_from_its_first_reading():
    codes = verdicts(spoil("shop", [42.0] * 20), "shop")
    assert only(codes, Reason.FLATLINE, slice(AT, AT + 20))


def test_a_consumer_may_be_constant_for_short():
    assert only(verdicts(spoil("shop", [42.0] * 7), "shop"), Reason.OK, slice(0, 0))


def test_a_dispatchable_plant_may_run_flat_for_a_shift_but_not_for_days():
    assert verdicts(spoil("biogas", [1.2] * 40), "biogas").max() == Reason.OK
    codes = verdicts(spoil("biogas", [1.2] * 300), "biogas")
    assert only(codes, Reason.FLATLINE, slice(AT, AT + 300))


def test_a_gap_in_a_flatline_starts_the_count_again():
    codes = verdicts(spoil("shop", [*[42.0] * 7, np.nan, *[42.0] * 7]), "shop")
    assert only(codes, Reason.GAP, [AT + 7])


@pytest.mark.parametrize(
    ("name", "value"),
    [("shop", 140.0), ("shop", -9.0), ("park", 11.8), ("park", -2.0), ("suburb", -28.0)],
)
def test_power_beyond_capacity_is_out_of_range(name, value):
    assert only(verdicts(spoil(name, [value]), name), Reason.OUT_OF_RANGE, [AT])


@pytest.mark.parametrize(("name", "value"), [("shop", 110.0), ("suburb", -19.0)])
def test_a_little_over_capacity_and_feeding_back_are_real(name, value):
    assert verdicts(spoil(name, [value] * 3), name).max() == Reason.OK


@pytest.mark.parametrize("values", [[95.0], [5.0], [95.0, 98.0]])
def test_an_excursion_that_returns_is_a_spike(values):
    codes = verdicts(spoil("shop", values), "shop")
    assert only(codes, Reason.SPIKE, slice(AT, AT + len(values)))


def test_a_change_that_stays_is_real():
    power = readings()
    power.iloc[AT:, 0] *= 0.5
    assert verdicts(power, "shop").max() == Reason.OK


def test_excursions_that_are_ordinary_for_the_entity_are_real():
    power = readings()
    power.iloc[20::DAY, 0] += 30
    assert verdicts(power, "shop")[10 * DAY :].max() == Reason.OK
    calm = verdicts(spoil("shop", readings()["shop"].to_numpy()[AT : AT + 1] + 30), "shop")
    assert calm[AT] == Reason.SPIKE


def test_the_first_day_has_no_ordinary_to_compare_with():
    power = readings()
    power.iloc[10:90:8, 0] += 30
    assert verdicts(power, "shop")[:DAY].max() == Reason.OK


def test_zero_is_stuck_while_the_neighbours_run():
    codes = verdicts(spoil("shop", [0.0] * 40), "shop")
    assert only(codes, Reason.STUCK_AT_ZERO, slice(AT, AT + 40))
    assert verdicts(spoil("park", [0.0] * 8), "park")[AT : AT + 8].min() == Reason.STUCK_AT_ZERO


def test_zero_is_real_where_the_neighbours_rest_too():
    power = readings()
    power.iloc[AT : AT + 8, power.columns.get_indexer(["park", "roof"])] = 0
    assert verdicts(power, "park").max() == Reason.OK


def test_a_plant_of_unknown_technology_has_no_neighbours():
    power = spoil("park", [0.0] * 8)
    entities = [dataclasses.replace(ENTITIES[name], extra={}) for name in power.columns]
    assert assess_readings(power, entities).ok[:, power.columns.get_loc("park")].all()


def test_a_lone_plant_that_never_rests_is_stuck_at_zero():
    codes = verdicts(spoil("biogas", [0.0] * 20), "biogas")
    assert only(codes, Reason.STUCK_AT_ZERO, slice(AT, AT + 20))


def test_a_lone_plant_stays_stuck_past_midnight():
    codes = verdicts(spoil("biogas", [0.0] * 2 * DAY), "biogas")
    assert only(codes, Reason.STUCK_AT_ZERO, slice(AT, AT + 2 * DAY))


def test_an_outage_of_weeks_becomes_a_fact_after_three_days():
    start = 10 * DAY
    codes = verdicts(spoil("shop", [0.0] * 20 * DAY, at=start), "shop")
    assert only(codes, Reason.STUCK_AT_ZERO, slice(start, start + 3 * DAY))


def test_gaps_are_counted_and_measured():
    report = judge(spoil("shop", [np.nan] * 10))
    shop = report.summary[0]
    assert shop.counts[Reason.GAP] == report.count(Reason.GAP) == 10
    assert shop.longest_gap == pd.Timedelta(minutes=150)
    assert shop.share(Reason.GAP) == pytest.approx(10 / STEPS)
    assert report.flagged_share == shop.flagged_share == 0
    assert report.summary[1].longest_gap == pd.Timedelta(0)


def test_counts_and_shares_agree_with_the_codes():
    report = judge(spoil("shop", [*[42.0] * 20, np.nan, 999.0]))
    shop = report.summary[0]
    assert sum(shop.counts.values()) == shop.readings == STEPS
    assert shop.flagged_share == pytest.approx(21 / (STEPS - 1))
    assert report.flagged_share == pytest.approx(21 / (STEPS * 6 - 1))


def test_an_entity_without_capacity_is_judged_by_its_recent_peaks():
    power = spoil("shop", [200.0])
    entities = [dataclasses.replace(ENTITIES[name], capacity=None) for name in power.columns]
    report = assess_readings(power, entities)
    assert only(report.codes[:, 0], Reason.OUT_OF_RANGE, [AT])
    assert report.ok[:, 1:].all()


def test_an_entity_without_capacity_that_never_ran_is_left_alone():
    power = readings().assign(shop=np.float32(0))
    entities = [dataclasses.replace(ENTITIES[name], capacity=None) for name in power.columns]
    assert assess_readings(power, entities).ok[:, 0].all()


def test_thresholds_are_configurable():
    tight = {kind: dataclasses.replace(CONSUMER, flat_hours=0.5) for kind in Kind}
    power = spoil("shop", [42.0] * 4)
    codes = verdicts(power, "shop", kinds=tight, fewest_readings=2)
    assert only(codes, Reason.FLATLINE, slice(AT, AT + 4))


def test_hourly_readings_need_more_than_a_coincidence():
    power = readings().iloc[::4].copy()
    power.iloc[800:805, 0] = 42.0
    assert verdicts(power, "shop").max() == Reason.OK
    power.iloc[800:806, 0] = 42.0
    assert (verdicts(power, "shop") == Reason.FLATLINE).sum() == 6


def test_a_single_reading_can_be_judged():
    assert judge(readings().iloc[:1]).ok.all()


@pytest.fixture(scope="module")
def faulty():
    power = readings()
    rng = np.random.default_rng(1)
    for name in power.columns:
        for length in (1, 2, 30, 400):
            start = rng.integers(1, STEPS - length)
            value = rng.choice([0.0, np.nan, 5 * ENTITIES[name].capacity, power[name].iloc[start]])
            power.iloc[start : start + length, power.columns.get_loc(name)] = value
    return power


def test_the_look_back_is_all_a_live_service_needs(faulty):
    whole, lookback = judge(faulty), QualityRules().lookback
    for position in range(30 * DAY, STEPS, 7 * 24):
        now = faulty.index[position]
        recent = judge(faulty.loc[now - lookback : now])
        until_now = judge(faulty.loc[:now])
        np.testing.assert_array_equal(recent.codes[-1], until_now.codes[-1])
    assert not whole.ok.all()


def test_a_verdict_is_final_when_it_has_settled(faulty):
    whole, rules = judge(faulty), QualityRules()
    for at, name in enumerate(faulty.columns):
        settle = rules.settles_after(ENTITIES[name], pd.Timedelta("15min"))
        for position in range(5 * DAY, STEPS - 2 * DAY, 150):
            now = faulty.index[position]
            seen = judge(faulty.loc[: now + settle])
            assert seen.codes[position, at] == whole.codes[position, at]


def test_cleaning_takes_out_what_is_flagged_and_nothing_else():
    dataset = simulate_grid(entities=4, steps=DAY * 10, seed=1)
    power = dataset.power.copy()
    power.iloc[500:540, -1] = power.iloc[499, -1]
    dataset = dataclasses.replace(dataset, power=power)
    report = assess(dataset)
    cleaned = report.clean(dataset)
    np.testing.assert_array_equal(cleaned.power.notna(), report.ok)
    kept = power.where(report.ok)
    pd.testing.assert_frame_equal(cleaned.power, kept, check_freq=False)
    assert not report.ok[500:540, -1].any()
    with pytest.raises(DataError, match="other times or entities"):
        judge(readings()).clean(dataset)


def test_readings_nobody_describes_are_named():
    with pytest.raises(DataError, match="'shop'"):
        assess_readings(readings(), [ENTITIES["park"]])
    with pytest.raises(DataError, match="no readings"):
        assess_readings(readings().iloc[:0], list(ENTITIES.values()))
    with pytest.raises(DataError, match="UTC"):
        judge(readings().tz_localize(None))
