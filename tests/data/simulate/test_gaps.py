import numpy as np

from clearwatt.data.simulate.gaps import missing_readings


def runs(lost):
    edges = np.diff(np.r_[0, lost.astype(int), 0])
    return np.flatnonzero(edges == -1) - np.flatnonzero(edges == 1)


def test_few_readings_are_missing_most_gaps_short_some_long():
    lost = [missing_readings(f"entity {i}", 67_764, seed=0) for i in range(95)]
    assert 0.001 < np.mean(lost) < 0.005
    lengths = np.concatenate([runs(each) for each in lost])
    assert np.median(lengths) <= 4
    assert lengths.max() > 96


def test_gaps_are_each_entitys_own():
    assert (missing_readings("a", 9999, seed=0) == missing_readings("a", 9999, seed=0)).all()
    assert (missing_readings("a", 9999, seed=0) != missing_readings("b", 9999, seed=0)).any()
    assert (missing_readings("a", 9999, seed=0) != missing_readings("a", 9999, seed=1)).any()
