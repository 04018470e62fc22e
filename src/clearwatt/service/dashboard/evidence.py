"""Evidence on a version of a model as a page, and as a part of other pages."""

from __future__ import annotations

from typing import Any

import numpy as np
from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from clearwatt.service.api.commands import find_version
from clearwatt.service.api.context import App, AppContext
from clearwatt.service.api.schemas.base import Id, VersionId
from clearwatt.service.dashboard.drawing import day_picture
from clearwatt.service.dashboard.rendering import page
from clearwatt.service.forecasting.library import Versions
from clearwatt.service.records import RegisteredEntity, ServiceEvent
from clearwatt.service.registry import UnknownIdError
from clearwatt.service.times import text
from clearwatt.service.views.evidence import Evidence, VersionPair, find_evidence
from clearwatt.service.views.versions_in_service import versions_before, with_version

router = APIRouter(include_in_schema=False)

ALIKE = 0.005
"""Mean difference, as a share of the day's largest power, that is called about the same."""
COMPARED = frozenset({"update", "awaiting", "refused", "activate"})
"""Kinds of events that have a version before and, mostly, one after."""


@router.get("/entities/{entity}/versions/{version}")
def show_version(app: App, request: Request, entity: Id, version: VersionId) -> HTMLResponse:
    """The page of a version of an entity's model, compared with the one in service."""
    record, found = app.registry.entity(entity), find_version(app, version)
    if found.zone != record.zone or found.entity not in (None, record.id):
        raise UnknownIdError(f"{version} is no model of {record.id}; its page lists its models")
    context = {
        "entity": record,
        "version": found,
        "in_service": in_service(app, record),
        "whole": found.entity is None,
        **version_evidence(app, record, version),
    }
    return page(request, "version.html", context)


def in_service(app: AppContext, entity: RegisteredEntity) -> Versions | None:
    """The versions that forecasts of an entity are made with now; None: a fallback answers.

    What the learner has committed is loaded first, so that a page that hears of a commit before
    the forecasts do does not name the version before.
    """
    committed = app.store.positions().get(entity.zone)
    if committed is not None:
        app.forecaster.reload(entity.zone, generation=committed[1])
    deployed = app.forecaster.deployed(entity.zone)
    return deployed.versions(entity.id) if deployed.is_current(entity) else None


def version_evidence(app: AppContext, entity: RegisteredEntity, version: str) -> dict[str, Any]:
    """Evidence on a version against those in service, as variables of a template."""
    current, newest = in_service(app, entity), app.store.span(entity.number)
    if current is None or newest is None:
        return _variables(None, entity, ("", ""))
    pair = VersionPair(current, with_version(current, version))
    moment = newest[1] + app.registry.zone(entity.zone).step
    return _compare(app, entity, pair, moment, ("the model in service", version))


def event_evidence(
    app: AppContext, entity: RegisteredEntity, event: ServiceEvent
) -> dict[str, Any]:
    """Evidence on what an event changed, as variables of a template."""
    current, step = in_service(app, entity), app.registry.zone(entity.zone).step
    before, after = event.details.get("before"), event.details.get("after")
    if event.kind not in COMPARED or current is None or before is None or event.time is None:
        return _variables(None, entity, ("", ""))
    base = with_version(versions_before(app.store, entity, event.seq, current), before)
    pair = VersionPair(base, None if after is None else with_version(base, after))
    names = ("the model before", "the new model")
    return _compare(app, entity, pair, event.time + step, names)


def _compare(
    app: AppContext,
    entity: RegisteredEntity,
    pair: VersionPair,
    moment: int,
    names: tuple[str, str],
) -> dict[str, Any]:
    zone = app.registry.zone(entity.zone)
    found = find_evidence(app.store, app.forecaster, pair, entity=entity, zone=zone, moment=moment)
    return _variables(found, entity, names)


def _variables(
    evidence: Evidence | None, entity: RegisteredEntity, names: tuple[str, str]
) -> dict[str, Any]:
    day = None if evidence is None else evidence.day
    change = None if day is None else float(day.differences.mean())
    return {
        "evidence": evidence,
        "names": names,
        "picture": None if day is None else day_picture(day, entity.unit, names),
        "change": change,
        "alike": day is not None and abs(change or 0.0) < ALIKE * np.nanmax(np.abs(day.before)),
        "day_start": None if day is None else text(int(day.times[0])),
    }
