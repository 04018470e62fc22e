import numpy as np
import pytest

from clearwatt.intervals.cells import BANDS, ResidualCells
from clearwatt.intervals.levels import LEARNED_LEVELS
from clearwatt.intervals.quantile_model import QuantileModel

CELLS = ResidualCells(24, 1, np.zeros(1), np.full(1, 1 / BANDS))
LEVELS = np.asarray(LEARNED_LEVELS)
STEP = np.array([0])
OPEN = np.array([[-np.inf], [np.inf]])


def model(**parts):
    """Standardised residuals are spread evenly: the quantile at level p is p - 0.5."""
    usual = {
        "location": np.zeros((1, BANDS)),
        "scale": np.ones((1, BANDS)),
        "bias": np.zeros(1),
        "size": np.ones(1),
        "wide": np.zeros(1),
        "table": LEVELS[None] - 0.5,
    }
    return QuantileModel(**(usual | parts))


def quantiles(of, levels, forecast=0.5, limits=OPEN):
    found = of.quantiles(
        np.array([[forecast]]), STEP, cells=CELLS, levels=np.array(levels), limits=limits
    )
    return found[0, 0]


def test_quantiles_are_linear_between_learned_levels_and_constant_beyond():
    assert quantiles(model(), [0.3, 0.5, 0.62]) == pytest.approx([0.3, 0.5, 0.62])
    assert quantiles(model(), [1e-6, 1 - 1e-6]) == pytest.approx([LEVELS[0], LEVELS[-1]])


def test_each_parameter_moves_or_stretches_quantiles():
    levels = [0.3, 0.7]
    assert quantiles(model(bias=np.ones(1)), levels) == pytest.approx([1.3, 1.7])
    assert quantiles(model(size=np.full(1, 2.0)), levels) == pytest.approx([0.1, 0.9])
    assert quantiles(model(wide=np.full(1, 0.5)), levels) == pytest.approx([0.2, 0.8])
    location, scale = np.arange(BANDS)[None] * 1.0, np.full((1, BANDS), 3.0)
    moved = model(location=location, scale=scale)
    assert quantiles(moved, levels, forecast=0.4) == pytest.approx([1.8, 3.0])


def test_quantiles_stay_within_the_limits():
    limits = np.array([[0.0], [0.9]])
    assert quantiles(model(), [0.1, 0.9], forecast=0.6, limits=limits)[1] == 0.9
    assert quantiles(model(), [0.1, 0.9], forecast=0.1, limits=limits)[0] == 0.0


def test_residuals_below_each_quantile_are_counted():
    table = LEVELS[None] - 0.5
    z = np.array([[-9.0], [table[0, 0]], [table[0, -1]], [9.0], [np.nan]])
    below = model().count_below(z)
    # One that equals a quantile is a miss on neither side.
    assert below[0, 0] == 1
    assert below[0, -1] == 3


def test_the_long_term_part_is_location_and_scale():
    location = np.arange(BANDS)[None] * 1.0
    assert model(location=location).spread.location is location
