"""Judgements over two weeks: only when full, until the next, and kept in a saved state."""

import numpy as np
import pytest

from clearwatt.service.learner.apply.two_weeks import TwoWeeks

DAY = 86_400


def checked(columns=1):
    made = TwoWeeks(2, fails=lambda sums: sums[:, 1] > sums[:, 0])
    made.add_columns(columns)
    return made


def fed(made, days, *sums):
    """Add these sums (one per entity) on each day; returns (day, entity) of each change."""
    changes = []
    for day in days:
        made.add(day * DAY, np.array(sums, float))
        changes += [(day + 1, column) for column in made.judge((day + 1) * DAY, steps=24)]
    return changes


def test_an_entity_is_judged_after_two_weeks_and_again_when_it_recovers():
    made = checked()
    assert fed(made, range(13), [24, 30]) == []
    assert fed(made, range(13, 20), [24, 30]) == [(14, 0)]
    assert made.failing.tolist() == [True]
    assert made.total.tolist() == [[14 * 24, 14 * 30]]
    # Of 14 days, seven with +6 and seven with -6 are balanced.
    assert fed(made, range(20, 30), [24, 18]) == [(27, 0)]
    assert made.failing.tolist() == [False]


def test_entities_are_judged_each_by_itself():
    made = checked(2)
    assert fed(made, range(14), [24, 30], [24, 3]) == [(14, 0)]
    made.add_columns(1)
    assert fed(made, range(14, 27), [24, 30], [24, 3], [24, 30]) == []
    assert fed(made, range(27, 28), [24, 30], [24, 3], [24, 30]) == [(28, 2)]


@pytest.mark.parametrize(("count", "expected"), [(12, [True]), (11, [False])])
def test_half_of_the_readings_are_enough(count, expected):
    made = checked()
    fed(made, range(14), [count, 30])
    assert made.failing.tolist() == expected


def test_with_too_few_readings_the_judgement_stays():
    made = checked()
    fed(made, range(14), [24, 30])
    assert fed(made, range(14, 40), [0, 0]) == []
    assert made.failing.tolist() == [True]
    assert made.total.tolist() == [[0, 0]]


def test_later_days_do_not_count():
    made = checked()
    for day in range(16):
        made.add(day * DAY, np.array([[24.0, 30.0 if day < 14 else 0.0]]))
    assert made.judge(14 * DAY, steps=24).tolist() == [0]
    assert made.total.tolist() == [[14 * 24, 14 * 30]]
    made.judge(16 * DAY, steps=24)
    assert made.total.tolist() == [[14 * 24, 12 * 30]]


def test_a_saved_state_goes_on_as_if_never_stopped():
    made, found = checked(2), TwoWeeks(2, fails=lambda sums: sums[:, 1] > sums[:, 0])
    fed(made, range(15), [24, 30], [24, 3])
    found.restore(made.tensors(), columns=2)
    rest = [each.judge(16 * DAY, steps=24).tolist() for each in (made, found)]
    assert rest[0] == rest[1]
    assert found.total.tolist() == made.total.tolist()
    assert found.failing.tolist() == [True, False]
    assert len(found.sums) == 13


def test_without_a_saved_state_it_begins():
    made = TwoWeeks(2, fails=lambda sums: sums[:, 1] > sums[:, 0])
    made.restore({}, columns=3)
    assert made.failing.tolist() == [False] * 3
    assert made.sums == {}
