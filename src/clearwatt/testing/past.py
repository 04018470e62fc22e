"""Checks of a strategy's access to past samples and of its memory."""

from __future__ import annotations

from copy import deepcopy

import numpy as np
import torch
from torch import Tensor

from clearwatt.clear.component import Component, Model
from clearwatt.clear.instance import Instance
from clearwatt.memory import Policy
from clearwatt.strategies import (
    Access,
    Archive,
    Batch,
    ComponentName,
    Past,
    State,
    Strategy,
    Update,
    WarmUpResult,
)
from clearwatt.testing.comparison import components
from clearwatt.testing.scenario import (
    CAPACITY,
    STREAM,
    WARM_UP,
    component_samples,
    models,
    observe,
    scenario,
    start,
)
from clearwatt.training.fleet import one_thread
from clearwatt.training.networks import Params, Reconstructor


class _ForbiddenPast(Past):
    """Past for strategies without access: any use is recorded and raises."""

    def __init__(self, touched: list[str]) -> None:
        self._touched = touched

    def __getattribute__(self, name: str) -> object:
        if not name.startswith("__"):
            object.__getattribute__(self, "_touched").append(name)
            raise AssertionError(f"touched past.{name}")
        return object.__getattribute__(self, name)

    def replay(self, policy: Policy, budget: int) -> Batch:
        raise NotImplementedError

    def count(self) -> int:
        raise NotImplementedError

    def everything(self) -> Batch:
        raise NotImplementedError


class _RecentPast(Past):
    """Past for strategies with recent access: use of `everything` is recorded."""

    def __init__(self, touched: list[str], data: Batch) -> None:
        self._touched, self._data = touched, data

    def replay(self, policy: Policy, budget: int) -> Batch:
        return self._data.at(torch.arange(min(budget, self._data.size)))

    def count(self) -> int:
        return self._data.size

    def everything(self) -> Batch:
        self._touched.append("everything")
        return self._data


def check_history_access(strategy: Strategy) -> None:
    """Check that a strategy uses no more of the past than it declares.

    A strategy without access receives a past that raises on any use.
    """
    if strategy.access is Access.ALL:
        return
    touched: list[str] = []
    names: tuple[ComponentName, ...] = ("autoencoder", "predictor")
    for component in names:
        try:
            with one_thread():
                _update_once(deepcopy(strategy), component, touched)
        except Exception:
            if not touched:
                raise
        assert not touched, (
            f"{type(strategy).__name__} declares access {strategy.access.value!r} but touched "
            f"past.{touched[0]} when the {component} updated; declare what it needs"
        )


def check_memory_bound(strategy: Strategy) -> None:
    """Check that after many updates no more samples are held than declared.

    Access "none": samples in the buffers; "recent": also those of the last `window` updates; "all":
    everything. Unless access is "all", the strategy's state must not grow with the updates.
    """
    strategy = deepcopy(strategy)
    assert strategy.access is not Access.RECENT or strategy.window is not None, (
        f"{type(strategy).__name__} declares access 'recent' but no window, so everything would "
        "be kept; override the property `window`"
    )
    instance = start(strategy)
    sizes: dict[str, dict[int, int]] = {name: {} for name in components(instance)}
    for seen in range(0, STREAM, CAPACITY):
        observe(instance, seen, seen + CAPACITY)
        for name, part in components(instance).items():
            _check_held(strategy, instance, part, name)
            sizes[name][part.updates] = sum(each.nbytes for each in part.state.values())
    if strategy.access is not Access.ALL:
        for name, by_update in sizes.items():
            _check_constant(strategy, name, by_update)


def _check_held(strategy: Strategy, instance: Instance, part: Component, name: str) -> None:
    """Check that the oldest row held belongs to a window that may be kept."""
    if strategy.access is Access.ALL:
        _check_everything(strategy, instance, part, name)
        return
    allowed = _oldest_allowed(strategy, instance, part)
    oldest = min(part.all_samples.rows, default=allowed)
    assert oldest >= allowed, (
        f"{type(strategy).__name__}: after {part.updates} updates the {name} still holds sample "
        f"{oldest}, but access {strategy.access.value!r} ends at sample {allowed}"
    )


