"""Processor time and errors of Generative Replay: densities, epochs of encoders and of updates.

    python benchmarks/generative.py                        # four simulated entities, some minutes
    python benchmarks/generative.py --seeds 0 1 2 --width 128 --every 4 --capacity 750
    python benchmarks/generative.py --epochs 15 --work 150000 --averaging 0.99 \
        --variants Random "Generative, equal epochs"

Variants are measured in the same run. Random Replay is measured beside them. Only warm-up and
updating phase are used.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import NamedTuple
from unittest.mock import patch

import numpy as np
import torch
from rich.console import Console
from rich.table import Table
from torch import Tensor

from approaches.scored_stream import ScoredStream, StreamSamples, warm_models
from clearwatt.clear.component import ClearSettings
from clearwatt.clear.warm_up import WarmUp, WarmUpModels
from clearwatt.data import simulate_grid
from clearwatt.experiment.presets import preset
from clearwatt.experiment.protocol import divide
from clearwatt.strategies import (
    FamiliarityReplay,
    GenerativeReplay,
    OnlineEWC,
    RandomReplay,
    RecentReplay,
    Strategy,
    latent,
)
from clearwatt.strategies.mixture import Mixture, fit_mixture
from clearwatt.training.fleet import one_thread

ENTITIES = ("pv_01", "wind_01", "household_block_01", "residential_01")
SMALL = preset("small")


class Variant(NamedTuple):
    """An approach, the precision of its densities, and `ClearSettings.equal_epochs`."""

    strategy: Strategy
    precision: torch.dtype = torch.float32
    equal_epochs: bool = False


VARIANTS: Mapping[str, Variant] = {
    "Generative, double": Variant(GenerativeReplay(), torch.float64),
    "Generative": Variant(GenerativeReplay()),
    "Generative, equal epochs": Variant(GenerativeReplay(), equal_epochs=True),
    "Generative, all archives": Variant(GenerativeReplay(archives="all"), equal_epochs=True),
    "Generative, joint": Variant(GenerativeReplay(joint=True), equal_epochs=True),
    "Generative, all archives, joint": Variant(
        GenerativeReplay(archives="all", joint=True), equal_epochs=True
    ),
    "Random": Variant(RandomReplay()),
    "Recent": Variant(RecentReplay()),
    "EWC": Variant(OnlineEWC()),
    "Familiarity": Variant(FamiliarityReplay()),
}
DEFAULT = ("Generative, double", "Generative", "Generative, equal epochs", "Random")


@dataclass(frozen=True)
class Row:
    """Mean scores of a variant over the entities; seconds are core-seconds of a stream."""

    variant: str
    seconds: float
    fit_seconds: float
    updates: float
    fitting: float
    forgetting: float
    fitting_x: float


@dataclass
class FitClock:
    """Processor time spent in fits of densities."""

    seconds: float = 0.0

    def timed(self, z: Tensor, components: int, rng: np.random.Generator) -> Mixture:
        """Fit a mixture and add its time."""
        started = time.process_time()
        found = fit_mixture(z, components, rng)
        self.seconds += time.process_time() - started
        return found


@one_thread()
def measure(options: argparse.Namespace, seed: int) -> list[Row]:
    """Stream the beginning of the updating phase with every variant."""
    (zone,) = divide(simulate_grid(), None, options.entities).zones
    samples = StreamSamples.of(zone, every=options.every, most=options.samples)
    networks = replace(SMALL.networks, widths=(options.width,), predictor_widths=(options.width,))
    training = WarmUp(replace(SMALL.warmup, epochs=options.warmup_epochs), seed=seed)
    models: dict[bool, WarmUpModels] = {}
    rows = []
    for name in options.variants:
        variant = VARIANTS[name]
        own = variant.strategy.synchronous
        if own not in models:
            models[own] = warm_models(samples, networks, training, variational=own)
        settings = ClearSettings(
            strategy=variant.strategy,
            novelty_capacity=options.capacity,
            alpha=1.3,
            update=replace(
                SMALL.update,
                epochs=options.epochs,
                work=options.work,
                averaging=options.averaging,
            ),
            seed=seed,
            equal_epochs=variant.equal_epochs,
        )
        with patch.object(latent, "PRECISION", variant.precision):
            rows.append(_stream(name, samples, models[own], settings, training))
    return rows


def _stream(
    name: str,
    samples: StreamSamples,
    models: WarmUpModels,
    settings: ClearSettings,
    training: WarmUp,
) -> Row:
    clock, started = FitClock(), time.process_time()
    with patch.object(latent, "fit_mixture", clock.timed):
        approach = ScoredStream(samples, models, settings, training)
        approach.learn()
    seconds, count = time.process_time() - started, len(samples.entities)
    fields = ("updates", "fitting", "forgetting", "fitting_x")
    scores = list(approach.scores())
    means = [float(np.mean([getattr(each, field) for each in scores])) for field in fields]
    return Row(name, seconds / count, clock.seconds / count, *means)


def main() -> None:
    options = parse_arguments()
    rows = [row for seed in options.seeds for row in measure(options, seed)]
    if options.json:
        print(json.dumps([asdict(row) for row in rows]))
        return
    table = Table("approach", "core-s", "of it fits", "updates", "FE", "FR", "FE of inputs")
    for name in options.variants:
        own = [row for row in rows if row.variant == name]
        fields = ("seconds", "fit_seconds", "updates", "fitting", "forgetting", "fitting_x")
        means = [np.mean([getattr(row, field) for row in own]) for field in fields]
        table.add_row(name, *(f"{value:.2f}" for value in means[:3]), *_errors(means[3:]))
    Console(width=110).print(table)


def _errors(values: list[float]) -> list[str]:
    return [f"{value:.4f}" for value in values]


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Processor time of Generative Replay.")
    parser.add_argument("--entities", nargs="+", default=list(ENTITIES))
    parser.add_argument("--samples", type=int, default=12_000, help="of the updating phase")
    parser.add_argument("--capacity", type=int, default=1_500, help="novel samples (default 1500)")
    parser.add_argument("--every", type=int, default=1, help="stream each nth sample (default 1)")
    parser.add_argument("--width", type=int, default=64, help="of all networks (default 64)")
    parser.add_argument("--variants", nargs="+", choices=VARIANTS, default=list(DEFAULT))
    update = SMALL.update
    parser.add_argument("--epochs", type=int, default=update.epochs, help="of an update")
    parser.add_argument("--work", type=int, default=update.work, help="`Training.work` of it")
    parser.add_argument("--averaging", type=float, default=0.0, help="`Training.averaging` of it")
    parser.add_argument("--json", action="store_true", help="print every row as JSON")
    parser.add_argument("--warmup-epochs", type=int, default=100)
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    return parser.parse_args()


if __name__ == "__main__":
    main()
