"""An instance as plain values and tensors, and back: what `save` writes and `load` reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields, is_dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from clearwatt.clear.buffers import SampleBuffer, SampleRows
from clearwatt.clear.component import ClearSettings, Component, Model, ModelVersion, aligned
from clearwatt.clear.events import UpdateEvent
from clearwatt.clear.gate import Comparison, Gate, Side
from clearwatt.errors import ConfigurationError, StateError
from clearwatt.files import Saved
from clearwatt.strategies import STRATEGIES, Strategy, strategy_by_name
from clearwatt.training.fleet import Training
from clearwatt.training.networks import Autoencoder, Network, Predictor, VariationalAutoencoder

Values = dict[str, Any]
Tensors = dict[str, Tensor]

_NETWORKS: Mapping[str, type[Network]] = {
    kind.__name__: kind for kind in (Autoencoder, VariationalAutoencoder, Predictor)
}


def pack_strategy(strategy: Strategy) -> Values:
    """A strategy as JSON values."""
    return {"name": type(strategy).__name__, "parameters": _parameters(strategy)}


def unpack_strategy(values: Values, own: Strategy | None) -> Strategy:
    """The strategy back; `own` is the user's, if it is not a built-in one."""
    name = values["name"]
    if own is not None and type(own).__name__ != name:
        raise StateError(f"the state was saved with the strategy {name}, not {type(own).__name__}")
    if own is None and name not in STRATEGIES:
        raise StateError(
            f"the state was saved with the strategy {name}, which is not built in; "
            f"pass strategy={name}(...)"
        )
    return own or strategy_by_name(name, values["parameters"])


def pack_settings(settings: ClearSettings) -> Values:
    """ClearSettings as JSON values."""
    return {
        "strategy": pack_strategy(settings.strategy),
        "novelty_capacity": settings.novelty_capacity,
        "alpha": settings.alpha,
        "familiarity_capacity": settings.familiarity_capacity,
        "update": asdict(settings.update),
        "seed": settings.seed,
        "precise": settings.precise,
        "gate": None if settings.gate is None else asdict(settings.gate),
    }


def unpack_settings(values: Values, strategy: Strategy | None) -> ClearSettings:
    """ClearSettings back; `strategy` stands in for one that is not built in."""
    return ClearSettings(
        strategy=unpack_strategy(values["strategy"], strategy),
        novelty_capacity=values["novelty_capacity"],
        alpha=values["alpha"],
        familiarity_capacity=values["familiarity_capacity"],
        update=Training(**values["update"]),
        seed=values["seed"],
        precise=values["precise"],
        gate=None if values["gate"] is None else Gate(**values["gate"]),
    )


def pack_network(network: Network) -> Values:
    """A built-in network by its sizes; a user's own by name only."""
    name = type(network).__name__
    sizes = _parameters(network) if name in _NETWORKS else {}
    return {"name": name, "sizes": sizes}


def unpack_network(values: Values, own: Network | None) -> Network:
    """The network back; `own` is the user's, if it was not a built-in one."""
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


def pack_component(component: Component) -> tuple[Values, Tensors]:
    """Everything a component needs to go on."""
    tensors = {f"params.{name}": tensor for name, tensor in component.params.items()}
    tensors |= {f"state.{name}": tensor for name, tensor in component.state.items()}
    tensors["recent"] = torch.from_numpy(component.recent.astype(np.uint8))
    for name, samples in _lists(component).items():
        tensors[f"{name}.rows"] = torch.from_numpy(samples.samples.rows.copy())
        if samples.samples.targets is not None:
            tensors[f"{name}.targets"] = torch.from_numpy(samples.samples.targets.copy())
    values: Values = {
        "entity": component.entity,
        "network": pack_network(component.network),
        "threshold": component.threshold,
        "updates": component.updates,
        "familiar_seen": component.familiarity.seen,
        "boundaries": None if component.history is None else list(component.history.boundaries),
        "rng": component.rng.bit_generator.state,
        "approval": component.approval,
        "candidate": None,
    }
    if component.candidate is not None:
        values["candidate"], own = pack_version(component.candidate)
        tensors |= {f"candidate.{name}": tensor for name, tensor in own.items()}
    return values | {"tensors": _shapes(tensors)}, tensors


