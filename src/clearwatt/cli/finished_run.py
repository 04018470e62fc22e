"""The warm-up of a finished experiment: its data, its models, and the chosen configuration."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from clearwatt.clear.component import Model
from clearwatt.data import Dataset, load_dataset
from clearwatt.data.catalogue import CATALOGUE
from clearwatt.data.features import Scaling, fit_scaling
from clearwatt.data.load import SIMULATED
from clearwatt.errors import ConfigurationError, DataError, StateError
from clearwatt.experiment.config import Experiment, replace_values
from clearwatt.experiment.grid import INSTANCES, Configuration
from clearwatt.experiment.models import Place
from clearwatt.experiment.protocol import Division, divide
from clearwatt.experiment.results import RunRecords, read_results
from clearwatt.experiment.stages import Stages
from clearwatt.experiment.tasks import Context
from clearwatt.experiment.updating import role_of
from clearwatt.runs.folder import RUN, RunFolder
from clearwatt.runs.identity import digest
from clearwatt.runs.work import Progress
from clearwatt.training.networks import Autoencoder, VariationalAutoencoder

Shared = TypeVar("Shared")
Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True, eq=False)
class WarmZone:
    """A zone of a run: its data up to the end of the warm-up, and the models trained on them."""

    name: str
    history: Dataset
    scaling: Scaling
    configuration: Configuration
    autoencoder: Model
    predictors: Mapping[str, Model]


@dataclass(frozen=True, eq=False)
class FinishedRun:
    """The warm-up of a run; ``identity`` is the hash of the run."""

    identity: str
    experiment: Experiment
    zones: tuple[WarmZone, ...]
    options: bool = True
    """Whether strategies had the options of their instance; not in runs of earlier releases."""

    def settings(self, zone: WarmZone) -> dict[str, Any]:
        """Settings of a zone in the service, as in the experiment."""
        network, update = zone.autoencoder.network, self.experiment.update
        values = {
            "strategy": zone.configuration.approach.strategy,
            "parameters": (
                zone.configuration.strategy_parameters
                if self.options
                else dict(zone.configuration.parameters)
            ),
            "novelty_capacity": zone.configuration.novelty_capacity,
            "alpha": zone.configuration.alpha,
            "epochs": update.epochs,
            "learning_rate": update.learning_rate,
            "averaging": update.averaging,
            "work": update.work,
            "equal_epochs": self.experiment.equal_epochs,
            "seed": self.experiment.seed,
        }
        if isinstance(network, Autoencoder | VariationalAutoencoder):
            # Entities that join later get networks of this shape.
            values |= {"width": network.width, "layers": network.layers, "latent": network.latent}
        return values


def read_finished_run(path: Path, *, instance: str, data: str | None) -> FinishedRun:
    """The warm-up of a finished run, for a service; nothing is trained.

    Args:
        path: the folder of the run.
        instance: a strategy such as "RecentReplay", or its key in the paper.
        data: where the data set is; None if its name is enough.
    """
    results = read_results(path)
    about = _run_facts(path)
    key = _instance_key(instance, results)
    experiment = replace_values(Experiment(), about["experiment"], str(path / RUN))
    own = [path for path in experiment.own_code if path not in experiment.instances]
    if own:
        raise ConfigurationError(
            f"{path} was run with the network {own[0]!r}, and a service has built-in networks "
            "only; run it without that network"
        )
    dataset = _load(about["data"]["name"], data, path)
    names = [each.name for each in results.entities]
    division = divide(dataset, experiment.phases, names)
    if division.fingerprint() != about["data"]["sha256"]:
        raise DataError(
            f"{dataset.name!r} is not what {path} was run on; give its data set with --data"
        )
    identity = digest(about["experiment"], about["data"], about["versions"])
    context = _read_models(RunFolder(path, identity), experiment, dataset, division)
    zones = tuple(
        _warm_zone(
            at,
            context,
            dataset,
            configuration=_most_frequent_choice(results, experiment, key, zone.name),
        )
        for at, zone in enumerate(context.zones)
    )
    # Releases without averaging had no options, either.
    options = "averaging" in about["experiment"]["update"]
    return FinishedRun(identity, experiment, zones, options)


def _run_facts(path: Path) -> dict[str, Any]:
    try:
        about = json.loads((path / RUN).read_text(encoding="utf-8"))
        return {part: about[part] for part in ("experiment", "data", "versions")}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise StateError(f"{path / RUN} cannot be read ({error}); run it again") from error


def _instance_key(instance: str, results: RunRecords) -> str:
    """The key of an instance of the paper, given by its key or by the name of its strategy."""
    found = dict.fromkeys(trial.instance for trial in results.trials)
    ran = [key for key in found if key in INSTANCES]
    for key in ran:
        if instance in (key, INSTANCES[key].strategy):
            return key
    if not ran:
        raise ConfigurationError(
            "the run holds no instance of the paper, and a service learns with these only; run one "
            "of them, or start the service without --from"
        )
    names = ", ".join(INSTANCES[key].strategy for key in ran)
    raise ConfigurationError(
        f"the run holds no instance {instance!r}; choose one of {names} with --instance"
    )


def _load(name: str, data: str | None, path: Path) -> Dataset:
    if data is not None:
        return load_dataset(data)
    if name in CATALOGUE:
        return load_dataset(name)
    if name == f"{SIMULATED}-0":
        return load_dataset(SIMULATED)
    raise ConfigurationError(
        f"{path} was run on {name!r}, whose location is not recorded; give its folder with --data"
    )


class _NoExecutor:
    """An executor for a run whose models are all on disk; it raises an error if one is not."""

    workers = 1

    def map(
        self, work: Callable[[Shared, Item], Result], shared: Shared, items: Sequence[Item]
    ) -> Iterator[tuple[int, Result]]:
        if items:
            raise StateError(
                f"{len(items)} trained models of the run are missing or damaged; run 'clearwatt "
                "experiment run' with the same options again to train them"
            )
        yield from ()

    def close(self) -> None:
        pass


def _read_models(
    folder: RunFolder, experiment: Experiment, dataset: Dataset, division: Division
) -> Context:
    stages = Stages(folder, _NoExecutor())
    context = Context(experiment, division.zones, dataset.times, day=1)
    return _outcome(stages.predictors(_outcome(stages.autoencoders(context))))


def _outcome(steps: Generator[Progress, None, Context]) -> Context:
    while True:
        try:
            next(steps)
        except StopIteration as done:
            context: Context = done.value
            return context


def _most_frequent_choice(
    results: RunRecords, experiment: Experiment, key: str, zone: str
) -> Configuration:
    """The configuration chosen for most entities of a zone; of equals the first of the grid."""
    counts = Counter(
        json.dumps(dict(trial.configuration), sort_keys=True)
        for trial in results.trials_of(key)
        if trial.zone == zone
    )
    grid = [each for each in experiment.grid_configurations if each.instance == key]
    return max(grid, key=lambda each: counts[json.dumps(each.to_dict(), sort_keys=True)])


def _warm_zone(
    at: int, context: Context, dataset: Dataset, *, configuration: Configuration
) -> WarmZone:
    zone, role = context.zones[at], role_of(configuration)
    end = int(zone.warmup.at[-1]) + 1
    part = dataset.select(zone.entities)
    return WarmZone(
        name=zone.name,
        history=part.slice(end=dataset.times[end] if end < len(dataset.times) else None),
        scaling=fit_scaling(part, end),
        configuration=configuration,
        autoencoder=context.representations[at, role].model,
        predictors={
            name: context.predictors[Place(at, column), role].model
            for column, name in enumerate(zone.entities)
        },
    )
