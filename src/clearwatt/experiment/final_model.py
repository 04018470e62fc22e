"""The final model of a trial, which is kept if the trial is chosen, and its errors on a phase."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from clearwatt.adaptive import AdaptiveDeployed
from clearwatt.errors import StateError
from clearwatt.experiment.grid import AdaptiveConfiguration, TrialConfiguration
from clearwatt.experiment.models import (
    TrainedNetwork,
    frozen_instance,
    load_networks,
    save_networks,
)
from clearwatt.experiment.protocol import PhaseSamples
from clearwatt.experiment.records import TrialRecord
from clearwatt.experiment.trial import measured_rmse
from clearwatt.files import load_state, save_state
from clearwatt.packing import Packed


class PhaseErrors(NamedTuple):
    """RMSE of each component over a phase; None if nothing was measured or it has none."""

    autoencoder: float | None
    predictor: float | None


class FinalModel(ABC):
    """What one entity is forecast with at the end of the updating phase."""

    @abstractmethod
    def save(self, path: Path) -> None:
        """Write it into a folder, atomically."""

    @abstractmethod
    def phase_errors(self, span: PhaseSamples, column: int) -> PhaseErrors:
        """Its errors over a phase, for the entity in this column."""


@dataclass(frozen=True, eq=False)
class InstanceModel(FinalModel):
    """The networks of an instance of the paper, or of a baseline."""

    autoencoder: TrainedNetwork
    predictor: TrainedNetwork

    def save(self, path: Path) -> None:
        """Write both networks."""
        save_networks(path, [self.autoencoder, self.predictor])

    def phase_errors(self, span: PhaseSamples, column: int) -> PhaseErrors:
        """Errors of reconstruction and forecast."""
        reconstruction, forecasts = forecast_phase(self.autoencoder, [self.predictor], span)
        return PhaseErrors(reconstruction, measured_rmse(span.y[:, column], forecasts[:, 0]))


@dataclass(frozen=True, eq=False)
class AdaptiveModel(FinalModel):
    """The adaptive forecaster of one entity; its networks alone are scored, without lag terms."""

    deployed: AdaptiveDeployed

    def save(self, path: Path) -> None:
        """Write what it forecasts with."""
        save_state(path, *self.deployed.pack())

    def phase_errors(self, span: PhaseSamples, column: int) -> PhaseErrors:
        """Error of the networks' forecast; there is no autoencoder."""
        forecasts = self.deployed.networks(span.x, span.at)[:, 0]
        return PhaseErrors(None, measured_rmse(span.y[:, column], forecasts))


@dataclass(frozen=True, eq=False)
class TrialResult:
    """The record of a trial and its final model."""

    configuration: TrialConfiguration
    trial: TrialRecord
    model: FinalModel


def with_core_seconds(results: Sequence[TrialResult], seconds: float) -> list[TrialResult]:
    """The results of a task with the processor time it took, divided evenly."""
    timed = []
    for result in results:
        timing = replace(result.trial.timing, core_seconds=seconds / len(results))
        timed.append(replace(result, trial=replace(result.trial, timing=timing)))
    return timed


def load_model(path: Path, configuration: TrialConfiguration) -> FinalModel | None:
    """The final model of a trial from its folder; None if it is missing or damaged."""
    if isinstance(configuration, AdaptiveConfiguration):
        try:
            saved = load_state(path)
            return AdaptiveModel(AdaptiveDeployed.unpack(Packed(saved.values, saved.tensors)))
        except StateError:
            return None
    networks = load_networks(path)
    return None if networks is None else InstanceModel(*networks)


def forecast_phase(
    autoencoder: TrainedNetwork, predictors: Sequence[TrainedNetwork], span: PhaseSamples
) -> tuple[float | None, npt.NDArray[np.float64]]:
    """RMSE of the reconstruction over a phase, and the forecasts (n x entities)."""
    models = frozen_instance(autoencoder, predictors)
    return measured_rmse(span.x, models.reconstruct(span.x)), models.predict(span.x)
