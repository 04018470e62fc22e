"""The configuration of an experiment, from a preset, a TOML file and options."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Literal

from pydantic import TypeAdapter, ValidationError

from clearwatt.clear.component import ClearSettings
from clearwatt.errors import ConfigurationError
from clearwatt.experiment.architectures import Networks
from clearwatt.experiment.grid import (
    INSTANCES,
    AdaptiveConfiguration,
    Configuration,
    Grid,
    TrialConfiguration,
)
from clearwatt.experiment.protocol import Phases
from clearwatt.experiment.records import Selection
from clearwatt.own_code import is_own, short_name
from clearwatt.training.fleet import UPDATE, Training

ALL: Literal["all"] = "all"
BASELINE = Training(epochs=100, patience=10)
"""Training of the predictors of Baseline_U: 100 epochs are as many steps as 650 of the warm-up."""
BASELINE_AUTOENCODER = Training(epochs=512, patience=50)
"""Training of the autoencoders of Baseline_U; a patience of 10 stops them at twice the error."""


@dataclass(frozen=True)
class Experiment:
    """Everything that the numbers depend on; the defaults are the paper's.

    Args:
        data: "simulated", a name of the catalogue or a folder.
        entities: "all", a number (taken from all kinds in turn), or names.
        without: entities to leave out.
        instances: keys of the paper's instances, "A" for the adaptive forecaster, and strategies of
            a user's own as "package.module:name".
        seed: seed of the models, not of the data.
        delay: steps until a measurement is known, at least 1; None for one day.
        phases: lengths of the phases; None for the paper's shares of the data set.
        networks: candidates of the warm-up (Table 1).
        grid: candidates of the updating phase (Table 2).
        warmup: training of the warm-up models.
        update: training of an update.
        baseline: training of the predictors of Baseline_U.
        baseline_autoencoder: training of its autoencoders, which then go on at a lower learning
            rate.
        equal_epochs: whether the autoencoders of single entities, in Generative Replay, train for
            as many epochs as shared ones; otherwise ``update.work`` limits them.
        select: which of the two selections the run reports; both are made.
        preset: name of the preset it is based on, if any.
    """

    data: str = "simulated"
    entities: Literal["all"] | int | tuple[str, ...] = ALL
    without: tuple[str, ...] = ()
    instances: tuple[str, ...] = tuple(INSTANCES)
    seed: int = 0
    delay: int | None = None
    phases: Phases | None = None
    networks: Networks = field(default_factory=Networks)
    grid: Grid = field(default_factory=Grid)
    warmup: Training = field(default_factory=Training)
    update: Training = UPDATE
    baseline: Training = BASELINE
    baseline_autoencoder: Training = BASELINE_AUTOENCODER
    equal_epochs: bool = False
    select: Selection = "fe"
    preset: str | None = None

    def __post_init__(self) -> None:
        if isinstance(self.entities, int) and self.entities < 1:
            raise ConfigurationError(f"entities is {self.entities}; give at least 1, or 'all'")
        if self.seed < 0:
            raise ConfigurationError(f"seed is {self.seed}; it must be 0 or more")
        if self.delay is not None and self.delay < 1:
            raise ConfigurationError(
                f"delay is {self.delay}; it must be 1 or more, because a model that has seen the "
                "measurement of a step does not forecast it"
            )
        for name in ("instances", "entities"):
            _refuse_repeats(name, getattr(self, name))
        for part in (self.networks, self.grid):
            for each in fields(part):
                _refuse_repeats(each.name, getattr(part, each.name))
        _refuse_equal_names(self.instances)
        # Invalid values must fail now, not in a worker hours later.
        for configuration in self.grid_configurations:
            self.settings(configuration)
        self.networks.check()

    @property
    def configurations(self) -> tuple[TrialConfiguration, ...]:
        """Everything that is tried on an entity, instance by instance."""
        return tuple(
            configuration
            for instance in self.instances
            for configuration in self.grid.trials(instance)
        )

    @property
    def grid_configurations(self) -> tuple[Configuration, ...]:
        """Every point of the grid: the configurations of the paper's instances."""
        return tuple(each for each in self.configurations if isinstance(each, Configuration))

    @property
    def adaptive_configurations(self) -> tuple[AdaptiveConfiguration, ...]:
        """That of the adaptive forecaster, if it takes part."""
        return tuple(
            each for each in self.configurations if isinstance(each, AdaptiveConfiguration)
        )

    @property
    def own_code(self) -> tuple[str, ...]:
        """Strategies and networks of a user's own module, as "package.module:name"."""
        networks = (self.networks.autoencoder, self.networks.predictor)
        named = (*self.instances, *(path for path in networks if path is not None))
        return tuple(path for path in named if is_own(path))

    def settings(self, configuration: Configuration) -> ClearSettings:
        """Settings of an instance with this configuration."""
        return ClearSettings(
            strategy=configuration.strategy,
            novelty_capacity=configuration.novelty_capacity,
            alpha=configuration.alpha,
            update=self.update,
            seed=self.seed,
            equal_epochs=self.equal_epochs,
        )

    def to_dict(self) -> dict[str, Any]:
        """The experiment as plain values."""
        return asdict(self)


