"""Draw the picture of the README: the live error of a frozen and of a learning model.

python scripts/live_error_picture.py            # writes docs/images/live-error.svg
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import torch

from charts import BLUE, GREY, Line, Panel, draw
from clearwatt.clear.component import ClearSettings
from clearwatt.clear.instance import Instance
from clearwatt.clear.warm_up import WarmUp
from clearwatt.data import simulate_grid
from clearwatt.data.features import fit_scaling, prepare
from clearwatt.experiment.live import ModelTimeline
from clearwatt.strategies import Frozen, RecentReplay
from clearwatt.training.networks import Autoencoder, Predictor
from clearwatt.training.streams import drive

WARMUP = 10_000
WEEK = 7 * 96


def weekly_errors(errors: np.ndarray) -> np.ndarray:
    """Root mean square of each whole week."""
    weeks = errors[: len(errors) // WEEK * WEEK].reshape(-1, WEEK)
    return np.asarray(np.sqrt(np.nanmean(np.square(weeks), axis=1)))


def main() -> None:
    """Warm up once, stream twice, draw."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--entity", default="household_block_01", help="of the simulated grid")
    parser.add_argument("--out", type=Path, default=Path("docs/images/live-error.svg"))
    options = parser.parse_args()
    torch.set_num_threads(1)
    grid = simulate_grid()
    features = prepare(grid, fit_scaling(grid, WARMUP), entities=[options.entity])
    x, y = features.inputs["region"], features.targets
    warmup = WarmUp()
    autoencoder = drive(warmup.autoencoder(Autoencoder(x.shape[1], latent=14), x[:WARMUP]))
    heads = drive(warmup.predictors(Predictor(14), autoencoder, x[:WARMUP], y[:WARMUP]))
    settings = ClearSettings(RecentReplay())
    lines, updates = [], []
    for name, strategy, colour in (
        ("frozen after the warm-up", Frozen(), GREY),
        ("keeps learning (Recent Replay)", RecentReplay(), BLUE),
    ):
        instance = Instance.start(
            replace(settings, strategy=strategy),
            x[:WARMUP],
            y[:WARMUP],
            autoencoder=autoencoder,
            predictors=heads,
        )
        deployed = drive(instance.stream(x[WARMUP:], y[WARMUP:]))
        forecast = ModelTimeline(autoencoder, heads[0], deployed).forecasts(x[WARMUP:])
        lines.append(Line(weekly_errors(y[WARMUP:, 0] - forecast), colour, name))
        events = [each.event for each in deployed if each.event.accepted]
        updates += [event.step for event in events if event.component == "predictor"]
    span = len(x) - WARMUP
    times = features.times[WARMUP:]
    months = pd.date_range(times[0], times[-1], freq="3MS", tz="UTC")
    ticks = [((month - times[0]) / (times[-1] - times[0]), f"{month:%b %Y}") for month in months]
    panel = Panel(
        f"{options.entity}: live error per week, measurements a day late; red: predictor updates",
        lines,
        "RMSE / capacity",
        ticks,
        marks=[(step / span, "") for step in updates],
        # A quarter of the height is for the legend.
        limits=(0.0, float(np.ceil(25 * max(line.values.max() for line in lines)) / 20)),
        width=860,
        height=220,
    )
    draw([[panel]], options.out)


if __name__ == "__main__":
    main()
