"""Intervals in an experiment: what was said of every step at its time, and how good it was.

Nothing is used before it is known: the calibrator lags by the delay of measurements, and a new
model is tried on the readings that had arrived when it went into service.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from clearwatt.arrays import Float32Array, Float64Array
from clearwatt.clear.component import Model
from clearwatt.clear.loop import Deployment
from clearwatt.experiment.live import said_by, servings
from clearwatt.experiment.protocol import Rows
from clearwatt.intervals import LEVELS, WINDOW_DAYS, Calibrator, crps, interval, pinball

DAYS_AFTER = 3
"""How many days after an update or a drift are looked at on their own."""


@dataclass(frozen=True)
class Sharpness:
    """Figures of the quantiles over some steps; widths and losses in units of scaled power."""

    coverage_90: float
    coverage_50: float
    width_90: float
    pinball: float
    crps: float
    samples: int


@dataclass(frozen=True)
class Intervals:
    """How good the intervals of a trial were; None where there was nothing to look at.

    ``least_after_update`` is the lowest coverage of the 90 % interval in the days after an update.
    """

    overall: Sharpness | None
    after_updates: Sharpness | None
    after_drifts: Sharpness | None
    least_after_update: float | None

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Intervals:
        """Back from plain values."""
        parts = {
            name: None if values[name] is None else Sharpness(**values[name])
            for name in ("overall", "after_updates", "after_drifts")
        }
        return cls(**parts, least_after_update=values["least_after_update"])

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        return asdict(self)


class Swap(NamedTuple):
    """A model that serves from the row ``place`` on, tried on the rows before ``known``."""

    place: int
    known: int
    column: int
    forecasts: Float64Array
    """What it says of the rows before ``known``, at most `WINDOW_DAYS` of them."""


def swaps_of(
    column: int,
    x: Float32Array,
    *,
    autoencoder: Model,
    predictor: Model,
    deployments: Sequence[Deployment],
    delay: int,
    day: int,
    at: Rows,
) -> Iterator[Swap]:
    """Each new model of an entity, with what it says of the days before.

    Args:
        column: the entity's.
        x: the stream's inputs, n x d.
        autoencoder: the warm-up's.
        predictor: the warm-up's, of this entity.
        deployments: the updates of this entity's components.
        delay: steps until a measurement is known.
        day: steps of a day.
        at: step of each of the stream's rows on the clock.
    """
    served = servings(
        autoencoder=autoencoder, predictor=predictor, deployments=deployments, delay=delay, at=at
    )
    for serving in list(served)[1:]:
        rows = tried_rows(serving.known, day)
        forecasts = said_by(serving, x[rows], autoencoder, predictor).astype(np.float64)
        yield Swap(serving.start, serving.known, column, forecasts)


def lag_of(delay: int, day: int) -> int:
    """Whole days by which a calibrator lags, so that it knows no more than a delay allows."""
    return -(-(delay - 1) // day)


def issued(
    calibrator: Calibrator,
    forecasts: Float64Array,
    y: Float64Array,
    *,
    at: Rows,
    swaps: Iterable[Swap],
    levels: Sequence[float] = LEVELS,
) -> Float64Array:
    """The quantiles (n x m x levels) of live forecasts (n x m), as they were given at their time.

    Args:
        calibrator: as the warm-up left it, with the lag that measurements have (`lag_of`); it
            learns what is known at the last row.
        forecasts: what the models in service said.
        y: measurements, NaN where there is none.
        at: the step of each row on the data set's clock.
        swaps: the models that came into service.
        levels: of the quantiles.
    """
    day, y = calibrator.cells.day, y.copy()
    groups: dict[tuple[int, int], list[Swap]] = {}
    for swap in swaps:
        if swap.place < len(y):
            groups.setdefault((swap.place, swap.known), []).append(swap)
    quantiles, learned = np.empty((*y.shape, len(levels))), 0
    places = {place for place, _ in groups}
    starts = sorted({0, *places, *(np.flatnonzero(np.diff(at // day)) + 1).tolist()})
    for start, stop in pairwise([*starts, len(y)]):
        # Whole days, the last of them so long ago that the first row of this day may know it.
        known = int(np.searchsorted(at, (at[start] // day - calibrator.lag) * day))
        rows = slice(learned, max(learned, known))
        calibrator.observe(forecasts[rows], y[rows], at[rows])
        learned = rows.stop
        for own in [groups[key] for key in sorted(groups) if key[0] == start]:
            _swap(calibrator, own, y, at)
            # What the models before said of rows that are not known yet teaches nothing any more.
            y[learned:start, [swap.column for swap in own]] = np.nan
        piece = slice(start, stop)
        quantiles[piece] = calibrator.quantiles(forecasts[piece], at[piece], levels)
    return quantiles


def _swap(calibrator: Calibrator, own: Sequence[Swap], y: Float64Array, at: Rows) -> None:
    """Put models into service that were trained by the same step."""
    columns = np.array([swap.column for swap in own])
    tried = np.stack([swap.forecasts for swap in own], axis=1)
    rows = slice(own[0].known - len(tried), own[0].known)
    calibrator.swap(columns, tried, y[rows][:, columns], at[rows])


def tried_rows(known: int, day: int) -> slice:
    """The rows that a model is tried on which the measurement before ``known`` has led to."""
    return slice(max(0, known - WINDOW_DAYS * day), known)


def judged(
    targets: Float64Array,
    quantiles: Float64Array,
    *,
    at: Rows,
    day: int,
    updates: Sequence[int],
    drifts: Sequence[int],
) -> Intervals:
    """Score the quantiles (n x levels) of one entity.

    Args:
        targets: measurements, n.
        quantiles: as issued.
        at: the step of each row on the data set's clock.
        day: steps of a day.
        updates: steps from which a new model served.
        drifts: steps at which something changed.
    """

    def over(rows: npt.NDArray[np.bool_]) -> Sharpness | None:
        return _sharpness(targets[rows], quantiles[rows])

    each = [over(_days_from(step, at, day)) for step in updates]
    covered = [found.coverage_90 for found in each if found is not None]
    return Intervals(
        overall=over(np.ones(len(at), np.bool_)),
        after_updates=over(_any(at, updates, day)),
        after_drifts=over(_any(at, drifts, day)),
        least_after_update=min(covered, default=None),
    )


def _days_from(step: int, at: Rows, day: int) -> npt.NDArray[np.bool_]:
    return np.asarray((at >= step) & (at < step + DAYS_AFTER * day), np.bool_)


def _any(at: Rows, steps: Sequence[int], day: int) -> npt.NDArray[np.bool_]:
    rows = np.zeros(len(at), np.bool_)
    for step in steps:
        rows |= _days_from(step, at, day)
    return rows


def _sharpness(targets: Float64Array, quantiles: Float64Array) -> Sharpness | None:
    samples = int((~np.isnan(targets)).sum())
    if samples == 0:
        return None
    wide, narrow = (interval(targets, quantiles, levels=LEVELS, share=s) for s in (0.9, 0.5))
    return Sharpness(
        coverage_90=wide.coverage,
        coverage_50=narrow.coverage,
        width_90=wide.width,
        pinball=float(pinball(targets, quantiles, levels=LEVELS).mean()),
        crps=crps(targets, quantiles, levels=LEVELS),
        samples=samples,
    )
