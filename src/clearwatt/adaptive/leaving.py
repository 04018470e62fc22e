"""An entity leaves an adaptive forecaster; those of the others stay bit by bit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from clearwatt.adaptive.recent import RecentRows
from clearwatt.adaptive.state import LearnerState
from clearwatt.adaptive.unlearned import UnlearnedForecasts

_WIDE = ("lagged", "slow", "power", "measured", "learned", "novel")
"""Columns of recent rows that have a place for each entity."""


def leave_entity(state: LearnerState, place: int) -> LearnerState:
    """The state without the entity at a place; its measurements and networks are gone."""
    stay = [other for other in range(len(state.names)) if other != place]
    name = state.names[place]
    reservoir, trust = state.reservoir, state.trust
    return state._replace(
        names=tuple(state.names[other] for other in stay),
        power=state.power.select(stay),
        recent=_without(state.recent, stay),
        unlearned=_without_forecasts(state.unlearned, place),
        reservoir=replace(
            reservoir,
            lagged=reservoir.lagged[:, stay],
            y=reservoir.y[:, stay],
            novel=reservoir.novel[:, stay],
        ),
        corrections=replace(
            state.corrections,
            moments=state.corrections.moments[:, stay],
            products=state.corrections.products[:, stay],
        ),
        trust=replace(
            trust,
            products=trust.products[stay],
            weights=trust.weights[stay],
            samples=trust.samples[stay],
        ),
        leads=state.leads.select(stay),
        limits=state.limits.select(stay),
        jumps=state.jumps[stay],
        progress=state.progress.select(stay),
        past=tuple(experts.select(stay) for experts in state.past),
        candidates=tuple(each for each in state.candidates if each.entity != name),
        watch=state.watch.select(stay),
        earlier=None,
        first_steps=tuple(each for each in state.first_steps if each.entity != name),
    )


def _without(recent: RecentRows, stay: Sequence[int]) -> RecentRows:
    return recent._replace(**{name: getattr(recent, name)[:, list(stay)] for name in _WIDE})


def _without_forecasts(unlearned: UnlearnedForecasts, place: int) -> UnlearnedForecasts:
    kept = UnlearnedForecasts._make(column[unlearned.place != place] for column in unlearned)
    return kept._replace(place=np.where(kept.place > place, kept.place - 1, kept.place))
