"""Intervals of an instance, calibrated with every block that it learns from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from clearwatt.arrays import Float32Array, Float64Array
from clearwatt.clear.deployed_models import DeployedModels
from clearwatt.clear.instance import Instance
from clearwatt.clear.loop import Deployment
from clearwatt.errors import DataError, require_whole
from clearwatt.intervals import PARTS, CalibratedStream, Calibrator, SampleWindow

SAMPLES_PER_DAY = 24
"""Samples that count as a day where the number of steps per day is unknown."""


class InstanceCalibration:
    """The calibrated stream of an instance; its steps count samples from the warm-up's first."""

    def __init__(self, stream: CalibratedStream) -> None:
        self._stream = stream

    @classmethod
    def start(
        cls, instance: Instance, x: Float32Array, y: Float32Array, *, steps_per_day: int | None
    ) -> InstanceCalibration:
        """Begin with the warm-up of an instance: x (n x d), y (n x entities).

        Without steps per day the time of day is unknown, and only the level of forecasts counts.
        """
        day, parts = (SAMPLES_PER_DAY, 1) if steps_per_day is None else (steps_per_day, PARTS)
        require_whole(steps_per_day=day)
        warmup = SampleWindow(x, y, np.arange(len(x), dtype=np.int64))
        return cls(CalibratedStream.start(instance.predict(x), warmup, day=day, parts=parts))

    def quantiles(
        self, forecasts: Float64Array, levels: Sequence[float], *, steps: npt.ArrayLike | None
    ) -> Float64Array:
        """Quantiles (n x entities x levels) around forecasts (n x entities).

        Args:
            forecasts: By the models in service.
            levels: Ascending, between 0 and 1.
            steps: Step of each forecast (n); None: those after the last sample.
        """
        if steps is None:
            first = self._stream.next_step
            steps = np.arange(first, first + len(forecasts))
        given = np.asarray(steps)
        if given.shape != (len(forecasts),) or not np.issubdtype(given.dtype, np.integer):
            raise DataError(
                f"steps have shape {given.shape} and type {given.dtype}; give one whole number for "
                f"each of the {len(forecasts)} rows"
            )
        snapshot = self._stream.calibrator.snapshot
        return snapshot.quantiles(forecasts, given.astype(np.int64), levels)

    def after_block(
        self,
        models: DeployedModels,
        x: Float32Array,
        y: Float32Array,
        updates: Sequence[tuple[int, Deployment]],
    ) -> InstanceCalibration:
        """The calibration after a block of the stream; this one stays as it is.

        Args:
            models: Those deployed before the block.
            x: Inputs, n x d.
            y: Measurements, n x entities.
            updates: Each with the first row of the block that it forecasts.
        """
        stream, first = self._stream.copy(), self._stream.next_step
        block = SampleWindow(x, y, np.arange(first, first + len(x), dtype=np.int64))
        for rows, columns in models.row_ranges(len(x), updates):
            stream.swap(columns, models.predict)
            if rows.stop > rows.start:
                stream.observe(models.predict(x[rows]), block.rows(rows))
        return InstanceCalibration(stream)

    def state(self) -> tuple[dict[str, Any], dict[str, Tensor]]:
        """The state as plain values and tensors."""
        values, arrays = self._stream.calibrator.state()
        window = self._stream.window
        arrays |= {"window.x": window.x, "window.y": window.y, "window.steps": window.steps}
        return values, {name: torch.from_numpy(array.copy()) for name, array in arrays.items()}

    @classmethod
    def from_state(
        cls, values: Mapping[str, Any], tensors: Mapping[str, Tensor]
    ) -> InstanceCalibration:
        """The opposite of `state`."""
        arrays = {name: tensor.numpy() for name, tensor in tensors.items()}
        window = SampleWindow(arrays["window.x"], arrays["window.y"], arrays["window.steps"])
        return cls(CalibratedStream(Calibrator.from_state(values, arrays), window))
