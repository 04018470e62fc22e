"""The cost of the `paper` preset, projected from a stratified slice of it.

    python benchmarks/protocol.py              # an hour: every shape of Table 1
    python benchmarks/protocol.py --quick      # 25 minutes: one shape of each width
    python benchmarks/protocol.py --scaling    # instead: two processes against one, in five minutes
    python benchmarks/protocol.py --json

The slice streams configurations of every instance over the whole updating phase, on entities of all
kinds, with networks of every width and depth of Table 1. Warm-up models train for a few epochs
only: the time of an update does not depend on their quality. In a run all 95 entities share an
autoencoder, here a few do. So its updates are timed separately and divided by 95.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import time
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import torch
from rich.console import Console
from rich.table import Table

from clearwatt.compute import executor
from clearwatt.data import simulate_grid
from clearwatt.experiment.architectures import Networks
from clearwatt.experiment.config import Experiment
from clearwatt.experiment.grid import INSTANCES, Grid
from clearwatt.experiment.models import Place, TrainedNetwork
from clearwatt.experiment.plan import choose_entities, places_of, updating_tasks
from clearwatt.experiment.protocol import Phases, PhaseSamples, divide
from clearwatt.experiment.tasks import (
    Context,
    NetworkRole,
    PredictorTask,
    RepresentationTask,
    perform,
)
from clearwatt.experiment.updating import UpdatingTask
from clearwatt.training.fleet import Training

PAPER = Experiment()
EPOCHS = 3
"""Epochs of the warm-up here; the cost of a search is projected from the time of one epoch."""
TYPICAL_EPOCHS = 200
"""Usual number of epochs until early stopping ends a training of the search."""
SCALING_STEPS, ROUNDS = 8_000, 3
"""Steps of the updating phase, and how often both numbers of processes are timed."""
ENTITIES = 95
"""Entities of the whole preset; they share an autoencoder and, in a task, its updates."""


class Shape(NamedTuple):
    """A stratum: networks of one size, with some settings that decide how often they update."""

    width: int
    layers: int
    points: tuple[tuple[int, float], ...]
    """Pairs of novelty capacity and threshold factor."""

    def __str__(self) -> str:
        return f"{self.width} x {self.layers}"


CORNERS = ((3_000, 0.9), (5_000, 1.3)), ((3_000, 1.3), (5_000, 0.9))
"""Two halves of the four combinations of Table 2; every value occurs once in each half."""
SHAPES = tuple(
    Shape(width, layers, CORNERS[(i + j) % 2])
    for i, width in enumerate(PAPER.networks.widths)
    for j, layers in enumerate(PAPER.networks.layers)
)


def warm_up(shape: Shape, entities: int, *, epochs: int) -> tuple[Context, dict[str, float]]:
    """A context with networks of one shape, and core-seconds per epoch of each candidate."""
    grid = simulate_grid()
    width, layers = (shape.width,), (shape.layers,)
    experiment = replace(
        PAPER,
        entities=entities,
        networks=Networks(layers, width, (14,), PAPER.networks.kl_weights, layers, width),
        warmup=Training(epochs=epochs, patience=None),
    )
    division = divide(grid, Phases(), choose_entities(grid, experiment))
    kinds = {name: str(grid.entity(name).kind) for name in grid.names}
    context = Context(experiment, division.zones, grid.times, 96, (), kinds)
    seconds: dict[str, float] = {}
    representations: dict[tuple[int, NetworkRole], TrainedNetwork] = {}
    predictors: dict[tuple[Place, NetworkRole], TrainedNetwork] = {}
    for role in ("plain", "variational"):
        networks = experiment.networks.representations(23, variational=role == "variational")
        started = time.process_time()
        found = perform(context, RepresentationTask(role, networks, (0,)))
        seconds[role] = (time.process_time() - started) / epochs / len(networks)
        representations[0, role] = found[0]
        context = replace(context, representations=representations)
        places = tuple(places_of(context))
        (head,) = experiment.networks.predictors(14)
        started = time.process_time()
        trained = perform(context, PredictorTask(role, head, places))
        seconds["predictor"] = (time.process_time() - started) / epochs / len(places)
        predictors |= {(place, role): one for place, one in zip(places, trained, strict=True)}
    return replace(context, predictors=predictors), seconds


def stream_costs(context: Context, shape: Shape) -> dict[str, float]:
    """Core-seconds per stream of each instance; a task has several configurations."""
    found: dict[str, list[float]] = {instance: [] for instance in INSTANCES}
    for capacity, alpha in shape.points:
        point = Grid((capacity,), (alpha,), (5e4,), (1.0,), (5,))
        own = replace(context, experiment=replace(context.experiment, grid=point))
        for task in updating_tasks(own):
            seconds = task_cost(own, task)
            for configuration in task.configurations:
                found[configuration.instance].append(seconds)
            print(".", end="", file=sys.stderr, flush=True)
    return {instance: float(np.mean(seconds)) for instance, seconds in found.items()}


def task_cost(context: Context, task: UpdatingTask) -> float:
    """Core-seconds per stream; updates of a shared autoencoder are divided by all that share it."""
    started, cores_started = time.perf_counter(), time.process_time()
    results = perform(context, task)
    wall, cores = time.perf_counter() - started, time.process_time() - cores_started
    firsts = results[:: len(task.places)]  # one of each configuration
    shared: float = sum(
        seconds
        for each in firsts
        for update, seconds in zip(each.trial.updates, each.trial.timing.event_seconds, strict=True)
        if update.component == "autoencoder" and update.entity is None
    )
    encoders = cores * shared / wall
    return (cores - encoders) / len(results) + encoders / len(firsts) / ENTITIES


def scaling(context: Context) -> dict[str, float]:
    """Wall time of the same tasks with one process and with two, in turn; the median ratio."""
    places = tuple(places_of(context))
    tasks = [UpdatingTask((each,), places) for each in PAPER.grid.configurations("Ra")]
    short, shorter = (
        _first_steps(context, steps) for steps in (SCALING_STEPS, SCALING_STEPS // 16)
    )
    seconds: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(ROUNDS):
        for workers, found in seconds.items():
            with executor("processes", workers=workers) as compute:
                list(
                    compute.map(perform, shorter, tasks[:workers])
                )  # start the workers before the clock
                started = time.perf_counter()
                list(compute.map(perform, short, tasks))
                found.append(time.perf_counter() - started)
            print(".", end="", file=sys.stderr, flush=True)
    ratios = [one / two for one, two in zip(*seconds.values(), strict=True)]
    times = {f"workers_{workers}": float(np.median(found)) for workers, found in seconds.items()}
    return times | {"speedup": float(np.median(ratios))}


def _first_steps(context: Context, steps: int) -> Context:
    """The context with the first steps of the updating phase only."""
    zones = []
    for zone in context.zones:
        span = zone.updating
        first = PhaseSamples(span.x[:steps], span.y[:steps], span.at[:steps])
        zones.append(replace(zone, updating=first))
    return replace(context, zones=tuple(zones))


def project(
    streams: dict[Shape, dict[str, float]], epochs: dict[Shape, dict[str, float]]
) -> dict[str, float]:
    """The whole preset in core-hours, if all shapes are chosen equally often."""
    counts = {key: len(PAPER.grid.configurations(key)) for key in INSTANCES}
    means = {key: float(np.mean([each[key] for each in streams.values()])) for key in INSTANCES}
    total = sum(counts[key] * means[key] for key in INSTANCES) * ENTITIES
    candidates = {"plain": 24, "variational": 72, "predictor": 6 * ENTITIES * 2}
    warm = sum(
        count * TYPICAL_EPOCHS * float(np.mean([each[name] for each in epochs.values()]))
        for name, count in candidates.items()
    )
    return {
        "core_seconds_per_stream": total / ENTITIES / sum(counts.values()),
        "streams_core_hours": total / 3600,
        "warmup_core_hours": warm / 3600,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--quick", action="store_true", help="one depth and one point of each width"
    )
    parser.add_argument(
        "--entities", type=int, default=8, help="number of entities, of all kinds in turn"
    )
    parser.add_argument("--scaling", action="store_true", help="only two processes against one")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    options = parser.parse_args()
    torch.set_num_threads(1)
    if options.scaling:
        context, _ = warm_up(SHAPES[0], options.entities, epochs=EPOCHS)
        print(json.dumps(scaling(context), indent=1))
        return
    shapes = [each._replace(points=each.points[:1]) for each in SHAPES[::2]]
    shapes = shapes if options.quick else list(SHAPES)
    streams, epochs = {}, {}
    for shape in shapes:
        context, epochs[shape] = warm_up(shape, options.entities, epochs=EPOCHS)
        streams[shape] = stream_costs(context, shape)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    report = {
        "core_seconds_per_stream": {str(shape): found for shape, found in streams.items()},
        "core_seconds_per_epoch": {str(shape): found for shape, found in epochs.items()},
        "projection": project(streams, epochs),
        "peak_memory_gb": round(memory, 2),
    }
    if options.json:
        print(json.dumps(report, indent=1))
        return
    table = Table("networks", *INSTANCES, title="core-seconds per stream")
    for shape, found in streams.items():
        table.add_row(str(shape), *(f"{found[key]:.1f}" for key in INSTANCES))
    Console(width=100).print(table)
    print(json.dumps({key: report[key] for key in ("projection", "peak_memory_gb")}))


if __name__ == "__main__":
    main()
