"""Running an experiment, or going on where it was interrupted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from clearwatt.compute import Executor
from clearwatt.data import Dataset
from clearwatt.experiment.config import Experiment
from clearwatt.experiment.finalists import Finalists
from clearwatt.experiment.finish import tested_baselines, tested_trials
from clearwatt.experiment.folder import RunFolder, digest, machine, versions
from clearwatt.experiment.outlook import outlook
from clearwatt.experiment.plan import chosen_entities
from clearwatt.experiment.protocol import Division, Zone, divide
from clearwatt.experiment.stages import Progress, Stages
from clearwatt.experiment.tasks import Context
from clearwatt.intervals import physical_limits

DAY = pd.Timedelta(days=1)


def run(
    experiment: Experiment, dataset: Dataset, out: Path, *, compute: Executor
) -> Iterator[Progress]:
    """Run an experiment on a data set.

    Args:
        experiment: what to do.
        dataset: what ``experiment.data`` names, loaded.
        out: the folder of the run; one that was interrupted is gone on with.
        compute: who does the work.

    Yields:
        How far it is, after every piece of work. At the end ``out/results.json`` is there.
    """
    division = divide(dataset, experiment.phases, chosen_entities(dataset, experiment))
    grid = experiment.grid.scaled_to(division.phases.updating)
    experiment = replace(experiment, grid=grid)
    context = _context(experiment, dataset, division)
    about = _about(context, dataset, division)
    identity = digest(about["experiment"], about["data"], about["versions"])
    ahead = outlook(context)
    with RunFolder.opened(out, about, identity) as folder:
        stages = Stages(folder, compute, ahead)
        entities = [name for zone in division.zones for name in zone.entities]
        context = yield from stages.autoencoders(context)
        context = yield from stages.predictors(context)
        finalists = Finalists(folder, experiment.configurations, entities)
        context = yield from stages.updating(context, finalists)
        records = yield from stages.baselines(context)
        trials = tested_trials(context, division, finalists, folder)
        folder.write_results(
            {
                "preset": about["preset"],
                "configuration": about["experiment"],
                "data": about["data"],
                "phases": asdict(division.phases),
                "delay_steps": context.delay,
                "zones": _zones(context, division),
                "drifts": [drift.to_dict() for drift in context.drifts],
                "entities": _entities(context),
                "trials": trials,
                "baselines": tested_baselines(context, division, records, folder),
                "timing": _timing(trials),
            }
        )


def _context(experiment: Experiment, dataset: Dataset, division: Division) -> Context:
    names = {name for zone in division.zones for name in zone.entities}
    return Context(
        experiment=experiment,
        zones=division.zones,
        times=dataset.times,
        day=max(1, round(DAY / dataset.step)),
        drifts=tuple(d for d in dataset.drifts if d.entity is None or d.entity in names),
        kinds={name: str(dataset.entity(name).kind) for name in sorted(names)},
        limits={name: limits for zone in division.zones for name, limits in _limits(dataset, zone)},
    )


def _limits(dataset: Dataset, zone: Zone) -> Iterator[tuple[str, tuple[float, float]]]:
    """The lowest and the highest power of a zone's entities; a rated capacity is scaled to 1."""
    for column, name in enumerate(zone.entities):
        entity = dataset.entity(name)
        rated = None if entity.capacity is None else 1.0
        readings = zone.warmup.y[:, column].astype(np.float64)
        yield name, physical_limits(entity.kind, rated=rated, readings=readings)


def _about(context: Context, dataset: Dataset, division: Division) -> dict[str, Any]:
    """What is written down about a run.

    Neither the place of the data nor the name of a preset is part of what it is. What follows from
    the data where the experiment leaves it open is "resolved".
    """
    experiment = context.experiment
    plain = experiment.to_dict()
    del plain["data"], plain["preset"]
    return {
        "preset": experiment.preset,
        "experiment": plain,
        "data": {
            "name": dataset.name,
            "steps": len(dataset.times),
            "start": dataset.times[0].isoformat(),
            "end": dataset.times[-1].isoformat(),
            "step_minutes": dataset.step.total_seconds() / 60,
            "entities": sum(len(zone.entities) for zone in division.zones),
            "zones": len(division.zones),
            "sha256": division.fingerprint(),
        },
        "resolved": {
            "entities": [name for zone in division.zones for name in zone.entities],
            "phases": asdict(division.phases),
            "delay_steps": context.delay,
        },
        "seed": experiment.seed,
        "versions": versions(),
        "machine": machine(),
    }


def _zones(context: Context, division: Division) -> list[dict[str, Any]]:
    """How many samples each phase has in each zone, and when its updating phase was."""
    records = []
    for zone, test in zip(division.zones, division.test, strict=True):
        times = context.updating_times(zone)
        lengths = {
            "warmup": len(zone.warmup.at),
            "updating": len(zone.updating.at),
            "test": len(test.at),
        }
        span = {"updating_start": times[0].isoformat(), "updating_end": times[-1].isoformat()}
        records.append({"name": zone.name, "inputs": zone.inputs, **lengths, **span})
    return records


def _entities(context: Context) -> list[dict[str, str]]:
    return [
        {"name": name, "kind": context.kinds[name], "zone": zone.name}
        for zone in context.zones
        for name in zone.entities
    ]


def _timing(trials: list[dict[str, Any]]) -> dict[str, float]:
    """Processor time of the updating phase, over all starts of the run."""
    seconds = sum(trial["timing"]["core_seconds"] for trial in trials)
    return {"core_seconds": seconds, "core_seconds_per_stream": seconds / len(trials)}
