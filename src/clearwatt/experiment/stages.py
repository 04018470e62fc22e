"""The stages of an experiment: each does the tasks that are not done and adds to the context."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isfinite
from typing import Any, TypeVar, get_args

from clearwatt.compute import Executor
from clearwatt.errors import DataError
from clearwatt.experiment.adaptive_trials import AdaptiveTask
from clearwatt.experiment.baselines import BASELINES, BaselineTask
from clearwatt.experiment.cost_estimate import CostStage
from clearwatt.experiment.models import (
    Place,
    TrainedNetwork,
    best,
    load_networks,
    save_networks,
)
from clearwatt.experiment.plan import (
    STACK,
    adaptive_tasks,
    chunks,
    places_of,
    predictor_tasks,
    representation_tasks,
    updating_tasks,
    upper_predictor_tasks,
    upper_representation_tasks,
)
from clearwatt.experiment.records import BaselineRecord
from clearwatt.experiment.selection import TrialSelection
from clearwatt.experiment.tasks import (
    Context,
    NetworkRole,
    PredictorTask,
    RepresentationTask,
    Task,
    perform,
)
from clearwatt.experiment.updating import UpdatingTask
from clearwatt.runs.folder import RunFolder
from clearwatt.runs.work import Progress, WorkItem, do_work

WARMUP = "warmup"
"""Subfolder of trained networks."""
K = TypeVar("K")
TrainingTask = RepresentationTask | PredictorTask
StageSteps = Generator[Progress, None, Context]
TaskItem = WorkItem[Task[Any], Any]
TrainedByTask = list[tuple[TrainingTask, list[TrainedNetwork]]]


@dataclass(frozen=True, eq=False)
class Stages:
    """The folder of a run, the executor of its tasks, and the estimated cost of each stage."""

    folder: RunFolder
    compute: Executor
    estimates: Mapping[CostStage, float] = field(default_factory=dict)

    def autoencoders(self, context: Context) -> StageSteps:
        """Search the representations of every zone; the lowest validation error wins."""
        trained = yield from self._train("autoencoders", context, representation_tasks(context))
        return replace(context, representations=_best_per_zone(context, trained))

    def predictors(self, context: Context) -> StageSteps:
        """Search the predictors of every entity; train the representations of Baseline_U."""
        tasks: list[TrainingTask] = [*upper_representation_tasks(context)]
        tasks += predictor_tasks(context)
        trained = yield from self._train("predictors", context, tasks)
        upper = [(task, found) for task, found in trained if task.role == "everything"]
        return replace(
            context,
            representations={**context.representations, **_best_per_zone(context, upper)},
            predictors=_best_per_entity(context, trained),
        )

    def updating(self, context: Context, selection: TrialSelection) -> StageSteps:
        """Run every configuration on every entity, and train the predictors of Baseline_U."""
        upper: TrainedByTask = []
        items = [
            self._training_item(context, task, upper) for task in upper_predictor_tasks(context)
        ]
        tasks: list[UpdatingTask | AdaptiveTask] = [*updating_tasks(context)]
        tasks += adaptive_tasks(context)
        for task in tasks:
            done = all(selection.has(each, context.entity(place)) for each, place in task.trials)
            items.append(WorkItem(task, task.cost(context), done, selection.save))
        yield from self._do("updating", context, items)
        predictors = {**context.predictors, **_best_per_entity(context, upper)}
        return replace(context, predictors=predictors)

    def baselines(self, context: Context) -> Generator[Progress, None, list[BaselineRecord]]:
        """Score both baselines on the updating phase."""
        records: list[BaselineRecord] = []
        tasks = [
            BaselineTask(name, places)
            for name in BASELINES
            for places in chunks(places_of(context), STACK)
        ]
        items: list[TaskItem] = [
            WorkItem(task, task.cost(context), False, records.extend) for task in tasks
        ]
        yield from self._do("baselines", context, items)
        return sorted(records, key=lambda record: (record.baseline, record.zone, record.entity))

    def _train(
        self, stage: CostStage, context: Context, tasks: Sequence[TrainingTask]
    ) -> Generator[Progress, None, TrainedByTask]:
        trained: TrainedByTask = []
        items = [self._training_item(context, task, trained) for task in tasks]
        yield from self._do(stage, context, items)
        order = {task: at for at, task in enumerate(tasks)}
        return sorted(trained, key=lambda pair: order[pair[0]])

    def _training_item(
        self, context: Context, task: TrainingTask, trained: TrainedByTask
    ) -> TaskItem:
        """A training whose networks are kept on disk and added to ``trained``."""
        place = self.folder.place(WARMUP, self.folder.key(repr(task)))
        found = load_networks(place)
        if found is not None:
            trained.append((task, found))

        def save(candidates: list[TrainedNetwork]) -> None:
            save_networks(place, candidates)
            trained.append((task, candidates))

        return WorkItem(task, task.cost(context), found is not None, save)

    def _do(
        self, stage: CostStage, context: Context, items: Sequence[TaskItem]
    ) -> Iterator[Progress]:
        order: tuple[CostStage, ...] = get_args(CostStage)
        later = order[order.index(stage) + 1 :]
        return do_work(
            stage,
            items,
            perform,
            context,
            compute=self.compute,
            cost_after=sum(self.estimates.get(each, 0.0) for each in later),
        )


def _best_per_zone(
    context: Context, trained: TrainedByTask
) -> dict[tuple[int, NetworkRole], TrainedNetwork]:
    candidates = (
        ((zone, task.role), network)
        for task, networks in trained
        if isinstance(task, RepresentationTask)
        for (_, zone), network in zip(task.trials, networks, strict=True)
    )
    return _best_of_each(
        candidates, lambda key: f"autoencoder of zone {context.zones[key[0]].name!r}"
    )


def _best_per_entity(
    context: Context, trained: TrainedByTask
) -> dict[tuple[Place, NetworkRole], TrainedNetwork]:
    candidates = (
        ((place, task.role), network)
        for task, networks in trained
        if isinstance(task, PredictorTask)
        for place, network in zip(task.places, networks, strict=True)
    )
    return _best_of_each(candidates, lambda key: f"predictor of {context.entity(key[0])!r}")


def _best_of_each(
    candidates: Iterable[tuple[K, TrainedNetwork]], describe: Callable[[K], str]
) -> dict[K, TrainedNetwork]:
    """The best network of each key; ``describe`` names a key in an error message."""
    groups: dict[K, list[TrainedNetwork]] = {}
    for key, network in candidates:
        groups.setdefault(key, []).append(network)
    return {key: _best(networks, describe(key)) for key, networks in groups.items()}


def _best(candidates: Sequence[TrainedNetwork], what: str) -> TrainedNetwork:
    """The one with the lowest validation error, if any could be trained."""
    chosen = best(candidates)
    if not isfinite(chosen.validation_rmse):
        raise DataError(
            f"training diverged for every candidate of the {what}; check the scale of the data or "
            "lower the learning rate"
        )
    return chosen
