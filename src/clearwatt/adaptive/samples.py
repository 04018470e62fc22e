"""Samples that arrive late or in time; measurements that are deleted or corrected."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from clearwatt.adaptive.levels import to_deviations
from clearwatt.adaptive.state import LearnerState
from clearwatt.adaptive.terms import lag_inputs
from clearwatt.arrays import BoolArray, Float64Array
from clearwatt.clock import Steps


class SampleBlock(NamedTuple):
    """Samples of one period of the schedule."""

    at: Steps
    """Steps, `n`, ascending."""
    x: Float64Array
    """Inputs, `n x d`."""
    measured: Float64Array
    """Measurements, `n x e`; NaN where there is none. In deviations once they are added."""


def with_rows(state: LearnerState, block: SampleBlock) -> LearnerState:
    """The state with samples added to the last days.

    A sample of a step that is there already adds its measurements. An older one completes its row
    in the reservoir, or is ignored if the reservoir does not hold that row.
    """
    recent = state.recent
    if not recent.size or block.at[0] > recent.at[-1]:
        later = recent.fresh(block.at, block.x, block.measured)
        return state._replace(recent=recent.add_rows(later))
    places, there = recent.places(block.at)
    if there.any():
        rows = places[there]
        old, new = recent.measured[rows], block.measured[there]
        arrived = np.isfinite(new)
        first = arrived & ~np.isfinite(old)
        recent = recent.replace_values(
            rows, measured=np.where(arrived, new, old), learned=recent.learned[rows] & ~first
        )
    oldest = int(recent.at[0]) if recent.size else -1
    added = ~there & (block.at >= oldest)
    if added.any():
        recent = recent.add_rows(
            recent.fresh(block.at[added], block.x[added], block.measured[added])
        )
    state = state._replace(recent=recent)
    stale = np.flatnonzero(~there & ~added)
    return _with_stale(state, block, stale.tolist()) if len(stale) else state


def _with_stale(state: LearnerState, block: SampleBlock, rows: Sequence[int]) -> LearnerState:
    y = state.reservoir.y.copy()
    for row in rows:
        own = np.isfinite(block.measured[row])
        limited = state.limits.limit_outliers(block.measured[row])
        y[np.ix_(state.reservoir.at == block.at[row], own)] = limited[own]
    return state._replace(reservoir=replace(state.reservoir, y=y))


def forget_measurements(
    state: LearnerState, at: Steps, places: Sequence[int]
) -> tuple[LearnerState, int]:
    """The state without the measurements of some steps and entities, and how many were held."""
    recent, reservoir = state.recent, state.reservoir
    chosen = np.isin(np.arange(len(state.names)), places)
    cells = [np.ix_(np.isin(rows, at), chosen) for rows in (recent.at, reservoir.at)]
    measured, y = recent.measured.copy(), reservoir.y.copy()
    count = int(np.isfinite(measured[cells[0]]).sum() + np.isfinite(y[cells[1]]).sum())
    measured[cells[0]], y[cells[1]] = np.nan, np.nan
    held = np.concatenate([recent.at, reservoir.at])
    state = state._replace(
        recent=recent._replace(measured=measured),
        reservoir=replace(reservoir, y=y),
        first_steps=tuple(
            each.exclude(at, held) if state.names.index(each.entity) in places else each
            for each in state.first_steps
        ),
    )
    return _with_lag_inputs(state, at, chosen, np.full(len(state.names), np.nan)), count


def correct_measurement(
    state: LearnerState, at: int, place: int, value: float
) -> tuple[LearnerState, int]:
    """The state with another measurement of a step, and in how many places it was held."""
    row = np.full((1, len(state.names)), value)
    scaled = float(to_deviations(state, np.array([at]), row)[0, place])
    recent, reservoir = state.recent, state.reservoir
    measured, y = recent.measured.copy(), reservoir.y.copy()
    count = 0
    for rows, values in ((recent.at, measured), (reservoir.at, y)):
        held = (rows == at) & np.isfinite(values[:, place])
        values[held, place] = scaled
        count += int(held.sum())
    state = state._replace(
        recent=recent._replace(measured=measured), reservoir=replace(reservoir, y=y)
    )
    chosen = np.arange(len(state.names)) == place
    return _with_lag_inputs(state, np.array([at]), chosen, np.full(len(chosen), scaled)), count


def _with_lag_inputs(
    state: LearnerState, at: Steps, chosen: BoolArray, measured: Float64Array
) -> LearnerState:
    """The state in which samples a period later see other past measurements, where they see one.

    Args:
        state: Of the learner.
        at: Steps of the measurements.
        chosen: Entities whose measurements they are, `e`.
        measured: The measurement of each entity, `e`; NaN: none.
    """
    clock, recent, reservoir = state.frame.schedule.clock, state.recent, state.reservoir
    values = lag_inputs(state.limits.limit_outliers(measured))
    lagged = recent.lagged.copy(), reservoir.lagged.copy()
    for steps, inputs in zip((recent.at, reservoir.at), lagged, strict=True):
        for column, period in enumerate((clock.same_hour, clock.same_weekday)[: inputs.shape[2]]):
            cells = np.ix_(np.isin(steps, at + period), chosen)
            seen = inputs[..., column][cells]
            inputs[..., column][cells] = np.where(seen == 0, seen, values[chosen])
    return state._replace(
        recent=recent._replace(lagged=lagged[0]),
        reservoir=replace(reservoir, lagged=lagged[1]),
    )
