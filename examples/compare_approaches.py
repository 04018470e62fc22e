"""Compare the six approaches and the references on entities of the simulated grid.

    python examples/compare_approaches.py            # the table of the README, some minutes
    python examples/compare_approaches.py --quick    # a short stream and few epochs, seconds
    python examples/compare_approaches.py --json

Everything is chosen by the warm-up and the updating phase; the test phase is only scored.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from dataclasses import asdict

import torch
from rich.console import Console
from rich.table import Table

from clearwatt.clear.component import Settings
from clearwatt.clear.warm_up import WarmUp
from clearwatt.data import simulate_grid
from clearwatt.data.features import fit_scaling, prepare
from clearwatt.experiment.comparison import Comparison, Outcome, Phases
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


def compare(entities: Sequence[str], *, quick: bool) -> list[Outcome]:
    """Simulate the grid, prepare its inputs and run every approach."""
    phases = QUICK if quick else Phases()
    steps = phases.warmup + phases.updating + phases.test
    grid = simulate_grid(steps=steps, entities=10 if quick else 95)
    features = prepare(grid, fit_scaling(grid, phases.warmup), entities=entities)
    comparison = Comparison(
        APPROACHES,
        phases=phases,
        settings=Settings(
            novelty_capacity=400 if quick else 3_000,
            update=Training(epochs=2 if quick else 30, patience=None),
        ),
        warmup=WarmUp(Training(epochs=10 if quick else 512)),
    )
    return comparison.run(features.inputs["region"], features.targets, entities)


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
