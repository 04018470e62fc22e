"""Compare the simulated grid with the paper's errors, using simple networks.

Trains the paper's smallest autoencoder and one predictor per entity on the warm-up, freezes them,
and prints their errors over the updating phase beside the targets, then capacity and load factors.

    python scripts/calibrate_simulator.py                # every fourth entity, a few minutes
    python scripts/calibrate_simulator.py --every 1      # all 95
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable
from dataclasses import asdict, dataclass

import numpy as np
import torch
from rich.console import Console
from rich.table import Table

from clearwatt.data.dataset import Dataset
from clearwatt.data.features import fit_scaling, prepare
from clearwatt.data.schema import Entity, Kind
from clearwatt.data.simulate import simulate_grid
from clearwatt.training.fleet import Job, Trained, Training, train
from clearwatt.training.networks import Autoencoder, Predictor

WARMUP = 10_000
UPDATING = 54_764
VALIDATION_SHARE = 0.2


@dataclass(frozen=True)
class EntityErrors:
    """Errors of one frozen predictor, in shares of capacity."""

    entity: str
    subtype: str
    kind: str
    validation: float
    updating: float
    test: float


@dataclass(frozen=True)
class Errors:
    """Root mean square errors of the frozen networks; the autoencoder's over scaled features."""

    autoencoder_validation: float
    autoencoder_updating: float
    autoencoder_test: float
    predictors: tuple[EntityErrors, ...]

    def mean(self, field: str, kind: Kind | None = None) -> float:
        """The mean of a predictor error over the entities (of one kind)."""
        chosen = [e for e in self.predictors if kind is None or e.kind == kind]
        return float(np.mean([getattr(e, field) for e in chosen])) if chosen else float("nan")


def measure_errors(dataset: Dataset, names: list[str], *, training: Training, seed: int) -> Errors:
    """Train on the warm-up, freeze, and measure on what follows."""
    features = prepare(dataset, fit_scaling(dataset, warmup=WARMUP), entities=names)
    inputs = torch.from_numpy(features.inputs[features.zones[0]])
    targets = torch.from_numpy(features.targets)
    order = np.random.default_rng(seed).permutation(WARMUP)
    cut = int(WARMUP * VALIDATION_SHARE)
    learn, check = torch.from_numpy(order[cut:]), torch.from_numpy(order[:cut])
    autoencoder = Autoencoder(inputs=inputs.shape[1], width=64, layers=3, latent=16)
    trained = train_autoencoder(autoencoder, inputs, (learn, check), training=training, seed=seed)
    with torch.inference_mode():
        rebuilt = autoencoder.forward(trained.params, inputs[None])[0]
        latents = autoencoder.encode(trained.params, inputs[None])[0].clone()
    squared = (rebuilt - inputs).square().mean(dim=1)
    predictions = train_predictors(
        latents.clone(), targets, (learn, check), training=training, seed=seed
    )
    return Errors(
        autoencoder_validation=root_mean(squared[check]),
        autoencoder_updating=root_mean(squared[WARMUP : WARMUP + UPDATING]),
        autoencoder_test=root_mean(squared[WARMUP + UPDATING :]),
        predictors=tuple(
            entity_errors(dataset.entity(name), (predictions[:, i] - targets[:, i]).square(), check)
            for i, name in enumerate(names)
        ),
    )


def train_autoencoder(
    network: Autoencoder,
    inputs: torch.Tensor,
    split: tuple[torch.Tensor, torch.Tensor],
    *,
    training: Training,
    seed: int,
) -> Trained:
    """Train the autoencoder on the learning part of the warm-up."""
    learn, check = split
    job = Job(
        network,
        network.initialise([seed]),
        inputs[learn],
        None,
        training,
        seed,
        validation=(inputs[check], None),
    )
    return train([job])[0]


def train_predictors(
    latents: torch.Tensor,
    targets: torch.Tensor,
    split: tuple[torch.Tensor, torch.Tensor],
    *,
    training: Training,
    seed: int,
) -> torch.Tensor:
    """Train one predictor per column of ``targets`` (n x e); return all predictions (n x e)."""
    network = Predictor(inputs=latents.shape[1], width=64, layers=3)
    jobs = []
    for column in range(targets.shape[1]):
        learn, check = (part[targets[part, column].isfinite()] for part in split)
        target = targets[:, column : column + 1]
        jobs.append(
            Job(
                network,
                network.initialise([seed + column]),
                latents[learn],
                target[learn],
                training,
                seed + column,
                validation=(latents[check], target[check]),
            )
        )
    with torch.inference_mode():
        outputs = [network.forward(result.params, latents[None])[0, :, 0] for result in train(jobs)]
    return torch.stack(outputs, dim=1)


