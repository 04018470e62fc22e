import pandas as pd
import pytest

from clearwatt.data.simulate.drift import DriftEffects, grid_changes, resolve_factors
from clearwatt.data.simulate.site import Site, SiteClock
from clearwatt.data.simulate.world import World, create_world

YEAR = 365 * 96


def make_world(steps, *, seed=0, start="2023-01-01", drifts=None):
    changes = grid_changes(resolve_factors(drifts), steps=steps)
    first = pd.Timestamp(start, tz="UTC")
    return create_world(first, steps, changes=changes, site=Site(), seed=seed)


@pytest.fixture(scope="session")
def year() -> World:
    """One calendar year, with no change of the weather model."""
    return make_world(YEAR, drifts={"nwp_change": 0})


@pytest.fixture(scope="session")
def undisturbed() -> DriftEffects:
    return DriftEffects(YEAR, {})


@pytest.fixture
def clock():
    def build(start: str, periods: int, freq: str = "15min") -> SiteClock:
        return SiteClock(Site(), pd.date_range(start, periods=periods, freq=freq, tz="UTC"))

    return build
