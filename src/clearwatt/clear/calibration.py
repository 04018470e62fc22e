"""Keeping the intervals of an instance calibrated while it learns.

Every sample is forecast by the models in force when it came, and a model that comes into service
is tried on the samples of the last days. Neither depends on how the stream was cut into blocks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from clearwatt.arrays import Float32Array, Float64Array
from clearwatt.clear.component import Component, Model
from clearwatt.clear.forecasting import forecasts, reconstructions
from clearwatt.clear.instance import Instance
from clearwatt.clear.loop import Deployment
from clearwatt.errors import DataError, require_whole
from clearwatt.intervals import PARTS, Calibrator, Window

Columns = npt.NDArray[np.int64]

BATCH = 24
"""Samples that count for a day where nobody says how many it has."""


class InForce:
    """The models of an instance as they are now; they are replaced as updates are taken over."""

    def __init__(self, instance: Instance) -> None:
        self._instance = instance
        self._models = {
            _key(part): Model(part.network, part.params)
            for part in (*instance.autoencoders, *instance.predictors)
        }

    def predict(self, x: Float32Array, columns: Columns | None = None) -> Float64Array:
        """Forecasts (n x columns) for inputs (n x d), of all entities unless told."""
        instance, models = self._instance, self._models
        wanted = range(len(self.entities)) if columns is None else columns.tolist()
        return forecasts(
            [
                (models[_key(instance.autoencoder_of(i))], models[_key(self.entities[i])])
                for i in wanted
            ],
            x,
        )

    def reconstruct(self, x: Float32Array) -> Float64Array:
        """Reconstructions (n x d) by the autoencoder that all share, or by the first one's."""
        return reconstructions(self._models[_key(self._instance.autoencoders[0])], x)

    @property
    def entities(self) -> tuple[Component, ...]:
        """The predictors, one per entity."""
        return self._instance.predictors

    def take_over(self, updates: Iterable[Deployment]) -> Columns:
        """Put updates into force; returns the columns of the entities whose forecasts change."""
        changed = [np.empty(0, np.int64)]
        for event, params in updates:
            key = (event.component, event.entity)
            self._models[key] = self._models[key]._replace(params=params)
            if event.accepted:
                changed.append(columns_of(self._instance, event.entity))
        return np.unique(np.concatenate(changed))

    def stretches(
        self, rows: int, deployed: Sequence[tuple[int, Deployment]]
    ) -> Iterator[tuple[slice, Columns]]:
        """Stretches of rows that the same models speak of, in order, while these are in force.

        With each come the columns of the entities whose forecasts are by new models from there on.
        Updates speak from the row after the one that fired, so that what is said does not depend
        on how rows were cut into pieces; one at the last row gives a stretch of no rows.

        Args:
            rows: how many there are.
            deployed: updates within them, each with the row it speaks from on.
        """
        cuts = sorted({0, rows, *(place for place, _ in deployed)})
        for start, stop in [*pairwise(cuts), (rows, rows)]:
            fresh = [update for place, update in deployed if place == start]
            if stop > start or fresh:
                yield slice(start, stop), self.take_over(fresh)


class Calibration:
    """A calibrator and the samples of the last days, following an instance."""

    def __init__(self, calibrator: Calibrator, window: Window) -> None:
        self.calibrator, self.window = calibrator, window

    @classmethod
    def start(
        cls, instance: Instance, x: Float32Array, y: Float32Array, *, steps_per_day: int | None
    ) -> Calibration:
        """Begin with the warm-up of an instance: x (n x d), y (n x entities).

        Without steps per day nobody knows the time of day, and the level alone counts.
        """
        day, parts = (BATCH, 1) if steps_per_day is None else (steps_per_day, PARTS)
        require_whole(steps_per_day=day)
        samples = Window(x, y, np.arange(len(x), dtype=np.int64))
        calibrator = Calibrator.start(
            instance.predict(x), y.astype(np.float64), samples.steps, day=day, parts=parts
        )
        return cls(calibrator, Window.empty(x.shape[1], y.shape[1]).with_newer(samples, day))

    @property
    def next_step(self) -> int:
        """The step of the sample that comes next, counted from the start of the warm-up."""
        return int(self.window.steps[-1]) + 1

    def quantiles(
        self, forecasts: Float64Array, levels: Sequence[float], *, steps: npt.ArrayLike | None
    ) -> Float64Array:
        """Quantiles (n x entities x levels) around forecasts (n x entities).

        Args:
            forecasts: by the models in service.
            levels: ascending, between 0 and 1.
            steps: which sample each is, counted from the start of the warm-up; None: the next.
        """
        if steps is None:
            steps = np.arange(self.next_step, self.next_step + len(forecasts))
        given = np.asarray(steps)
        if given.shape != (len(forecasts),) or not np.issubdtype(given.dtype, np.integer):
            raise DataError(
                f"steps have shape {given.shape} and type {given.dtype}; give one whole number for "
                f"each of the {len(forecasts)} rows"
            )
        return self.calibrator.quantiles(forecasts, given.astype(np.int64), levels)

    def following(
        self,
        models: InForce,
        x: Float32Array,
        y: Float32Array,
        deployed: Sequence[tuple[int, Deployment]],
    ) -> Calibration:
        """The calibration after a block of the stream; this one stays as it was.

        Args:
            models: those in force before the block.
            x: inputs, n x d.
            y: measurements, n x entities.
            deployed: updates, each with the number of samples of the block before it.
        """
        calibrator, window = self.calibrator.copy(), self.window
        first = self.next_step
        block = Window(x, y, np.arange(first, first + len(x), dtype=np.int64))
        for rows, fresh in models.stretches(len(x), deployed):
            if len(fresh):
                tried = models.predict(window.x, fresh)
                known = window.y[:, fresh].astype(np.float64)
                calibrator.swap(fresh, tried, known, window.steps)
            if rows.stop > rows.start:
                piece = block.part(rows.start, rows.stop)
                y64 = piece.y.astype(np.float64)
                calibrator.observe(models.predict(piece.x), y64, piece.steps)
                window = window.with_newer(piece, calibrator.cells.day)
        return Calibration(calibrator, window)

    def state(self) -> tuple[dict[str, Any], dict[str, Tensor]]:
        """As plain values and tensors."""
        values, arrays = self.calibrator.state()
        window = {"window.x": self.window.x, "window.y": self.window.y}
        arrays = {**arrays, **window, "window.steps": self.window.steps}
        return values, {name: torch.from_numpy(array.copy()) for name, array in arrays.items()}

    @classmethod
    def restored(cls, values: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> Calibration:
        """Back from `state`."""
        arrays = {name: tensor.numpy() for name, tensor in tensors.items()}
        window = Window(arrays["window.x"], arrays["window.y"], arrays["window.steps"])
        return cls(Calibrator.restored(values, arrays), window)


def columns_of(instance: Instance, entity: int | str | None) -> Columns:
    """The columns whose forecasts a component of this entity (None: of all) takes part in."""
    names = [part.entity for part in instance.predictors]
    return np.array([at for at, name in enumerate(names) if entity in (None, name)], np.int64)


def _key(part: Component) -> tuple[str, int | str | None]:
    return part.name, part.entity
