"""The start of an entity without history, from a fleet prior."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from clearwatt.adaptive import FleetPrior
from clearwatt.adaptive.prior_weights import seen_columns
from clearwatt.data.inputs import is_neighbour
from clearwatt.data.scaling import Extrema, Scaling
from clearwatt.errors import ConfigurationError, DataError
from clearwatt.intervals import physical_limits
from clearwatt.service.learner.apply.adaptive_models import AdaptiveModels
from clearwatt.service.learner.apply.fleet_models import FleetStart, join_models, start_models
from clearwatt.service.learner.apply.outcome_builder import OutcomeBuilder
from clearwatt.service.learner.apply.rows import Rows
from clearwatt.service.learner.apply.suspicion import watch_newcomer
from clearwatt.service.learner.apply.warm_up_data import sort_readings
from clearwatt.service.learner.apply.zone_state import ZoneState
from clearwatt.service.priors import read_prior
from clearwatt.service.quality import describe
from clearwatt.service.records import Zone
from clearwatt.service.store import Store

SPREAD = 2.0
"""Deviations from the mean to either limit of a variable's range, which is scaled to [0, 1]."""


def start_entity(
    state: ZoneState,
    builder: OutcomeBuilder,
    store: Store,
    *,
    entity: str,
    arguments: Mapping[str, Any],
) -> tuple[str, dict[str, Any]]:
    """Start an entity from the fleet; returns a message and details.

    Args:
        state: the zone.
        builder: collects versions.
        store: has the prior.
        entity: the entity.
        arguments: "prior" is the digest of the prior, "at" the time of the first row to learn from;
            a zone that learns already continues with its own next row.
    """
    _require_waiting(state, entity)
    prior = read_prior(store, str(arguments["prior"]))
    since = _first_row(state, int(arguments["at"]))
    start = _fleet_start(state, prior, entity, since)
    _begin(state, prior, start)
    _enter(state, entity, since)
    assert state.models is not None
    for version in state.models.first_versions(state.units):
        if version.key not in state.deployed:
            builder.deploy(version, time=since)
    message = (
        f"{entity} forecasts from the fleet: from a prior of {start.kind.entities} entities "
        f"({prior.source or 'source not named'}); its own networks take over as it is measured"
    )
    return message, {"entities": [entity], "prior": prior.digest, "since": since}


def _require_waiting(state: ZoneState, entity: str) -> None:
    if entity in state.columns:
        raise DataError(f"{entity} forecasts already")
    if state.settings.forecaster != "adaptive":
        raise ConfigurationError(
            f"only the forecaster 'adaptive' starts from the fleet; zone {state.zone.id} has "
            f"{state.settings.forecaster!r}"
        )
    if not state.entities[entity].capacity:
        raise DataError(f"{entity} has no capacity, by which the fleet's forecasts are scaled")


def _first_row(state: ZoneState, at: int) -> int:
    """Time of the first row that the entity learns from."""
    if state.rows is not None:
        return state.rows.next
    return at // state.zone.step * state.zone.step


def _fleet_start(state: ZoneState, prior: FleetPrior, name: str, since: int) -> FleetStart:
    entity = describe(state.entities[name])
    kind = prior.kind(str(entity.kind), entity.subtype)
    limits = physical_limits(entity.kind, rated=1.0, readings=kind.held_out.measured)
    known = state.scaling or scaling_of_prior(prior, state.zone)
    assert entity.capacity is not None
    scaling = replace(known, power={**known.power, name: float(entity.capacity)})
    return FleetStart(name, kind, since, limits, scaling)


def _begin(state: ZoneState, prior: FleetPrior, start: FleetStart) -> None:
    models, zone, settings = state.models, state.zone, state.settings
    if models is None:
        state.models = start_models(zone, settings, prior, start, state.intervals)
    else:
        assert isinstance(models, AdaptiveModels)
        join_models(models, zone, prior, start, state.intervals)
        models.require_approval(start.name, required=settings.approval)
        for window in state.exclusions.get(start.name, []):
            models.forget([start.name], window.start, window.end)
    state.scaling = start.scaling


def scaling_of_prior(prior: FleetPrior, zone: Zone) -> Scaling:
    """The scaling of a zone without history: the usual range of each variable in the fleet.

    A variable that the prior does not know is not scaled; networks do not see it.
    """
    seen = seen_columns(prior.view, prior.columns, prior.ranges, prior.networks.windows)
    usual = {
        each.name: Extrema(each.mean - SPREAD * each.scale, each.mean + SPREAD * each.scale)
        for each in seen
    }
    unknown = Extrema(0.0, 1.0)
    found = {
        name: usual.get(name.rpartition(".")[2] if is_neighbour(name) else name, unknown)
        for name in zone.variables
    }
    return Scaling({zone.id: found}, {}, zone.timezone)


def _enter(state: ZoneState, name: str, since: int) -> None:
    """Give the entity a column, with the readings that have come already."""
    step = state.zone.step
    if state.rows is None:
        state.rows = Rows(step=step, start=since, columns=0)
    state.columns.append(name)
    state.fleet[name] = since
    state.rows.add_column()
    state.live.add_columns(1)
    state.leads.weeks.add_columns(1)
    watch_newcomer(state)
    times, values = sort_readings(state.waiting_readings(name), step=step, start=since, end=None)
    columns = np.full(len(times), len(state.columns) - 1, np.int64)
    state.rows.put(columns, times, values, lateness=state.settings.lateness)
