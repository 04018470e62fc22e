"""What an experiment is: data, networks, grid, training; from a preset, a TOML file, options."""

from __future__ import annotations

import tomllib
import types
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from clearwatt.clear.component import ClearSettings
from clearwatt.errors import ConfigurationError
from clearwatt.experiment.architectures import Networks
from clearwatt.experiment.grid import INSTANCES, Configuration, Grid
from clearwatt.experiment.protocol import Phases
from clearwatt.training.fleet import UPDATE, Training

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

D = TypeVar("D", bound="DataclassInstance")
Hint = Any
"""A type as `get_type_hints` gives it, which has no type itself."""
ALL: Literal["all"] = "all"
BASELINE = Training(epochs=100, patience=10)
"""How Baseline_U trains: it sees 6.5 times the warm-up's samples, which makes 650 of its epochs."""


@dataclass(frozen=True)
class Experiment:
    """Everything that decides on the numbers; the defaults are the paper's.

    Args:
        data: "simulated", a name of the catalogue or a folder.
        entities: "all", how many (of all kinds in turn), or which.
        without: entities that are left out of these.
        instances: keys of the paper's instances.
        seed: of all that is random in the models; data are what they are.
        delay: steps until a measurement is known, at least 1; None for one day.
        phases: lengths of the phases; None for the paper's shares of the data set.
        networks: candidates of the warm-up (Table 1).
        grid: candidates of the updating phase (Table 2).
        warmup: training of the warm-up models.
        update: training of an update.
        baseline: training of Baseline_U.
        preset: which of the presets it was made from, if any.
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
            _refuse_doubles(name, getattr(self, name))
        for part in (self.networks, self.grid):
            for each in fields(part):
                _refuse_doubles(each.name, getattr(part, each.name))
        # Refuses what makes no sense now, and not in a worker hours later.
        for configuration in self.configurations:
            self.settings(configuration)
        self.networks.check()

    @property
    def configurations(self) -> tuple[Configuration, ...]:
        """Every point of the grid, instance by instance."""
        return tuple(
            configuration
            for instance in self.instances
            for configuration in self.grid.configurations(instance)
        )

    def settings(self, configuration: Configuration) -> ClearSettings:
        """How an instance with this configuration learns."""
        return ClearSettings(
            strategy=configuration.strategy,
            novelty_capacity=configuration.novelty_capacity,
            alpha=configuration.alpha,
            update=self.update,
            seed=self.seed,
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


def adjusted(experiment: Experiment, values: Mapping[str, object], where: str) -> Experiment:
    """The experiment with some values replaced; `where` tells a reader of errors their source.

    Capacities that are given are meant as they are: they are not scaled.
    """
    changed = _replaced(experiment, values, where, "")
    grid = values.get("grid")
    if isinstance(grid, Mapping) and "novelty_capacity" in grid and "capacity_scale" not in grid:
        return replace(changed, grid=replace(changed.grid, capacity_scale=1.0))
    return changed


def _replaced(record: D, values: Mapping[str, object], where: str, table: str) -> D:
    """A dataclass with fields replaced, tables within tables; unknown keys are errors."""
    hints = get_type_hints(type(record))
    changes: dict[str, Any] = {}
    for key, value in values.items():
        name = f"{table}{key}"
        if key not in hints:
            raise ConfigurationError(
                f"{where}: unknown key {name!r}; known here: {', '.join(hints)}"
            )
        current = getattr(record, key)
        if isinstance(value, Mapping) and is_dataclass(current) and not isinstance(current, type):
            changes[key] = _replaced(current, value, where, f"{name}.")
        else:
            changes[key] = _converted(value, hints[key], f"{where}: {name}")
    return replace(record, **changes)


def _converted(value: object, hint: Hint, name: str) -> object:
    """The value as the type wants it."""
    kind: object = get_origin(hint)
    if kind in (Union, types.UnionType):
        return _first_that_fits(value, get_args(hint), name)
    if kind is Literal and value in get_args(hint):
        return value
    if kind is tuple and isinstance(value, list | tuple):
        return tuple(_converted(each, get_args(hint)[0], name) for each in value)
    if is_dataclass(hint) and isinstance(value, Mapping):
        return _whole(hint, value, name)
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if isinstance(hint, type) and isinstance(value, hint) and not isinstance(value, bool):
        return value
    raise ConfigurationError(f"{name} is {value!r}; it must be {_described(hint)}")


def _first_that_fits(value: object, hints: tuple[Hint, ...], name: str) -> object:
    for hint in hints:
        if is_dataclass(hint) and isinstance(value, Mapping):
            return _whole(hint, value, name)
        try:
            return _converted(value, hint, name)
        except ConfigurationError:
            continue
    wanted = " or ".join(_described(hint) for hint in hints if hint is not type(None))
    raise ConfigurationError(f"{name} is {value!r}; it must be {wanted}")


def _whole(hint: Hint, values: Mapping[str, object], name: str) -> object:
    """A table that must be given in full, because a part of it would mean nothing."""
    hints = get_type_hints(hint)
    if missing := [key for key in hints if key not in values]:
        raise ConfigurationError(f"{name}.{missing[0]} is missing; give {', '.join(hints)}")
    if unknown := [key for key in values if key not in hints]:
        raise ConfigurationError(
            f"{name}: unknown key {unknown[0]!r}; known here: {', '.join(hints)}"
        )
    return hint(**{key: _converted(values[key], hints[key], f"{name}.{key}") for key in hints})


def _described(hint: Hint) -> str:
    kind: object = get_origin(hint)
    if kind is tuple:
        return f"a list of {_described(get_args(hint)[0])}s".replace("a list of a ", "a list of ")
    if kind is Literal:
        return " or ".join(map(repr, get_args(hint)))
    names = {int: "a whole number", float: "a number", str: "text"}
    return names.get(hint, "a table" if is_dataclass(hint) else str(hint))


def _refuse_doubles(name: str, values: object) -> None:
    if not isinstance(values, tuple):
        return
    if not values:
        raise ConfigurationError(f"{name} is empty; give at least one")
    doubles = [value for value in values if values.count(value) > 1]
    if doubles:
        raise ConfigurationError(f"{name} holds {doubles[0]!r} twice; give each once")
