"""Quantiles around point forecasts, recalibrated day by day as measurements arrive.

A residual is normalised by the long-term statistics of its cell (hour and level, `cells`), then by
the recent size and bias (`recent`). Quantiles of normalised residuals come from a fading histogram
(`histogram`), and a tracker per level moves each until the share of readings below it is right.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import asdict
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from clearwatt.arrays import Float64Array, to_single
from clearwatt.errors import ConfigurationError, DataError, StateError, require_whole
from clearwatt.intervals.cells import PARTS, CellSpread, Indices, ResidualCells
from clearwatt.intervals.levels import checked_levels
from clearwatt.intervals.limits import limits_array
from clearwatt.intervals.long_term import LongTermStatistics
from clearwatt.intervals.pending import ResidualRows
from clearwatt.intervals.quantile_model import QuantileModel
from clearwatt.intervals.rates import DEFAULT_RATES, CalibrationRates
from clearwatt.intervals.snapshot import QuantileSnapshot
from clearwatt.intervals.state import CalibratorState

VERSION = 2
"""Of the saved state."""


class Calibrator:
    """The quantiles of all entities of a zone, learned from their residuals row by row.

    The state is a function of the rows and of the model swaps between them; how rows are grouped
    into calls makes no difference.
    """

    def __init__(self, state: CalibratorState, limits: Float64Array, *, lag: int) -> None:
        self.cells, self.limits, self.lag = state.cells, limits, lag
        self._state = state
        self._day: int | None = None  # the current day, if it is not over
        self._last: int | None = None  # the step of the last row
        self.revision = 0  # changes with the quantiles

    @classmethod
    def start(
        cls,
        forecasts: Float64Array,
        y: Float64Array,
        steps: Indices,
        *,
        day: int,
        parts: int = PARTS,
        lag: int = 1,
        low: npt.ArrayLike | None = None,
        high: npt.ArrayLike | None = None,
        rates: CalibrationRates = DEFAULT_RATES,
    ) -> Calibrator:
        """Begin with the models' forecasts of their warm-up.

        Args:
            forecasts: n x m.
            y: Measurements, n x m; NaN where there is none.
            steps: Step of each row, n, ascending.
            day: Steps per day.
            parts: Parts of a day with their own statistics; 1 if the time of day is unknown.
            lag: Whole days between the last row known when quantiles are given and the day that
                they are given for (`Clock.lag_days`): 1 for a day ahead.
            low: The lowest possible power, of all or of each entity; None: no limit.
            high: The highest.
            rates: How fast it learns.
        """
        require_whole(day=day, parts=parts)
        if lag < 0:
            raise ConfigurationError(f"lag is {lag}; it must be 0 or more days")
        cells = ResidualCells.fit(forecasts, day=day, parts=min(parts, day))
        places = cells.places(cells.bands(forecasts), steps)
        long_term = LongTermStatistics.start(y - forecasts, places, cells=cells, rates=rates)
        state = CalibratorState(cells, lag=lag, rates=rates, long_term=long_term)
        return cls(state, limits_array(low, high, y.shape[1]), lag=lag)

    @property
    def snapshot(self) -> QuantileSnapshot:
        """The quantiles of later rows, from all that is known."""
        return QuantileSnapshot(self.cells, self._state.models[-1], self.limits)

    def observe(
        self,
        forecasts: Float64Array,
        y: Float64Array,
        steps: Indices,
        *,
        levels: Sequence[float] | Float64Array | None = None,
    ) -> Float64Array | None:
        """Learn from live forecasts and measurements.

        Args:
            forecasts: n x m.
            y: Measurements, n x m; NaN where there is none.
            steps: Step of each row, n, ascending from call to call.
            levels: Of the quantiles to return.

        Returns:
            With levels, the quantiles (n x m x levels) that were given for these rows, ``lag``
            whole days or more before their measurements.
        """
        self._check(forecasts, y, steps)
        wanted = None if levels is None else checked_levels(levels)
        quantiles = None if wanted is None else np.empty((*y.shape, len(wanted)))
        cuts = self._cuts(steps)
        first = 0  # of the days that are not learned from yet
        while first < len(cuts) - 1:
            if self._day not in (None, int(steps[cuts[first]]) // self.cells.day):
                self._learn(1)
            days = cuts[first : first + self._state.free_days + 1]
            models = self._advance(forecasts, y, steps, cuts=days)
            if quantiles is not None and wanted is not None:
                for model, (start, stop) in zip(models, pairwise(days), strict=True):
                    quantiles[start:stop] = model.quantiles(
                        forecasts[start:stop],
                        steps[start:stop],
                        cells=self.cells,
                        levels=wanted,
                        limits=self.limits,
                    )
            first += len(days) - 1
        return quantiles

    def swap(
        self, columns: Indices, forecasts: Float64Array, y: Float64Array, steps: Indices
    ) -> None:
        """Continue with a new forecasting model, given its forecasts of the last days.

        From now on the quantiles of its entities fit its residuals, and are wider for some days,
        because it may have been trained on these days.

        Args:
            columns: The entities whose forecasts it changes, k.
            forecasts: Of the new model for the last `WINDOW_DAYS`, w x k; w may be 0.
            y: Measurements, w x k; NaN where there is none.
            steps: Step of each row, w.
        """
        if self._day is not None and self._last is not None:
            # Rows before the swap belong to the quantiles of before.
            self._state.normalise_today(self.cells.count_until(self._last))
        cells, model = self.cells.select(columns), self._state.models[-1]
        spread = CellSpread(model.location[columns], model.scale[columns])
        places = cells.places(cells.bands(forecasts), steps)
        age = (steps[-1:] - steps) / self.cells.day
        weights = 0.5 ** (age / self._state.rates.recent) / self.cells.stride
        units = spread.normalise(y - forecasts, places)
        self._state.replace_models(columns, units, weights)
        self.revision += 1

    def add(
        self,
        forecasts: Float64Array,
        y: Float64Array,
        steps: Indices,
        *,
        low: float | None = None,
        high: float | None = None,
    ) -> None:
        """Add another entity with its warm-up: forecasts, measurements and steps (n)."""
        new = Calibrator.start(
            forecasts[:, None],
            y[:, None],
            steps,
            day=self.cells.day,
            parts=self.cells.parts,
            lag=self.lag,
            low=low,
            high=high,
            rates=self._state.rates,
        )
        arrays, own = new._arrays(), self._arrays()
        arrays["batch.places"] = arrays["batch.places"] + self.cells.count * len(self.cells.lowest)
        both = {name: np.concatenate([own[name], arrays[name]], axis=_axis(name)) for name in own}
        self._restore(self.state()[0], both)
        self.revision += 1

    def remove(self, column: int) -> None:
        """Remove an entity; the others stay as they are."""
        arrays, cells = self._arrays(), self.cells.count
        stay = [other for other in range(len(self.cells.lowest)) if other != column]
        moved = cells * (np.array(stay, np.int64) - np.arange(len(stay)))
        rest = {name: np.take(each, stay, axis=_axis(name)) for name, each in arrays.items()}
        rest["batch.places"] = rest["batch.places"] - moved
        self._restore(self.state()[0], rest)
        self.revision += 1

    @property
    def learned(self) -> dict[str, npt.NDArray[Any]]:
        """What has been learned so far of each entity, pending rows aside, to go back to it.

        In single precision, because copies of several days are kept.
        """
        kept = {"lowest", "height", "limits"}
        return {
            name: to_single(each)
            for name, each in self._arrays().items()
            if name not in kept and not name.startswith("batch.")
        }

    def go_back(self, column: int, earlier: Mapping[str, npt.NDArray[Any]]) -> None:
        """Go back to what had been `learned` of one entity; its pending rows are forgotten."""
        arrays = {name: each.copy() for name, each in self._arrays().items()}
        for name, then in earlier.items():
            axis = _axis(name)
            np.moveaxis(arrays[name], axis, 0)[column] = np.moveaxis(then, axis, 0)[column]
        arrays["batch.residuals"][:, column] = np.nan
        self._restore(self.state()[0], arrays)
        self.revision += 1

    def copy(self) -> Calibrator:
        """An independent copy."""
        other = copy(self)
        other._state = self._state.copy()
        return other

    def restarted(self) -> Calibrator:
        """An independent copy that can begin with any day."""
        other = self.copy()
        other._day = other._last = None
        return other

    def state(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """The state as plain values and arrays."""
        values = {
            "version": VERSION,
            "day": self.cells.day,
            "parts": self.cells.parts,
            "lag": self.lag,
            "pace": asdict(self._state.rates),
            "held": self._state.held,
            "settled": self._state.settled,
            "open_day": self._day,
            "revision": self.revision,
            "last": self._last,
        }
        return values, self._arrays()

    @classmethod
    def from_state(
        cls, values: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]
    ) -> Calibrator:
        """The opposite of `state`; the calibrator continues as if it had never stopped."""
        if values.get("version") != VERSION:
            raise StateError(
                f"intervals were saved with version {values.get('version')}, this release reads "
                f"version {VERSION}; load them with the release that wrote them"
            )
        calibrator = cls.__new__(cls)
        calibrator._day, calibrator._last = values["open_day"], values["last"]
        calibrator.revision = values["revision"]
        calibrator._restore(values, arrays)
        return calibrator

    @property
    def state_bytes(self) -> int:
        """Bytes of the state, per entity."""
        return sum(each.nbytes for each in self._arrays().values()) // len(self.cells.lowest)

    def _arrays(self) -> dict[str, npt.NDArray[Any]]:
        return {
            "lowest": self.cells.lowest,
            "height": self.cells.height,
            "limits": self.limits,
            **self._state.arrays(),
        }

    def _restore(self, values: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        self.cells = ResidualCells(
            values["day"], values["parts"], arrays["lowest"], arrays["height"]
        )
        self.limits, self.lag = arrays["limits"], values["lag"]
        self._state = CalibratorState.from_arrays(
            arrays,
            cells=self.cells,
            lag=self.lag,
            rates=CalibrationRates(**values["pace"]),
            held=values["held"],
            settled=values["settled"],
        )

    def _check(self, forecasts: Float64Array, y: Float64Array, steps: Indices) -> None:
        wanted = (len(steps), len(self.cells.lowest))
        for name, values in (("forecasts", forecasts), ("y", y)):
            if values.shape != wanted:
                raise DataError(
                    f"{name} have shape {values.shape}; {wanted[0]} steps of {wanted[1]} entities "
                    f"need shape {wanted}"
                )
        if np.isinf(y).any():
            raise DataError("y is infinite in places; give NaN where nothing was measured")
        before = steps if self._last is None else np.concatenate([[self._last], steps])
        back = np.flatnonzero(np.diff(before) <= 0)
        if len(back):
            raise DataError(
                f"step {before[back[0] + 1]} comes after step {before[back[0]]}; give rows in "
                "order, each once"
            )

    def _cuts(self, steps: Indices) -> list[int]:
        """The rows at which the days of a block begin, and its end."""
        inner = np.flatnonzero(np.diff(steps // self.cells.day)) + 1
        return [0, *inner.tolist(), len(steps)] if len(steps) else []

    def _residual_rows(
        self, forecasts: Float64Array, y: Float64Array, steps: Indices
    ) -> ResidualRows | None:
        """Those of some rows that are learned from; None if there are none."""
        chosen = self.cells.rows_to_learn(steps)
        if len(chosen) == 0:  # the case for most single rows
            return None
        forecasts, y, steps = forecasts[chosen], y[chosen], steps[chosen]
        places = self.cells.places(self.cells.bands(forecasts), steps)
        slots = steps % self.cells.day // self.cells.stride
        return ResidualRows(chosen, slots, places, y - forecasts)

    def _advance(
        self, forecasts: Float64Array, y: Float64Array, steps: Indices, *, cuts: list[int]
    ) -> list[QuantileModel]:
        """Learn from the days of a block between cuts, no more than there is room for.

        Returns:
            The quantile model that was used on each day.
        """
        rows = slice(cuts[0], cuts[-1])
        new = self._residual_rows(forecasts[rows], y[rows], steps[rows])
        if new is not None:
            days = np.searchsorted(cuts[1:-1], new.chosen + cuts[0], side="right")
            self._state.add_rows(new, days)
        self._last = int(steps[cuts[-1] - 1])
        over = cuts[-1] < len(steps) or self._last % self.cells.day == self.cells.day - 1
        models = self._learn(len(cuts) - 1 - (not over))
        self._day = None if over else self._last // self.cells.day
        return models if over else [*models, self._state.models[0]]

    def _learn(self, days: int) -> list[QuantileModel]:
        self.revision += days
        return self._state.learn(days)


def _axis(name: str) -> int:
    """The axis of a saved array along which entities lie."""
    return 1 if name == "limits" or name.startswith("batch.") else 0
