"""Readings of a silent meter, reconstructed from other meters of the zone that behave alike.

A meter without readings for weeks, because it is broken, suspected or not read, would be forecast
by networks, corrections and trust of before. Where other meters tell what it would have read far
better than its networks do, as neighbouring wind farms do, these learn on from that. A reading that
arrives takes the place of the reconstructed one. `backcast` uses the same regression for the past
of an entity that joined without history.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from clearwatt.adaptive.breaks import left_out
from clearwatt.adaptive.change_watch import RUNS
from clearwatt.adaptive.silences import SILENT_DAYS
from clearwatt.adaptive.state import LearnerState
from clearwatt.arrays import BoolArray, Float64Array, Int64Array
from clearwatt.clock import Steps

MOST_DAYS = 90
"""Days without a reading after which they are no longer: the meter may be gone."""
MOST_PEERS = 8
"""Other meters that a reading is reconstructed from."""
LEAST_DAYS = 21
"""Days' worth of common readings that must be held."""
TEST_SHARE = 1 / 3
"""Share of the held readings, the newest, on which a reconstruction is tested."""
LARGEST_ERROR = 0.75
"""Mean error of a reconstruction in the test, as a share of that of the networks on all held."""
RIDGE = 5.0
"""Prior belief that other meters tell nothing, in samples."""


class HeldReadings(NamedTuple):
    """Readings held of all entities, in deviations: steps (n) and values (n x e)."""

    at: Steps
    y: Float64Array

    @classmethod
    def of(cls, state: LearnerState) -> HeldReadings:
        """Those of the reservoir and of the last days."""
        recent, reservoir = state.recent, state.reservoir
        return cls(
            np.concatenate([reservoir.at, recent.at]),
            np.concatenate([reservoir.y, recent.measured]).astype(np.float64),
        )


class ReadingRegression(NamedTuple):
    """Readings of one entity as a linear function of those of `k` others, in deviations."""

    peers: Int64Array
    """Places of the others, `k`."""
    coefficients: Float64Array
    """Of the others and of a constant, `k + 1`."""
    tested: Int64Array
    """Rows of held readings, the newest, that were forecast without having been fitted to."""
    error: float
    """Mean absolute error in these rows."""

    def reconstruct(self, y: Float64Array) -> Float64Array:
        """Readings, `n`, from those of all entities, `n x e`; NaN where one of them is missing."""
        found: Float64Array = _terms(y[:, self.peers]) @ self.coefficients
        return found

    @classmethod
    def fit(
        cls, held: HeldReadings, used: BoolArray, place: int, others: Int64Array, *, least: int
    ) -> ReadingRegression | None:
        """The regression of an entity's readings; None: there are too few common readings.

        Args:
            held: Readings of all entities.
            used: Which of them to use, `n`.
            place: Column of the entity.
            others: Columns of others that may explain it.
            least: Common readings that must be held.
        """
        at, y = held
        peers = _find_peers(y[used], place, others)
        used = used & np.isfinite(y[:, peers]).all(axis=1)
        count = int(used.sum())
        if not len(peers) or count < least:
            return None
        order = np.flatnonzero(used)[np.argsort(at[used], kind="stable")]
        z, target = _terms(y[np.ix_(order, peers)]), y[order, place]
        known = count - round(TEST_SHARE * count)
        errors = np.abs(z[known:] @ _solve(z[:known], target[:known]) - target[known:])
        return cls(peers, _solve(z, target), order[known:], float(errors.mean()))


def reconstruct_readings(state: LearnerState, boundary: int) -> LearnerState:
    """The state with readings of silent meters before a step, where others tell them.

    Once for each day that has ended.

    Args:
        state: With all forecasts recalled, and readings noted.
        boundary: First step after the period that ends.
    """
    day, before = state.frame.schedule.clock.day, state.boundary
    days = (boundary - state.progress.measured) / day
    silent = days >= SILENT_DAYS
    chosen = silent & (days < MOST_DAYS) & (state.watch.standing == RUNS)
    if boundary // day == before // day or not chosen.any() or silent.all():
        return state
    held, others = HeldReadings.of(state), np.flatnonzero(~silent)
    measured, watch = state.recent.measured.copy(), state.watch
    for place in np.flatnonzero(chosen).tolist():
        rows = _rows_without_reading(state, place, boundary)
        found = _reconstruct(state, held, place, others, rows)
        if found is not None:
            measured[rows, place] = found
            watch = watch.examine_from(place, boundary)  # what others read is no change of this
    return state._replace(recent=state.recent._replace(measured=measured), watch=watch)


def _rows_without_reading(state: LearnerState, place: int, boundary: int) -> Int64Array:
    """Rows since the last reading of an entity whose forecasts are not compared with one yet."""
    recent = state.recent
    wanted = (recent.at > state.progress.measured[place]) & (recent.at < boundary)
    return np.flatnonzero(wanted & np.isnan(recent.measured[:, place]) & ~recent.learned[:, place])


def _reconstruct(
    state: LearnerState, held: HeldReadings, place: int, others: Int64Array, rows: Int64Array
) -> Float64Array | None:
    """Readings of an entity in some recent rows, in deviations; None: others do not tell them."""
    used = _real_readings(state, place, held.at, held.y[:, place])
    least = LEAST_DAYS * state.frame.schedule.clock.day
    regression = ReadingRegression.fit(held, used, place, others, least=least)
    if regression is None or not len(rows):
        return None
    if regression.error > LARGEST_ERROR * state.ensemble.versions[place].error:
        return None
    found = regression.reconstruct(state.recent.measured[rows])
    low, high = float(state.limits.low[place]), float(state.limits.high[place])
    return np.asarray(np.clip(found, low, high), np.float64)


def _real_readings(state: LearnerState, place: int, at: Steps, y: Float64Array) -> BoolArray:
    """Which samples have a reading of an entity that is neither reconstructed nor left out."""
    breaks = state.ensemble.versions[place].breaks
    known = np.isfinite(y) & (at <= state.progress.measured[place])
    return np.asarray(known & ~left_out(breaks, at, state.frame.schedule.clock.day), np.bool_)


def _find_peers(y: Float64Array, place: int, others: Int64Array) -> Int64Array:
    """Entities whose readings (n x e) correlate most with those of one, `k`, in order of place."""
    often = others[np.isfinite(y[:, others]).sum(axis=0) >= 0.9 * len(y)]
    if not len(often) or not len(y):
        return np.asarray(often[:0], np.int64)
    centred = np.nan_to_num(y[:, often] - np.nanmean(y[:, often], axis=0))
    own = y[:, place] - y[:, place].mean()
    scale = np.sqrt(np.square(centred).sum(axis=0))
    closeness = np.abs(own @ centred) / np.where(scale > 0, scale, np.inf)
    return np.sort(often[np.argsort(-closeness, kind="stable")[:MOST_PEERS]])


def _terms(values: Float64Array) -> Float64Array:
    """Readings of other entities, and a constant, `n x (k + 1)`."""
    return np.concatenate([values, np.ones((len(values), 1))], axis=1)


def _solve(terms: Float64Array, target: Float64Array) -> Float64Array:
    """Coefficients of the ridge regression of a target on terms, of which the last is a constant.

    The constant is free: a new entity is scaled like the fleet, so its mean is far from 0.
    """
    penalty = RIDGE * np.eye(terms.shape[1])
    penalty[-1, -1] = 0.0
    moments = terms.T @ terms + penalty
    return np.asarray(np.linalg.solve(moments, terms.T @ target), np.float64)
