"""The reservoir: bounded, recent rows preferred, old ones not lost at once."""

import numpy as np
import pytest

from clearwatt.adaptive.reservoir import Reservoir


def filled(rows, *, capacity=100, memory=1_000.0, seed=0, block=None):
    reservoir = Reservoir.empty(capacity, memory=memory, inputs=1, entities=1, lags=1)
    rng = np.random.default_rng(seed)
    for start in range(0, rows, block or rows):
        at = np.arange(start, min(start + (block or rows), rows))
        values = at[:, None].astype(np.float32)
        reservoir = reservoir.offer(
            at, seen=values, lagged=2 * values[..., None], y=-values, novel=values > 50, rng=rng
        )
    return reservoir


def test_it_keeps_all_until_it_is_full_and_never_more():
    np.testing.assert_array_equal(filled(60).at, np.arange(60))
    assert len(filled(5_000)) == 100


def test_ages_are_exponential_around_the_memory():
    ages = np.concatenate([20_000 - filled(20_000, seed=seed).at for seed in range(5)])
    assert ages.mean() == pytest.approx(1_000, rel=0.15)
    assert np.median(ages) == pytest.approx(1_000 * np.log(2), rel=0.2)


def test_inputs_and_measurements_stay_with_their_step():
    reservoir = filled(3_000)
    np.testing.assert_array_equal(reservoir.seen[:, 0], reservoir.at)
    np.testing.assert_array_equal(reservoir.lagged[:, 0, 0], 2 * reservoir.at)
    np.testing.assert_array_equal(reservoir.y[:, 0], -reservoir.at)
    np.testing.assert_array_equal(reservoir.novel[:, 0], reservoir.at > 50)


def test_the_size_of_blocks_does_not_matter():
    np.testing.assert_array_equal(filled(2_000).at, filled(2_000, block=7).at)
