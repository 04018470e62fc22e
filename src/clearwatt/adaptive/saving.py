"""A forecaster as plain values and tensors: everything needed to go on as if never stopped."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from clearwatt.adaptive.clock import Clock
from clearwatt.adaptive.journal import Entries
from clearwatt.adaptive.settings import Fast, Group, Settings, Slow, Speed
from clearwatt.adaptive.view import View
from clearwatt.training.fleet import Training
from clearwatt.training.standardisation import Standardisation

if TYPE_CHECKING:
    from clearwatt.adaptive.forecaster import AdaptiveForecaster

Arrays = dict[str, npt.NDArray[Any]]
COUNTERS = ("trainings", "learned", "updated", "newest")


def pack(forecaster: AdaptiveForecaster) -> tuple[dict[str, object], dict[str, Tensor]]:
    """Take a forecaster apart."""
    view = forecaster.view
    values = {
        "settings": asdict(forecaster.settings),
        "clock": asdict(forecaster.clock),
        "view": {
            "kept": view.kept,
            "weather": view.weather,
            "season": view.season,
            "windows": view.windows,
            "scale": view.scale.to_dict(),
        },
        "power": forecaster.power.to_dict(),
        "inputs": forecaster.inputs,
        "entities": forecaster.entities,
        "random": forecaster.rng.bit_generator.state,
        "counters": {name: getattr(forecaster, name) for name in COUNTERS},
    }
    tensors = {name: torch.from_numpy(array) for name, array in _arrays(forecaster).items()}
    for entity, params in enumerate(forecaster.ensemble.params):
        tensors |= {f"network.{entity}.{name}": tensor for name, tensor in params.items()}
    return values, tensors


def parts_of(values: Mapping[str, Any]) -> dict[str, Any]:
    """What the constructor of a forecaster takes."""
    view = values["view"]
    places = {name: tuple(view[name]) for name in ("kept", "weather", "season", "windows")}
    return {
        "settings": _settings(values["settings"]),
        "clock": Clock(**values["clock"]),
        "view": View(**places, scale=Standardisation.from_dict(view["scale"])),
        "power": Standardisation.from_dict(values["power"]),
        "inputs": values["inputs"],
        "entities": values["entities"],
    }


def restore(
    forecaster: AdaptiveForecaster, values: Mapping[str, Any], tensors: Mapping[str, Tensor]
) -> None:
    """Put back what has been learned and kept."""
    forecaster.rng.bit_generator.state = values["random"]
    for name in COUNTERS:
        setattr(forecaster, name, values["counters"][name])
    arrays = {name: tensor.numpy() for name, tensor in tensors.items()}
    for owner, prefix, names in _owners(forecaster):
        for name in names:
            setattr(owner, name, arrays[f"{prefix}{name}"].copy())
    columns = [arrays[f"journal.{name}"].copy() for name in Entries._fields]
    forecaster.journal.entries = Entries._make(columns)
    forecaster.ensemble.params = [
        {name: tensors[f"network.{entity}.{name}"].clone() for name in params}
        for entity, params in enumerate(forecaster.ensemble.params)
    ]


def _owners(forecaster: AdaptiveForecaster) -> list[tuple[object, str, tuple[str, ...]]]:
    """Whose arrays are kept, under which names."""
    sums = ("moments", "products", "coefficients")
    return [
        (forecaster.span, "", ("low", "high")),
        (forecaster.reservoir, "reservoir.", ("at", "x", "y")),
        (forecaster.aggregation, "aggregation.", ("products", "weights")),
        *((each, f"correction.{i}.", sums) for i, each in enumerate(forecaster.corrections)),
    ]


def _arrays(forecaster: AdaptiveForecaster) -> Arrays:
    arrays: Arrays = {
        f"{prefix}{name}": np.ascontiguousarray(getattr(owner, name))
        for owner, prefix, names in _owners(forecaster)
        for name in names
    }
    entries = forecaster.journal.entries._asdict()
    return arrays | {f"journal.{name}": np.ascontiguousarray(a) for name, a in entries.items()}


def _settings(values: Mapping[str, Any]) -> Settings:
    slow, fast = dict(values["slow"]), dict(values["fast"])
    slow["groups"] = tuple(Group(**group) for group in slow["groups"])
    slow["windows"] = tuple(slow["windows"])
    slow["warm_up"], slow["update"] = Training(**slow["warm_up"]), Training(**slow["update"])
    fast["speeds"] = tuple(Speed(**speed) for speed in fast["speeds"])
    return Settings(**(dict(values) | {"slow": Slow(**slow), "fast": Fast(**fast)}))
