"""The choice per instance and entity: lowest fitting error; only its models are kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from clearwatt.experiment.folder import RunFolder
from clearwatt.experiment.grid import Configuration
from clearwatt.experiment.models import Candidate
from clearwatt.experiment.trial import Trial, TrialResult

MODELS = "finalists"


@dataclass(frozen=True, eq=False)
class Finished:
    """A trial on disk, under its key, with its daily error."""

    key: str
    configuration: Configuration
    trial: Trial
    daily: list[float | None]


class Finalists:
    """All finished trials, and the best so far of each instance and entity.

    A choice needs no model of the others, so a model is kept until a better trial is on disk. It is
    written before its trial: whatever the moment of an interruption, a trial that is best has one.
    """

    def __init__(
        self, folder: RunFolder, configurations: Sequence[Configuration], entities: Sequence[str]
    ) -> None:
        self._folder = folder
        self._ranks = {each: at for at, each in enumerate(configurations)}
        self._entities = tuple(entities)
        self._finished: dict[tuple[Configuration, str], Finished] = {}
        self._best: dict[tuple[str, str], Finished] = {}
        for configuration in configurations:
            for entity in entities:
                self._find(configuration, entity)
        self._forget_those_without_models()

    def has(self, configuration: Configuration, entity: str) -> bool:
        """Whether a trial is done."""
        return (configuration, entity) in self._finished

    def keep(self, results: Sequence[TrialResult]) -> None:
        """Write finished trials."""
        for result in results:
            self._keep(result)

    @property
    def trials(self) -> list[tuple[Finished, bool]]:
        """All trials in the order of grid and entities, and whether each is the chosen one."""
        chosen = {finished.key for finished in self._best.values()}
        ordered = [
            self._finished[configuration, entity]
            for configuration in self._ranks
            for entity in self._entities
        ]
        return [(each, each.key in chosen) for each in ordered]

    def models(self, finished: Finished) -> list[Candidate] | None:
        """The final autoencoder and predictor of a chosen trial."""
        return self._folder.candidates(MODELS, finished.key)

    def _key(self, configuration: Configuration, entity: str) -> str:
        return self._folder.key(repr(configuration), entity)

    def _find(self, configuration: Configuration, entity: str) -> None:
        key = self._key(configuration, entity)
        if (found := self._folder.trial(key)) is not None:
            self._note(Finished(key, configuration, *found))

    def _keep(self, result: TrialResult) -> None:
        trial = result.trial
        key = self._key(result.configuration, trial.entity)
        finished = Finished(key, result.configuration, trial, result.daily)
        beaten = self._best.get((trial.instance, trial.entity))
        better = beaten is None or self._rank(finished) < self._rank(beaten)
        if better:
            self._folder.keep_candidates(MODELS, key, [result.autoencoder, result.predictor])
        self._folder.keep_trial(key, result)
        self._note(finished)
        if better and beaten is not None:
            self._folder.drop_candidates(MODELS, beaten.key)

    def _note(self, finished: Finished) -> None:
        trial = finished.trial
        self._finished[finished.configuration, trial.entity] = finished
        beaten = self._best.get((trial.instance, trial.entity))
        if beaten is None or self._rank(finished) < self._rank(beaten):
            self._best[trial.instance, trial.entity] = finished

    def _rank(self, finished: Finished) -> tuple[float, int]:
        """Lowest first; of equal errors the configuration that comes first in the grid."""
        error = finished.trial.predictor.fitting_error
        return float("inf") if error is None else error, self._ranks[finished.configuration]

    def _forget_those_without_models(self) -> None:
        """A chosen trial whose models are gone or damaged must be done again."""
        for best in list(self._best.values()):
            if self.models(best) is None:
                del self._finished[best.configuration, best.trial.entity]
                del self._best[best.trial.instance, best.trial.entity]
