"""The start of an entity without history: networks of a fleet prior, until its own take over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import zip_longest

import numpy as np

from clearwatt.adaptive.ensemble import NetworkVersion
from clearwatt.adaptive.first_step import FirstStep
from clearwatt.adaptive.frame import Frame
from clearwatt.adaptive.novelty import InputModel
from clearwatt.adaptive.power_range import PowerRange
from clearwatt.adaptive.prior import FleetPrior, KindPrior
from clearwatt.adaptive.prior_weights import Ranges, view_of_prior, weights_of_prior
from clearwatt.adaptive.settings import AdaptiveSettings
from clearwatt.adaptive.start import add_entity, new_state, require_new
from clearwatt.adaptive.state import LearnerState
from clearwatt.adaptive.trust import Trust
from clearwatt.errors import ConfigurationError
from clearwatt.forecaster import Name
from clearwatt.training.standardisation import Standardisation

TRUST_DAYS = 14
"""Days of own samples that the fleet's trust in each expert counts as."""


def start_from_prior(
    prior: FleetPrior,
    names: Sequence[Name],
    kinds: Sequence[KindPrior],
    sizes: Sequence[float],
    *,
    at: int,
    day: int,
    delay: int | None,
    columns: Sequence[str],
    ranges: Ranges,
    settings: AdaptiveSettings,
) -> LearnerState:
    """The state of a forecaster whose entities have no history.

    Args:
        prior: Of the fleet.
        names: Names of the entities, `e`.
        kinds: Prior of the kind of each, `e`.
        sizes: Capacity of each in units of power, `e`.
        at: First step to be forecast and learned from.
        day: Steps per day.
        delay: Steps until a measurement is known; None: a day.
        columns: Names of the inputs, `d`.
        ranges: How the inputs are scaled.
        settings: How it learns.
    """
    schedule = settings.schedule(day, delay)
    view = view_of_prior(prior, columns, day=day, ranges=ranges)
    memory = settings.memory_for(schedule, len(names))
    frame = Frame(settings, schedule, view, len(columns), memory)
    units = [
        Standardisation(kind.power.mean * size, kind.power.scale * size)
        for kind, size in zip(kinds, checked_sizes(names, sizes), strict=True)
    ]
    versions = [
        version_of_prior(prior, kind, name, frame=frame, columns=columns, ranges=ranges)
        for kind, name in zip(kinds, names, strict=True)
    ]
    ranges_of_power = [power_range(kind) for kind in kinds]
    state = new_state(
        frame,
        names,
        power=Standardisation(
            np.concatenate([unit.mean for unit in units]),
            np.concatenate([unit.scale for unit in units]),
        ),
        limits=PowerRange(
            np.concatenate([each.low for each in ranges_of_power]),
            np.concatenate([each.high for each in ranges_of_power]),
        ),
        versions=tuple(versions),
        inputs=InputModel.everything(view.width),
        boundary=schedule.period_start(at),
        newest=at - 1,
    )
    return with_trust(state, expected_trust(prior, frame, kinds), new=len(kinds))


def join_from_prior(
    state: LearnerState,
    prior: FleetPrior,
    name: Name,
    kind: KindPrior,
    size: float,
    *,
    columns: Sequence[str],
    ranges: Ranges,
) -> LearnerState:
    """The state with another entity, which has no history; see `start_from_prior`."""
    require_new(state, name)
    checked_sizes([name], [size])
    missing = prior.missing(columns)
    if missing:
        raise ConfigurationError(
            f"the prior needs the weather variables {', '.join(missing)}, which the zone does not "
            "have; give a prior that was trained without"
        )
    expected = expected_trust(prior, state.frame, [kind])
    trust = state.trust.concatenate(expected)
    state = add_entity(
        state,
        version_of_prior(prior, kind, name, frame=state.frame, columns=columns, ranges=ranges),
        Standardisation(kind.power.mean * size, kind.power.scale * size),
        power_range(kind),
        measured=np.empty((0, 1)),
        at=np.empty(0, np.int64),
    )
    first = FirstStep(name, state.known + 1)
    return with_trust(state._replace(first_steps=(*state.first_steps, first)), trust, new=1)


def expected_trust(prior: FleetPrior, frame: Frame, kinds: Sequence[KindPrior]) -> Trust:
    """Trust in the experts of entities without history, as the fleet has learned it."""
    settings, day = frame.settings.fast, frame.schedule.clock.day
    require_experts(prior, frame.settings)
    return Trust.expected(
        np.stack([kind.trust for kind in kinds]),
        float(TRUST_DAYS * day),
        half_life=settings.trust * day,
        caution=settings.caution,
    )


def require_experts(prior: FleetPrior, settings: AdaptiveSettings) -> None:
    """Refuse a prior that has learned trust in other experts than those of a forecaster."""
    for place, (known, own) in enumerate(zip_longest(prior.experts, settings.experts)):
        if known != own:
            raise ConfigurationError(
                f"expert {place} of the prior is {known!r}, that of the forecaster {own!r}; train "
                "a prior with the same settings"
            )


def with_trust(state: LearnerState, trust: Trust, *, new: int) -> LearnerState:
    """The state with another trust, in force at once for its last `new` entities."""
    past = tuple(
        replace(each, weights=np.concatenate([each.weights[:-new], trust.weights[-new:]]))
        for each in state.past
    )
    return state._replace(trust=trust, past=past)


def version_of_prior(
    prior: FleetPrior,
    kind: KindPrior,
    name: Name,
    *,
    frame: Frame,
    columns: Sequence[str],
    ranges: Ranges,
) -> NetworkVersion:
    """The first networks of an entity without history."""
    params = weights_of_prior(
        prior,
        kind,
        architecture=frame.architecture,
        view=frame.view,
        columns=columns,
        ranges=ranges,
    )
    return NetworkVersion(name, 0, params, kind.error, fleet=True, from_fleet=True)


def power_range(kind: KindPrior) -> PowerRange:
    """Range of the power of a kind, in deviations."""
    low, high = kind.power.apply(np.array([[kind.low], [kind.high]])).astype(np.float64)
    return PowerRange(low, high)


def checked_sizes(names: Sequence[Name], sizes: Sequence[float]) -> Sequence[float]:
    """Capacities, each positive and finite."""
    for name, size in zip(names, sizes, strict=True):
        if not 0 < size < float("inf"):
            raise ConfigurationError(
                f"the capacity of {name} is {size}; it must be positive for a start from a prior"
            )
    return sizes
