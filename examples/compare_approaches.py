"""Compare the six approaches and the references on entities of the simulated grid.

    python examples/compare_approaches.py            # the table of the README, some minutes
    python examples/compare_approaches.py --quick    # a short stream and few epochs, seconds
    python examples/compare_approaches.py --json

All approaches start from the same warm-up models and see the same stream. The test phase is only
scored; nothing is chosen by it.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

import torch
from rich.console import Console
from rich.table import Table

from clearwatt.arrays import Float32Array, Float64Array
from clearwatt.clear.component import ClearSettings, Model
from clearwatt.clear.instance import Instance
from clearwatt.clear.loop import Deployment
from clearwatt.clear.warm_up import WarmUp
from clearwatt.data import simulate_grid
from clearwatt.data.features import fit_scaling, prepare
from clearwatt.experiment.live import ModelTimeline
from clearwatt.experiment.metrics import (
    LiveError,
    fitting_error,
    forgetting_ratio,
    live_error,
    prediction_error,
)
from clearwatt.experiment.protocol import Phases
from clearwatt.strategies import (
    FamiliarityReplay,
    FineTune,
    Frozen,
    GenerativeReplay,
    OnlineEWC,
    RandomReplay,
    RecentReplay,
    RecentReplayDecay,
    Retrain,
)
from clearwatt.training.fleet import Training
from clearwatt.training.networks import Autoencoder, Predictor, VariationalAutoencoder
from clearwatt.training.streams import Stream, drive, run_together

ENTITIES = ("pv_01", "household_block_01", "residential_01")
APPROACHES = {
    "Online EWC": OnlineEWC(),
    "Familiarity": FamiliarityReplay(),
    "Random": RandomReplay(),
    "Recent": RecentReplay(),
    "Recent, decay": RecentReplayDecay(),
    "Generative": GenerativeReplay(),
    "frozen": Frozen(),
    "fine-tune": FineTune(),
    "retrain": Retrain(),
}
QUICK = Phases(warmup=1_500, updating=2_500, test=500)
LATENT = 14


@dataclass(frozen=True)
class Score:
    """The paper's figures of one component, and its number of updates."""

    fitting_error: float
    prediction_error: float
    forgetting_ratio: float
    updates: int


@dataclass(frozen=True)
class Outcome:
    """The figures of one approach for one entity."""

    approach: str
    entity: str
    predictor: Score
    autoencoder: Score
    live: LiveError
    retained_bytes: int
    update_seconds: float


@dataclass(frozen=True, eq=False)
class Data:
    """Inputs (n x d) and power (n x entities) of the warm-up, the updating and the test phase."""

    x: tuple[Float32Array, Float32Array, Float32Array]
    y: tuple[Float32Array, Float32Array, Float32Array]
    entities: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class WarmModels:
    """The models of the warm-up: an autoencoder, and a predictor per entity."""

    autoencoder: Model
    predictors: list[Model]


class ApproachRun:
    """One approach: its instance, and the outputs of the warm-up models on the warm-up."""

    def __init__(self, name: str, data: Data, models: WarmModels, settings: ClearSettings) -> None:
        self.name, self.data, self.models = name, data, models
        self.instance = Instance.start(
            settings,
            data.x[0],
            data.y[0],
            autoencoder=models.autoencoder,
            predictors=models.predictors,
            names=data.entities,
        )
        self.initial = self.outputs(0)

    def stream(self) -> Stream[list[Deployment]]:
        """Learn from the updating phase."""
        return self.instance.stream(self.data.x[1], self.data.y[1])

    def outputs(self, phase: int) -> list[tuple[Float64Array, Float64Array]]:
        """Reconstruction (n x d) and forecasts (n) of a phase, for each entity."""
        x = self.data.x[phase]
        power = self.instance.predict(x)
        count = 1 if not self.instance.settings.strategy.synchronous else len(self.data.entities)
        inputs = [self.instance.reconstruct(x, at) for at in range(count)]
        return [(inputs[at % count], power[:, at]) for at in range(len(self.data.entities))]

    def outcomes(self, deployed: Sequence[Deployment]) -> list[Outcome]:
        """The figures of every entity, after the stream."""
        final = [self.outputs(phase) for phase in range(3)]
        return [
            self._outcome(
                at,
                [each for each in deployed if each.event.entity in (None, entity)],
                [phase[at] for phase in final],
            )
            for at, entity in enumerate(self.data.entities)
        ]

    def _outcome(
        self, at: int, own: Sequence[Deployment], final: Sequence[tuple[Float64Array, Float64Array]]
    ) -> Outcome:
        data, instance = self.data, self.instance
        power = [y[:, at] for y in data.y]
        timeline = ModelTimeline(self.models.autoencoder, self.models.predictors[at], own)
        return Outcome(
            approach=self.name,
            entity=data.entities[at],
            predictor=score(
                power, [each[1] for each in final], self.initial[at][1], steps(own, "predictor")
            ),
            autoencoder=score(
                data.x, [each[0] for each in final], self.initial[at][0], steps(own, "autoencoder")
            ),
            live=live_error(power[1], timeline.forecasts(data.x[1])),
            retained_bytes=instance.predictors[at].retained_bytes
            + instance.autoencoder_of(at).retained_bytes,
            update_seconds=sum(each.event.seconds for each in own),
        )


