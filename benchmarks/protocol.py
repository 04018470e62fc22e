"""What the `paper` preset costs: measure a stratified slice of it and project the whole.

    python benchmarks/protocol.py              # some minutes
    python benchmarks/protocol.py --quick      # smallest networks only, few entities
    python benchmarks/protocol.py --scaling    # also: two processes against one
    python benchmarks/protocol.py --json

The slice streams one configuration of every instance over the whole updating phase, on entities of
all kinds, with predictors and autoencoders of every width of Table 1. Warm-up models are trained
for a few epochs only: how long an update takes does not depend on how good they are.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import time
from dataclasses import replace

import numpy as np
import torch
from rich.console import Console
from rich.table import Table

from clearwatt.compute import executor
from clearwatt.data import simulate_grid
from clearwatt.experiment.architectures import Networks
from clearwatt.experiment.config import Experiment
from clearwatt.experiment.grid import INSTANCES, Grid
from clearwatt.experiment.models import Candidate, Place
from clearwatt.experiment.plan import chosen_entities, places_of, updating_tasks
from clearwatt.experiment.protocol import Phases, divide
from clearwatt.experiment.tasks import Context, PredictorTask, RepresentationTask, Role, perform
from clearwatt.experiment.updating import UpdatingTask
from clearwatt.fleet import Training

PAPER = Experiment()
EPOCHS = 3
"""Of the warm-up here; the paper's 512 are projected from the time of one."""
TYPICAL_EPOCHS = 200
"""After how many epochs early stopping usually ends a search's training."""


def warmed_up(width: int, entities: int, *, epochs: int) -> tuple[Context, dict[str, float]]:
    """A context with networks of one width, and core-seconds per epoch of each candidate."""
    grid = simulate_grid()
    experiment = replace(
        PAPER,
        entities=entities,
        networks=Networks((3,), (width,), (14,), (5e-6,), (3,), (width,)),
        grid=Grid((3_000,), (1.3,), (5e4,), (1.0,), (5,)),
        warmup=Training(epochs=epochs, patience=None),
    )
    division = divide(grid, Phases(), chosen_entities(grid, experiment))
    kinds = {name: str(grid.entity(name).kind) for name in grid.names}
    context = Context(experiment, division.zones, grid.times, 96, (), kinds)
    seconds: dict[str, float] = {}
    representations: dict[tuple[int, Role], Candidate] = {}
    predictors: dict[tuple[Place, Role], Candidate] = {}
    for role in ("plain", "variational"):
        (network,) = experiment.networks.representations(23, variational=role == "variational")
        started = time.process_time()
        (representations[0, role],) = perform(context, RepresentationTask(role, network, (0,)))
        seconds[role] = (time.process_time() - started) / epochs
        context = replace(context, representations=representations)
        places = tuple(places_of(context))
        (head,) = experiment.networks.predictors(14)
        started = time.process_time()
        trained = perform(context, PredictorTask(role, head, places))
        seconds["predictor"] = (time.process_time() - started) / epochs / len(places)
        predictors |= {(place, role): one for place, one in zip(places, trained, strict=True)}
    return replace(context, predictors=predictors), seconds


def measured_streams(context: Context) -> dict[str, float]:
    """Core-seconds per stream of each instance, in tasks as a run has them."""
    found: dict[str, list[float]] = {instance: [] for instance in INSTANCES}
    for task in updating_tasks(context):
        for each in perform(context, task):
            found[each.trial.instance].append(each.trial.timing["core_seconds"])
        print(".", end="", file=sys.stderr, flush=True)
    return {instance: float(np.mean(seconds)) for instance, seconds in found.items()}


def scaling(context: Context) -> dict[str, float]:
    """Wall time of the same four tasks with one process and with two."""
    places = tuple(places_of(context))
    points = context.experiment.grid.configurations("Ra")
    tasks = [UpdatingTask(points, (place,)) for place in places[:4]]
    seconds = {}
    for workers in (1, 2):
        with executor("processes", workers=workers) as compute:
            list(compute.map(perform, context, tasks[:workers]))  # start-up is not the question
            started = time.perf_counter()
            list(compute.map(perform, context, tasks))
            seconds[f"workers_{workers}"] = time.perf_counter() - started
    return seconds | {"speedup": seconds["workers_1"] / seconds["workers_2"]}


def projected(streams: dict[int, dict[str, float]], epochs: dict[int, dict[str, float]]) -> dict:
    """The whole preset in core-hours, if all widths are chosen equally often."""
    counts = {key: len(PAPER.grid.configurations(key)) for key in INSTANCES}
    means = {key: float(np.mean([each[key] for each in streams.values()])) for key in INSTANCES}
    total = sum(counts[key] * means[key] for key in INSTANCES) * 95
    candidates = {"plain": 24, "variational": 72, "predictor": 6 * 95 * 2}
    warm = sum(
        count * TYPICAL_EPOCHS * float(np.mean([each[name] for each in epochs.values()]))
        for name, count in candidates.items()
    )
    return {
        "core_seconds_per_stream": total / 95 / sum(counts.values()),
        "streams_core_hours": total / 3600,
        "warmup_core_hours": warm / 3600,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="smallest networks, three entities")
    parser.add_argument("--entities", type=int, default=3, help="of all kinds in turn")
    parser.add_argument("--scaling", action="store_true", help="two processes against one")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    options = parser.parse_args()
    torch.set_num_threads(1)
    widths = PAPER.networks.widths[:1] if options.quick else PAPER.networks.widths
    entities = 3 if options.quick else options.entities
    streams, epochs = {}, {}
    for width in widths:
        context, epochs[width] = warmed_up(width, entities, epochs=EPOCHS)
        streams[width] = measured_streams(context)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    report = {
        "core_seconds_per_stream": streams,
        "core_seconds_per_epoch": epochs,
        "projection": projected(streams, epochs),
        "peak_memory_gb": round(memory, 2),
        "scaling": scaling(context) if options.scaling else None,
    }
    if options.json:
        print(json.dumps(report, indent=1))
        return
    table = Table("width", *INSTANCES, title=f"core-seconds per stream, {entities} entities")
    for width, found in streams.items():
        table.add_row(str(width), *(f"{found[key]:.1f}" for key in INSTANCES))
    Console(width=100).print(table)
    print(json.dumps({key: report[key] for key in ("projection", "peak_memory_gb", "scaling")}))


if __name__ == "__main__":
    main()
