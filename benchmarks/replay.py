"""Forgetting and fitting of the replay approaches, with archives and weights varied.

    python benchmarks/replay.py                       # three simulated entities, half an hour
    python benchmarks/replay.py --seeds 0 1 2 --json
    python benchmarks/replay.py --data gefcom2012-wind --entities wp1 --every 1
    python benchmarks/replay.py --frozen-autoencoder --variants Random Recent Familiarity EWC

Only warm-up and updating phase are used; the test phase is never read. Every second sample of the
quarter hours is streamed, with half of the preset's capacity, so that a run takes minutes.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from approaches.scored_stream import ScoredStream, Scores, StreamSamples, warm_models
from clearwatt.clear.component import ClearSettings
from clearwatt.clear.warm_up import WarmUp
from clearwatt.data import load_dataset, simulate_grid
from clearwatt.experiment.presets import preset
from clearwatt.experiment.protocol import divide
from clearwatt.strategies import (
    FamiliarityReplay,
    GenerativeReplay,
    OnlineEWC,
    RandomReplay,
    RecentReplay,
    Strategy,
)
from clearwatt.training.fleet import one_thread

ENTITIES = ("pv_01", "household_block_01", "residential_01")
SMALL = preset("small")
NOT_COMPARED = ("EWC",)
"""Variants that replay nothing; measured when they are named."""
VARIANTS: Mapping[str, Strategy] = {
    "Random": RandomReplay(),
    "Random, 4 x, weight 4": RandomReplay(4.0, replay_size=6_000),
    "Random, 4 x, by count": RandomReplay(replay_size=6_000, weighting="count"),
    "Random, by count": RandomReplay(weighting="count"),
    "Recent": RecentReplay(),
    "Recent, by count": RecentReplay(weighting="count"),
    "Familiarity": FamiliarityReplay(),
    "Familiarity, by count": FamiliarityReplay(weighting="count"),
    "EWC": OnlineEWC(),
    "Generative": GenerativeReplay(),
    "Generative, 4 x, weight 4": GenerativeReplay(4.0, replay_size=6_000),
    "Generative, by count": GenerativeReplay(weighting="count"),
    "Generative, all archives": GenerativeReplay(archives="all"),
    "Generative, all, 4 x, weight 4": GenerativeReplay(4.0, replay_size=6_000, archives="all"),
    "Generative, all, by count": GenerativeReplay(archives="all", weighting="count"),
}


@dataclass(frozen=True)
class Row:
    """The scores of one approach for one entity."""

    variant: str
    seed: int
    scores: Scores


@one_thread()
def measure(options: argparse.Namespace, seed: int) -> Iterator[Row]:
    """Stream the updating phase with every variant."""
    dataset = load_dataset(options.data) if options.data else simulate_grid()
    for zone in divide(dataset, None, options.entities).zones:
        samples = StreamSamples.of(zone, every=options.every)
        for synchronous in (False, True):
            chosen = {
                name: strategy
                for name, strategy in VARIANTS.items()
                if name in options.variants and strategy.synchronous is synchronous
            }
            if not chosen:
                continue
            training = WarmUp(SMALL.warmup, seed=seed)
            models = warm_models(samples, SMALL.networks, training, variational=synchronous)
            for name, strategy in chosen.items():
                settings = ClearSettings(
                    strategy=strategy,
                    novelty_capacity=options.capacity,
                    alpha=1.3,
                    update=SMALL.update,
                    seed=seed,
                )
                approach = ScoredStream(samples, models, settings, training)
                if options.frozen_autoencoder:
                    approach.freeze_autoencoders()
                approach.learn()
                yield from (Row(name, seed, scores) for scores in approach.scores())


def main() -> None:
    options = parse_arguments()
    rows = []
    for seed in options.seeds:
        for row in measure(options, seed):
            rows.append(row)
            if options.json:
                named = {"variant": row.variant, "seed": row.seed}
                print(json.dumps(named | row.scores._asdict()), flush=True)
    if options.json:
        return
    table = Table(
        "approach", "FE", "FR", "FE of inputs", "FR of inputs", "updates", "of inputs", "kB"
    )
    for name in options.variants:
        own = [row for row in rows if row.variant == name]
        means = [
            np.mean([getattr(row.scores, field) for row in own])
            for field in ("fitting", "forgetting", "fitting_x", "forgetting_x")
        ]
        counts = [
            np.mean([getattr(row.scores, field) for row in own])
            for field in ("updates", "updates_x", "kilobytes")
        ]
        table.add_row(name, *(f"{value:.3f}" for value in means), *(f"{n:,.1f}" for n in counts))
    Console(width=110).print(table)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Forgetting and fitting of replay approaches.")
    parser.add_argument("--data", type=_data_name, help="name of the catalogue, or folder")
    parser.add_argument("--entities", nargs="+", default=list(ENTITIES))
    parser.add_argument("--every", type=int, default=2, help="stream each nth sample (default 2)")
    parser.add_argument("--capacity", type=int, default=1_500, help="novel samples (default 1500)")
    parser.add_argument(
        "--variants",
        nargs="+",
        choices=VARIANTS,
        default=[name for name in VARIANTS if name not in NOT_COMPARED],
    )
    parser.add_argument(
        "--frozen-autoencoder",
        action="store_true",
        help="never update autoencoders, to see which updates of predictors follow theirs",
    )
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    parser.add_argument("--json", action="store_true", help="a line of JSON for each row")
    return parser.parse_args()


def _data_name(text: str) -> str | Path:
    return Path(text) if Path(text).is_dir() else text


if __name__ == "__main__":
    main()
