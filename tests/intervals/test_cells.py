import numpy as np
import pytest

from clearwatt.intervals.cells import (
    BANDS,
    FAR,
    FLOOR,
    SLOTS,
    CellSpread,
    CellSums,
    ResidualCells,
)


def cells(day=24, parts=12, entities=1):
    return ResidualCells(day, parts, np.zeros(entities), np.full(entities, 1 / BANDS))


def test_bands_are_of_equal_height_and_hold_forecasts_beyond_the_usual():
    bands = cells().bands(np.array([[-1.0], [0.01], [0.49], [0.51], [0.99], [7.0]]))
    assert bands[:, 0].tolist() == [0, 0, 2, 3, BANDS - 1, BANDS - 1]


def test_fitted_bands_reach_over_the_usual_forecasts():
    fitted = ResidualCells.fit(np.linspace(0, 100, 10_001)[:, None], day=24, parts=12)
    assert fitted.lowest == pytest.approx([1.0])
    assert fitted.height == pytest.approx([98 / BANDS])


def test_a_constant_forecast_has_a_band():
    fitted = ResidualCells.fit(np.full((9, 1), 3.0), day=24, parts=12)
    assert 0 <= fitted.bands(np.array([[3.0]]))[0, 0] < BANDS


def test_places_are_by_entity_part_of_the_day_and_band():
    two = cells(entities=2)
    places = two.places(np.array([[1, 2], [0, 5]]), np.array([0, 24 + 23]))
    last = 11 * BANDS
    assert places.tolist() == [[1, two.count + 2], [last, two.count + last + 5]]


def test_of_many_steps_a_day_all_are_learned_from_in_turn():
    quarters = cells(day=96)
    assert (quarters.stride, quarters.slots) == (96 // SLOTS, SLOTS)
    learned = [quarters.rows_to_learn(np.arange(d * 96, (d + 1) * 96)) for d in range(4)]
    assert [len(rows) for rows in learned] == [SLOTS] * 4
    assert sorted(np.concatenate(learned).tolist()) == list(range(96))


def test_rows_learned_from_are_counted_up_to_a_step():
    quarters = cells(day=96)
    for step in (0, 95, 96, 97, 300):
        first = step // 96 * 96
        expected = len(quarters.rows_to_learn(np.arange(first, step + 1)))
        assert quarters.count_until(step) == expected


def test_selected_cells_are_those_of_the_entities():
    three = ResidualCells(24, 12, np.array([0.0, 1.0, 2.0]), np.array([3.0, 4.0, 5.0]))
    selected = three.select(np.array([2, 0]))
    assert (selected.lowest.tolist(), selected.height.tolist()) == ([2.0, 0.0], [5.0, 3.0])


def test_residuals_are_normalised_by_their_cells_and_limited():
    spread = CellSpread(np.array([[1.0, 0.0]]), np.array([[2.0, 1e-9]]))
    places = np.array([[0], [1], [1]])
    units = spread.normalise(np.array([[5.0], [1.0], [-1.0]]), places)
    assert units[:, 0].tolist() == [2.0, FAR, -FAR]


def sums_of(residuals, places, parts=1):
    values = np.array(residuals)[:, None]
    return CellSums.add_up(
        values, np.abs(values), places=np.array(places)[:, None], cells=parts * BANDS
    )


def test_sums_leave_out_what_was_not_measured():
    sums = sums_of([1.0, -3.0, np.nan, 5.0], [0, 0, 0, 2])
    assert sums.samples[0, :3].tolist() == [2, 0, 1]
    assert sums.residuals[0, :3].tolist() == [-2, 0, 5]
    assert sums.distances[0, :3].tolist() == [4, 0, 5]


def test_sums_fade():
    faded = sums_of([4.0], [0]).fade(np.array([[0.5]]), sums_of([1.0], [0]))
    assert (faded.samples[0, 0], faded.residuals[0, 0]) == (1.5, 3.0)


def test_a_cell_with_many_samples_has_its_own_location_and_scale():
    """Neither the parts of the day nor the bands differ; only their combinations do."""
    cells = [0, 1, BANDS, BANDS + 1]
    residuals = np.repeat([2.0, -1.0, -1.0, 2.0], 50_000)
    spread = sums_of(residuals, np.repeat(cells, 50_000), parts=2).spread()
    assert spread.location[0, cells] == pytest.approx([2.0, -1.0, -1.0, 2.0], abs=1e-3)
    assert spread.scale[0, cells] == pytest.approx([2.0, 1.0, 1.0, 2.0], abs=1e-3)


def test_a_cell_without_samples_takes_after_its_band_and_part():
    spread = sums_of([2.0] * 100 + [-1.0] * 100, [0] * 100 + [BANDS + 1] * 100, parts=2).spread()
    near, far = spread.location[0, 0], spread.location[0, BANDS + 1]
    assert far < spread.location[0, 1] < near
    assert (spread.scale > 0).all()


def test_no_scale_is_far_below_the_largest():
    spread = sums_of([1.0] * 1000 + [0.0] * 10**6, [0] * 1000 + [BANDS + 1] * 10**6, 2).spread()
    assert spread.scale.min() == pytest.approx(FLOOR * spread.scale.max())
