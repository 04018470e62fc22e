"""The adaptive forecaster over a stream: warm-up, then every later step forecast and learned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from clearwatt.adaptive import AdaptiveDeployed, AdaptiveForecaster, AdaptiveSettings
from clearwatt.arrays import Float32Array, Float64Array
from clearwatt.clock import DAYS_PER_WEEK, SECONDS_PER_DAY, Clock, Steps
from clearwatt.forecaster import Change, Name


@dataclass(frozen=True, eq=False)
class AdaptiveRun:
    """A finished stream of `n` rows, the first of which were the warm-up.

    Args:
        forecaster: as it is at the end.
        initial: what the warm-up left to forecast with.
        fitted: forecasts of the warm-up's rows by its own networks, rows x entities.
        live: forecasts of all later rows as they were issued, rows x entities.
        changes: what happened to the forecaster in these rows.
    """

    forecaster: AdaptiveForecaster
    initial: AdaptiveDeployed
    fitted: Float64Array
    live: Float64Array
    changes: tuple[Change, ...]

    @property
    def bytes_per_entity(self) -> int:
        """Bytes held for one entity; inputs that entities share count in full for each."""
        entities = len(self.forecaster.names)
        shared = self.forecaster.held_samples * 4 * self.forecaster.state.frame.view.width
        return (self.forecaster.retained_bytes + (entities - 1) * shared) // entities


def clock_steps(times: pd.DatetimeIndex, day: int) -> Steps:
    """Steps since 1970, as the service counts them, of times on a clock with ``day`` steps a day.

    The periods in which the forecaster learns begin at the same hours as in a service.
    """
    return np.asarray(times.as_unit("s").asi8 // (SECONDS_PER_DAY // day), np.int64)


def run_adaptive(
    x: Float32Array,
    y: Float32Array,
    at: Steps,
    *,
    first: int,
    clock: Clock,
    settings: AdaptiveSettings,
    names: Sequence[Name],
    seed: int,
    columns: Sequence[str] | None = None,
) -> AdaptiveRun:
    """Warm up on what is known when the first row is forecast, then stream all later rows.

    The last rows before the first one are not known yet by then. They are streamed, too.

    Args:
        x: Inputs, n x d.
        y: Power, n x entities; NaN where there is no measurement.
        at: Step of each row, n; see `clock_steps`.
        first: First row whose forecast counts.
        clock: Steps per day, and delay of measurements.
        settings: How it learns.
        names: Names of the entities.
        seed: Of everything random.
        columns: Names of the inputs, d; None: weather, then the calendar.
    """
    known = clock.count_known(at, int(at[first]))
    forecaster = AdaptiveForecaster.fit(
        x[:known],
        y[:known],
        at[:known],
        day=clock.day,
        columns=columns,
        delay=clock.delay,
        settings=settings,
        names=names,
        seed=seed,
    )
    initial = forecaster.deployed
    fitted = initial.networks(x[:known], at[:known])
    live: list[Float64Array] = []
    changes: list[Change] = []
    for forecast, found in forecaster.follow(x[known:], y[known:], at[known:]):
        live.append(forecast.power)
        changes += found
    return AdaptiveRun(forecaster, initial, fitted, np.concatenate(live), tuple(changes))


def estimate_seconds(steps: int, entities: int, *, day: int) -> float:
    """Approximate processor time of a stream of this many steps, by the number of weeks."""
    return 1.0 + 0.2 * entities * steps / (DAYS_PER_WEEK * day)
