"""Intervals in an experiment: what was said of every step at its time, and how good it was.

Nothing is used before it is known: the calibrator lags by the delay of measurements, and a new
model is tried on the readings that had arrived when it went into service.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from clearwatt.experiment.protocol import Rows
from clearwatt.intervals import LEVELS, WINDOW_DAYS, Calibrator, crps, interval, pinball

Floats = npt.NDArray[np.float64]

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
    forecasts: Floats
    """What it says of the rows before ``known``, at most `WINDOW_DAYS` of them."""


def issued(
    calibrator: Calibrator, forecasts: Floats, y: Floats, *, at: Rows, swaps: Iterable[Swap]
) -> Floats:
    """The quantiles (n x m x levels) of live forecasts (n x m), as they were given at their time.

    Args:
        calibrator: as the warm-up left it; it goes on with the stream.
        forecasts: what the models in service said.
        y: measurements, NaN where there is none.
        at: the step of each row on the data set's clock.
        swaps: the models that came into service.
    """
    quantiles = np.empty((*y.shape, len(LEVELS)))
    groups: dict[tuple[int, int], list[Swap]] = {}
    for swap in swaps:
        if swap.place < len(y):
            groups.setdefault((swap.place, swap.known), []).append(swap)
    start = 0
    for place, known in [*sorted(groups), (len(y), 0)]:
        piece = slice(start, place)
        said = calibrator.observe(forecasts[piece], y[piece], at[piece], levels=LEVELS)
        quantiles[piece], start = said, place
        if own := groups.get((place, known)):
            columns = np.array([swap.column for swap in own])
            tried = np.stack([swap.forecasts for swap in own], axis=1)
            rows = slice(known - len(tried), known)
            calibrator.swap(columns, tried, y[rows][:, columns], at[rows])
    return quantiles


def tried_rows(known: int, day: int) -> slice:
    """The rows that a model is tried on which the measurement before ``known`` has led to."""
    return slice(max(0, known - WINDOW_DAYS * day), known)


def judged(
    targets: Floats,
    quantiles: Floats,
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


def _sharpness(targets: Floats, quantiles: Floats) -> Sharpness | None:
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
