"""A whole instance as plain values and tensors, and back: what `Instance.save` keeps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

import torch

from clearwatt.clear.component import ClearSettings, Component, Model
from clearwatt.clear.events import UpdateEvent
from clearwatt.clear.inputs import InputStore
from clearwatt.clear.snapshot import (
    Tensors,
    Values,
    model_of,
    pack_component,
    pack_event,
    pack_settings,
    restore_component,
    tensors_below,
    unpack_event,
    unpack_settings,
)
from clearwatt.strategies import Strategy
from clearwatt.training.networks import Network


class Persistent(Protocol):
    """What there is of an instance to keep."""

    settings: ClearSettings
    inputs: InputStore
    autoencoders: tuple[Component, ...]
    predictors: tuple[Component, ...]
    step: int
    events: tuple[UpdateEvent, ...]


class Origin(NamedTuple):
    """What an instance is made from before its state is filled in."""

    settings: ClearSettings
    width: int
    autoencoder: Model
    predictors: Sequence[Model]
    names: Sequence[int | str]


def pack_instance(instance: Persistent) -> tuple[Values, Tensors]:
    """Everything an instance needs to go on; input rows nobody refers to are left out."""
    packed = {name: pack_component(part) for name, part in _parts(instance).items()}
    tensors = {
        f"{name}.{key}": tensor for name, (_, own) in packed.items() for key, tensor in own.items()
    }
    rows, values = instance.inputs.needed(part.held.rows for part in _parts(instance).values())
    tensors["inputs.rows"] = torch.from_numpy(rows.copy())
    tensors["inputs.values"] = torch.from_numpy(values.copy())
    return {
        "settings": pack_settings(instance.settings),
        "width": instance.inputs.width,
        "next_row": instance.inputs.next_row,
        "step": instance.step,
        "events": [pack_event(event) for event in instance.events],
        "components": {name: values for name, (values, _) in packed.items()},
        "entities": [part.entity for part in instance.predictors],
    }, tensors


def without_seconds(values: Values) -> Values:
    """The values without what the wall clock said, which no two runs share."""
    timeless = [{**event, "seconds": None} for event in values["events"]]
    return {**values, "events": timeless}


def origin_of(
    values: Values,
    tensors: Tensors,
    *,
    strategy: Strategy | None = None,
    autoencoder: Network | None = None,
    predictor: Network | None = None,
) -> Origin:
    """ClearSettings, networks and names; the arguments are the user's own, if not built in."""
    saved = values["components"]
    models = [
        model_of(saved[name], tensors_below(tensors, f"{name}."), predictor)
        for name in (f"predictor-{i}" for i in range(len(values["entities"])))
    ]
    shared = tensors_below(tensors, "autoencoder-0.")
    return Origin(
        settings=unpack_settings(values["settings"], strategy),
        width=values["width"],
        autoencoder=model_of(saved["autoencoder-0"], shared, autoencoder),
        predictors=models,
        names=values["entities"],
    )


def restore_instance(instance: Persistent, values: Values, tensors: Tensors) -> None:
    """Put a saved state into an instance made from its `Origin`."""
    for name, component in _parts(instance).items():
        own = tensors_below(tensors, f"{name}.")
        restore_component(component, values["components"][name], own)
    instance.inputs.restore(
        tensors["inputs.rows"].numpy(),
        tensors["inputs.values"].numpy(),
        next_row=values["next_row"],
    )
    instance.step = values["step"]
    instance.events = tuple(unpack_event(event) for event in values["events"])


def _parts(instance: Persistent) -> Mapping[str, Component]:
    parts = {f"autoencoder-{i}": part for i, part in enumerate(instance.autoencoders)}
    return parts | {f"predictor-{i}": part for i, part in enumerate(instance.predictors)}
