"""Model versions: list, show, activate, reject."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from clearwatt.service.api.commands import command_version, find_version
from clearwatt.service.api.context import App, RequestCaller
from clearwatt.service.api.routes.errors import error_responses
from clearwatt.service.api.schemas.base import Accepted, VersionId
from clearwatt.service.api.schemas.history import VersionAnswer, VersionPage, VersionQuery

router = APIRouter(tags=["models"])


@router.get("/v1/models", responses=error_responses())
def list_models(app: App, query: Annotated[VersionQuery, Query()]) -> VersionPage:
    """Versions, newest first; those of an entity include the shared ones of its zone."""
    found = app.store.versions(
        zone=query.zone,
        entity=query.entity,
        status=query.status,
        limit=query.limit,
        offset=query.offset,
    )
    more = query.offset + query.limit if len(found) == query.limit else None
    return VersionPage(models=[VersionAnswer.of(each) for each in found], next_offset=more)


@router.get("/v1/models/{version}", responses=error_responses(404))
def show_model(app: App, version: VersionId) -> VersionAnswer:
    """One version."""
    return VersionAnswer.of(find_version(app, version))


@router.post(
    "/v1/models/{version}/activate", status_code=202, responses=error_responses(404, 409, 507)
)
def activate_model(app: App, caller: RequestCaller, version: VersionId) -> Accepted:
    """Deploy a version: a roll-back, or the approval of a candidate.

    Buffers and history stay.
    """
    return command_version(app, caller, "activate", version=version)


@router.post(
    "/v1/models/{version}/reject", status_code=202, responses=error_responses(404, 409, 507)
)
def reject_model(app: App, caller: RequestCaller, version: VersionId) -> Accepted:
    """Reject a version that awaits approval; the deployed one stays."""
    return command_version(app, caller, "reject", version=version)
