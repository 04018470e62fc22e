"""How wide a zone's forecasts are: calibrated by its rows as they close."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from clearwatt.arrays import Float32Array, Float64Array
from clearwatt.intervals import Calibrator, Window
from clearwatt.packing import tensors_below
from clearwatt.service.folding.live import DAY
from clearwatt.service.records import IntervalSheet
from clearwatt.service.status import IntervalQuality

SHOWN = (0.05, 0.95)
"""The interval whose coverage is told."""

Places = npt.NDArray[np.int64]
Speak = Callable[[Float32Array, Places], Float64Array]
"""Forecasts (n x columns) of some entities for inputs (n x d), by the models now in force."""


class ZoneIntervals:
    """A calibrator of a zone's entities, and the rows of the last days (n) a new model is tried on.

    ``low`` and ``high`` (n x entities) are what had been said of them a day before; all in the
    scale of the models. Steps are times in units of the zone's step.
    """

    def __init__(self, step: int) -> None:
        self.step, self.day = step, max(1, DAY // step)
        self.calibrator: Calibrator | None = None
        self.window = Window.empty(0, 0)
        self.low = self.high = self.window.y
        self._published = -1

    def begin(
        self,
        forecasts: Float64Array,
        y: Float32Array,
        *,
        x: Float32Array,
        times: Places,
        limits: Sequence[tuple[float, float]],
    ) -> None:
        """Start with the warm-up of the first entities: forecasts and y (n x m), x (n x d)."""
        low, high = np.array(limits).T
        self.calibrator = Calibrator.start(
            forecasts,
            y.astype(np.float64),
            times // self.step,
            day=self.day,
            low=low,
            high=high,
        )
        self.window = Window.empty(x.shape[1], y.shape[1])
        self.low = self.high = self.window.y
        blank = np.full(y.shape, np.nan, np.float32)
        self._keep(Window(x, y, times // self.step), blank, blank)

    def join(
        self,
        forecasts: Float64Array,
        y: Float32Array,
        *,
        times: Places,
        limits: tuple[float, float],
    ) -> None:
        """Let another entity join with its warm-up: forecasts, y and times (n)."""
        assert self.calibrator is not None
        low, high = limits
        self.calibrator.add(forecasts, y.astype(np.float64), times // self.step, low=low, high=high)
        self.window = self.window.joined()
        blank = self.window.y[:, -1:]
        self.low, self.high = (np.hstack([each, blank]) for each in (self.low, self.high))

    def observe(
        self, forecasts: Float64Array, y: Float32Array, *, x: Float32Array, times: Places
    ) -> None:
        """Take in rows as they close: what was said, and what was measured (n x m, NaN: not)."""
        if self.calibrator is None or len(times) == 0:
            return
        steps = times // self.step
        said = self.calibrator.observe(
            _rounded(forecasts), y.astype(np.float64), steps, levels=SHOWN
        )
        assert said is not None
        self._keep(Window(x, y, steps), *said.astype(np.float32).transpose(2, 0, 1))

    def renew(self, columns: Places, speak: Speak) -> None:
        """Go on with new models of some entities."""
        if self.calibrator is not None and len(columns):
            known = self.window.y[:, columns].astype(np.float64)
            tried = _rounded(speak(self.window.x, columns))
            self.calibrator.swap(columns, tried, known, self.window.steps)

    def forget(self, columns: Places, start: int, end: int) -> None:
        """Let go of what some entities measured with start <= time < end."""
        self.window = self.window.without(columns, -(-start // self.step), -(-end // self.step))

    def standing(self, column: int, size: float) -> IntervalQuality:
        """Coverage and mean width of the interval over the last days, in the unit of power."""
        y, low, high = (each[:, column] for each in (self.window.y, self.low, self.high))
        known = np.isfinite(y) & np.isfinite(low)
        if not known.any():
            return IntervalQuality()
        inside = (y >= low) & (y <= high)
        return IntervalQuality(
            n_week=int(known.sum()),
            coverage_week=float(inside[known].mean()),
            width_week=float((high - low)[known].astype(np.float64).mean() * size),
        )

    @property
    def revision(self) -> int | None:
        """Changes with what is said; None before anything is."""
        return None if self.calibrator is None else self.calibrator.revision

    def sheet(self, zone: str, numbers: Places) -> IntervalSheet | None:
        """What is said now, for those who forecast, if it has changed since it was last asked."""
        if self.calibrator is None or self.calibrator.revision == self._published:
            return None
        self._published = revision = self.calibrator.revision
        return IntervalSheet(zone, revision, tuple(numbers.tolist()), self.calibrator.sheet.pack())

    def values(self) -> dict[str, Any] | None:
        """The plain part of a saved state."""
        return None if self.calibrator is None else self.calibrator.state()[0]

    def tensors(self) -> dict[str, Tensor]:
        """The tensors of a saved state."""
        if self.calibrator is None:
            return {}
        arrays: dict[str, npt.NDArray[Any]] = {
            "steps": self.window.steps,
            "x": self.window.x,
            "y": self.window.y,
            "low": self.low,
            "high": self.high,
        }
        learned = {f"calibrator.{name}": each for name, each in self.calibrator.state()[1].items()}
        return {name: torch.from_numpy(each.copy()) for name, each in (arrays | learned).items()}

    def restore(self, values: dict[str, Any] | None, tensors: dict[str, Tensor]) -> None:
        """Take a saved state back; what it says was told before it was saved."""
        if values is None:
            return
        arrays = {name: tensor.numpy() for name, tensor in tensors.items()}
        self.window = Window(arrays["x"], arrays["y"], arrays["steps"])
        self.low, self.high = arrays["low"], arrays["high"]
        learned = {
            name: each.numpy() for name, each in tensors_below(tensors, "calibrator.").items()
        }
        self.calibrator = Calibrator.restored(values, learned)
        self._published = self.calibrator.revision

    def _keep(self, newer: Window, low: Float32Array, high: Float32Array) -> None:
        self.window = self.window.with_newer(newer, self.day)
        kept = len(self.window.steps)
        self.low = np.concatenate([self.low, low])[-kept:]
        self.high = np.concatenate([self.high, high])[-kept:]


def _rounded(forecasts: Float64Array) -> Float64Array:
    """In single precision, because what is learned must not depend on the last bits of a double.

    They differ with how many rows were computed at once.
    """
    return forecasts.astype(np.float32).astype(np.float64)
