"""The stages of an experiment: each does what is not done yet and adds to the context."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isfinite
from typing import Any, get_args

from clearwatt.compute import Executor
from clearwatt.errors import DataError
from clearwatt.experiment.baselines import BASELINES, Baseline, BaselineTask
from clearwatt.experiment.finalists import Finalists
from clearwatt.experiment.folder import RunFolder
from clearwatt.experiment.models import Candidate, Place, best
from clearwatt.experiment.outlook import Stage
from clearwatt.experiment.plan import (
    STACK,
    chunks,
    places_of,
    predictor_tasks,
    representation_tasks,
    updating_tasks,
    upper_predictor_tasks,
    upper_representation_tasks,
)
from clearwatt.experiment.tasks import (
    Context,
    PredictorTask,
    RepresentationTask,
    Role,
    Task,
    perform,
)

TrainingTask = RepresentationTask | PredictorTask


@dataclass(frozen=True)
class Progress:
    """How far a stage is: pieces of work, and their cost in multiply-adds.

    ``cost_after`` is a guess of what the stages after this one will cost.
    """

    stage: Stage
    done: int
    pieces: int
    cost_done: float
    cost: float
    cost_after: float = 0.0


Steps = Generator[Progress, None, Context]


@dataclass(frozen=True, eq=False)
class _Piece:
    """A task, whether it was done in an earlier start, and what to do with its result."""

    task: Task[Any]
    done: bool
    keep: Callable[[Any], None]


@dataclass(frozen=True, eq=False)
class Stages:
    """Where results are kept and who computes them."""

    folder: RunFolder
    compute: Executor
    outlook: Mapping[Stage, float] = field(default_factory=dict)

    def autoencoders(self, context: Context) -> Steps:
        """Search the representations of every zone; the lowest validation error wins."""
        trained = yield from self._train("autoencoders", context, representation_tasks(context))
        return replace(context, representations=_best_per_zone(context, trained))

    def predictors(self, context: Context) -> Steps:
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

    def updating(self, context: Context, finalists: Finalists) -> Steps:
        """Every configuration on every entity, and the predictors of Baseline_U beside them."""
        upper: list[tuple[TrainingTask, list[Candidate]]] = []
        pieces = [self._training_piece(task, upper) for task in upper_predictor_tasks(context)]
        for task in updating_tasks(context):
            done = all(finalists.has(each, context.entity(place)) for each, place in task.trials)
            pieces.append(_Piece(task, done, finalists.keep))
        yield from self._work("updating", context, pieces)
        predictors = {**context.predictors, **_best_per_entity(context, upper)}
        return replace(context, predictors=predictors)

    def baselines(self, context: Context) -> Generator[Progress, None, list[Baseline]]:
        """Score both baselines on the updating phase."""
        records: list[Baseline] = []
        pieces = [
            _Piece(BaselineTask(name, places), False, records.extend)
            for name in BASELINES
            for places in chunks(places_of(context), STACK)
        ]
        yield from self._work("baselines", context, pieces)
        return sorted(records, key=lambda record: (record.baseline, record.zone, record.entity))

    def _train(
        self, stage: Stage, context: Context, tasks: Sequence[TrainingTask]
    ) -> Generator[Progress, None, list[tuple[TrainingTask, list[Candidate]]]]:
        trained: list[tuple[TrainingTask, list[Candidate]]] = []
        pieces = [self._training_piece(task, trained) for task in tasks]
        yield from self._work(stage, context, pieces)
        order = {task: at for at, task in enumerate(tasks)}
        return sorted(trained, key=lambda pair: order[pair[0]])

    def _training_piece(
        self, task: TrainingTask, trained: list[tuple[TrainingTask, list[Candidate]]]
    ) -> _Piece:
        """A training whose networks are kept on disk; those of an earlier start are taken."""
        key = self.folder.key(repr(task))
        found = self.folder.candidates("warmup", key)
        if found is not None:
            trained.append((task, found))

        def keep(candidates: list[Candidate]) -> None:
            self.folder.keep_candidates("warmup", key, candidates)
            trained.append((task, candidates))

        return _Piece(task, found is not None, keep)

    def _work(
        self, stage: Stage, context: Context, pieces: Sequence[_Piece]
    ) -> Generator[Progress, None, None]:
        """Do what is not done, the costly first so that no worker is left with one at the end."""
        costs = {piece: piece.task.cost(context) for piece in pieces}
        open_ = sorted((p for p in pieces if not p.done), key=lambda p: -costs[p])
        total = sum(costs.values())
        done, spent = len(pieces) - len(open_), total - sum(costs[piece] for piece in open_)
        after = self._cost_after(stage)
        yield Progress(stage, done, len(pieces), spent, total, after)
        tasks = [piece.task for piece in open_]
        for position, result in self.compute.map(perform, context, tasks):
            open_[position].keep(result)
            done, spent = done + 1, spent + costs[open_[position]]
            yield Progress(stage, done, len(pieces), spent, total, after)

    def _cost_after(self, stage: Stage) -> float:
        order: tuple[Stage, ...] = get_args(Stage)
        return sum(self.outlook.get(each, 0.0) for each in order[order.index(stage) + 1 :])


def _best_per_zone(
    context: Context, trained: Sequence[tuple[TrainingTask, list[Candidate]]]
) -> dict[tuple[int, Role], Candidate]:
    found: dict[tuple[int, Role], list[Candidate]] = {}
    for task, candidates in trained:
        if isinstance(task, RepresentationTask):
            for (_, zone), candidate in zip(task.trials, candidates, strict=True):
                found.setdefault((zone, task.role), []).append(candidate)
    return {
        (zone, role): _best(candidates, f"autoencoder of zone {context.zones[zone].name!r}")
        for (zone, role), candidates in found.items()
    }


def _best_per_entity(
    context: Context, trained: Sequence[tuple[TrainingTask, list[Candidate]]]
) -> dict[tuple[Place, Role], Candidate]:
    found: dict[tuple[Place, Role], list[Candidate]] = {}
    for task, candidates in trained:
        if isinstance(task, PredictorTask):
            for place, candidate in zip(task.places, candidates, strict=True):
                found.setdefault((place, task.role), []).append(candidate)
    return {
        (place, role): _best(candidates, f"predictor of {context.entity(place)!r}")
        for (place, role), candidates in found.items()
    }


def _best(candidates: Sequence[Candidate], what: str) -> Candidate:
    """The one with the lowest validation error, if any could be trained."""
    chosen = best(candidates)
    if not isfinite(chosen.validation_rmse):
        raise DataError(
            f"training diverged for every candidate of the {what}; check the scale of the data or "
            "lower the learning rate"
        )
    return chosen