def compare(entities: Sequence[str], *, quick: bool) -> list[Outcome]:
    """Simulate the grid, warm up, stream the updating phase through every approach, and score."""
    data = simulate_data(entities, QUICK if quick else Phases(), grid_size=10 if quick else 95)
    warm_up = WarmUp(Training(epochs=10 if quick else 512))
    models = {each: warm_models(warm_up, data, variational=each) for each in (False, True)}
    shared = ClearSettings(
        novelty_capacity=400 if quick else 3_000,
        update=Training(epochs=2 if quick else 30, patience=None),
    )
    runs = [
        ApproachRun(name, data, models[strategy.synchronous], replace(shared, strategy=strategy))
        for name, strategy in APPROACHES.items()
    ]
    # Together, so that updates that are due at the same time train stacked.
    deployed = drive(run_together([each.stream() for each in runs]))
    pairs = zip(runs, deployed, strict=True)
    return [outcome for run, own in pairs for outcome in run.outcomes(own)]


def simulate_data(entities: Sequence[str], phases: Phases, *, grid_size: int) -> Data:
    """Inputs and power of some entities of the simulated grid, scaled by the warm-up."""
    grid = simulate_grid(steps=phases.length, entities=grid_size)
    features = prepare(grid, fit_scaling(grid, phases.warmup), entities=entities)
    x, y = phases.split(features.inputs["region"]), phases.split(features.targets)
    return Data(x, y, tuple(entities))


def warm_models(warm_up: WarmUp, data: Data, *, variational: bool) -> WarmModels:
    """Train a plain or a variational autoencoder, and predictors on its latents."""
    kind = VariationalAutoencoder if variational else Autoencoder
    network = kind(data.x[0].shape[1], latent=LATENT)
    autoencoder = drive(warm_up.autoencoder(network, data.x[0]))
    predictors = warm_up.predictors(Predictor(LATENT), autoencoder, data.x[0], data.y[0])
    return WarmModels(autoencoder, drive(predictors))


def steps(own: Sequence[Deployment], component: str) -> list[int]:
    """Steps of the accepted updates of a component."""
    accepted = [each.event for each in own if each.event.accepted]
    return [event.step for event in accepted if event.component == component]


def score(
    targets: Sequence[Float32Array],
    final: Sequence[Float64Array],
    initial: Float64Array,
    steps: list[int],
) -> Score:
    """The figures of a component from its outputs for the three phases."""
    return Score(
        fitting_error=fitting_error(targets[1], final[1], last_update=max(steps, default=None)),
        prediction_error=prediction_error(targets[2], final[2]),
        forgetting_ratio=forgetting_ratio(targets[0], final[0], initial),
        updates=len(steps),
    )


def table(outcomes: Sequence[Outcome]) -> Table:
    """One row per entity and approach."""
    shown = Table(title="power: FE, PE, FR, live RMSE; right: reconstruction of the inputs")
    for name in ("entity", "approach"):
        shown.add_column(name)
    for name in ("FE", "PE", "FR", "updates", "live", "kept", "FE", "PE", "FR", "updates"):
        shown.add_column(name, justify="right")
    for outcome in sorted(outcomes, key=lambda each: ENTITIES.index(each.entity)):
        power, inputs = outcome.predictor, outcome.autoencoder
        shown.add_row(
            outcome.entity,
            outcome.approach,
            f"{power.fitting_error:.3f}",
            f"{power.prediction_error:.3f}",
            f"{power.forgetting_ratio:.2f}",
            str(power.updates),
            f"{outcome.live.rmse:.3f}",
            f"{outcome.retained_bytes / 1e6:.1f} MB",
            f"{inputs.fitting_error:.3f}",
            f"{inputs.prediction_error:.3f}",
            f"{inputs.forgetting_ratio:.2f}",
            str(inputs.updates),
        )
    return shown


def main() -> None:
    """Parse, compare, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a short stream and few epochs")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    options = parser.parse_args()
    torch.set_num_threads(1)
    started = time.perf_counter()
    outcomes = compare(ENTITIES, quick=options.quick)
    if options.json:
        print(json.dumps([asdict(outcome) for outcome in outcomes], indent=1))
        return
    Console(width=140).print(table(outcomes))
    print(f"{time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()
