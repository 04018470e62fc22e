from dataclasses import replace

import numpy as np
import pytest

from clearwatt.errors import ConfigurationError, DataError
from clearwatt.experiment.protocol import Phases, divide

SHORT = Phases(warmup=400, updating=600, test=160)


def test_shares_are_the_papers_at_any_length():
    assert Phases.for_length(67_764) == Phases(10_000, 54_764, 3_000)
    half = Phases.for_length(33_882)
    assert (half.warmup, half.updating, half.test) == (5_000, 27_382, 1_500)
    for length in (1_201, 17_494, 58_156):
        assert Phases.for_length(length).length == length


def test_a_phase_of_nothing_is_refused():
    with pytest.raises(ConfigurationError, match="test phase takes 0 steps"):
        Phases(100, 100, 0)
    with pytest.raises(ConfigurationError, match="test phase takes 4 steps"):
        Phases.for_length(100)


def test_phases_longer_than_an_array_are_refused():
    with pytest.raises(DataError, match="60 that the phases take"):
        Phases(30, 20, 10).split(np.zeros(59, np.float32))


def test_zones_are_divided_apart_and_incomplete_inputs_left_out(grid):
    division = divide(grid, SHORT, grid.names)
    north, south = division.zones
    assert (north.entities, south.entities) == (("farm", "park"), ("town",))
    assert north.warmup.at.tolist() == list(range(400))
    # 40 hours without weather lie in the south's warm-up, which takes the next 40 instead
    assert south.warmup.at.tolist() == [*range(300), *range(340, 440)]
    assert south.updating.at[0] == 440
    assert [len(span.at) for span in division.test] == [160, 160]
    for zone in division.zones:
        assert np.isfinite(zone.warmup.x).all() and np.isfinite(zone.updating.x).all()


def test_the_papers_shares_are_of_each_zones_own_samples(grid):
    division = divide(grid, None, grid.names)
    for zone, test, samples in zip(division.zones, division.test, (1200, 1160), strict=True):
        own = Phases.for_length(samples)
        lengths = (len(zone.warmup.at), len(zone.updating.at), len(test.at))
        assert lengths == (own.warmup, own.updating, own.test)


def test_scaling_knows_the_warm_up_of_its_zone_only(grid):
    power = grid.power.copy()
    power.iloc[440:, 2] *= 5
    same, other = (
        divide(each, SHORT, ["town"]).zones[0] for each in (grid, replace(grid, power=power))
    )
    np.testing.assert_array_equal(same.warmup.y, other.warmup.y)


def test_an_unknown_capacity_is_the_peak_of_the_warm_up(grid):
    south = divide(grid, SHORT, ["town"]).zones[0]
    raw = grid.power["town"].to_numpy()[:440]
    np.testing.assert_allclose(
        south.warmup.y[:, 0], raw[south.warmup.at] / np.abs(raw).max(), rtol=1e-6
    )


def test_the_fingerprint_tells_data_apart_but_does_not_read_the_test_phase(grid):
    def fingerprint(row: int) -> str:
        power = grid.power.copy()
        power.iloc[row, 2] += 1
        return divide(replace(grid, power=power), SHORT, grid.names).fingerprint()

    same = divide(grid, SHORT, grid.names).fingerprint()
    assert fingerprint(1_100) == same
    assert fingerprint(900) != same


def test_data_shorter_than_the_phases_are_refused(grid):
    with pytest.raises(DataError, match=r"'south' of 'three' .* 1160 steps, fewer than the 1161"):
        divide(grid, Phases(400, 600, 161), grid.names)


def test_an_entity_without_measurements_to_learn_from_is_named(grid):
    power = grid.power.copy()
    power.iloc[390:1010, 1] = np.nan
    with pytest.raises(DataError, match=r"^park: fewer than 10 measurements.*updating.*--without"):
        divide(replace(grid, power=power), SHORT, grid.names)
    power.iloc[390:1060, 2] = np.nan
    with pytest.raises(DataError, match=r"^park, town: fewer"):
        divide(replace(grid, power=power), SHORT, grid.names)


def test_data_too_short_for_the_papers_shares_are_told_by_zone_and_length(grid):
    short = grid.slice(grid.times[0], grid.times[100])
    with pytest.raises(DataError, match=r"'north' of 'three' .* 100 steps, too few to share out"):
        divide(short, None, grid.names)