def restore_component(component: Component, values: Values, tensors: Tensors) -> None:
    """Put a saved state into a fresh component."""
    _require_all(values, tensors, f"the {component.name}")
    component.params = aligned(tensors_below(tensors, "params."))
    component.state = aligned(tensors_below(tensors, "state."))
    component.recent = tensors["recent"].numpy().astype(np.bool_)
    for name, samples in _lists(component).items():
        targets = tensors.get(f"{name}.targets")
        rows = tensors[f"{name}.rows"].numpy()
        samples.replace(SampleRows(rows, None if targets is None else targets.numpy()))
    component.threshold = values["threshold"]
    component.updates = values["updates"]
    component.familiarity.seen = values["familiar_seen"]
    if component.history is not None:
        component.history.boundaries = list(values["boundaries"])
    component.rng.bit_generator.state = values["rng"]
    component.approval, component.candidate = values["approval"], None
    if values["candidate"] is not None:
        own = tensors_below(tensors, "candidate.")
        component.candidate = _version(values["candidate"], own, component.network)


def pack_version(model: Component | ModelVersion) -> tuple[Values, Tensors]:
    """A model that can be put into service again: weights, threshold, what its strategy kept."""
    tensors = {f"params.{name}": tensor for name, tensor in model.params.items()}
    tensors |= {f"state.{name}": tensor for name, tensor in model.state.items()}
    values: Values = {
        "network": pack_network(model.network),
        "threshold": model.threshold,
        "number": model.number if isinstance(model, ModelVersion) else model.updates,
        "tensors": _shapes(tensors),
    }
    return values, tensors


def unpack_version(saved: Saved, component: Component) -> ModelVersion:
    """The model that `pack_version` took apart, for `Component.activate` of its component."""
    try:
        if saved.values["network"] != pack_network(component.network):
            raise StateError(
                f"the model in {saved.folder} is a {saved.values['network']}, the "
                f"{component.name} a {component.network}; activate a model of this component"
            )
        return _version(saved.values, saved.tensors, component.network)
    except (KeyError, TypeError) as error:
        raise StateError(f"{saved.folder} holds no model version ({error!r})") from error


def _version(values: Values, tensors: Tensors, network: Network) -> ModelVersion:
    _require_all(values, tensors, "the model")
    return ModelVersion(
        network=network,
        params=aligned(tensors_below(tensors, "params.")),
        threshold=values["threshold"],
        state=aligned(tensors_below(tensors, "state.")),
        number=values["number"],
    )


def _require_all(values: Values, tensors: Tensors, what: str) -> None:
    """Every tensor that was saved is there; a missing weight or target would go unnoticed."""
    found = _shapes(tensors)
    for name in sorted(found.keys() | values["tensors"].keys()):
        if found.get(name) != values["tensors"].get(name):
            raise StateError(
                f"the state of {what} is incomplete: {name} is missing or not as saved; restore it "
                "from a backup"
            )


def _shapes(tensors: Tensors) -> dict[str, list[int]]:
    return {name: list(tensor.shape) for name, tensor in tensors.items()}


def model_of(values: Values, tensors: Tensors, own: Network | None) -> Model:
    """The saved network with its weights, which must fit it."""
    network, params = unpack_network(values["network"], own), tensors_below(tensors, "params.")
    if own is not None and _shapes(own.initialise([0])) != _shapes(params):
        raise StateError(
            f"the saved weights do not fit this {type(network).__name__}; pass the network the "
            "state was saved with"
        )
    return Model(network, params)


def pack_event(event: UpdateEvent) -> Values:
    """An event as JSON values."""
    return asdict(event)


def unpack_event(values: Values) -> UpdateEvent:
    """An event back."""
    return UpdateEvent(**values | {"held_back": _comparison(values["held_back"])})


def _comparison(values: Values | None) -> Comparison | None:
    if values is None:
        return None
    novel, familiar = (values[name] and Side(**values[name]) for name in ("novel", "familiar"))
    return Comparison(values["margin"], novel, familiar)


def _lists(component: Component) -> dict[str, SampleBuffer]:
    lists: dict[str, SampleBuffer] = {
        "novelty": component.novelty,
        "familiarity": component.familiarity,
    }
    if component.history is not None:
        lists["history"] = component.history
    return lists


def tensors_below(tensors: Tensors, prefix: str) -> Tensors:
    """The tensors whose name starts with a prefix, without it."""
    return {
        name.removeprefix(prefix): tensor
        for name, tensor in tensors.items()
        if name.startswith(prefix)
    }


def _parameters(value: object) -> Values:
    if not is_dataclass(value):
        raise ConfigurationError(
            f"{type(value).__name__} is not a dataclass, so its parameters cannot be saved"
        )
    return {field.name: getattr(value, field.name) for field in fields(value)}
