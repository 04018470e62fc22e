"""Model versions: list, look at, put into service, reject."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from clearwatt.service.api.commands import known_version, order_version
from clearwatt.service.api.context import By, Here
from clearwatt.service.api.routes.errors import documented
from clearwatt.service.api.schemas.base import Accepted, VersionId
from clearwatt.service.api.schemas.history import VersionAnswer, VersionPage, VersionQuery

router = APIRouter(tags=["models"])


@router.get("/v1/models", responses=documented())
def list_models(here: Here, asked: Annotated[VersionQuery, Query()]) -> VersionPage:
    """Versions, the newest first; an entity's include the shared ones of its zone."""
    found = here.store.versions(
        zone=asked.zone,
        entity=asked.entity,
        status=asked.status,
        limit=asked.limit,
        offset=asked.offset,
    )
    more = asked.offset + asked.limit if len(found) == asked.limit else None
    return VersionPage(models=[VersionAnswer.of(each) for each in found], next_offset=more)


@router.get("/v1/models/{version}", responses=documented(404))
def show_model(here: Here, version: VersionId) -> VersionAnswer:
    """One version."""
    return VersionAnswer.of(known_version(here, version))


@router.post("/v1/models/{version}/activate", status_code=202, responses=documented(404, 409, 507))
def activate_model(here: Here, by: By, version: VersionId) -> Accepted:
    """Put a version into service: a roll-back, or the approval of one that awaits it.

    Buffers and history are kept.
    """
    return order_version(here, by, "activate", version=version)


@router.post("/v1/models/{version}/reject", status_code=202, responses=documented(404, 409, 507))
def reject_model(here: Here, by: By, version: VersionId) -> Accepted:
    """Refuse a version that awaits approval; the one in service stays."""
    return order_version(here, by, "reject", version=version)
