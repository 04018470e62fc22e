import numpy as np

from clearwatt.intervals.histogram import BINS, histogram, histogram_quantiles
from clearwatt.intervals.levels import LEARNED_LEVELS


def test_quantiles_are_those_of_the_samples():
    z = np.random.default_rng(0).standard_t(4, size=(20_000, 2))
    found = histogram_quantiles(histogram(z))
    # A bin is 2 / BINS wide in z / (1 + |z|); read off with a straight line it is told finer.
    np.testing.assert_allclose(
        found, np.quantile(z, LEARNED_LEVELS, axis=0).T, atol=0.03, rtol=0.05
    )
    assert (np.diff(found, axis=1) > 0).all()


def test_without_samples_there_are_quantiles_all_the_same():
    assert np.isfinite(histogram_quantiles(np.zeros((1, BINS)))).all()


def test_what_was_not_measured_is_not_counted_and_anything_has_a_bin():
    z = np.array([[np.nan], [0.0], [1e9], [-1e9], [1e300]])
    counts = histogram(z)
    assert counts.sum() == 4
    assert counts[0, [0, -1]].tolist() == [1, 2]
    assert counts.shape == (1, BINS)
