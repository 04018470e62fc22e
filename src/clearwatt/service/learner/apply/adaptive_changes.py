"""Events of an adaptive forecaster as changes of a zone's models."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from clearwatt.adaptive import NetworkUpdate, PastLeftOut, PastRescaled, Standstill, TrustShift
from clearwatt.adaptive.events import NetworkChange
from clearwatt.service.learner.apply.forecaster_models import change_kind
from clearwatt.service.learner.apply.zone_models import ModelChange, PowerUnit, TrainedVersion
from clearwatt.service.times import text as written


def model_change(
    change: NetworkChange, version: TrainedVersion | None, *, step: int, unit: PowerUnit
) -> ModelChange:
    """The change that an event of the forecaster is, in the unit and times of the zone.

    Args:
        change: What the forecaster reports.
        version: Its new version as it is stored, if there is one.
        step: Seconds per step of the zone.
        unit: Unit of the entity's power.
    """

    def moment(at: int) -> str:
        return written(at * step)

    event = change.event
    name = str(event.entity)
    key, time = f"predictor:{name}", (event.step - 1) * step
    if isinstance(event, TrustShift):
        identity = f"trust:{key}:{event.step}"
        return ModelChange("trust", identity, key, name, time, event.explain(moment), asdict(event))
    if isinstance(event, Standstill):
        identity, message = f"standstill:{key}:{event.step}", event.explain(moment)
        details = {**asdict(event), "since": event.since * step}
        return ModelChange("standstill", identity, key, name, time, message, details)
    if isinstance(event, NetworkUpdate):
        scaled = event.in_unit(unit.size)
        return ModelChange(
            kind=change_kind(change.version, accepted=event.accepted),
            identity=f"update:{key}:{event.number}",
            key=key,
            entity=name,
            time=time,
            message=scaled.explain(unit.name, moment),
            details=_update_details(scaled),
            version=version,
        )
    if isinstance(event, PastRescaled | PastLeftOut):
        past = event.in_unit(unit.size)
        return ModelChange(
            kind="change" if event.accepted else "awaiting",
            identity=f"change:{key}:{event.number}",
            key=key,
            entity=name,
            time=time,
            message=past.explain(unit.name, moment),
            details={**asdict(past), "since": event.since * step},
            version=version,
        )
    raise TypeError(f"{type(event).__name__} is no change of models in service")


def _update_details(event: NetworkUpdate) -> dict[str, Any]:
    """An update as the events of other forecasters have it, and what it has besides."""
    renamed = {
        f"{new}_error_{when}": f"{old}_error_{when}"
        for new, old in (("novelty", "novel"), ("familiarity", "familiar"))
        for when in ("before", "after")
    }
    values = asdict(event)
    own = {name: value for name, value in values.items() if name not in renamed.values()}
    return {
        **own,
        "component": "predictor",
        "familiar": event.samples - event.novel,
        **{new: values[old] for new, old in renamed.items()},
    }
