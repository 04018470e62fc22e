"""The cost of the `paper` preset, projected from a stratified slice of it.

    python benchmarks/protocol.py              # an hour: every shape of Table 1
    python benchmarks/protocol.py --quick      # 25 minutes: one shape of each width
    python benchmarks/protocol.py --scaling    # instead: two processes against one, in five minutes
    python benchmarks/protocol.py --apart      # without what configurations share, to compare
    python benchmarks/protocol.py --instances G examples.archived_replay:archived_replay
    python benchmarks/protocol.py --json

The slice streams configurations of every instance over the whole updating phase, on entities of all
kinds, with networks of every width and depth of Table 1. Warm-up models train for a few epochs
only: the time of an update does not depend on their quality. In a run all 95 entities share an
autoencoder, here a few do. So its updates are timed separately and divided by 95. The adaptive
forecaster has networks of its own, so it is measured once.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from typing import NamedTuple, TypeVar
from unittest.mock import patch

import numpy as np
import torch
from rich.console import Console
from rich.table import Table

from clearwatt.compute import executor
from clearwatt.data import simulate_grid
from clearwatt.experiment import updating
from clearwatt.experiment.architectures import Networks
from clearwatt.experiment.config import Experiment
from clearwatt.experiment.final_model import TrialResult
from clearwatt.experiment.grid import ROWS, Grid
from clearwatt.experiment.models import Place, TrainedNetwork
from clearwatt.experiment.plan import (
    SHARED_STREAMS,
    adaptive_tasks,
    choose_entities,
    chunks,
    places_of,
    updating_tasks,
)
from clearwatt.experiment.protocol import Phases, PhaseSamples, divide
from clearwatt.experiment.records import ADAPTIVE
from clearwatt.experiment.tasks import (
    Context,
    NetworkRole,
    PredictorTask,
    RepresentationTask,
    Task,
    perform,
)
from clearwatt.experiment.updating import UpdatingTask
from clearwatt.training import streams
from clearwatt.training.fleet import Job, Trained, Training, train
from clearwatt.training.streams import Stream

T = TypeVar("T")
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


class StreamCost(NamedTuple):
    """Core-seconds per stream, and those of them that are training steps."""

    seconds: float
    training: float


Costs = Mapping[str, StreamCost]
"""By instance."""


def stream_costs(context: Context, shape: Shape, instances: Sequence[str]) -> Costs:
    """Cost of a stream of each instance; a task has several configurations."""
    found: dict[str, list[StreamCost]] = {}
    for capacity, alpha in shape.points:
        # All numbers of recent updates: streams that begin alike share their first trainings.
        point = Grid((capacity,), (alpha,), (5e4,), (1.0,))
        experiment = replace(context.experiment, grid=point, instances=tuple(instances))
        own = replace(context, experiment=experiment)
        for task in updating_tasks(own):
            cost = task_cost(own, task)
            for configuration in task.configurations:
                found.setdefault(configuration.instance, []).append(cost)
            print(".", end="", file=sys.stderr, flush=True)
    return {instance: StreamCost(*np.mean(costs, axis=0)) for instance, costs in found.items()}


def adaptive_cost(context: Context) -> StreamCost:
    """Cost of a stream of the adaptive forecaster, which has networks of its own."""
    own = replace(context, experiment=replace(context.experiment, instances=(ADAPTIVE,)))
    (task,) = adaptive_tasks(own)
    results, spent = measure(own, task)
    print(".", end="", file=sys.stderr, flush=True)
    return StreamCost(spent.cores / len(results), spent.training / len(results))


def task_cost(context: Context, task: UpdatingTask) -> StreamCost:
    """Cost of a stream; updates of a shared autoencoder are divided by all that share it."""
    results, spent = measure(context, task)
    configurations = len(task.configurations)
    sharing = len(chunks(range(ENTITIES), SHARED_STREAMS // configurations)[0])
    encoders = 0.0 if task.configurations[0].strategy.synchronous else spent.autoencoders
    share = encoders / configurations / sharing
    seconds, training = (
        (each - encoders) / len(results) + share for each in (spent.cores, spent.training)
    )
    return StreamCost(seconds, training)


class Spent(NamedTuple):
    """Core-seconds of a task, of its training steps, and of those of autoencoders."""

    cores: float
    training: float
    autoencoders: float


def measure(context: Context, task: Task[list[TrialResult]]) -> tuple[list[TrialResult], Spent]:
    """Do a task and measure it."""
    started = time.process_time()
    with timed_training() as clock:
        results = perform(context, task)
    cores = time.process_time() - started
    return results, Spent(cores, *(sum(part) for part in zip(*clock, strict=True)))


def drive_apart(stream: Stream[T], *, reuse: bool) -> T:
    """Run a stream as if no two of its jobs were equal."""
    return streams.drive(stream)


@contextmanager
def timed_training() -> Iterator[list[tuple[float, float]]]:
    """The core-seconds of every call of the training loop: all, and those of autoencoders."""
    clock: list[tuple[float, float]] = []

    def timed(jobs: Sequence[Job], *, stack: int | None = None) -> list[Trained]:
        started = time.process_time()
        trained = train(jobs, stack=stack)
        cores = time.process_time() - started
        wall = [each.seconds for each in trained]
        own = [w for w, job in zip(wall, jobs, strict=True) if job.targets is None]
        clock.append((cores, cores * sum(own) / max(sum(wall), 1e-9)))
        return trained

    with patch.object(streams, "train", timed):
        yield clock


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
    found: Mapping[Shape, Costs], epochs: Mapping[Shape, Mapping[str, float]]
) -> dict[str, float]:
    """The whole preset in core-hours, if all shapes are chosen equally often."""
    counts = {key: len(PAPER.grid.trials(key)) for key in ROWS}
    means = mean_costs(found)
    total = sum(counts[key] * means[key].seconds for key in ROWS) * ENTITIES
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


def mean_costs(found: Mapping[Shape, Costs]) -> dict[str, StreamCost]:
    """Mean over the shapes, by instance."""
    instances = next(iter(found.values()))
    return {
        key: StreamCost(*np.mean([costs[key] for costs in found.values()], axis=0))
        for key in instances
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--quick", action="store_true", help="one depth and one point of each width"
    )
    parser.add_argument(
        "--entities", type=int, default=8, help="number of entities, of all kinds in turn"
    )
    parser.add_argument(
        "--instances", nargs="+", default=list(ROWS), help="rows of an experiment (default: all)"
    )
    parser.add_argument(
        "--apart", action="store_true", help="train equal updates of configurations each time"
    )
    parser.add_argument("--scaling", action="store_true", help="only two processes against one")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    options = parser.parse_args()
    torch.set_num_threads(1)
    if options.scaling:
        context, _ = warm_up(SHAPES[0], options.entities, epochs=EPOCHS)
        print(json.dumps(scaling(context), indent=1))
        return
    shapes = [each._replace(points=(each.points[i % 2],)) for i, each in enumerate(SHAPES[::2])]
    shapes = shapes if options.quick else list(SHAPES)
    found: dict[Shape, Costs] = {}
    epochs: dict[Shape, dict[str, float]] = {}
    of_paper = [each for each in options.instances if each != ADAPTIVE]
    adaptive: dict[str, StreamCost] = {}
    for shape in shapes:
        context, epochs[shape] = warm_up(shape, options.entities, epochs=EPOCHS)
        if ADAPTIVE in options.instances and not adaptive:
            adaptive = {ADAPTIVE: adaptive_cost(context)}
        with patch.object(updating, "drive", drive_apart) if options.apart else nullcontext():
            found[shape] = {**stream_costs(context, shape, of_paper), **adaptive}
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    report = {
        "core_seconds_per_stream": {
            str(shape): seconds_of(costs) for shape, costs in found.items()
        },
        "of_it_training": {
            str(shape): {key: cost.training for key, cost in costs.items()}
            for shape, costs in found.items()
        },
        "core_seconds_per_epoch": {str(shape): each for shape, each in epochs.items()},
        "projection": project(found, epochs) if set(ROWS) <= set(options.instances) else None,
        "peak_memory_gb": round(memory, 2),
    }
    if options.json:
        print(json.dumps(report, indent=1))
        return
    rows = {**{str(shape): costs for shape, costs in found.items()}, "mean": mean_costs(found)}
    table = Table("networks", *options.instances, title="core-seconds per stream, of it training")
    for name, costs in rows.items():
        pairs = (costs[key] for key in options.instances)
        table.add_row(name, *(f"{each.seconds:.2f}, {each.training:.2f}" for each in pairs))
    Console(width=120).print(table)
    print(json.dumps({key: report[key] for key in ("projection", "peak_memory_gb")}))


def seconds_of(costs: Costs) -> dict[str, float]:
    return {key: cost.seconds for key, cost in costs.items()}


if __name__ == "__main__":
    main()