def read_file(path: Path) -> dict[str, Any]:
    """The values of a TOML file."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise ConfigurationError(f"{path} does not exist; check --config") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{path} is not TOML: {error}") from error


def replace_values(experiment: Experiment, values: Mapping[str, object], where: str) -> Experiment:
    """The experiment with some values replaced, tables within tables.

    Capacities that are given are not scaled.

    Args:
        experiment: the values that are not replaced.
        values: as in a TOML file; unknown keys and wrong types are errors.
        where: source of the values, for error messages.
    """
    merged = _merge(experiment.to_dict(), values, where)
    grid = values.get("grid")
    if isinstance(grid, Mapping) and "novelty_capacity" in grid and "capacity_scale" not in grid:
        merged["grid"]["capacity_scale"] = 1.0
    adapter = TypeAdapter(Experiment)
    try:
        # In JSON's strict mode lists become tuples, but text and booleans do not become numbers.
        return adapter.validate_json(json.dumps(merged, default=str), strict=True)
    except ValidationError as error:
        first = error.errors()[0]
        if "error" in first.get("ctx", {}):  # raised by a dataclass of ours, with a clear message
            raise first["ctx"]["error"] from error
        mistake = _explain(first["loc"], merged, adapter.json_schema())
        raise ConfigurationError(f"{where}: {mistake}") from error


def _merge(
    current: Mapping[str, Any], values: Mapping[str, object], where: str, table: str = ""
) -> dict[str, Any]:
    """The current values, some replaced; a table that is not among them must be given whole."""
    merged = dict(current)
    for key, value in values.items():
        name = f"{table}{key}"
        if key not in current:
            raise ConfigurationError(
                f"{where}: unknown key {name!r}; known here: {', '.join(current)}"
            )
        if isinstance(value, Mapping) and isinstance(current[key], Mapping):
            merged[key] = _merge(current[key], value, where, f"{name}.")
        elif isinstance(value, Mapping) and key == "phases":
            merged[key] = _merge(asdict(Phases()), value, where, f"{name}.")
            if missing := [each for each in merged[key] if each not in value]:
                give = ", ".join(merged[key])
                raise ConfigurationError(f"{where}: {name}.{missing[0]} is missing; give {give}")
        else:
            merged[key] = value
    return merged


def _explain(place: Sequence[str | int], value: object, schema: Mapping[str, Any]) -> str:
    """What is wrong with the value at a place, by the JSON schema of all values."""
    expected, names = schema, []
    for part in place:
        if isinstance(value, Mapping) and part in value:
            expected, value = expected["properties"][part], value[str(part)]
            if "$ref" in expected:
                expected = schema["$defs"][expected["$ref"].rpartition("/")[2]]
            names.append(str(part))
        elif isinstance(value, list | tuple) and isinstance(part, int):
            expected, value = expected.get("items", {}), value[part]
    return f"{'.'.join(names)} is {value!r}; it must be {_describe(expected)}"


def _describe(schema: Mapping[str, Any]) -> str:
    """A type of a JSON schema in words."""
    if "anyOf" in schema:
        return " or ".join(_describe(each) for each in schema["anyOf"] if each != {"type": "null"})
    if "const" in schema or "enum" in schema:
        return " or ".join(map(repr, schema.get("enum") or [schema["const"]]))
    if schema.get("type") == "array":
        return f"a list of {_describe(schema['items']).removeprefix('a ')}s"
    names = {"integer": "a whole number", "number": "a number", "string": "text"}
    return names.get(schema.get("type", ""), "a table")


def _refuse_equal_names(instances: Sequence[str]) -> None:
    """Rows of a report are named without the module."""
    by_name: dict[str, str] = {}
    for instance in instances:
        other = by_name.setdefault(short_name(instance), instance)
        if other != instance:
            raise ConfigurationError(
                f"instances holds {other!r} and {instance!r}, which have one name; rename one"
            )


def _refuse_repeats(name: str, values: object) -> None:
    if not isinstance(values, tuple):
        return
    if not values:
        raise ConfigurationError(f"{name} is empty; give at least one")
    repeats = [value for value in values if values.count(value) > 1]
    if repeats:
        raise ConfigurationError(f"{name} holds {repeats[0]!r} twice; give each once")
