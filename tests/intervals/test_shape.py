import numpy as np

from clearwatt.intervals.cells import BANDS
from clearwatt.intervals.levels import KNOTS
from clearwatt.intervals.shape import BINS, histogram, quantiles_of


def test_quantiles_are_those_of_the_samples():
    z = np.random.default_rng(0).standard_t(4, size=(20_000, 2))
    bands = np.random.default_rng(1).integers(0, BANDS, size=z.shape)
    found = quantiles_of(histogram(z, bands))
    wanted = np.quantile(z[:, 1], KNOTS)
    # A bin is 2 / BINS wide in z / (1 + |z|); read off with a straight line it is told finer.
    np.testing.assert_allclose(found[1].mean(axis=0), wanted, atol=0.03, rtol=0.05)
    assert (np.diff(found, axis=2) > 0).all()


def test_a_band_without_samples_is_as_all_bands_together():
    z = np.random.default_rng(0).normal(size=(5_000, 1))
    found = quantiles_of(histogram(z, np.zeros(z.shape, np.int64)))
    np.testing.assert_allclose(found[0, 3], found[0, 0])


def test_what_was_not_measured_is_not_counted_and_anything_has_a_bin():
    z = np.array([[np.nan], [0.0], [1e9], [-1e9], [1e300]])
    counts = histogram(z, np.zeros(z.shape, np.int64))
    assert counts.sum() == 4
    assert counts[0, 0, [0, -1]].tolist() == [1, 2]
    assert counts.shape == (1, BANDS, BINS)
