"""The best trials per instance and entity: lowest fitting error, and lowest live RMSE."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from shutil import rmtree
from typing import get_args

from clearwatt.experiment.final_model import FinalModel, TrialResult, load_model
from clearwatt.experiment.grid import TrialConfiguration
from clearwatt.experiment.records import Selection, TrialRecord
from clearwatt.experiment.results import TRIALS, parse_trial, trial_document
from clearwatt.runs.folder import RunFolder

SELECTIONS: tuple[Selection, ...] = get_args(Selection)
MODELS = "finalists"
"""Subfolder of the models of the best trials so far."""


@dataclass(frozen=True, eq=False)
class FinishedTrial:
    """A trial on disk, and its key."""

    key: str
    configuration: TrialConfiguration
    trial: TrialRecord


class TrialSelection:
    """All finished trials of a run, and the best so far of each instance and entity.

    Both selections are made in every run, so that a report can use either. Only the models of the
    best trials are needed, so those of a trial are deleted once better ones are on disk. Models are
    written before their trial: whenever the run is interrupted, a trial that is best has its
    models.
    """

    def __init__(
        self,
        folder: RunFolder,
        configurations: Sequence[TrialConfiguration],
        entities: Sequence[str],
    ) -> None:
        self._folder = folder
        self._ranks = {each: at for at, each in enumerate(configurations)}
        self._entities = tuple(entities)
        self._finished: dict[tuple[TrialConfiguration, str], FinishedTrial] = {}
        self._best: dict[tuple[Selection, str, str], FinishedTrial] = {}
        for configuration in configurations:
            for entity in entities:
                self._load(configuration, entity)
        self._drop_trials_without_models()

    def has(self, configuration: TrialConfiguration, entity: str) -> bool:
        """Whether a trial is done."""
        return (configuration, entity) in self._finished

    def save(self, results: Sequence[TrialResult]) -> None:
        """Write finished trials."""
        for result in results:
            self._save(result)

    @property
    def trials(self) -> list[FinishedTrial]:
        """All trials in the order of grid and entities."""
        return [
            self._finished[configuration, entity]
            for configuration in self._ranks
            for entity in self._entities
        ]

    def is_chosen(self, finished: FinishedTrial, select: Selection) -> bool:
        """Whether a selection has chosen this trial."""
        trial = finished.trial
        return self._best[select, trial.instance, trial.entity].key == finished.key

    def model(self, finished: FinishedTrial) -> FinalModel | None:
        """The final model of a chosen trial; None if it is missing."""
        return load_model(self._folder.place(MODELS, finished.key), finished.configuration)

    def _key(self, configuration: TrialConfiguration, entity: str) -> str:
        return self._folder.key(repr(configuration), entity)

    def _load(self, configuration: TrialConfiguration, entity: str) -> None:
        key = self._key(configuration, entity)
        trial = parse_trial(self._folder.read(TRIALS, key))
        if trial is not None:
            self._add(FinishedTrial(key, configuration, trial))

    def _save(self, result: TrialResult) -> None:
        trial = result.trial
        key = self._key(result.configuration, trial.entity)
        finished = FinishedTrial(key, result.configuration, trial)
        beaten = self._beaten_by(finished)
        if beaten:
            result.model.save(self._folder.place(MODELS, key))
        self._folder.write(TRIALS, key, trial_document(trial))
        self._add(finished)
        needed = {best.key for best in self._best.values()}
        for other in beaten.values():
            if other is not None and other.key not in needed:
                rmtree(self._folder.place(MODELS, other.key), ignore_errors=True)

    def _add(self, finished: FinishedTrial) -> None:
        trial = finished.trial
        for select in self._beaten_by(finished):
            self._best[select, trial.instance, trial.entity] = finished
        self._finished[finished.configuration, trial.entity] = finished

    def _beaten_by(self, finished: FinishedTrial) -> dict[Selection, FinishedTrial | None]:
        """The selections by which a trial is the best so far, and the best one before it."""
        trial = finished.trial
        best = {
            select: self._best.get((select, trial.instance, trial.entity)) for select in SELECTIONS
        }
        return {
            select: rival
            for select, rival in best.items()
            if rival is None or self._rank(finished, select) < self._rank(rival, select)
        }

    def _rank(self, finished: FinishedTrial, select: Selection) -> tuple[float, int]:
        """Lowest first; of equal errors the configuration that comes first in the grid."""
        return finished.trial.selection_error(select), self._ranks[finished.configuration]

    def _drop_trials_without_models(self) -> None:
        """A chosen trial whose models are missing or damaged is done again."""
        for place, best in list(self._best.items()):
            if self.model(best) is None:
                self._finished.pop((best.configuration, best.trial.entity), None)
                del self._best[place]
