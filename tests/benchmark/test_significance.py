"""Whether the test finds what is there, and only that."""

import numpy as np
import pytest
from scipy import stats

from clearwatt.benchmark.significance import MIN_DAYS, difference, long_run_variance


def correlated(rng: np.random.Generator, n: int, memory: float) -> np.ndarray:
    values = rng.normal(size=n)
    for at in range(1, n):
        values[at] += memory * values[at - 1]
    return values


def test_a_lower_loss_every_day_is_found():
    rng = np.random.default_rng(0)
    loss = rng.random(300)
    found = difference(loss, loss + 0.1 + 0.1 * rng.random(300))
    assert found.is_significant
    assert found.mean < 0


def test_the_other_way_round_is_the_other_way_round():
    rng = np.random.default_rng(1)
    one, two = rng.random(100), rng.random(100)
    there, back = difference(one, two), difference(two, one)
    assert there.mean == pytest.approx(-back.mean)
    assert there.p == pytest.approx(back.p)


def test_equal_losses_are_not_different():
    loss = np.random.default_rng(2).random(50)
    found = difference(loss, loss)
    assert (found.mean, found.p) == (0.0, 1.0)


@pytest.mark.parametrize(("memory", "most"), [(0.0, 0.08), (0.5, 0.13)])
def test_chance_is_seldom_taken_for_more_also_when_bad_days_come_in_a_row(memory, most):
    rng = np.random.default_rng(3)
    series = [(correlated(rng, 400, memory), correlated(rng, 400, memory)) for _ in range(400)]
    assert np.mean([difference(*pair).is_significant for pair in series]) < most
    if memory:  # a t-test that takes days to be independent is fooled far more often
        plain = [stats.ttest_1samp(one - two, 0).pvalue < 0.05 for one, two in series]
        assert np.mean(plain) > 1.5 * most


def test_without_lags_it_is_the_plain_variance():
    values = np.random.default_rng(4).normal(size=200)
    assert long_run_variance(values, 0) == pytest.approx(values.var())


def test_days_that_one_lacks_do_not_count():
    rng = np.random.default_rng(5)
    one, two = rng.random(60), rng.random(60)
    gappy = [None if at % 3 == 0 else value for at, value in enumerate(one)]
    kept = [at for at in range(60) if at % 3]
    assert difference(gappy, two) == difference(one[kept], two[kept])


def test_few_days_say_nothing():
    assert difference([0.0] * (MIN_DAYS - 1), [1.0] * (MIN_DAYS - 1)) is None
