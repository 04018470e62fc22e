"""Several approaches on one stream: the same warm-up models, the same phases, the same metrics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from clearwatt.arrays import Float32Array
from clearwatt.clear.component import Model, Settings
from clearwatt.clear.instance import Instance
from clearwatt.clear.loop import Deployment
from clearwatt.clear.warm_up import WarmUp
from clearwatt.experiment.live import DAY, live_forecasts
from clearwatt.experiment.metrics import (
    LiveError,
    fitting_error,
    forgetting_ratio,
    live_error,
    prediction_error,
)
from clearwatt.experiment.protocol import Phases
from clearwatt.strategies import Strategy
from clearwatt.training.networks import Autoencoder, Predictor, VariationalAutoencoder
from clearwatt.training.streams import Stream, drive, together

__all__ = ["Comparison", "Data", "Outcome", "Phases", "Score", "Shapes"]

Floats64 = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Shapes:
    """The networks of a comparison."""

    width: int = 64
    layers: int = 3
    latent: int = 14
    kl_weight: float = 5e-6
    predictor_width: int = 64
    predictor_layers: int = 3


@dataclass(frozen=True)
class Score:
    """The paper's figures of one component."""

    fitting_error: float
    prediction_error: float
    forgetting_ratio: float
    updates: int


@dataclass(frozen=True)
class Outcome:
    """How one approach did for one entity."""

    approach: str
    entity: str
    predictor: Score
    autoencoder: Score
    live: LiveError
    retained_bytes: int
    update_seconds: float


class Models(NamedTuple):
    """What the warm-up made: a representation and a predictor per entity."""

    autoencoder: Model
    predictors: list[Model]


@dataclass(frozen=True, eq=False)
class Data:
    """Inputs (n x d) and power (n x entities) in three phases: 0 warm-up, 1 updating, 2 test."""

    x: Float32Array
    y: Float32Array
    entities: tuple[str, ...]
    phases: Phases

    def phase(self, number: int) -> tuple[Float32Array, Float32Array]:
        """Inputs and power of a phase."""
        return self.phases.split(self.x)[number], self.phases.split(self.y)[number]


@dataclass(frozen=True, eq=False)
class Trial:
    """One approach on its way through the stream."""

    name: str
    instance: Instance
    data: Data

    def stream(self) -> Stream[list[Deployment]]:
        """The updating phase."""
        return self.instance.stream(*self.data.phase(1))

    def forecasts(self, phase: int) -> Floats64:
        """What the model says now for a phase, n x entities."""
        return self.instance.predict(self.data.phase(phase)[0])

    def reconstructions(self, phase: int) -> list[Floats64]:
        """The reconstruction of a phase by each entity's autoencoder, n x d."""
        x = self.data.phase(phase)[0]
        if not self.instance.settings.strategy.synchronous:
            return [self.instance.reconstruct(x)] * len(self.data.entities)
        return [self.instance.reconstruct(x, entity) for entity in range(len(self.data.entities))]


@dataclass(frozen=True)
class Comparison:
    """What is compared: approaches by name, on the same data and networks."""

    approaches: Mapping[str, Strategy]
    phases: Phases = field(default_factory=Phases)
    shapes: Shapes = field(default_factory=Shapes)
    settings: Settings = field(default_factory=Settings)
    warmup: WarmUp = field(default_factory=WarmUp)
    delay: int = DAY

    def run(self, x: Float32Array, y: Float32Array, entities: Sequence[str]) -> list[Outcome]:
        """Run every approach over inputs (n x d) and power (n x entities), trained stacked."""
        data = Data(x, y, tuple(entities), self.phases)
        models = {
            synchronous: drive(self._warm_up(data, variational=synchronous))
            for synchronous in {each.synchronous for each in self.approaches.values()}
        }
        trials = [
            Trial(name, self._instance(strategy, data, models[strategy.synchronous]), data)
            for name, strategy in self.approaches.items()
        ]
        warm = {trial.name: (trial.forecasts(0), trial.reconstructions(0)) for trial in trials}
        deployed = drive(together([trial.stream() for trial in trials]))
        return [
            outcome
            for trial, updates in zip(trials, deployed, strict=True)
            for outcome in self._outcomes(
                trial,
                updates,
                models[trial.instance.settings.strategy.synchronous],
                warm[trial.name],
            )
        ]

    def _warm_up(self, data: Data, *, variational: bool) -> Stream[Models]:
        shapes = self.shapes
        x, y = data.phase(0)
        sizes = (x.shape[1], shapes.width, shapes.layers, shapes.latent)
        network = (
            VariationalAutoencoder(*sizes, shapes.kl_weight) if variational else Autoencoder(*sizes)
        )
        representation = yield from self.warmup.autoencoder(network, x)
        head = Predictor(shapes.latent, shapes.predictor_width, shapes.predictor_layers)
        predictors = yield from self.warmup.predictors(head, representation, x, y)
        return Models(representation, predictors)

    def _instance(self, strategy: Strategy, data: Data, models: Models) -> Instance:
        settings = replace(self.settings, strategy=strategy)
        return Instance.start(
            settings,
            *data.phase(0),
            autoencoder=models.autoencoder,
            predictors=models.predictors,
            names=data.entities,
        )

    def _outcomes(
        self,
        trial: Trial,
        deployed: Sequence[Deployment],
        models: Models,
        warm: tuple[Floats64, list[Floats64]],
    ) -> list[Outcome]:
        """Score every entity of a finished trial."""
        data, instance = trial.data, trial.instance
        forecasts = [trial.forecasts(phase) for phase in range(3)]
        reconstructions = [trial.reconstructions(phase) for phase in range(3)]
        outcomes = []
        for index, entity in enumerate(data.entities):
            own = [d for d in deployed if d.event.entity in (None, entity)]
            steps = {
                part: [d.event.step for d in own if d.event.component == part and d.event.accepted]
                for part in ("autoencoder", "predictor")
            }
            live = live_forecasts(
                data.phase(1)[0],
                autoencoder=models.autoencoder,
                predictor=models.predictors[index],
                deployments=own,
                delay=self.delay,
            )
            power = [data.phase(phase)[1][:, index] for phase in range(3)]
            inputs = [data.phase(phase)[0] for phase in range(3)]
            outcomes.append(
                Outcome(
                    approach=trial.name,
                    entity=entity,
                    predictor=_score(
                        power,
                        [each[:, index] for each in forecasts],
                        warm[0][:, index],
                        steps["predictor"],
                    ),
                    autoencoder=_score(
                        inputs,
                        [each[index] for each in reconstructions],
                        warm[1][index],
                        steps["autoencoder"],
                    ),
                    live=live_error(power[1], live),
                    retained_bytes=instance.predictors[index].retained_bytes
                    + instance.autoencoder_of(index).retained_bytes,
                    update_seconds=sum(d.event.seconds for d in own),
                )
            )
        return outcomes


def _score(
    targets: Sequence[npt.ArrayLike],
    outputs: Sequence[npt.ArrayLike],
    warm: npt.ArrayLike,
    steps: Sequence[int],
) -> Score:
    return Score(
        fitting_error=fitting_error(targets[1], outputs[1], last_update=max(steps, default=None)),
        prediction_error=prediction_error(targets[2], outputs[2]),
        forgetting_ratio=forgetting_ratio(targets[0], outputs[0], warm),
        updates=len(steps),
    )
