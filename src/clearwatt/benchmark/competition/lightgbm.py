"""LightGBM in the competition, as practitioners would use it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from clearwatt.arrays import Float32Array, Float64Array, Int64Array
from clearwatt.benchmark.competition.peer import BlockForecaster, CompetitionPeer
from clearwatt.benchmark.peers.lightgbm import predict_power, train_booster
from clearwatt.clock import HOURS_PER_DAY
from clearwatt.data.wind_competition import BLOCK, Knowledge

if TYPE_CHECKING:
    from lightgbm import Booster

NEIGHBOURING_HOURS = (-2, -1, 1, 2)
SPEED = 2
"""Place of the wind speed among the variables."""


@dataclass(frozen=True)
class LightGBMByLead(CompetitionPeer):
    """Gradient-boosted trees of each farm, with the lead and the last known power as inputs.

    Args:
        trees: of each model.
        rate: learning rate.
        days: days between two trainings, each on everything known.
    """

    trees: int = 250
    rate: float = 0.05
    days: int = 60
    package: ClassVar[str | None] = "lightgbm"
    seconds: ClassVar[float] = 120.0

    @property
    def key(self) -> str:
        """Its name on the command line."""
        return "lightgbm"

    @property
    def label(self) -> str:
        """Its name in tables."""
        return f"LightGBM, {self.trees} trees, every {self.days} days on everything"

    def start(self, *, seed: int) -> BlockForecaster:
        """A forecaster that trains before its first block."""
        return _LightGBMForecaster(self, seed)


class _LightGBMForecaster(BlockForecaster):
    def __init__(self, settings: LightGBMByLead, seed: int) -> None:
        self._settings, self._seed = settings, seed
        self._models: list[Booster] = []
        self._trained = 0

    def forecast(self, known: Knowledge) -> Float64Array:
        """Train if it is time to, then forecast with the newest run."""
        due = known.issue - self._trained >= self._settings.days * HOURS_PER_DAY
        farms = range(known.measured.shape[1])
        if due or not self._models:
            self._models = [self._train(known, farm) for farm in farms]
            self._trained = known.issue
        newest = np.array([len(known.runs.issued) - 1])
        power = [
            predict_power(model, block_inputs(known, newest, farm))
            for farm, model in enumerate(self._models)
        ]
        return np.stack(power, axis=1)

    def _train(self, known: Knowledge, farm: int) -> Booster:
        rows = np.arange(len(known.runs.issued))
        steps = known.runs.steps(rows).reshape(-1)
        measured = np.full(len(steps), np.nan)
        past = steps <= known.issue
        measured[past] = known.measured[steps[past], farm]
        x = block_inputs(known, rows, farm)
        used = np.isfinite(measured) & np.isfinite(x[:, SPEED])
        return train_booster(
            x[used],
            measured[used].astype(np.float32),
            seed=self._seed,
            trees=self._settings.trees,
            rate=self._settings.rate,
        )


def block_inputs(known: Knowledge, rows: Int64Array, farm: int) -> Float32Array:
    """Inputs of a farm for all hours of some runs, `48 n x d`.

    The newest run (u, v, speed), its speed in neighbouring hours, the run before it, the last
    known power, the lead, and the hour of the day.
    """
    runs, shape = known.runs, (len(rows), BLOCK)
    columns = [runs.values[rows][:, :, farm]]
    columns += [runs.shifted(rows, by)[:, :, farm, [SPEED]] for by in NEIGHBOURING_HOURS]
    columns.append(runs.earlier(rows, 1)[:, :, farm])
    columns.append(np.empty((*shape, 3)))
    columns[-1][..., 0] = known.measured[runs.issued[rows], farm][:, None]
    columns[-1][..., 1] = np.arange(1, BLOCK + 1)
    columns[-1][..., 2] = runs.steps(rows) % HOURS_PER_DAY
    return np.concatenate(columns, axis=2).reshape(len(rows) * BLOCK, -1).astype(np.float32)
