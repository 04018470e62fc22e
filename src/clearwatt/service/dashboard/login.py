"""Login and logout: a form that exchanges a token for a session."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import parse_qs

from anyio import to_thread
from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import RedirectResponse

from clearwatt.service.api.context import App, AppContext
from clearwatt.service.api.problems import problem
from clearwatt.service.api.security.sessions import (
    COOKIE,
    SESSION_SECONDS,
    is_same_origin,
    local_path,
)
from clearwatt.service.dashboard.rendering import page, viewer
from clearwatt.service.records import Token

router = APIRouter(include_in_schema=False)

LONGEST_FORM = 10_000
"""Maximum bytes of the form."""
_FOREIGN = "log in and out on the pages of this service only; open /login and try again"


@router.get("/login")
def show_login(request: Request, wanted: Annotated[str, Query(alias="next")] = "/") -> Response:
    """The login form; a viewer who is logged in is redirected."""
    if viewer(request).role is not None:
        return RedirectResponse(local_path(wanted), status_code=303)
    return page(request, "login.html", {"next": local_path(wanted), "refused": False})


@router.post("/login")
async def log_in(app: App, request: Request) -> Response:
    """Check a token; redirect with a session cookie or show the form again."""
    if not is_same_origin(request.headers):
        return problem(403, _FOREIGN)
    body = await request.body()
    if len(body) > LONGEST_FORM:
        return problem(413, f"the form has more than {LONGEST_FORM} bytes; enter a token")
    form = parse_qs(body.decode("utf-8", "replace"))
    wanted = local_path(form.get("next", ["/"])[0])
    token = await to_thread.run_sync(_find_token, app, form.get("token", [""])[0].strip())
    if token is None:
        return page(request, "login.html", {"next": wanted, "refused": True}, status=401)
    answer = RedirectResponse(wanted, status_code=303)
    _set(answer, request, app.sessions.new_cookie(token), SESSION_SECONDS)
    return answer


@router.post("/logout")
def log_out(request: Request) -> Response:
    """Delete the session cookie."""
    if not is_same_origin(request.headers):
        return problem(403, _FOREIGN)
    answer = RedirectResponse("/login", status_code=303)
    _set(answer, request, "", 0)
    return answer


def _find_token(app: AppContext, text: str) -> Token | None:
    """The token with this text; reads the tokens again, so that a new one works at once."""
    found = app.tokens.token(text)
    if found is None:
        app.tokens.refresh()
        found = app.tokens.token(text)
    return found


def _set(answer: Response, request: Request, value: str, seconds: int) -> None:
    # The service speaks plain HTTP; only the browser knows whether a proxy adds TLS.
    secure = request.headers.get("origin", "").startswith("https://")
    answer.set_cookie(
        COOKIE, value, max_age=seconds, path="/", httponly=True, samesite="strict", secure=secure
    )
