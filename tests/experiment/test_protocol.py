from dataclasses import replace

import numpy as np
import pytest

from clearwatt.errors import ConfigurationError, DataError
from clearwatt.experiment.protocol import Phases, divide

PHASES = Phases(warmup=400, updating=600, test=200)


def test_shares_are_the_papers_at_any_length():
    assert Phases.scaled(67_764) == Phases(10_000, 54_764, 3_000)
    half = Phases.scaled(33_882)
    assert (half.warmup, half.updating, half.test) == (5_000, 27_382, 1_500)
    for length in (1_201, 17_494, 58_156):
        assert Phases.scaled(length).length == length


def test_a_phase_of_nothing_is_refused():
    with pytest.raises(ConfigurationError, match="test phase takes 0 steps"):
        Phases(100, 100, 0)
    with pytest.raises(ConfigurationError, match="test phase takes 4 steps"):
        Phases.scaled(100)


def test_zones_are_divided_apart_and_incomplete_inputs_left_out(grid):
    division = divide(grid, PHASES, grid.names)
    north, south = division.zones
    assert (north.entities, south.entities) == (("farm", "park"), ("town",))
    assert len(north.warmup.at) == 400
    missing = set(range(400)) - set(south.warmup.at.tolist())
    assert missing == set(range(300, 340))
    assert [len(span.at) for span in division.test] == [200, 200]
    for zone in division.zones:
        assert np.isfinite(zone.warmup.x).all() and np.isfinite(zone.updating.x).all()


def test_an_unknown_capacity_is_the_peak_of_the_warm_up(grid):
    south = divide(grid, PHASES, ["town"]).zones[0]
    raw = grid.power["town"].to_numpy()[:400]
    np.testing.assert_allclose(
        south.warmup.y[:, 0], raw[south.warmup.at] / np.abs(raw).max(), rtol=1e-6
    )


def test_the_fingerprint_tells_data_apart_but_does_not_read_the_test_phase(grid):
    def fingerprint(row: int) -> str:
        power = grid.power.copy()
        power.iloc[row, 2] += 1
        return divide(replace(grid, power=power), PHASES, grid.names).fingerprint()

    same = divide(grid, PHASES, grid.names).fingerprint()
    assert fingerprint(1_100) == same
    assert fingerprint(900) != same


def test_data_shorter_than_the_phases_are_refused(grid):
    with pytest.raises(DataError, match="1200 steps, fewer than the 1201"):
        divide(grid, Phases(400, 600, 201), grid.names)


def test_an_entity_without_measurements_to_learn_from_is_named(grid):
    power = grid.power.copy()
    power.iloc[400:1000, 1] = np.nan
    with pytest.raises(DataError, match=r"'park' has fewer than 10 measurements.*updating"):
        divide(replace(grid, power=power), PHASES, grid.names)


def test_a_zone_without_inputs_in_a_phase_is_named(grid):
    weather = {zone: frame.copy() for zone, frame in grid.weather.items()}
    weather["south"].iloc[990:] = np.nan
    with pytest.raises(DataError, match=r"zone 'south' has complete inputs for 0 of the 200.*test"):
        divide(replace(grid, weather=weather), PHASES, grid.names)
