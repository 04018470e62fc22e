"""Where a zone stands, as JSON values: all that forecasts, metrics and pages need to know."""

from __future__ import annotations

import math
from typing import Any

from clearwatt.clear.component import Component
from clearwatt.service.folding.zone_state import WHOLE_ZONE, ZoneState, scaling_values

Content = dict[str, Any]


def status_content(state: ZoneState) -> Content:
    """The content of a zone's status; docs/service.md describes every key."""
    rows, instance = state.rows, state.instance
    return {
        "state": _zone_state(state),
        "until": None if rows is None else rows.next - rows.step,
        "watermark": None if rows is None else rows.watermark,
        "pending_rows": 0 if rows is None else len(rows.open_times),
        "steps": 0 if instance is None else instance.step,
        "retained_bytes": 0 if instance is None else instance.retained_bytes,
        "scaling": None if state.scaling is None else scaling_values(state.scaling),
        "columns": [] if state.scaling is None else list(state.scaling.columns(state.zone.id)),
        "settings": state.settings.plain(),
        "encoder": state.deployed.get(f"autoencoder:{state.zone.id}"),
        "reconstruction": _reconstruction(state),
        "intervals": state.intervals.revision,
        "entities": {name: _entity(state, name) for name in state.entities},
    }


def _zone_state(state: ZoneState) -> str:
    if WHOLE_ZONE in state.held:
        return "held"
    if state.warming:
        return "warming up"
    return "waiting" if state.instance is None else "learning"


def _reconstruction(state: ZoneState) -> Content | None:
    if state.instance is None:
        return None
    shared = state.instance.autoencoders[0]
    return {**_component(shared, 1.0), "error_day": state.live.reconstruction_day}


def _component(component: Component, size: float) -> Content:
    threshold = component.threshold * size
    return {
        "threshold": threshold if math.isfinite(threshold) else None,
        "novel": len(component.novelty),
        "familiar": component.familiarity.seen,
        "capacity": component.settings.novelty_capacity,
        "updates": component.updates,
        "approval": component.approval,
    }


def _entity(state: ZoneState, name: str) -> Content:
    held = name in state.held or WHOLE_ZONE in state.held
    windows = [*state.exclusions.get(name, []), *state.exclusions.get(WHOLE_ZONE, [])]
    common = {
        "held": held,
        "exclusions": [list(window) for window in windows],
        "quarantined": len(state.quarantined.get(name, {})),
        "received": sum(map(len, state.waiting.get(state.entities[name].number, []))),
    }
    if state.instance is None or name not in state.columns:
        begun = name in state.warming
        return {"state": "warming up" if begun else "waiting", "predictor": None, **common}
    column = state.columns.index(name)
    predictor = state.instance.predictors[column]
    encoder = state.key(state.instance.autoencoder_of(column))
    key = state.key(predictor)
    candidate = predictor.candidate
    waits = None if candidate is None else f"{key}:{candidate.number}"
    return {
        "state": "held" if held else ("awaiting approval" if waits else "learning"),
        "predictor": state.deployed.get(key),
        "encoder": state.deployed.get(encoder),
        "candidate": waits,
        "judged": int(state.live.judged[column]),
        "live": state.live.errors_of(column),
        "spark": state.live.days_of(column),
        "interval": state.intervals.standing(column, state.power_size(name)),
        "last_update": state.updated.get(key),
        **_component(predictor, state.power_size(name)),
        **common,
    }
