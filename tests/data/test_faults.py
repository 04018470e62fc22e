import numpy as np
import pytest

from clearwatt.data.faults import FAULTS, detection, inject_faults
from clearwatt.data.quality import Reason, assess
from clearwatt.data.simulate import simulate_grid
from clearwatt.errors import ConfigurationError


@pytest.fixture(scope="module")
def grid():
    return simulate_grid(entities=24, steps=12_000, seed=3)


def assert_accurate(dataset, *, seed):
    spoiled, truth = inject_faults(dataset, seed=seed)
    found = detection(assess(spoiled), truth)
    # A gap is flagged by being absent; counting it would only embellish the share.
    real = [fault for fault in found if fault.fault is not Reason.GAP]
    share = sum(fault.flagged for fault in real) / sum(fault.readings for fault in real)
    each = {fault.fault.label: f"{fault.share:.1%} of {fault.readings}" for fault in found}
    assert assess(dataset).flagged_share < 0.005
    assert share >= 0.95, each
    assert min(fault.share for fault in real) >= 0.9, each


@pytest.mark.parametrize("seed", [0, 1])
def test_defaults_spare_the_clean_grid_and_find_the_faults(grid, seed):
    assert_accurate(grid, seed=seed)


@pytest.mark.slow
def test_defaults_spare_the_clean_full_grid_and_find_the_faults():
    assert_accurate(simulate_grid(), seed=0)


def test_the_truth_marks_exactly_the_readings_that_changed(grid):
    spoiled, truth = inject_faults(grid, seed=0)
    before, after = grid.power.to_numpy(), spoiled.power.to_numpy()
    changed = ~((before == after) | np.isnan(before))
    np.testing.assert_array_equal(truth > 0, changed)
    assert set(np.unique(truth)) == {Reason.OK, *FAULTS}


def test_the_same_seed_gives_the_same_faults_and_another_others(grid):
    first, again, other = (inject_faults(grid, seed=seed)[1] for seed in (5, 5, 6))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


def test_leaving_an_entity_out_does_not_change_the_others(grid):
    names = list(grid.power.columns[3:])
    whole, part = inject_faults(grid)[1], inject_faults(grid.select(names))[1]
    np.testing.assert_array_equal(whole[:, 3:], part)


def test_only_the_faults_asked_for_are_injected(grid):
    _, truth = inject_faults(grid, faults=[Reason.SPIKE], per_entity=3)
    assert set(np.unique(truth)) == {Reason.OK, Reason.SPIKE}
    assert 3 <= np.count_nonzero(truth, axis=0).max() <= 6


def test_impossible_wishes_are_refused(grid):
    with pytest.raises(ConfigurationError, match="per_entity is 0"):
        inject_faults(grid, per_entity=0)
    with pytest.raises(ConfigurationError, match="SPIKE"):
        inject_faults(grid, faults=[])
