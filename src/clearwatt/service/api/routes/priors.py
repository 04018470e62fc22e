"""Fleet priors: what entities without history start from."""

from __future__ import annotations

from fastapi import APIRouter

from clearwatt.service.api.context import App, RequestCaller
from clearwatt.service.api.routes.errors import error_responses
from clearwatt.service.api.schemas.priors import (
    NewPrior,
    PriorAnswer,
    PriorContent,
    PriorDigest,
    PriorList,
)
from clearwatt.service.priors import add_prior
from clearwatt.service.registry import UnknownIdError

router = APIRouter(tags=["priors"])


@router.get("/v1/priors", responses=error_responses())
def list_priors(app: App) -> PriorList:
    """All fleet priors, the newest first."""
    return PriorList(priors=[PriorAnswer.of(each) for each in app.priors.all()])


@router.get("/v1/priors/{digest}", responses=error_responses(404))
def export_prior(app: App, digest: PriorDigest) -> PriorContent:
    """One prior with its content, to be imported elsewhere."""
    found = next((each for each in app.priors.all() if each.version.digest == digest), None)
    content = None if found is None else app.store.prior(digest)
    if found is None or content is None:
        raise UnknownIdError(f"prior {digest} is unknown; GET /v1/priors lists those there are")
    return PriorContent.with_content(found, content)


@router.post("/v1/priors", status_code=201, responses=error_responses(507))
def import_prior(app: App, caller: RequestCaller, new: NewPrior) -> PriorAnswer:
    """Store a prior, from which entities without history start; repeating it changes nothing."""
    stored = add_prior(app.store, new.decoded, origin="imported", actor=caller.name, at=app.clock())
    return PriorAnswer.of(stored)
