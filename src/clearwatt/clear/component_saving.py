"""Settings, strategies and components as plain values and tensors, and back."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from clearwatt.clear.buffers import SampleRows
from clearwatt.clear.component import ClearSettings, Component
from clearwatt.clear.model_saving import (
    VersionState,
    pack_network,
    parameters_of,
    require_tensors,
    shapes_of,
)
from clearwatt.errors import StateError
from clearwatt.packing import Packed, Tensors, Values, from_plain, pack, to_plain, unpack
from clearwatt.strategies import STRATEGIES, State, Strategy, strategy_by_name
from clearwatt.training.networks import Params


@dataclass(frozen=True, eq=False)
class ComponentState:
    """What is saved of a component: everything it needs to continue."""

    entity: int | str | None
    network: Values
    params: Params
    state: State
    threshold: float
    updates: int
    recent: npt.NDArray[np.uint8]
    novelty: SampleRows
    familiarity: SampleRows
    familiar_seen: int
    history: SampleRows | None
    boundaries: list[int] | None
    rng: Values
    approval: bool
    candidate: VersionState | None


def pack_strategy(strategy: Strategy) -> Values:
    """A strategy as JSON values."""
    return {"name": type(strategy).__name__, "parameters": parameters_of(strategy)}


def unpack_strategy(values: Values, own: Strategy | None) -> Strategy:
    """The strategy; `own` is the user's, if it is not a built-in one."""
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
    """Settings as JSON values."""
    return to_plain(settings) | {"strategy": pack_strategy(settings.strategy)}


def unpack_settings(values: Values, own: Strategy | None) -> ClearSettings:
    """The settings; `own` is the user's strategy, if it is not a built-in one."""
    strategy = unpack_strategy(values["strategy"], own)
    return from_plain(ClearSettings, values | {"strategy": strategy})


def pack_component(component: Component) -> Packed:
    """A component with its buffers; the values contain the shapes of the tensors."""
    history, candidate = component.history, component.candidate
    values, tensors = pack(
        ComponentState(
            entity=component.entity,
            network=pack_network(component.network),
            params=component.params,
            state=component.state,
            threshold=component.threshold,
            updates=component.updates,
            recent=component.recent.astype(np.uint8),
            novelty=component.novelty.samples,
            familiarity=component.familiarity.samples,
            familiar_seen=component.familiarity.seen,
            history=None if history is None else history.samples,
            boundaries=None if history is None else history.boundaries,
            rng=dict(component.rng.bit_generator.state),
            approval=component.approval,
            candidate=None if candidate is None else VersionState.of(candidate),
        )
    )
    return Packed(values | {"tensors": shapes_of(tensors)}, tensors)


def restore_component(component: Component, values: Values, tensors: Tensors) -> None:
    """Put a saved state into a new component."""
    require_tensors(values["tensors"], tensors, f"the {component.name}")
    own = {name: value for name, value in values.items() if name != "tensors"}
    state = unpack(ComponentState, own, tensors)
    component.params, component.state = state.params, state.state
    component.threshold, component.updates = state.threshold, state.updates
    component.recent = state.recent.astype(np.bool_)
    component.novelty.replace(state.novelty)
    component.familiarity.replace(state.familiarity)
    component.familiarity.seen = state.familiar_seen
    if component.history is not None and state.history is not None:
        component.history.replace(state.history)
        component.history.boundaries = state.boundaries or [0]
    component.rng.bit_generator.state = state.rng
    component.approval = state.approval
    candidate = state.candidate
    component.candidate = None if candidate is None else candidate.version(component)
