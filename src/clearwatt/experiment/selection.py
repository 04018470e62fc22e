"""The selection per instance and entity: lowest fitting error; only its models are kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from shutil import rmtree

from clearwatt.experiment.final_model import FinalModel, TrialResult, load_model
from clearwatt.experiment.grid import TrialConfiguration
from clearwatt.experiment.records import TrialRecord
from clearwatt.experiment.results import TRIALS, parse_trial, trial_document
from clearwatt.runs.folder import RunFolder

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

    Only the models of the best trials are needed, so those of a trial are deleted once a better one
    is on disk. Models are written before their trial: whenever the run is interrupted, a trial that
    is best has its models.
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
        self._best: dict[tuple[str, str], FinishedTrial] = {}
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
    def trials(self) -> list[tuple[FinishedTrial, bool]]:
        """All trials in the order of grid and entities, and whether each is chosen."""
        chosen = {finished.key for finished in self._best.values()}
        ordered = [
            self._finished[configuration, entity]
            for configuration in self._ranks
            for entity in self._entities
        ]
        return [(each, each.key in chosen) for each in ordered]

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
        beaten = self._best.get((trial.instance, trial.entity))
        better = beaten is None or self._rank(finished) < self._rank(beaten)
        if better:
            result.model.save(self._folder.place(MODELS, key))
        self._folder.write(TRIALS, key, trial_document(trial))
        self._add(finished)
        if better and beaten is not None:
            rmtree(self._folder.place(MODELS, beaten.key), ignore_errors=True)

    def _add(self, finished: FinishedTrial) -> None:
        trial = finished.trial
        self._finished[finished.configuration, trial.entity] = finished
        beaten = self._best.get((trial.instance, trial.entity))
        if beaten is None or self._rank(finished) < self._rank(beaten):
            self._best[trial.instance, trial.entity] = finished

    def _rank(self, finished: FinishedTrial) -> tuple[float, int]:
        """Lowest first; of equal errors the configuration that comes first in the grid."""
        error = finished.trial.predictor.fitting_error
        return float("inf") if error is None else error, self._ranks[finished.configuration]

    def _drop_trials_without_models(self) -> None:
        """A chosen trial whose models are missing or damaged is done again."""
        for best in list(self._best.values()):
            if self.model(best) is None:
                del self._finished[best.configuration, best.trial.entity]
                del self._best[best.trial.instance, best.trial.entity]