def entity_errors(entity: Entity, squared: torch.Tensor, check: torch.Tensor) -> EntityErrors:
    """The errors of one entity from its squared errors (n), NaN where not measured."""
    return EntityErrors(
        entity=entity.name,
        subtype=entity.extra["subtype"],
        kind=entity.kind,
        validation=root_mean(squared[check]),
        updating=root_mean(squared[WARMUP : WARMUP + UPDATING]),
        test=root_mean(squared[WARMUP + UPDATING :]),
    )


def root_mean(squared: torch.Tensor) -> float:
    """The root of the mean, over what was measured."""
    return float(squared.nanmean().sqrt())


def factors(dataset: Dataset, subtypes: Iterable[str] | None, kinds: Iterable[Kind]) -> np.ndarray:
    """Mean power over capacity of the chosen entities over the whole span."""
    chosen = [
        e
        for e in dataset.entities
        if e.kind in set(kinds) and (subtypes is None or e.extra["subtype"] in set(subtypes))
    ]
    return np.array([dataset.power[e.name].mean() / (e.capacity or np.nan) for e in chosen])


def rows(dataset: Dataset, errors: Errors) -> list[tuple[str, str, str, str]]:
    """Rows of quantity, measured value, target and paper, as text."""
    validation, updating = errors.mean("validation"), errors.mean("updating")
    by_kind = " / ".join(f"{errors.mean('validation', k):.3f}" for k in Kind)
    frozen = " / ".join(f"{errors.mean('updating', k):.3f}" for k in Kind)
    pv = factors(dataset, ["pv"], [Kind.GENERATOR])
    wind = factors(dataset, ["wind"], [Kind.GENERATOR])
    load = factors(dataset, None, [Kind.CONSUMER, Kind.RESIDUAL])
    return [
        ("predictor, warm-up validation", f"{validation:.3f}", "0.02-0.06", "0.037"),
        ("  generators / consumers / residual", by_kind, "", ""),
        ("frozen predictor, updating phase", f"{updating:.3f}", "", "0.157"),
        ("  generators / consumers / residual", frozen, "", ""),
        ("  times the validation error", f"{updating / validation:.2f}", "3-5", "4.2"),
        ("frozen predictor, test phase", f"{errors.mean('test'):.3f}", "", "0.165"),
        ("autoencoder, warm-up validation", f"{errors.autoencoder_validation:.4f}", "", "0.005"),
        ("frozen autoencoder, updating", f"{errors.autoencoder_updating:.3f}", "> 0.2", "0.345"),
        ("frozen autoencoder, test phase", f"{errors.autoencoder_test:.3f}", "", "0.203"),
        ("capacity factors PV", span(pv), "0.09-0.13", ""),
        ("capacity factors wind", span(wind), "0.18-0.35", ""),
        ("load factors (mean / capacity)", span(load), "0.3-0.7", ""),
        ("readings missing", f"{dataset.power.isna().to_numpy().mean():.2%}", "", ""),
    ]


def summary(errors: Errors) -> dict[str, float]:
    """The figures that have a target."""
    validation, updating = errors.mean("validation"), errors.mean("updating")
    return {
        "predictor_validation": validation,
        "predictor_updating": updating,
        "predictor_ratio": updating / validation,
        "autoencoder_updating": errors.autoencoder_updating,
    }


def span(values: np.ndarray) -> str:
    """Least, mean and greatest as text."""
    return f"{values.min():.3f} - {values.mean():.3f} - {values.max():.3f}" if values.size else "-"


def main(arguments: list[str] | None = None) -> int:
    """Simulate, train, print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--every", type=int, default=4, help="train for every n-th entity")
    parser.add_argument("--epochs", type=int, default=200, help="the paper's are 512")
    parser.add_argument("--patience", type=int, default=25, help="the paper's is 50")
    parser.add_argument("--start", help="first instant; default: that of simulate_grid")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    dataset = (
        simulate_grid(seed=options.seed, start=options.start)
        if options.start
        else simulate_grid(seed=options.seed)
    )
    names = [entity.name for entity in dataset.entities][:: options.every]
    training = Training(epochs=options.epochs, patience=options.patience)
    errors = measure_errors(dataset, names, training=training, seed=options.seed)
    if options.json:
        print(json.dumps({"summary": summary(errors), "errors": asdict(errors)}, indent=1))
        return 0
    console = Console()
    console.print(f"predictors of {len(names)} entities: {', '.join(names)}")
    table = Table("figure", "measured", "target", "paper")
    for row in rows(dataset, errors):
        table.add_row(*row)
    console.print(table)
    detail = Table("entity", "validation", "updating", "test", "ratio")
    for e in errors.predictors:
        numbers = (e.validation, e.updating, e.test, e.updating / e.validation)
        detail.add_row(e.entity, *(f"{value:.3f}" for value in numbers))
    console.print(detail)
    return 0


if __name__ == "__main__":
    sys.exit(main())
