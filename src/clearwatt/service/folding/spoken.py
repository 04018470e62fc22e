"""What the models in service said of rows, each row by those in force at its time."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from clearwatt.component import Component, Model
from clearwatt.detection import reconstruction_errors
from clearwatt.forecasting import forecasts, reconstructions
from clearwatt.instance import Instance
from clearwatt.loop import Deployment
from clearwatt.memory import Floats

Outputs = npt.NDArray[np.float64]


class Spoken:
    """The models of an instance as they are now, for rows it is about to learn from.

    Updates within those rows speak from the row after the one that fired, so that what was said
    does not depend on how rows were cut into pieces.
    """

    def __init__(self, instance: Instance) -> None:
        self._instance = instance
        self._models = {
            self._key(part): Model(part.network, part.params)
            for part in (*instance.autoencoders, *instance.predictors)
        }

    def of(self, x: Floats, deployed: Sequence[tuple[int, Deployment]]) -> tuple[Outputs, Floats]:
        """Forecasts (n x entities, scaled) and reconstruction errors (n) of inputs (n x d).

        Args:
            x: the inputs.
            deployed: updates within them, each with the row it speaks from on.
        """
        said = np.empty((len(x), len(self._instance.predictors)))
        errors = np.empty(len(x), np.float32)
        cuts = sorted({0, len(x), *(place for place, _ in deployed if place < len(x))})
        for start, stop in pairwise(cuts):
            for place, update in deployed:
                if place == start:
                    self._take_over(update)
            said[start:stop] = self._forecasts(x[start:stop])
            errors[start:stop] = self._errors(x[start:stop])
        return said, errors

    def _take_over(self, update: Deployment) -> None:
        key = (update.event.component, update.event.entity)
        self._models[key] = self._models[key]._replace(params=update.params)

    def _forecasts(self, x: Floats) -> Outputs:
        instance = self._instance
        return forecasts(
            [
                (self._models[self._key(instance.autoencoder_of(column))], self._models[key])
                for column, key in enumerate(map(self._key, instance.predictors))
            ],
            x,
        )

    def _errors(self, x: Floats) -> Floats:
        model = self._models[self._key(self._instance.autoencoders[0])]
        return reconstruction_errors(x, reconstructions(model, x).astype(np.float32))

    @staticmethod
    def _key(part: Component) -> tuple[str, int | str | None]:
        return part.name, part.entity
