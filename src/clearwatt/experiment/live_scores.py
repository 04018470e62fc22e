"""The scores of the live forecasts of one entity: errors, recovery from drifts, intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from clearwatt.arrays import Float32Array, Float64Array
from clearwatt.experiment.intervals import IntervalScores, score_intervals
from clearwatt.experiment.metrics import LiveError, live_error
from clearwatt.experiment.models import Place
from clearwatt.experiment.records import DailyError, Recovery
from clearwatt.experiment.recovery import daily_rmse, recoveries
from clearwatt.experiment.tasks import Context
from clearwatt.experiment.trial import round_daily


@dataclass(frozen=True, eq=False)
class LiveForecast:
    """Forecasts of one entity in the updating phase as they were issued.

    Args:
        power: forecasts, n.
        quantiles: around them, n x levels.
        updates: steps from which a new model served.
    """

    power: npt.NDArray[np.floating[Any]]
    quantiles: Float64Array
    updates: Sequence[int]


@dataclass(frozen=True)
class LiveScores:
    """Fields of a trial's record that depend on its live forecasts alone."""

    live: LiveError
    recovery: tuple[Recovery, ...]
    intervals: IntervalScores
    daily: DailyError


def score_live(context: Context, place: Place, forecast: LiveForecast) -> LiveScores:
    """Score the live forecasts of the entity at a place."""
    zone, name = context.zones[place.zone], context.entity(place)
    measured: Float32Array = zone.updating.y[:, place.column]
    errors = zone.updating.spread_over_clock(measured - forecast.power)
    drifts = [drift for drift in context.drifts if drift.entity in (None, name)]
    return LiveScores(
        live=live_error(measured, forecast.power),
        recovery=recoveries(errors, drifts, context.updating_times(zone), day=context.day),
        intervals=score_intervals(
            measured.astype(np.float64),
            forecast.quantiles,
            at=zone.updating.at,
            day=context.day,
            updates=forecast.updates,
            drifts=[int(context.times.searchsorted(drift.start)) for drift in drifts],
        ),
        daily=round_daily(daily_rmse(errors, context.day)),
    )
