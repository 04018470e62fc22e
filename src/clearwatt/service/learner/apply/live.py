"""Forecasts of a zone's deployed models and their live errors, with daily records."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from safetensors.numpy import save as pack
from torch import Tensor

from clearwatt.arrays import Float32Array
from clearwatt.service.records import SignalDay
from clearwatt.service.status import LiveErrors

DAY = 86_400
WEEK = 7 * DAY

Times = npt.NDArray[np.int64]


class LiveForecasts:
    """Forecasts and errors (n x entities) of at least the last week, in the unit of power.

    ``errors`` is forecast minus reading, NaN without a valid reading;
    ``reconstruction`` (n) is the error of the shared representation.
    """

    def __init__(self, zone: str) -> None:
        self.zone = zone
        self.times: Times = np.empty(0, np.int64)
        self.reconstruction: Float32Array = np.empty(0, np.float32)
        self.forecasts: Float32Array = np.empty((0, 0), np.float32)
        self.errors: Float32Array = np.empty((0, 0), np.float32)
        self.judged: npt.NDArray[np.int64] = np.empty(0, np.int64)
        self._touched: set[int] = set()

    def add_columns(self, count: int) -> None:
        """Make room for entities that begin to learn."""
        blank = np.full((len(self.times), count), np.nan, np.float32)
        self.forecasts = np.hstack([self.forecasts, blank])
        self.errors = np.hstack([self.errors, blank])
        self.judged = np.concatenate([self.judged, np.zeros(count, np.int64)])

    def record(
        self,
        times: Times,
        *,
        reconstruction: Float32Array,
        forecasts: Float32Array,
        readings: Float32Array,
    ) -> None:
        """Append closed rows."""
        self.times = np.concatenate([self.times, times])
        self.reconstruction = np.concatenate([self.reconstruction, reconstruction])
        self.forecasts = np.concatenate([self.forecasts, forecasts])
        self.errors = np.concatenate([self.errors, forecasts - readings])
        self.judged = self.judged + np.isfinite(readings).sum(axis=0)
        self._touched.update(int(day) for day in np.unique(times // DAY * DAY))

    def errors_of(self, column: int) -> LiveErrors:
        """Live errors over the last day and the last week."""
        return LiveErrors(*self._errors(column, DAY), *self._errors(column, WEEK))

    def _errors(self, column: int, span: int) -> tuple[int, float | None, float | None]:
        """Count, root mean square and mean absolute error over the last ``span`` seconds."""
        errors = self._since(self.errors[:, column], span)
        errors = errors[np.isfinite(errors)].astype(np.float64)
        if len(errors) == 0:
            return 0, None, None
        return len(errors), float(np.sqrt((errors**2).mean())), float(np.abs(errors).mean())

    def days_of(self, column: int) -> tuple[float | None, ...]:
        """The live error (root mean square) of each of the last seven days, the oldest first."""
        if len(self.times) == 0:
            return ()
        ends = self.times[-1] - DAY * np.arange(7, -1, -1)
        cuts = np.searchsorted(self.times, ends, side="right")
        squares = self.errors[:, column].astype(np.float64) ** 2
        days = [squares[start:stop] for start, stop in pairwise(cuts)]
        known = [day[np.isfinite(day)] for day in days]
        return tuple(float(np.sqrt(day.mean())) if len(day) else None for day in known)

    @property
    def reconstruction_day(self) -> float | None:
        """The mean reconstruction error over the last day."""
        errors = self._since(self.reconstruction, DAY)
        errors = errors[np.isfinite(errors)]
        return float(errors.mean()) if len(errors) else None

    def days(self, numbers: npt.NDArray[np.int64]) -> tuple[SignalDay, ...]:
        """The days changed since the last call, to be stored.

        Rows older than a week are then deleted.
        """
        touched, self._touched = sorted(self._touched), set()
        days = tuple(self._day(day, numbers) for day in touched)
        if len(self.times):
            # One day more, because the first day of the week may be written again.
            old = (self.times[-1] - WEEK) // DAY * DAY
            first = int(np.searchsorted(self.times, old))
            self.times, self.reconstruction = self.times[first:], self.reconstruction[first:]
            self.forecasts, self.errors = self.forecasts[first:], self.errors[first:]
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

    def _since(self, values: Float32Array, span: int) -> Float32Array:
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
            "errors": torch.from_numpy(self.errors.copy()),
        }

    def restore(self, values: dict[str, Any], tensors: dict[str, Tensor]) -> None:
        """Restore a saved state."""
        self.judged = np.array(values["judged"], np.int64)
        self._touched = set(values["touched"])
        self.times = tensors["live.times"].numpy()
        self.reconstruction = tensors["live.reconstruction"].numpy()
        self.forecasts = tensors["live.forecasts"].numpy()
        self.errors = tensors["live.errors"].numpy()
