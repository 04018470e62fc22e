"""Networks, models and model versions as plain values and tensors, and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass, replace

from clearwatt.clear.component import Component, Model, ModelVersion
from clearwatt.errors import ConfigurationError, StateError
from clearwatt.files import SavedState
from clearwatt.packing import ADDED, Packed, Tensors, Values, pack, tensors_below, unpack
from clearwatt.strategies import State
from clearwatt.training.networks import (
    Autoencoder,
    Network,
    Params,
    Predictor,
    VariationalAutoencoder,
)

Shapes = dict[str, list[int]]

_NETWORKS: Mapping[str, type[Network]] = {
    kind.__name__: kind for kind in (Autoencoder, VariationalAutoencoder, Predictor)
}


@dataclass(frozen=True, eq=False)
class VersionState:
    """What is saved of a model version; `tensors` has the shapes of its weights and its state."""

    network: Values
    params: Params
    threshold: float
    state: State
    number: int
    tensors: Shapes

    @classmethod
    def of(cls, model: ModelVersion) -> VersionState:
        """The state of a version."""
        parts = {"params": model.params, "state": model.state}
        tensors = {f"{part}.{name}": t for part, own in parts.items() for name, t in own.items()}
        return cls(
            pack_network(model.network),
            model.params,
            model.threshold,
            model.state,
            model.number,
            shapes_of(tensors),
        )

    def version(self, component: Component) -> ModelVersion:
        """The version of a component, whose network is like the saved one."""
        return replace(
            component.version,
            params=self.params,
            threshold=self.threshold,
            state=self.state,
            number=self.number,
        )


def pack_version(model: ModelVersion) -> Packed:
    """A model that can be put into service again: weights, threshold, state of the strategy."""
    return pack(VersionState.of(model))


def unpack_version(saved: SavedState, component: Component) -> ModelVersion:
    """The version that `pack_version` packed, for `Component.activate` of its component."""
    try:
        if saved.values["network"] != pack_network(component.network):
            raise StateError(
                f"the model in {saved.folder} is a {saved.values['network']}, the "
                f"{component.name} a {component.network}; activate a model of this component"
            )
        require_tensors(saved.values["tensors"], saved.tensors, "the model")
        return unpack(VersionState, saved.values, saved.tensors).version(component)
    except (KeyError, TypeError) as error:
        raise StateError(f"{saved.folder} holds no model version ({error!r})") from error


def pack_network(network: Network) -> Values:
    """A built-in network by its sizes; a user's own by name only."""
    name = type(network).__name__
    sizes = parameters_of(network) if name in _NETWORKS else {}
    return {"name": name, "sizes": sizes}


def unpack_network(values: Values, own: Network | None) -> Network:
    """The network; `own` is the user's, if it is not a built-in one."""
    name = values["name"]
    if name in _NETWORKS:
        built_in = _NETWORKS[name](**values["sizes"])
        if own not in (None, built_in):
            raise StateError(f"the state was saved with {built_in}, not with {own}")
        return built_in
    if own is None or type(own).__name__ != name:
        raise StateError(
            f"the state was saved with a {name} of your own; pass the same network when loading"
        )
    return own


def unpack_model(values: Values, tensors: Tensors, own: Network | None) -> Model:
    """The saved network with its weights, which must fit it."""
    network, params = unpack_network(values["network"], own), tensors_below(tensors, "params.")
    if own is not None and shapes_of(own.initialise([0])) != shapes_of(params):
        raise StateError(
            f"the saved weights do not fit this {type(network).__name__}; pass the network the "
            "state was saved with"
        )
    return Model(network, params)


def parameters_of(value: object) -> Values:
    """The fields of a dataclass by name; those that were added only if they are needed."""
    if not is_dataclass(value):
        raise ConfigurationError(
            f"{type(value).__name__} is not a dataclass, so its parameters cannot be saved"
        )
    found = {field.name: getattr(value, field.name) for field in fields(value)}
    added = {field.name: field.default for field in fields(value) if field.metadata == ADDED}
    return {name: own for name, own in found.items() if name not in added or own != added[name]}


def shapes_of(tensors: Tensors) -> Shapes:
    """The shape of each tensor."""
    return {name: list(tensor.shape) for name, tensor in tensors.items()}


def require_tensors(shapes: Shapes, tensors: Tensors, owner: str) -> None:
    """Refuse tensors other than those saved: an optional one that is missing goes unnoticed."""
    present = shapes_of(tensors)
    for name in sorted(present.keys() | shapes.keys()):
        if present.get(name) != shapes.get(name):
            raise StateError(
                f"the state of {owner} is incomplete: {name} is missing or not as saved; restore "
                "it from a backup"
            )
