"""River: models that learn from one sample at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Protocol

import numpy as np

from clearwatt.benchmark.history import KnownSamples, ZoneHistory
from clearwatt.benchmark.peer import CostMeter, Forecasts, Peer

ModelName = Literal["linear", "arf", "hat"]

RATE = 1e-3
"""Learning rate of the linear model; at River's default of 1e-2 it diverges on some series."""


class RiverModel(Protocol):
    """A regressor of River."""

    def learn_one(self, x: dict[str, float], y: float) -> object:
        """Learn from a sample."""

    def predict_one(self, x: dict[str, float]) -> float:
        """Forecast a sample."""


@dataclass(frozen=True)
class River(Peer):
    """One model per entity, with River's default settings unless stated otherwise.

    Before each forecast it learns from the measurements that became known since the last one, as in
    River's progressive validation with delayed labels.

    Args:
        model: "linear" regression of standardised inputs, an adaptive random forest ("arf"), or a
            Hoeffding adaptive tree ("hat").
    """

    model: ModelName = "linear"
    package: ClassVar[str | None] = "river"

    @property
    def key(self) -> str:
        """Its name on the command line."""
        return f"river-{self.model}"

    @property
    def label(self) -> str:
        """Its name in tables."""
        names = {
            "linear": f"linear, standardised, rate {RATE:g}",
            "arf": "adaptive random forest",
            "hat": "Hoeffding adaptive tree",
        }
        return f"River, {names[self.model]}"

    def forecast(self, history: ZoneHistory) -> Forecasts:
        """Learn from the new samples, then forecast, step by step."""
        meter, names = CostMeter(history), [f"x{at}" for at in range(history.x.shape[1])]
        power = np.empty((history.steps, len(history.entities)))
        for column in range(len(history.entities)):
            learner = _MODELS[self.model](history.seed)
            for each in history.rounds():
                with meter.measure_learning():
                    _learn(learner, each.known.last(each.new), column, names)
                (row,) = each.x.tolist()
                power[each.steps, column] = learner.predict_one(dict(zip(names, row, strict=True)))
        return Forecasts(power, meter.costs)

    def seconds(self, history: ZoneHistory) -> float:
        """Proportional to the number of samples."""
        each = {"linear": 1e-4, "hat": 4e-4, "arf": 4e-3}[self.model]
        return each * len(history.x) * len(history.entities)


def _learn(learner: RiverModel, new: KnownSamples, column: int, names: Sequence[str]) -> None:
    x, y = new.of(column)
    for row, power in zip(x.tolist(), y.tolist(), strict=True):
        learner.learn_one(dict(zip(names, row, strict=True)), power)


def _linear(seed: int) -> RiverModel:
    from river import linear_model, optim, preprocessing

    model: Any = preprocessing.StandardScaler() | linear_model.LinearRegression(
        optimizer=optim.SGD(RATE)
    )
    learner: RiverModel = model
    return learner


def _forest(seed: int) -> RiverModel:
    from river import forest

    learner: RiverModel = forest.ARFRegressor(seed=seed)
    return learner


def _tree(seed: int) -> RiverModel:
    from river import tree

    learner: RiverModel = tree.HoeffdingAdaptiveTreeRegressor(seed=seed)
    return learner


_MODELS: Mapping[ModelName, Callable[[int], RiverModel]] = {
    "linear": _linear,
    "arf": _forest,
    "hat": _tree,
}
