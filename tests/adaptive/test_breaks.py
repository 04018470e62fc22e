"""Breaks: levels, samples that are left out, and their number."""

import numpy as np

from clearwatt.adaptive.breaks import (
    EVERY_DAY,
    MOST_BREAKS,
    Break,
    current_level,
    current_levels,
    issued_before,
    left_out,
    levels_at,
    usable_since,
    with_break,
)

AT = np.arange(0, 100, 10)


def test_a_level_lasts_until_the_next_break():
    breaks = (Break(20, 30, 2.0), Break(50, 60, 0.25))
    found = levels_at([breaks, ()], AT, day=10)
    np.testing.assert_array_equal(found[:, 0], [1, 1, 2, 2, 2, 0.5, 0.5, 0.5, 0.5, 0.5])
    np.testing.assert_array_equal(found[:, 1], np.ones(10))
    np.testing.assert_array_equal(current_levels([breaks, ()]), [0.5, 1.0])


def test_the_level_of_one_entity_is_that_among_all():
    breaks = [(Break(2, 3, 1.7), Break(5, 6, 0.3), Break(7, 8, 2.9, scaled=(5, 6))), ()]
    assert [current_level(own) for own in breaks] == [1.7 * 0.3, 1.0]
    assert current_levels(breaks).tolist() == [1.7 * 0.3, 1.0]


def test_forecasts_of_the_day_after_a_break_was_found_did_not_know_of_it():
    found = issued_before([(Break(20, 30, 2.0),), ()], AT, delay=20)
    assert AT[found[:, 0]].tolist() == [30, 40]
    assert not found[:, 1].any()


def test_only_the_named_weekdays_before_a_break_are_left_out():
    weekend = (Break(20, 30, weekdays=(5, 6)),)
    days = np.arange(40)
    out = days[left_out(weekend, days, day=1)]
    assert out.tolist() == [5, 6, 12, 13, 19]
    assert usable_since(weekend) == 0
    assert usable_since((Break(20, 30, weekdays=EVERY_DAY),)) == 20


def test_breaks_are_bounded_and_the_level_stays():
    breaks = ()
    for step in range(3 * MOST_BREAKS):
        breaks = with_break(breaks, Break(step, step, 1.1))
    assert len(breaks) == MOST_BREAKS
    np.testing.assert_allclose(current_levels([breaks]), 1.1 ** (3 * MOST_BREAKS))
