import numpy as np
import pytest

from clearwatt.intervals.cells import ResidualCells
from clearwatt.intervals.long_term import LongTermStatistics
from clearwatt.intervals.pending import DAYS, ResidualRows
from clearwatt.intervals.rates import CalibrationRates
from clearwatt.intervals.state import CalibratorState

CELLS = ResidualCells(24, 12, np.zeros(2), np.ones(2))
RATES = CalibrationRates()
SLOTS = np.arange(24)
RESIDUALS = np.random.default_rng(3).normal(size=(40 * 24, 2))


def places(rows):
    return CELLS.places(np.zeros((rows, 2), np.int64), np.arange(rows))


def start(lag=1):
    rows = 20 * 24
    long_term = LongTermStatistics.start(RESIDUALS[:rows], places(rows), cells=CELLS, rates=RATES)
    return CalibratorState(CELLS, lag=lag, rates=RATES, long_term=long_term)


def add(state, day, into=0, scale=1.0):
    """Add the residuals of a day to the current day or one after it."""
    residuals = scale * RESIDUALS[day * 24 : (day + 1) * 24]
    state.add_rows(ResidualRows(SLOTS, SLOTS, places(24), residuals), into)


def assert_same(one, other):
    wanted = other.arrays()
    assert one.arrays().keys() == wanted.keys()
    for name, array in one.arrays().items():
        np.testing.assert_array_equal(array, wanted[name], err_msg=name)


def test_days_together_give_what_days_one_by_one_give():
    one, together = start(), start()
    for day in range(3):
        add(one, 20 + day)
        one.learn(1)
        add(together, 20 + day, into=day)
    together.learn(3)
    assert (one.held, together.held) == (3, 3)
    assert_same(one, together)


def test_a_model_is_used_as_many_days_later_as_the_lag():
    state = start(lag=2)
    first = state.models
    add(state, 20, scale=5.0)
    [used] = state.learn(1)
    assert used is first[0]
    assert state.models[:2] == first[1:]
    assert (state.models[2].size > first[2].size).all()


def test_long_term_statistics_are_updated_when_the_pending_days_are_full():
    state = start()
    before = state.long_term
    for day in range(DAYS):
        assert state.long_term is before
        assert state.free_days == DAYS - day
        add(state, 20 + day)
        state.learn(1)
    assert state.long_term is not before
    assert state.free_days == DAYS
    assert np.isnan(state.pending.residuals).all()


def test_the_widening_narrows_with_its_half_life():
    state = start()
    add(state, 20)
    state.learn(1)
    assert state.wide == pytest.approx([RATES.start_wide * 0.5 ** (1 / RATES.narrowing)] * 2)


def test_a_new_model_widens_its_entity_alone():
    state = start()
    before = state.models
    state.replace_models(np.array([1]), np.full((48, 1), 2.0), np.ones(48))
    assert state.wide.tolist() == [RATES.start_wide, RATES.swap_wide]
    for old, new in zip(before, state.models, strict=True):
        assert new.bias[0] == old.bias[0]
        assert new.bias[1] > old.bias[1] + 0.5
        assert new.wide.tolist() == state.wide.tolist()


def test_a_copy_is_independent():
    state, same = start(), start()
    copy = state.copy()
    add(copy, 20, scale=9.0)
    copy.learn(1)
    assert_same(state, same)
    assert (copy.held, state.held) == (1, 0)


def test_arrays_restore_a_state_that_goes_on_alike():
    state = start()
    add(state, 20)
    state.learn(1)
    add(state, 21)
    state.normalise_today(7)
    again = CalibratorState.from_arrays(
        state.arrays(), cells=CELLS, lag=1, rates=RATES, held=state.held, settled=state.settled
    )
    for each in (state, again):
        add(each, 22, into=1)
        each.learn(2)
    assert_same(again, state)
