"""What a CLeaR forecaster forecasts with: scales and models."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from clearwatt.arrays import Float32Array, checked_inputs
from clearwatt.clear.component import Model
from clearwatt.clear.forecasting import forecasts
from clearwatt.clear.model_saving import pack_network, unpack_network
from clearwatt.forecaster import Deployed, Forecast, Name
from clearwatt.packing import Packed, Values, pack, unpack
from clearwatt.training.networks import Params
from clearwatt.training.standardisation import Standardisation


@dataclass(frozen=True, eq=False)
class Scales:
    """Scale of inputs and of power, fixed by the warm-up."""

    inputs: Standardisation
    power: Standardisation

    @classmethod
    def fit(cls, x: npt.ArrayLike, y: npt.ArrayLike) -> Scales:
        """Mean and deviation of inputs (n x d) and of power (n x entities)."""
        return cls(
            Standardisation.fit(np.asarray(x, np.float64)),
            Standardisation.fit(np.asarray(y, np.float64)),
        )

    @classmethod
    def identity(cls, inputs: int, entities: int) -> Scales:
        """For data that are scaled already."""
        return cls(Standardisation.identity(inputs), Standardisation.identity(entities))

    def apply(self, x: npt.ArrayLike, y: npt.ArrayLike) -> tuple[Float32Array, Float32Array]:
        """Inputs (n x d) and power (n x entities) as models see them."""
        rows, power = np.asarray(x, np.float64), np.asarray(y, np.float64)
        return self.inputs.apply(rows), self.power.apply(power)

    def without_entity(self, place: int) -> Scales:
        """Without the scale of the power of the entity at a place."""
        stay = [other for other in range(len(self.power.mean)) if other != place]
        return Scales(self.inputs, self.power.select(stay))

    def with_entity(self, power: Standardisation) -> Scales:
        """With the scale of another entity's power."""
        mean = np.concatenate([self.power.mean, power.mean])
        scale = np.concatenate([self.power.scale, power.scale])
        return Scales(self.inputs, Standardisation(mean, scale))


@dataclass(frozen=True, eq=False)
class ClearDeployed(Deployed):
    """The models in service.

    Args:
        names: Names of the entities, `e`.
        known: Last step learned from.
        scales: Of inputs and power.
        autoencoders: One that all share, or one per entity.
        predictors: One per entity.
    """

    names: tuple[Name, ...]
    known: int
    scales: Scales
    autoencoders: tuple[Model, ...]
    predictors: tuple[Model, ...]

    def forecast(self, x: npt.ArrayLike, at: npt.ArrayLike) -> Forecast:
        """Forecasts for inputs `n x d` of steps `n`; see `Deployed.forecast`."""
        width = len(self.scales.inputs.mean)
        scaled = checked_inputs(self.scales.inputs.apply(np.asarray(x, np.float64)), width)
        encoders, heads = self.autoencoders, self.predictors
        encoders = encoders * len(heads) if len(encoders) == 1 else encoders
        power = self.scales.power.undo(forecasts(zip(encoders, heads, strict=True), scaled))
        return Forecast(np.asarray(at, np.int64), power, np.empty((*power.shape, 0)))

    def pack(self) -> Packed:
        """As plain values and tensors."""
        return pack(
            SavedDeployed(
                self.names,
                self.known,
                self.scales,
                tuple(map(SavedModel.of, self.autoencoders)),
                tuple(map(SavedModel.of, self.predictors)),
            )
        )

    @classmethod
    def unpack(cls, packed: Packed) -> Self:
        """The opposite of `pack`."""
        saved = unpack(SavedDeployed, *packed)
        encoders, heads = (
            tuple(each.model for each in part) for part in (saved.autoencoders, saved.predictors)
        )
        return cls(saved.names, saved.known, saved.scales, encoders, heads)


@dataclass(frozen=True, eq=False)
class SavedModel:
    """A network by its name and sizes, and its weights."""

    network: Values
    params: Params

    @classmethod
    def of(cls, model: Model) -> SavedModel:
        """What is saved of a model."""
        return cls(pack_network(model.network), model.params)

    @property
    def model(self) -> Model:
        """The model, of a built-in network."""
        return Model(unpack_network(self.network, None), self.params)


@dataclass(frozen=True, eq=False)
class SavedDeployed:
    """What is saved of a `ClearDeployed`."""

    names: tuple[Name, ...]
    known: int
    scales: Scales
    autoencoders: tuple[SavedModel, ...]
    predictors: tuple[SavedModel, ...]
