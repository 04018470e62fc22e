"""LightGBM: what most people would take, frozen, or trained anew every week."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from clearwatt.arrays import Float32Array
from clearwatt.benchmark.history import History, Power, Round
from clearwatt.benchmark.peer import Forecasts, Meter, Peer

if TYPE_CHECKING:
    from lightgbm import Booster

Past = Literal["frozen", "everything", "window"]

TREES = 100
"""LightGBM's own default, as all of its settings here."""
WEEK = 7
_KEYS = {"frozen": "lightgbm-frozen", "everything": "lightgbm-weekly", "window": "lightgbm-window"}


@dataclass(frozen=True)
class LightGBM(Peer):
    """Gradient-boosted trees of each entity, with LightGBM's default settings.

    Args:
        past: what it is trained on: the warm-up once ("frozen"), and every so many days again on
            "everything" known or on a "window" of the last samples.
        days: between two trainings.
        window: samples of the window.
    """

    past: Past = "everything"
    days: int = WEEK
    window: int = 3_000
    package: ClassVar[str | None] = "lightgbm"

    @property
    def key(self) -> str:
        """Its name on the command line."""
        return _KEYS[self.past]

    @property
    def label(self) -> str:
        """Its name in tables."""
        if self.past == "frozen":
            return "LightGBM, frozen after the warm-up"
        what = "everything" if self.past == "everything" else f"last {self.window:,} samples"
        return f"LightGBM, every {self.days} days on {what}"

    def forecast(self, history: History) -> Forecasts:
        """Train and forecast, round by round."""
        meter = Meter(history)
        power = np.empty((history.steps, len(history.entities)))
        for each in history.rounds(self._every(history)):
            for column in range(len(history.entities)):
                x, y = self._training_set(each, column)
                if self.past != "frozen":
                    meter.holds(column, len(y) * history.sample_bytes)
                with meter.learning():
                    model = trained(x, y, seed=history.seed)
                meter.trained(column)
                power[each.steps, column] = said(model, each.x)
        return Forecasts(power, meter.costs)

    def seconds(self, history: History) -> float:
        """About a second per 50,000 samples trained on, and some for each training."""
        trainings = history.steps / self._every(history)
        typical = {
            "frozen": history.first,
            "everything": history.first + history.steps / 2,
            "window": self.window,
        }[self.past]
        return max(1.0, trainings) * (0.1 + 2e-5 * typical) * len(history.entities)

    def _every(self, history: History) -> int:
        return int(history.clock[-1]) + 1 if self.past == "frozen" else self.days * history.day

    def _training_set(self, each: Round, column: int) -> tuple[Float32Array, Float32Array]:
        x, y = each.known.of(column)
        last = self.window if self.past == "window" else len(y)
        return x[-last:], y[-last:]


_SETTINGS: Mapping[str, Any] = {
    "num_threads": 1,
    "deterministic": True,
    "force_row_wise": True,  # else it measures which way is faster, and differs from run to run
    "verbosity": -1,
}


def trained(x: Float32Array, y: Float32Array, *, seed: int, level: float | None = None) -> Booster:
    """Train on inputs (n x d) and power (n): the mean, or the quantile of a level."""
    import lightgbm

    aim = (
        {"objective": "regression"} if level is None else {"objective": "quantile", "alpha": level}
    )
    settings = {**_SETTINGS, **aim, "seed": seed}
    return lightgbm.train(settings, lightgbm.Dataset(x, y), num_boost_round=TREES)


def said(model: Booster, x: Float32Array) -> Power:
    """What a model forecasts (n) for inputs (n x d)."""
    return np.asarray(model.predict(x, num_threads=1), np.float64)
