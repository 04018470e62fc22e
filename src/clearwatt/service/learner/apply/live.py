"""Forecasts of a zone's deployed models and their live errors, with daily records."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from safetensors.numpy import save as pack
from torch import Tensor

from clearwatt.arrays import BoolArray, Float32Array, Float64Array
from clearwatt.packing import tensors_below
from clearwatt.service.learner.apply.persistence import repeat_last_day
from clearwatt.service.learner.apply.two_weeks import TwoWeeks
from clearwatt.service.records import SignalDay
from clearwatt.service.status import ForecastSkill, LiveErrors
from clearwatt.service.times import Times

DAY = 86_400
WEEK = 7 * DAY


class LiveForecasts:
    """Forecasts and readings (n x entities) of at least the last week, in the unit of power.

    ``readings`` is NaN without a valid reading; ``reconstruction`` (n) is the error of the shared
    representation. ``skill`` has, per day, the number of steps with a forecast, a reading and
    persistence, and the sums of the squared errors of the forecasts and of persistence on them.
    ``sums`` (entities x 3) has, since the warm-up and up to the last midnight, the number of
    errors, the sum of their squares and that of their absolute values.
    """

    def __init__(self, zone: str) -> None:
        self.zone = zone
        self.times: Times = np.empty(0, np.int64)
        self.reconstruction: Float32Array = np.empty(0, np.float32)
        self.forecasts: Float32Array = np.empty((0, 0), np.float32)
        self.readings: Float32Array = np.empty((0, 0), np.float32)
        self.judged: npt.NDArray[np.int64] = np.empty(0, np.int64)
        self.sums: Float64Array = np.zeros((0, 3))
        self.skill = TwoWeeks(3, fails=_is_worse)
        self._touched: set[int] = set()
        self._midnights: list[int] = []

    def add_columns(self, count: int) -> None:
        """Make room for entities that begin to learn."""
        blank = np.full((len(self.times), count), np.nan, np.float32)
        self.forecasts = np.hstack([self.forecasts, blank])
        self.readings = np.hstack([self.readings, blank])
        self.judged = np.concatenate([self.judged, np.zeros(count, np.int64)])
        self.sums = np.concatenate([self.sums, np.zeros((count, 3))])
        self.skill.add_columns(count)

    def remove_column(self, column: int) -> None:
        """Remove an entity; its forecasts are no longer stored."""
        self.forecasts = np.delete(self.forecasts, column, axis=1)
        self.readings = np.delete(self.readings, column, axis=1)
        self.judged = np.delete(self.judged, column)
        self.sums = np.delete(self.sums, column, axis=0)
        self.skill.remove_column(column)

    def record(
        self,
        times: Times,
        *,
        reconstruction: Float32Array,
        forecasts: Float32Array,
        readings: Float32Array,
        delay: int = DAY,
    ) -> None:
        """Append closed rows, in order of time; ``delay`` is that of `repeat_last_day`."""
        if len(times) == 0:
            return
        newest = int(self.times[-1] if len(self.times) else times[0])
        self.times = np.concatenate([self.times, times])
        self.reconstruction = np.concatenate([self.reconstruction, reconstruction])
        self.forecasts = np.concatenate([self.forecasts, forecasts])
        self.readings = np.concatenate([self.readings, readings])
        self.judged = self.judged + np.isfinite(readings).sum(axis=0)
        self._touched.update(int(day) for day in np.unique(times // DAY * DAY))
        for day in range(newest // DAY * DAY, int(times[-1]) // DAY * DAY, DAY):
            self._close_day(day, delay)

    def _close_day(self, day: int, delay: int) -> None:
        """Add the squared errors of a day whose rows are complete."""
        inside = slice(*np.searchsorted(self.times, [day, day + DAY]))
        readings = self.readings[inside].astype(np.float64)
        repeated = repeat_last_day(self.times[inside], self.times, self.readings, delay=delay)
        squares = (self.forecasts[inside] - readings) ** 2
        self.sums = self.sums + np.column_stack(
            [np.isfinite(squares).sum(axis=0), *map(_sum, (squares, np.sqrt(squares)))]
        )
        persistence = (repeated - readings) ** 2
        compared = np.isfinite(squares) & np.isfinite(persistence)
        sums = [np.where(compared, each, 0.0).sum(axis=0) for each in (squares, persistence)]
        self.skill.add(day, np.column_stack([compared.sum(axis=0), *sums]))
        self._midnights.append(day + DAY)

    def new_midnights(self) -> list[int]:
        """The midnights (UTC) passed since the last call."""
        passed, self._midnights = self._midnights, []
        return passed

    def skill_of(self, column: int) -> ForecastSkill:
        """Live error against persistence over the two weeks before the last midnight."""
        count, squares, persistence = self.skill.total[column].tolist()
        worse = bool(self.skill.failing[column])
        if count == 0:
            return ForecastSkill(worse=worse)
        rmse, reference = np.sqrt(squares / count), np.sqrt(persistence / count)
        return ForecastSkill(int(count), float(rmse), float(reference), worse)

    def errors_of(self, column: int) -> LiveErrors:
        """Live errors over the last day, the last week and since the warm-up."""
        count, squares, absolutes = self.sums[column].tolist()
        total = (int(count), np.sqrt(squares / count), absolutes / count) if count else ()
        return LiveErrors(*self._errors(column, DAY), *self._errors(column, WEEK), *total)

    def _errors(self, column: int, span: int) -> tuple[int, float | None, float | None]:
        """Count, root mean square and mean absolute error over the last ``span`` seconds."""
        errors = self._values_since(self._errors_of(column), span)
        errors = errors[np.isfinite(errors)].astype(np.float64)
        if len(errors) == 0:
            return 0, None, None
        return len(errors), float(np.sqrt((errors**2).mean())), float(np.abs(errors).mean())

    def _errors_of(self, column: int) -> Float32Array:
        """Forecast minus reading (n); NaN without a valid reading."""
        return self.forecasts[:, column] - self.readings[:, column]

    def days_of(self, column: int) -> tuple[float | None, ...]:
        """The live error (root mean square) of each of the last seven days, the oldest first."""
        if len(self.times) == 0:
            return ()
        ends = self.times[-1] - DAY * np.arange(7, -1, -1)
        cuts = np.searchsorted(self.times, ends, side="right")
        squares = self._errors_of(column).astype(np.float64) ** 2
        days = [squares[start:stop] for start, stop in pairwise(cuts)]
        known = [day[np.isfinite(day)] for day in days]
        return tuple(float(np.sqrt(day.mean())) if len(day) else None for day in known)

    @property
    def reconstruction_day(self) -> float | None:
        """The mean reconstruction error over the last day."""
        errors = self._values_since(self.reconstruction, DAY)
        errors = errors[np.isfinite(errors)]
        return float(errors.mean()) if len(errors) else None

    def days(self, numbers: npt.NDArray[np.int64]) -> tuple[SignalDay, ...]:
        """The days changed since the last call, to be stored.

        Rows older than a week are then deleted.
        """
        touched, self._touched = sorted(self._touched), set()
        days = tuple(self._day(day, numbers) for day in touched)
        if len(self.times):
            # One day more, because the first day of the week may be written again, and because
            # persistence needs a week before the day that is not complete.
            old = (self.times[-1] - WEEK) // DAY * DAY
            first = int(np.searchsorted(self.times, old))
            self.times, self.reconstruction = self.times[first:], self.reconstruction[first:]
            self.forecasts, self.readings = self.forecasts[first:], self.readings[first:]
        return days

    def _day(self, day: int, numbers: npt.NDArray[np.int64]) -> SignalDay:
        inside = slice(*np.searchsorted(self.times, [day, day + DAY]))
        content: dict[str, npt.NDArray[np.generic]] = {
            "times": self.times[inside],
            "reconstruction": self.reconstruction[inside],
            "forecast": np.ascontiguousarray(self.forecasts[inside]),
            "entities": numbers,
        }
        return SignalDay(self.zone, day, pack(content))

    def _values_since(self, values: Float32Array, span: int) -> Float32Array:
        if len(self.times) == 0:
            return values
        return values[int(np.searchsorted(self.times, self.times[-1] - span, side="right")) :]

    def values(self) -> dict[str, Any]:
        """The plain part of a saved state."""
        return {"judged": self.judged.tolist(), "touched": sorted(self._touched)}

    def tensors(self) -> dict[str, Tensor]:
        """The tensors of a saved state."""
        return {
            "times": torch.from_numpy(self.times.copy()),
            "reconstruction": torch.from_numpy(self.reconstruction.copy()),
            "forecasts": torch.from_numpy(self.forecasts.copy()),
            "readings": torch.from_numpy(self.readings.copy()),
            "sums": torch.from_numpy(self.sums.copy()),
            **{f"skill.{name}": each for name, each in self.skill.tensors().items()},
        }

    def restore(self, values: dict[str, Any], tensors: dict[str, Tensor]) -> None:
        """Restore a saved state."""
        self.judged = np.array(values["judged"], np.int64)
        self._touched = set(values["touched"])
        self.times = tensors["live.times"].numpy()
        self.reconstruction = tensors["live.reconstruction"].numpy()
        self.forecasts = tensors["live.forecasts"].numpy()
        if "live.readings" in tensors:
            self.readings = tensors["live.readings"].numpy()
        else:  # earlier versions saved errors
            self.readings = self.forecasts - tensors["live.errors"].numpy()
        none = torch.zeros(len(self.judged), 3, dtype=torch.float64)  # earlier versions have none
        self.sums = tensors.get("live.sums", none).numpy()
        self.skill.restore(tensors_below(tensors, "live.skill."), columns=len(self.judged))


def _sum(values: Float64Array) -> Float64Array:
    """Sum of each column without NaN."""
    return np.asarray(np.nansum(values, axis=0), np.float64)


def _is_worse(sums: Float64Array) -> BoolArray:
    """Which entities have a larger squared error than persistence, from their sums."""
    return np.asarray(sums[:, 1] > sums[:, 2], np.bool_)
