"""Identification and authorisation of every request, as two middlewares."""

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
    required_role,
)
from clearwatt.service.api.security.sessions import COOKIE, Sessions, is_same_origin
from clearwatt.service.store import StoreDamagedError, StoreUnavailableError

_UNSAFE = frozenset({"POST", "PUT", "PATCH", "DELETE"})


class CallerMiddleware:
    """Stores the caller in the scope's state; rejects nobody, so that rate limits come first."""

    def __init__(self, app: ASGIApp, *, book: TokenBook, sessions: Sessions) -> None:
        self.app, self.book, self.sessions = app, book, sessions

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Identify the caller and pass the request on."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        if self.book.is_stale:
            try:
                await to_thread.run_sync(self.book.refresh)
            except (StoreUnavailableError, StoreDamagedError) as error:
                answer = problem(503, str(error), headers={"Retry-After": str(RETRY_AFTER)})
                await answer(scope, receive, send)
                return
        scope.setdefault("state", {})["caller"] = self._caller(scope)
        await self.app(scope, receive, send)

    def _caller(self, scope: Scope) -> Caller:
        headers = Headers(scope=scope)
        token = bearer_token(headers)
        caller = self.book.caller(token) if token else self._session_caller(headers)
        client = scope.get("client")
        address = client[0] if client else "unknown"
        return caller or Caller(key=f"address {address}", name="local")

    def _session_caller(self, headers: Headers) -> Caller | None:
        cookie = cookie_parser(headers.get("cookie", "")).get(COOKIE)
        token = self.sessions.token(cookie, self.book.get) if cookie else None
        return None if token is None else Caller.of_token(token, session=True)


class RoleMiddleware:
    """Passes requests that the caller's role allows; all local ones while no token exists."""

    def __init__(self, app: ASGIApp, *, book: TokenBook, host: str) -> None:
        self.app, self.book, self.local = app, book, is_local(host)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on or reject it."""
        rejection = self._rejection(scope) if scope["type"] == "http" else None
        await (rejection or self.app)(scope, receive, send)

    def _rejection(self, scope: Scope) -> Response | None:
        needed = required_role(scope["method"], scope["path"])
        if needed is None:
            return None
        if self.book.is_open and self.local:
            return _reject_foreign_page(scope)
        caller: Caller = scope["state"]["caller"]
        if caller.role is None:
            return _ask_for_token(scope)
        if needed not in ALLOWS[caller.role]:
            return problem(
                403, f"this needs a token with the role {needed}; this one has {caller.role}"
            )
        if caller.session and scope["method"] in _UNSAFE:
            return _reject_foreign_origin(Headers(scope=scope))
        return None


def _ask_for_token(scope: Scope) -> Response:
    """Redirect a browser to the login page; answer a program with 401."""
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


def _reject_foreign_origin(headers: Headers) -> Response | None:
    """Reject a request that a page of another site sends with the user's session cookie."""
    if is_same_origin(headers):
        return None
    return problem(
        403, "only pages of this service may change anything with a session; programs send a token"
    )


def _reject_foreign_page(scope: Scope) -> Response | None:
    """Reject requests that a foreign page sends through a local browser, if no token exists.

    A page of another site can make a browser send requests here. With a host name of its own that
    resolves to this machine (DNS rebinding) it could even read the answers.
    """
    headers = Headers(scope=scope)
    host = _host_name(headers.get("host", ""))
    if not is_local(host):
        return problem(
            421, f"{host[:100]!r} is not a name of this machine; ask for 127.0.0.1 or use tokens"
        )
    if "origin" not in headers or scope["method"] not in _UNSAFE:
        return None
    if not is_same_origin(headers):
        return problem(403, "pages of other origins may not change anything here without a token")
    return None


def _host_name(header: str) -> str:
    """The host of a Host header without its port; empty if it cannot be parsed."""
    try:
        return urlsplit(f"//{header}").hostname or ""
    except ValueError:
        return ""
