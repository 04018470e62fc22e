"""One grid for all tests of suspicions."""

from __future__ import annotations

import pytest
from tests.data.suspicion.grid import Grid, small_grid


@pytest.fixture(scope="session")
def grid() -> Grid:
    return small_grid()
