"""What proves that a lie has ended, and which readings are right again."""

from __future__ import annotations

import numpy as np
import pytest

from clearwatt.data.suspicion import Lie
from clearwatt.data.suspicion.recovery import Past, first_right_row, has_ended

DAY = 24
DAYS = np.random.default_rng(1).uniform(0.2, 1, (33, DAY))
PAST = Past(DAYS[:28], DAYS[28:32])
TODAY = DAYS[32]


@pytest.mark.parametrize("lie", [Lie.SPIKES, Lie.FEW_VALUES, Lie.REPLAY, Lie.FROZEN])
@pytest.mark.parametrize("nothing", [np.nan, 0.0])
def test_a_day_that_shows_nothing_ends_no_suspicion(lie, nothing):
    assert has_ended(lie, 1.5, power=TODAY, past=PAST)
    assert not has_ended(lie, 1.5, power=np.full(DAY, nothing), past=PAST)


def test_some_readings_without_spikes_do_not_end_their_suspicion():
    power = np.where(np.arange(DAY) < 8, TODAY, np.nan)
    assert not has_ended(Lie.SPIKES, 1.5, power=power, past=PAST)


def test_a_right_reading_may_equal_one_of_another_day():
    held = np.repeat(DAYS[28:31, ::3], 3, axis=1).ravel()
    right = np.concatenate([DAYS[31], TODAY])
    right[[5, 30]] = held[[2, 40]]
    power = np.concatenate([held, right])
    assert first_right_row(Lie.FEW_VALUES, 0, power=power, past=PAST) == 3 * DAY
    power[80:82] = power[80]
    assert first_right_row(Lie.FEW_VALUES, 0, power=power, past=PAST) == 82
