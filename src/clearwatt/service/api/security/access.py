"""Who is asking, and whether they may: two steps around every request."""

from __future__ import annotations

from urllib.parse import quote, urlsplit

from anyio import to_thread
from starlette.datastructures import Headers
from starlette.requests import cookie_parser
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from clearwatt.service.api.problems import RETRY_AFTER, problem
from clearwatt.service.api.security.auth import (
    ALLOWS,
    Caller,
    TokenBook,
    bearer_token,
    is_local,
    role_needed,
)
from clearwatt.service.api.security.sessions import COOKIE, Sessions, is_same_origin
from clearwatt.service.store import StoreUnavailableError

_UNSAFE = frozenset({"POST", "PUT", "PATCH", "DELETE"})


class CallerMiddleware:
    """Notes in the scope's state who is asking; it refuses nobody, so that limits come first."""

    def __init__(self, app: ASGIApp, *, book: TokenBook, sessions: Sessions) -> None:
        self.app, self.book, self.sessions = app, book, sessions

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on with its caller."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        if self.book.stale:
            try:
                await to_thread.run_sync(self.book.refresh)
            except StoreUnavailableError as error:
                answer = problem(503, str(error), headers={"Retry-After": str(RETRY_AFTER)})
                await answer(scope, receive, send)
                return
        scope.setdefault("state", {})["caller"] = self._caller(scope)
        await self.app(scope, receive, send)

    def _caller(self, scope: Scope) -> Caller:
        headers = Headers(scope=scope)
        token = bearer_token(headers)
        known = self.book.caller(token) if token else self._logged_in(headers)
        client = scope.get("client")
        address = client[0] if client else "unknown"
        return known or Caller(key=f"address {address}", name="local")

    def _logged_in(self, headers: Headers) -> Caller | None:
        cookie = cookie_parser(headers.get("cookie", "")).get(COOKIE)
        token = self.sessions.token(cookie, self.book.get) if cookie else None
        return None if token is None else Caller.of_token(token, session=True)


class RoleMiddleware:
    """Lets through what the caller's role allows; everything while no token exists, locally."""

    def __init__(self, app: ASGIApp, *, book: TokenBook, host: str) -> None:
        self.app, self.book, self.local = app, book, is_local(host)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on or refuse it."""
        refusal = self._refusal(scope) if scope["type"] == "http" else None
        await (refusal or self.app)(scope, receive, send)

    def _refusal(self, scope: Scope) -> Response | None:
        needed = role_needed(scope["method"], scope["path"])
        if needed is None:
            return None
        if self.book.open and self.local:
            return _from_elsewhere(scope)
        caller: Caller = scope["state"]["caller"]
        if caller.role is None:
            return _unknown(scope)
        if needed not in ALLOWS[caller.role]:
            return problem(
                403, f"this needs a token with the role {needed}; this one has {caller.role}"
            )
        if caller.session and scope["method"] in _UNSAFE:
            return _forged(Headers(scope=scope))
        return None


def _unknown(scope: Scope) -> Response:
    """Send a person who opens a page to log in; tell a program that it needs a token."""
    if scope["method"] == "GET" and "text/html" in Headers(scope=scope).get("accept", ""):
        query, path = scope["query_string"].decode("latin-1"), quote(scope["path"])
        wanted = f"{path}?{query}" if query else path
        return RedirectResponse(f"/login?next={quote(wanted, safe='')}", status_code=303)
    return problem(
        401,
        "a valid token is needed; send 'Authorization: Bearer cw_…' (create one with "
        "'clearwatt token create')",
        headers={"WWW-Authenticate": 'Bearer realm="clearwatt"'},
    )


def _forged(headers: Headers) -> Response | None:
    """Refuse what a page of another site makes the browser of somebody logged in send."""
    if is_same_origin(headers):
        return None
    return problem(
        403, "only pages of this service may change anything with a session; programs send a token"
    )


def _from_elsewhere(scope: Scope) -> Response | None:
    """Refuse what a web page makes a browser on this machine send, where no token protects.

    A page of another site can make a browser send requests here, and by a name of its own that
    leads to this machine it could even read the answers.
    """
    headers = Headers(scope=scope)
    host = urlsplit(f"//{headers.get('host', '')}").hostname or ""
    if not is_local(host):
        return problem(
            421, f"{host[:100]!r} is not a name of this machine; ask for 127.0.0.1 or use tokens"
        )
    if "origin" not in headers or scope["method"] not in _UNSAFE:
        return None
    if not is_same_origin(headers):
        return problem(403, "pages of other origins may not change anything here without a token")
    return None
