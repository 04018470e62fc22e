import numpy as np
import pytest

from clearwatt.experiment.intervals import IntervalScores, score_intervals
from clearwatt.intervals import LEVELS

DAY = 24
AT = np.arange(60 * DAY, dtype=np.int64)


def test_scores_look_at_three_days_after_updates_and_drifts():
    targets = np.zeros(20 * DAY)
    quantiles = np.tile(np.linspace(-1, 1, len(LEVELS)), (len(targets), 1))
    targets[5 * DAY : 6 * DAY] = 2.0
    found = score_intervals(
        targets, quantiles, at=AT[: len(targets)], day=DAY, updates=[DAY, 4 * DAY], drifts=[5 * DAY]
    )
    assert found.overall.coverage_90 == pytest.approx(19 / 20)
    assert found.overall.width_90 == 2.0
    assert found.after_updates.samples == 6 * DAY
    assert found.after_updates.coverage_90 == pytest.approx(5 / 6)
    assert found.least_after_update == pytest.approx(2 / 3)
    assert found.after_drifts.coverage_90 == pytest.approx(2 / 3)


def test_what_was_never_measured_has_no_score():
    targets = np.full(DAY, np.nan)
    found = score_intervals(
        targets, np.zeros((DAY, len(LEVELS))), at=AT[:DAY], day=DAY, updates=[0], drifts=[]
    )
    assert found == IntervalScores(None, None, None, None)
