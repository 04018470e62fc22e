"""Power in deviations and back, relative to the level that an entity has had since a break."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from clearwatt.adaptive.breaks import Breaks, current_level, current_levels, levels_at, levels_of
from clearwatt.adaptive.state import LearnerState
from clearwatt.arrays import Float64Array
from clearwatt.clock import Steps
from clearwatt.training.standardisation import Standardisation


def to_deviations(state: LearnerState, at: Steps, power: Float64Array) -> Float64Array:
    """Power `n x e` of steps `n` in deviations, relative to the level of its time."""
    breaks = state.ensemble.breaks
    if any(breaks):
        power = power / levels_at(breaks, at, state.frame.schedule.clock.day)
    return state.power.apply(power).astype(np.float64)


def to_power(state: LearnerState, at: Steps, deviations: Float64Array) -> Float64Array:
    """The opposite of `to_deviations`; further axes may follow those of steps and entities."""
    breaks, flat = state.ensemble.breaks, deviations
    shape = (1, len(breaks), *[1] * (deviations.ndim - 2))
    power: Float64Array = flat * state.power.scale.reshape(shape) + state.power.mean.reshape(shape)
    if any(breaks):
        day = state.frame.schedule.clock.day
        power *= levels_at(breaks, at, day).reshape(-1, *shape[1:])
    return power


def power_now(state: LearnerState) -> Standardisation:
    """Scale of forecasts: that of the warm-up at the level of today.

    Levels of some weekdays are not part of it: the day of a forecast decides about these.
    """
    breaks = state.ensemble.breaks
    if not any(breaks):
        return state.power
    levels = current_levels(breaks)
    return Standardisation(state.power.mean * levels, state.power.scale * levels)


def power_of(state: LearnerState, place: int) -> tuple[float, float]:
    """Mean and scale of one entity in `power_now`."""
    level = current_level(state.ensemble.versions[place].breaks)
    return float(state.power.mean[place]) * level, float(state.power.scale[place]) * level


def between_levels(
    state: LearnerState, at: Steps, values: Float64Array, *, old: Breaks, new: Breaks, place: int
) -> Float64Array:
    """Deviations of one entity, `n`, of the same power at the levels of other breaks."""
    return _relevelled(state, values, place, _ratio(state, at, old, new))


def with_breaks(
    state: LearnerState, place: int, removed: Breaks = (), added: Breaks = ()
) -> LearnerState:
    """The state with samples at the levels that result from other breaks of one entity.

    Readings since a break keep their power. Those before keep their deviations: their power is
    rescaled. What was forecast of rows in between is what the networks say at the new level.
    """
    recent, reservoir = state.recent, state.reservoir
    ratio = _ratio(state, recent.at, removed, added)
    moved = ratio != 1.0
    measured, power = recent.measured.copy(), recent.power.copy()
    measured[:, place] = _relevelled(state, measured[:, place], place, ratio)
    power[moved, place] = recent.slow[moved, place]
    y = reservoir.y.copy()
    held = _ratio(state, reservoir.at, removed, added)
    y[:, place] = _relevelled(state, y[:, place].astype(np.float64), place, held)
    lagged = [recent.lagged.copy(), reservoir.lagged.copy()]
    clock = state.frame.schedule.clock
    for steps, inputs in zip((recent.at, reservoir.at), lagged, strict=True):
        for column, period in enumerate((clock.same_hour, clock.same_weekday)[: inputs.shape[2]]):
            before = inputs[:, place, column].astype(np.float64)
            own = _relevelled(state, before, place, _ratio(state, steps - period, removed, added))
            inputs[:, place, column] = np.where(before == 0, before, own)  # 0: nothing was known
    return state._replace(
        recent=recent._replace(measured=measured, power=power, lagged=lagged[0]),
        reservoir=replace(reservoir, y=y, lagged=lagged[1]),
    )


def _ratio(state: LearnerState, at: Steps, removed: Breaks, added: Breaks) -> Float64Array:
    """Level before as a multiple of the level after, `n`."""
    day = state.frame.schedule.clock.day
    ratio: Float64Array = levels_of(removed, at, day) / levels_of(added, at, day)
    return ratio


def _relevelled(
    state: LearnerState, values: Float64Array, place: int, ratio: Float64Array
) -> Float64Array:
    mean, scale = float(state.power.mean[place]), float(state.power.scale[place])
    found: Float64Array = np.where(
        ratio == 1.0, values, ((values * scale + mean) * ratio - mean) / scale
    )
    return found