def _oldest_allowed(strategy: Strategy, instance: Instance, part: Component) -> int:
    """First row of the oldest window that may be held; rows count from the warm-up's first."""
    updates = [
        event.step
        for event in instance.events
        if (event.component, event.entity) == (part.name, part.entity)
    ]
    closed = strategy.window or 0
    if closed > len(updates):
        return 0
    return WARM_UP + [0, *updates][len(updates) - closed]


def _check_everything(strategy: Strategy, instance: Instance, part: Component, name: str) -> None:
    data = scenario()
    rows = np.arange(WARM_UP + instance.step)
    if part.name == "predictor":
        measured = ~np.isnan(np.concatenate([data.warm_y, data.y])[: len(rows), 0])
        rows = rows[measured]
    assert np.array_equal(part.all_samples.rows, rows), (
        f"{type(strategy).__name__} declares access 'all', but the {name} holds "
        f"{len(part.all_samples.rows)} of {len(rows)} samples"
    )


def _check_constant(strategy: Strategy, name: str, sizes: dict[int, int]) -> None:
    """Check that the size is constant after the first two updates."""
    first = min(2, max(sizes))
    settled, *later = [size for update, size in sorted(sizes.items()) if update >= first]
    assert max([settled, *later]) <= settled, (
        f"{type(strategy).__name__}: the state kept for the {name} grew from {settled} to "
        f"{max(later)} bytes over {max(sizes)} updates; bound it, or declare access 'all'"
    )


def _update_once(strategy: Strategy, component: ComponentName, touched: list[str]) -> None:
    """Call a strategy as the loop does at an update, with a past that records its use."""
    data, (autoencoder, head, *_) = scenario(), models(strategy)
    model = autoencoder if component == "autoencoder" else head
    known = component_samples(component, autoencoder, data.warm_x, data.warm_y)
    rng = np.random.default_rng(0)
    state = strategy.initial_state(WarmUpResult(component, model.network, model.params, known, rng))
    sealed = strategy.access is Access.NONE
    update = Update(
        component=component,
        network=model.network,
        params=model.params,
        state=state,
        novelty=component_samples(component, autoencoder, data.x[-CAPACITY:], data.y[-CAPACITY:]),
        familiarity=component_samples(component, autoencoder, data.x[:CAPACITY], data.y[:CAPACITY]),
        past=_ForbiddenPast(touched) if sealed else _RecentPast(touched, known),
        capacity=CAPACITY,
        rng=rng,
        generated=_pseudo_samples(strategy, component, autoencoder, head),
    )
    strategy.objective(update)
    strategy.consolidate(update, model.params)


def _pseudo_samples(
    strategy: Strategy, component: ComponentName, autoencoder: Model, head: Model
) -> Batch | None:
    """Generated samples as the component sees them; None if the strategy generates none."""
    network, params = autoencoder.network, autoencoder.params
    assert isinstance(network, Reconstructor)
    rng = np.random.default_rng(0)
    known = Batch(torch.from_numpy(scenario().warm_x), None)
    state: State = strategy.initial_state(WarmUpResult("autoencoder", network, params, known, rng))

    def decode(latents: Tensor, params: Params | None = None) -> Tensor:
        return network.decode(params or autoencoder.params, latents[None])[0]

    def predict(latents: Tensor, params: Params | None = None) -> Tensor:
        return head.network.forward(params or head.params, latents[None])[0]

    archive = Archive(state, decode, predict)
    made = strategy.generate(archive, CAPACITY, rng)
    if made is None or component == "autoencoder":
        return None if made is None else Batch(made.inputs, None)
    return Batch(network.encode(params, made.inputs[None])[0], made.targets)
