"""Intervals of a stream of forecasts, calibrated while measurements arrive and models change."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy.typing as npt

from clearwatt.arrays import Float32Array, Float64Array, Int64Array
from clearwatt.clock import Steps
from clearwatt.intervals.calibrator import Calibrator
from clearwatt.intervals.cells import PARTS
from clearwatt.intervals.window import SampleWindow

ForecastFunction = Callable[[Float32Array, Int64Array], Float64Array]
"""Forecasts (n x columns) of some entities for inputs (n x d)."""


class CalibratedStream:
    """A calibrator that follows a stream, and the samples of its last days.

    New models forecast these samples before they serve, so that the width of the intervals fits
    their residuals. The result does not depend on how the stream was cut into blocks.
    """

    def __init__(self, calibrator: Calibrator, window: SampleWindow) -> None:
        self.calibrator, self.window = calibrator, window

    @classmethod
    def start(
        cls,
        forecasts: Float64Array,
        warmup: SampleWindow,
        *,
        day: int,
        parts: int = PARTS,
        low: npt.ArrayLike | None = None,
        high: npt.ArrayLike | None = None,
    ) -> CalibratedStream:
        """Begin with the first models' forecasts (n x entities) of their warm-up.

        The other arguments are those of `Calibrator.start`.
        """
        calibrator = Calibrator.start(
            forecasts,
            warmup.measurements(),
            warmup.steps,
            day=day,
            parts=parts,
            low=low,
            high=high,
        )
        empty = SampleWindow.empty(warmup.x.shape[1], warmup.y.shape[1])
        return cls(calibrator, empty.append(warmup, day=day))

    @property
    def next_step(self) -> int:
        """The step after the last sample."""
        return int(self.window.steps[-1]) + 1

    def observe(
        self,
        forecasts: Float64Array,
        samples: SampleWindow,
        *,
        levels: Sequence[float] | None = None,
    ) -> Float64Array | None:
        """Learn from the live forecasts (n x entities) of samples that are measured now.

        Returns:
            With levels, the quantiles (n x entities x levels) that were given for these samples.
        """
        quantiles = self.calibrator.observe(
            forecasts, samples.measurements(), samples.steps, levels=levels
        )
        self.window = self.window.append(samples, day=self.calibrator.cells.day)
        return quantiles

    def swap(self, columns: Int64Array, forecast: ForecastFunction) -> None:
        """Continue with new models of some entities; ``forecast`` gives their forecasts."""
        if len(columns):
            known = self.window.measurements(columns)
            forecasts = forecast(self.window.x, columns)
            self.calibrator.swap(columns, forecasts, known, self.window.steps)

    def add(
        self,
        forecasts: Float64Array,
        y: Float64Array,
        steps: Steps,
        *,
        low: float | None = None,
        high: float | None = None,
    ) -> None:
        """Add another entity with its warm-up: forecasts, measurements and steps (n)."""
        self.calibrator.add(forecasts, y, steps, low=low, high=high)
        self.window = self.window.add_entity()

    def remove(self, column: int) -> None:
        """Remove an entity."""
        self.calibrator.remove(column)
        self.window = self.window.remove_entity(column)

    def forget(self, columns: Int64Array, start: int, end: int) -> None:
        """Delete measurements of some entities at start <= step < end from the window."""
        self.window = self.window.forget(columns, start, end)

    def copy(self) -> CalibratedStream:
        """An independent copy."""
        return CalibratedStream(self.calibrator.copy(), self.window)
