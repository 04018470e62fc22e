"""LightGBM, the usual choice of practitioners: frozen, or retrained every week.

With lagged power among its inputs it is the strongest peer; see `lagged_inputs`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import pandas as pd

from clearwatt.arrays import Float32Array
from clearwatt.benchmark.history import ForecastRound, Power, ZoneHistory
from clearwatt.benchmark.peer import CostMeter, Forecasts, Peer
from clearwatt.benchmark.peers.persistence import last_known_power
from clearwatt.data.features import CALENDAR_COLUMNS

if TYPE_CHECKING:
    from lightgbm import Booster

TrainingPast = Literal["frozen", "everything", "window"]

TREES = 100
"""LightGBM's own default, as all of its settings here."""
RATE = 0.1
"""Learning rate, likewise."""
WEEK = 7
WEATHER_HOURS = (3, 24)
"""Lengths of the trailing means of the weather among the lagged inputs."""


@dataclass(frozen=True)
class LightGBM(Peer):
    """Gradient-boosted trees of each entity, with LightGBM's default settings.

    Args:
        past: training data: the warm-up, once ("frozen"); "everything" known; or a "window" of
            the last samples.
        lags: whether the inputs include lagged power and weather means (`lagged_inputs`).
        neighbours: whether the inputs include the weather of neighbouring zones.
        last: whether the inputs include the last known measurement.
        days: days between two trainings.
        window: samples of the window.
    """

    past: TrainingPast = "everything"
    lags: bool = False
    neighbours: bool = False
    last: bool = False
    days: int = WEEK
    window: int = 3_000
    package: ClassVar[str | None] = "lightgbm"

    @property
    def key(self) -> str:
        """Its name on the command line."""
        if self.lags:
            names = {"everything": "lags", "window": "lags-window", "frozen": "lags-frozen"}
        else:
            names = {"everything": "weekly", "window": "window", "frozen": "frozen"}
        more = "-neighbours" if self.neighbours else ""
        more += "-last" if self.last else ""
        more += f"-{self.days}d" if self.days != WEEK else ""
        return f"lightgbm-{names[self.past]}{more}"

    @property
    def label(self) -> str:
        """Its name in tables."""
        name = "LightGBM with lagged power" if self.lags else "LightGBM"
        name += ", neighbours' weather" if self.neighbours else ""
        name += ", last value" if self.last else ""
        if self.past == "frozen":
            return f"{name}, frozen after the warm-up"
        data = "everything" if self.past == "everything" else f"last {self.window:,} samples"
        return f"{name}, every {self.days} days on {data}"

    def forecast(self, history: ZoneHistory) -> Forecasts:
        """Train and forecast, round by round."""
        meter, columns = CostMeter(history), range(len(history.entities))
        inputs = [self._inputs(history, column) for column in columns]
        power = np.empty((history.steps, len(history.entities)))
        for each in history.rounds(self._interval(history)):
            for column in columns:
                x, y = self._training_set(each, inputs[column], column)
                if self.past != "frozen":
                    meter.count_bytes(column, y.nbytes + x.nbytes)
                with meter.measure_learning():
                    model = train_booster(x, y, seed=history.seed)
                meter.count_training(column)
                power[each.steps, column] = predict_power(
                    model, inputs[column][history.first :][each.steps]
                )
        return Forecasts(power, meter.costs)

    def seconds(self, history: ZoneHistory) -> float:
        """About a second per 50,000 samples trained on, and some for each training."""
        trainings = history.steps / self._interval(history)
        typical = {
            "frozen": history.first,
            "everything": history.first + history.steps / 2,
            "window": self.window,
        }[self.past]
        lags = 2 if self.lags else 1
        return max(1.0, trainings) * (0.1 + lags * 2e-5 * typical) * len(history.entities)

    def _inputs(self, history: ZoneHistory, column: int) -> Float32Array:
        x = lagged_inputs(history, column) if self.lags else history.x
        parts = [x, *([history.neighbours] if self.neighbours else [])]
        if self.last:
            parts.append(last_known_power(history)[:, [column]].astype(np.float32))
        return np.concatenate(parts, axis=1) if len(parts) > 1 else x

    def _interval(self, history: ZoneHistory) -> int:
        """Clock steps between two trainings."""
        return int(history.at[-1]) + 1 if self.past == "frozen" else self.days * history.day

    def _training_set(
        self, each: ForecastRound, inputs: Float32Array, column: int
    ) -> tuple[Float32Array, Float32Array]:
        x, y = each.known._replace(x=inputs[: len(each.known.y)]).of(column)
        last = self.window if self.past == "window" else len(y)
        return x[-last:], y[-last:]


def lagged_inputs(history: ZoneHistory, column: int) -> Float32Array:
    """Inputs of an entity (n x d) and the features that practitioners add, known at each forecast.

    Added are its power one, two and seven days before (or the first such days that are known, with
    a reporting delay of more than a day), the mean of the last known day, and the means of each
    weather input over the last 3 and 24 hours. NaN: not measured, which LightGBM can deal with.
    """
    day = history.day
    known = -(-history.delay // day)  # whole days
    week = -(-known // WEEK) * WEEK
    power = [history.lagged_power(days * day)[:, column] for days in (known, known + 1, week)]
    power.append(_last_known_day(history, column))
    names = len(CALENDAR_COLUMNS)
    weather = pd.DataFrame(history.x[:, :-names].astype(np.float64), index=history.times)
    means = [weather.rolling(f"{hours}h").mean().to_numpy() for hours in WEATHER_HOURS]
    added = np.concatenate([np.stack(power, axis=1), *means], axis=1)
    return np.concatenate([history.x, added.astype(np.float32)], axis=1)


def _last_known_day(history: ZoneHistory, column: int) -> Float32Array:
    """Mean power of the last day known when each sample is forecast (n); NaN: not measured."""
    measured = pd.Series(history.measured[:, column].astype(np.float64), index=history.at)
    clock = np.arange(history.at[0] - history.delay, history.at[-1] + 1)
    means = measured.reindex(clock).rolling(history.day, min_periods=1).mean()
    return np.asarray(means.to_numpy()[history.at - history.at[0]], np.float32)


_SETTINGS: Mapping[str, Any] = {
    "num_threads": 1,
    "deterministic": True,
    "force_row_wise": True,  # else it measures which way is faster, and differs from run to run
    "verbosity": -1,
}


def train_booster(
    x: Float32Array,
    y: Float32Array,
    *,
    seed: int,
    level: float | None = None,
    trees: int = TREES,
    rate: float = RATE,
) -> Booster:
    """Train on inputs (n x d) and power (n): the mean, or the quantile of a level."""
    import lightgbm

    aim = (
        {"objective": "regression"} if level is None else {"objective": "quantile", "alpha": level}
    )
    settings = {**_SETTINGS, **aim, "seed": seed, "learning_rate": rate}
    return lightgbm.train(settings, lightgbm.Dataset(x, y), num_boost_round=trees)


def predict_power(model: Booster, x: Float32Array) -> Power:
    """Forecasts of a model (n) for inputs (n x d)."""
    return np.asarray(model.predict(x, num_threads=1), np.float64)
