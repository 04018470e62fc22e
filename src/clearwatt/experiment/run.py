"""Run an experiment, or go on where it was interrupted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from clearwatt.clock import steps_per_day
from clearwatt.compute import Executor
from clearwatt.data import Dataset
from clearwatt.experiment.adaptive_trials import check_adaptive
from clearwatt.experiment.config import Experiment
from clearwatt.experiment.cost_estimate import estimate_costs
from clearwatt.experiment.final_scores import score_baselines, score_trials
from clearwatt.experiment.plan import choose_entities
from clearwatt.experiment.protocol import Division, divide, scaled_limits
from clearwatt.experiment.records import TrialRecord
from clearwatt.experiment.results import (
    DataRecord,
    ExperimentEntity,
    RunRecords,
    ZoneRecord,
    write_results,
)
from clearwatt.experiment.selection import TrialSelection
from clearwatt.experiment.stages import Stages
from clearwatt.experiment.tasks import Context
from clearwatt.runs.folder import RunFolder
from clearwatt.runs.identity import data_facts, digest, machine, versions
from clearwatt.runs.work import Progress


def run(
    experiment: Experiment, dataset: Dataset, out: Path, *, compute: Executor
) -> Iterator[Progress]:
    """Run an experiment on a data set.

    Args:
        experiment: what to do.
        dataset: what ``experiment.data`` names, loaded.
        out: the folder of the run; an interrupted run in it is continued.
        compute: who does the work.

    Yields:
        The progress after every task. At the end ``out/results.json`` is there.
    """
    division = divide(dataset, experiment.phases, choose_entities(dataset, experiment))
    grid = experiment.grid.scale_to(division.phases.updating)
    experiment = replace(experiment, grid=grid)
    context = _context(experiment, dataset, division)
    check_adaptive(context)
    about = _describe_run(context, dataset, division)
    identity = digest(about["experiment"], about["data"], about["versions"])
    with RunFolder.open(out, about, identity) as folder:
        stages = Stages(folder, compute, estimate_costs(context))
        entities = [name for zone in division.zones for name in zone.entities]
        context = yield from stages.autoencoders(context)
        context = yield from stages.predictors(context)
        selection = TrialSelection(folder, experiment.configurations, entities)
        context = yield from stages.updating(context, selection)
        records = yield from stages.baselines(context)
        trials = score_trials(context, division, selection, folder)
        write_results(
            out,
            RunRecords(
                preset=about["preset"],
                configuration=about["experiment"],
                data=DataRecord(
                    **about["data"] | {"start": dataset.times[0], "end": dataset.times[-1]}
                ),
                phases=asdict(division.phases),
                delay_steps=context.delay,
                select=experiment.select,
                zones=tuple(_zones(context, division)),
                drifts=context.drifts,
                entities=tuple(_entities(context)),
                trials=trials,
                baselines=score_baselines(context, division, records, folder),
                timing=_timing(trials),
            ),
        )


def _context(experiment: Experiment, dataset: Dataset, division: Division) -> Context:
    names = {name for zone in division.zones for name in zone.entities}
    return Context(
        experiment=experiment,
        zones=division.zones,
        times=dataset.times,
        day=steps_per_day(dataset.step),
        drifts=tuple(d for d in dataset.drifts if d.entity is None or d.entity in names),
        kinds={name: str(dataset.entity(name).kind) for name in sorted(names)},
        limits={
            name: scaled_limits(dataset.entity(name), readings)
            for zone in division.zones
            for name, readings in zip(zone.entities, zone.warmup.y.T, strict=True)
        },
    )


def _describe_run(context: Context, dataset: Dataset, division: Division) -> dict[str, Any]:
    """The description of a run.

    Its identity does not include where the data are, the name of a preset, nor the selection.
    "resolved" holds what the data decide where the experiment leaves it open.
    """
    experiment = context.experiment
    plain = experiment.to_dict()
    del plain["data"], plain["preset"], plain["select"]
    return {
        "preset": experiment.preset,
        "select": experiment.select,
        "experiment": plain,
        "data": {
            **data_facts(dataset),
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
        "versions": versions(*experiment.own_code),
        "machine": machine(),
    }


def _zones(context: Context, division: Division) -> Iterator[ZoneRecord]:
    for zone, test in zip(division.zones, division.test, strict=True):
        times = context.updating_times(zone)
        yield ZoneRecord(
            name=zone.name,
            inputs=zone.inputs,
            warmup=len(zone.warmup.at),
            updating=len(zone.updating.at),
            test=len(test.at),
            updating_start=times[0],
            updating_end=times[-1],
        )


def _entities(context: Context) -> Iterator[ExperimentEntity]:
    for zone in context.zones:
        for name in zone.entities:
            yield ExperimentEntity(name, context.kinds[name], zone.name)


def _timing(trials: Sequence[TrialRecord]) -> dict[str, float]:
    """Processor time of the updating phase, over all starts of the run."""
    seconds = sum(trial.timing.core_seconds or 0.0 for trial in trials)
    return {"core_seconds": seconds, "core_seconds_per_stream": seconds / len(trials)}
