"""Comparison of two CLeaR instances that must be equal."""

from __future__ import annotations

from dataclasses import asdict, replace

import numpy as np
import torch

from clearwatt.arrays import Float32Array
from clearwatt.clear.component import Component
from clearwatt.clear.component_saving import pack_component
from clearwatt.clear.events import UpdateEvent
from clearwatt.clear.instance import Instance


def components(instance: Instance) -> dict[str, Component]:
    """The components of an instance by name, as used in messages."""
    parts = (*instance.autoencoders, *instance.predictors)
    return {part.title: part for part in parts}


def first_difference(one: Instance, other: Instance) -> str | None:
    """The first difference of two instances, to the last bit; None if they are equal.

    Compares the events (without their seconds) and, for every component, threshold, weights,
    buffers, history, strategy state and random state.
    """
    if difference := _events_differ(one.events, other.events):
        return difference
    for (name, mine), theirs in zip(
        components(one).items(), components(other).values(), strict=True
    ):
        if difference := _components_differ(mine, theirs):
            return f"{difference} of the {name}"
    return None


def _events_differ(one: tuple[UpdateEvent, ...], other: tuple[UpdateEvent, ...]) -> str | None:
    if len(one) != len(other):
        return f"the number of updates ({len(one)} and {len(other)})"
    for mine, theirs in zip(one, other, strict=True):
        first, second = (asdict(replace(event, seconds=0.0)) for event in (mine, theirs))
        for field, value in first.items():
            if value != second[field]:
                return (
                    f"{field} ({value} and {second[field]}) of the update of the {mine.component} "
                    f"after {mine.step} samples"
                )
    return None


def _components_differ(one: Component, other: Component) -> str | None:
    (values, tensors), (others, other_tensors) = pack_component(one), pack_component(other)
    for name in (*values, *tensors):
        same = (
            values[name] == others.get(name)
            if name in values
            else name in other_tensors and torch.equal(tensors[name], other_tensors[name])
        )
        if not same:
            return f"the {name.removeprefix('params.')}"
    extra = sorted(set(other_tensors) - set(tensors))
    return f"the {extra[0]}" if extra else None


def first_mismatch(one: Instance, other: Instance, probe: Float32Array) -> str | None:
    """The first difference of the first entity beyond float rounding; None if there is none.

    Compares its updates (step, trigger, numbers of samples, thresholds) and its forecasts for the
    probe (n x d).
    """
    mine, theirs = (_of_first_entity(instance) for instance in (one, other))
    if [_facts(event) for event in mine] != [_facts(event) for event in theirs]:
        return "the updates"
    alone, beside = ([event.threshold_after for event in events] for events in (mine, theirs))
    if not np.allclose(alone, beside, rtol=_ROUNDING, atol=0):
        return "the thresholds"
    one_forecast, other_forecast = (instance.predict(probe)[:, 0] for instance in (one, other))
    return (
        None
        if np.allclose(one_forecast, other_forecast, rtol=0, atol=_ROUNDING)
        else "the forecasts"
    )


_ROUNDING = 1e-3
"""Stacked sums are added in another order; a few updates amplify the difference up to this."""


def _of_first_entity(instance: Instance) -> list[UpdateEvent]:
    wanted = {None, instance.predictors[0].entity}
    return [event for event in instance.events if event.entity in wanted]


def _facts(event: UpdateEvent) -> tuple[str, int, str, int, int, int]:
    return (
        event.component,
        event.step,
        event.trigger,
        event.novel,
        event.familiar,
        event.replayed,
    )
