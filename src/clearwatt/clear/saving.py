"""An instance as plain values and tensors, and back: what `Instance.save` writes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from clearwatt.arrays import Float32Array, Int64Array
from clearwatt.clear.component import ClearSettings, Component, Model
from clearwatt.clear.component_saving import (
    pack_component,
    pack_settings,
    restore_component,
    unpack_settings,
)
from clearwatt.clear.events import UpdateEvent
from clearwatt.clear.inputs import InputStore
from clearwatt.clear.model_saving import unpack_model
from clearwatt.packing import Packed, Tensors, Values, pack, tensors_below, unpack, with_prefix
from clearwatt.strategies import Strategy
from clearwatt.training.networks import Network


class InstanceParts(Protocol):
    """The attributes of an instance that are saved."""

    settings: ClearSettings
    inputs: InputStore
    autoencoders: tuple[Component, ...]
    predictors: tuple[Component, ...]
    step: int
    events: tuple[UpdateEvent, ...]


class InputRows(NamedTuple):
    """Row numbers (n) and inputs (n x d)."""

    rows: Int64Array
    values: Float32Array


@dataclass(frozen=True, eq=False)
class InstanceState:
    """What is saved of an instance; the tensors of its components are stored beside it."""

    settings: Values
    width: int
    next_row: int
    step: int
    events: tuple[UpdateEvent, ...]
    components: dict[str, Values]
    entities: list[int | str | None]
    inputs: InputRows


class Origin(NamedTuple):
    """What an instance is made from before its state is restored."""

    settings: ClearSettings
    width: int
    autoencoder: Model
    predictors: Sequence[Model]
    names: Sequence[int | str]


def pack_instance(instance: InstanceParts) -> Packed:
    """Everything an instance needs to continue; input rows without references are left out."""
    parts = _components(instance)
    packed = {name: pack_component(part) for name, part in parts.items()}
    state = InstanceState(
        settings=pack_settings(instance.settings),
        width=instance.inputs.width,
        next_row=instance.inputs.next_row,
        step=instance.step,
        events=instance.events,
        components={name: each.values for name, each in packed.items()},
        entities=[part.entity for part in instance.predictors],
        inputs=InputRows(*instance.inputs.select(part.all_samples.rows for part in parts.values())),
    )
    values, tensors = pack(state)
    for name, each in packed.items():
        tensors |= with_prefix(f"{name}.", each.tensors)
    return Packed(values, tensors)


def without_seconds(values: Values) -> Values:
    """The values without training times, which differ from run to run."""
    timeless = [{**event, "seconds": None} for event in values["events"]]
    return {**values, "events": timeless}


def unpack_origin(
    saved: Packed,
    *,
    strategy: Strategy | None = None,
    autoencoder: Network | None = None,
    predictor: Network | None = None,
) -> Origin:
    """Settings, networks and names; the arguments are the user's own, if not built in."""
    values, components = saved.values, saved.values["components"]

    def model(name: str, own: Network | None) -> Model:
        return unpack_model(components[name], tensors_below(saved.tensors, f"{name}."), own)

    return Origin(
        settings=unpack_settings(values["settings"], strategy),
        width=values["width"],
        autoencoder=model("autoencoder-0", autoencoder),
        predictors=[model(f"predictor-{i}", predictor) for i in range(len(values["entities"]))],
        names=values["entities"],
    )


def restore_instance(instance: InstanceParts, values: Values, tensors: Tensors) -> None:
    """Put a saved state into an instance made from its `Origin`."""
    own = {name: value for name, value in values.items() if name != "extra"}
    state = unpack(InstanceState, own, tensors)
    for name, component in _components(instance).items():
        restore_component(component, state.components[name], tensors_below(tensors, f"{name}."))
    instance.inputs.restore(state.inputs.rows, state.inputs.values, next_row=state.next_row)
    instance.step, instance.events = state.step, state.events


def _components(instance: InstanceParts) -> Mapping[str, Component]:
    parts = {f"autoencoder-{i}": part for i, part in enumerate(instance.autoencoders)}
    return parts | {f"predictor-{i}": part for i, part in enumerate(instance.predictors)}
