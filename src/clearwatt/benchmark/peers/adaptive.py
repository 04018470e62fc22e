"""The adaptive forecaster: slow networks, fast corrections, and trust that weighs them."""

from __future__ import annotations

import time
from collections import OrderedDict
from dataclasses import dataclass, field, replace
from typing import ClassVar, NamedTuple

import numpy as np

from clearwatt.adaptive import AdaptiveSettings
from clearwatt.adaptive.lead_stream import correct_stream
from clearwatt.benchmark.history import Power, ZoneHistory
from clearwatt.benchmark.intervals import calibrate
from clearwatt.benchmark.peer import CostMeter, Forecasts, Peer
from clearwatt.clock import Clock, Steps
from clearwatt.experiment.adaptive_stream import clock_steps, estimate_seconds, run_adaptive
from clearwatt.intervals import LEVELS


class DayAheadRun(NamedTuple):
    """Forecasts of a stream as they are without newer measurements, and what they cost."""

    fitted: Power
    live: Power
    trainings: tuple[int, ...]
    bytes_per_entity: int
    seconds: float


@dataclass(frozen=True)
class Adaptive(Peer):
    """The adaptive forecaster with its defaults.

    Args:
        settings: how it learns.
        levels: of the quantiles, calibrated around its forecasts.
    """

    settings: AdaptiveSettings = field(default_factory=AdaptiveSettings)
    levels: tuple[float, ...] = LEVELS
    together: ClassVar[bool] = True

    @property
    def key(self) -> str:
        """Its name on the command line."""
        return "clear-adaptive"

    @property
    def label(self) -> str:
        """Its name in tables."""
        return "ClearWatt, adaptive"

    def forecast(self, history: ZoneHistory) -> Forecasts:
        """Warm up on the samples known at the first forecast, then stream all later ones.

        It forecasts while it learns, so both are counted. Measurements that are known within a
        day correct the day-ahead forecast.
        """
        meter = CostMeter(history)
        at = clock_steps(history.times, history.day)
        run = day_ahead_run(history, self.settings)
        meter.add_seconds(run.seconds)
        with meter.measure_learning():
            power = run.live
            if base_clock(history).delay > history.delay:
                power = correct_live(history, run.live, at[-len(run.live) :])
            known = history.clock.count_known(at, int(at[history.first]))
            whole = np.concatenate([run.fitted, power])
            quantiles = calibrate(
                history, levels=self.levels, fitted=whole[:known], live=whole[known:]
            )
        for column in range(len(history.entities)):
            meter.trainings[column] = 1 + run.trainings[column]
            meter.count_bytes(column, run.bytes_per_entity + quantiles.state_bytes)
        return Forecasts(power[-history.steps :], meter.costs, quantiles.by_level)

    def seconds(self, history: ZoneHistory) -> float:
        """Proportional to the number of weeks."""
        return estimate_seconds(history.steps, len(history.entities), day=history.day)


_RUNS: OrderedDict[str, DayAheadRun] = OrderedDict()
"""The last runs of this process: several leads correct the same day-ahead forecasts."""
_MOST_RUNS = 32


def day_ahead_run(history: ZoneHistory, settings: AdaptiveSettings) -> DayAheadRun:
    """The day-ahead forecasts of a history; those of another lead of the same history if held."""
    clock = base_clock(history)
    same = replace(history, delay=clock.delay, limits=())
    key = f"{same.fingerprint()} {settings!r} {history.columns!r}"
    if key in _RUNS:
        _RUNS.move_to_end(key)
        return _RUNS[key]
    started = time.process_time()
    run = run_adaptive(
        history.wide,
        history.measured,
        clock_steps(history.times, history.day),
        first=history.first,
        clock=clock,
        settings=settings,
        names=history.entities,
        columns=history.columns,
        seed=history.seed,
    )
    _RUNS[key] = DayAheadRun(
        run.fitted,
        run.live,
        tuple(int(each) for each in run.forecaster.trainings),
        run.bytes_per_entity,
        time.process_time() - started,
    )
    if len(_RUNS) > _MOST_RUNS:
        _RUNS.popitem(last=False)
    return _RUNS[key]


def base_clock(history: ZoneHistory) -> Clock:
    """The clock of the forecasts to be corrected: a day ahead, if the warm-up is long enough."""
    clock = Clock(history.day, max(history.day, history.delay))
    known = clock.count_known(history.at, int(history.at[history.first]))
    return clock if known else history.clock


def correct_live(history: ZoneHistory, live: Power, at: Steps) -> Power:
    """Day-ahead forecasts of the last rows, corrected with what is known after the delay."""
    known = history.known_samples().y.astype(np.float64)
    deviation = np.nanstd(known, axis=0)
    scale = np.where(deviation > 0, deviation, 1.0)
    measured = history.measured[-len(live) :].astype(np.float64)
    power = scale * correct_stream(live / scale, measured / scale, at, clock=history.clock)
    if not history.limits:
        return power
    low, high = np.transpose(history.limits)
    return np.asarray(np.clip(power, low, high), np.float64)
