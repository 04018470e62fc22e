"""The status of a zone, from its state."""

from __future__ import annotations

from clearwatt.service.learner.apply.zone_state import WHOLE_ZONE, ZoneState
from clearwatt.service.scaling import scaling_values
from clearwatt.service.status import (
    EntityPhase,
    EntityStatus,
    ReconstructionStatus,
    SuspicionStatus,
    ZonePhase,
    ZoneStatus,
)


def zone_status(state: ZoneState) -> ZoneStatus:
    """The status of a zone after the last entry applied."""
    rows, models = state.rows, state.models
    return ZoneStatus(
        zone=state.zone.id,
        position=state.position,
        generation=state.generation,
        state=_phase(state),
        until=None if rows is None else rows.next - rows.step,
        watermark=None if rows is None else rows.watermark,
        pending_rows=0 if rows is None else len(rows.open_times),
        steps=0 if models is None else models.steps,
        retained_bytes=0 if models is None else models.retained_bytes,
        scaling=None if state.scaling is None else scaling_values(state.scaling),
        columns=() if state.scaling is None else tuple(state.scaling.columns(state.zone.id)),
        settings=state.settings.plain(),
        encoder=state.deployed.get(f"autoencoder:{state.zone.id}"),
        reconstruction=_reconstruction(state),
        intervals=state.intervals.revision,
        deployed=None if models is None else models.revision,
        reporting_delay=state.reporting_delay,
        entities={name: _entity(state, name) for name in state.entities},
        removed=state.removed,
    )


def _phase(state: ZoneState) -> ZonePhase:
    if WHOLE_ZONE in state.held:
        return "held"
    if state.warming:
        return "warming up"
    return "waiting" if state.models is None else "learning"


def _learning_phase(state: ZoneState, name: str) -> EntityPhase:
    return "from the fleet" if name in state.fleet else "learning"


def _reconstruction(state: ZoneState) -> ReconstructionStatus | None:
    if state.models is None:
        return None
    return ReconstructionStatus(state.models.input_status(), state.live.reconstruction_day)


def _entity(state: ZoneState, name: str) -> EntityStatus:
    number = state.entities[name].number
    held = name in state.held or WHOLE_ZONE in state.held
    windows = state.excluded_windows(name)
    quarantined = len(state.quarantined.get(name, {}))
    received = sum(map(len, state.waiting.get(number, [])))
    if state.models is None or name not in state.columns:
        return EntityStatus(
            state="warming up" if name in state.warming else "waiting",
            held=held,
            exclusions=windows,
            quarantined=quarantined,
            received=received,
            number=number,
            reporting_delay=state.reporting_delay_of(name),
        )
    column, models = state.columns.index(name), state.models
    key, encoder = f"predictor:{name}", models.encoder_key(name)
    candidate = models.candidate(key)
    waits = None if candidate is None else f"{key}:{candidate}"
    return EntityStatus(
        state=_entity_phase(state, name, held=held, waits=waits is not None),
        predictor=state.deployed.get(key),
        encoder=None if encoder is None else state.deployed.get(encoder),
        candidate=waits,
        judged=int(state.live.judged[column]),
        live=state.live.errors_of(column),
        skill=state.live.skill_of(column),
        spark=state.live.days_of(column),
        interval=state.intervals.quality(column, state.power_size(name)),
        leads=state.leads.quality_of(column),
        size=state.entities[name].capacity or state.power_size(name),
        last_update=state.updated.get(key),
        component=models.entity_status(name, state.unit(name)),
        held=held,
        exclusions=windows,
        quarantined=quarantined,
        received=received,
        number=number,
        reporting_delay=state.reporting_delay_of(name),
        suspicion=_suspicion(state, name),
        standing_since=models.standing_since(name),
    )


def _entity_phase(state: ZoneState, name: str, *, held: bool, waits: bool) -> EntityPhase:
    if held:
        return "held"
    if name in state.suspicions:
        return "suspected"
    if waits:
        return "awaiting approval"
    still = state.models is not None and state.models.standing_since(name) is not None
    return "standing still" if still else _learning_phase(state, name)


def _suspicion(state: ZoneState, name: str) -> SuspicionStatus | None:
    found = state.suspicions.get(name)
    return None if found is None else SuspicionStatus(found.lie.label, found.since, found.reason)
