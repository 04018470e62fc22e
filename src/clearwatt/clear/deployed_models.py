"""The models that an instance forecasts with, and how updates replace them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

import numpy as np

from clearwatt.arrays import Float32Array, Float64Array, Int64Array
from clearwatt.clear.component import Component, Model
from clearwatt.clear.forecasting import forecasts, reconstructions
from clearwatt.clear.instance import Instance
from clearwatt.clear.loop import Deployment


class DeployedModels:
    """The models of an instance as they are now; updates replace them one after the other."""

    def __init__(self, instance: Instance) -> None:
        self._instance = instance
        self._models = {
            _key(part): Model(part.network, part.params)
            for part in (*instance.autoencoders, *instance.predictors)
        }

    def predict(self, x: Float32Array, columns: Int64Array | None = None) -> Float64Array:
        """Forecasts (n x columns) for inputs (n x d), by default of all entities."""
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
        """Reconstructions (n x d) by the shared autoencoder, or by that of the first entity."""
        return reconstructions(self._models[_key(self._instance.autoencoders[0])], x)

    @property
    def entities(self) -> tuple[Component, ...]:
        """The predictors, one per entity."""
        return self._instance.predictors

    def deploy(self, updates: Iterable[Deployment]) -> Int64Array:
        """Replace models by their updates; returns the columns whose forecasts change."""
        changed = [np.empty(0, np.int64)]
        for event, params, _ in updates:
            key = (event.component, event.entity)
            self._models[key] = self._models[key]._replace(params=params)
            if event.accepted:
                changed.append(columns_of(self._instance, event.entity))
        return np.unique(np.concatenate(changed))

    def row_ranges(
        self, rows: int, updates: Sequence[tuple[int, Deployment]]
    ) -> Iterator[tuple[slice, Int64Array]]:
        """Row ranges forecast by the same models, in order; the models are these while it is used.

        Each range comes with the columns whose forecasts are by new models from there on. An
        update serves from the row after the one that triggered it, so that forecasts do not depend
        on how rows were cut into blocks. One at the last row gives a range without rows.

        Args:
            rows: Number of rows.
            updates: Each with the first row that it forecasts.
        """
        cuts = sorted({0, rows, *(row for row, _ in updates)})
        for start, stop in [*pairwise(cuts), (rows, rows)]:
            new = [update for row, update in updates if row == start]
            if stop > start or new:
                yield slice(start, stop), self.deploy(new)


def columns_of(instance: Instance, entity: int | str | None) -> Int64Array:
    """Columns of the forecasts that use a component of this entity; None: one that all share."""
    names = [part.entity for part in instance.predictors]
    return np.array([at for at, name in enumerate(names) if entity in (None, name)], np.int64)


def _key(part: Component) -> tuple[str, int | str | None]:
    return part.name, part.entity
