"""Error answers of the API: a code, a message with a remedy, details; no traceback."""

from __future__ import annotations

import logging
import secrets
import traceback
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.routing import compile_path
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from clearwatt.errors import ClearwattError, ConfigurationError, DataError
from clearwatt.service.api.schemas.base import (
    ID_PATTERN,
    ID_RULE,
    VERSION_PATTERN,
    VERSION_RULE,
)
from clearwatt.service.registry import UnknownIdError
from clearwatt.service.store import (
    ConflictError,
    StoreDamagedError,
    StoreFullError,
    StoreUnavailableError,
)

log = logging.getLogger(__name__)

MOST_DETAILS = 100
"""Maximum number of details in an answer; the message gives the total."""
LONGEST_NAME, MOST_NAMES = 100, 20
"""Characters of a field's name and depth of fields that an answer repeats."""
RETRY_AFTER = 5
"""Seconds to wait before a retry when the store is unavailable or full."""

CODES: Mapping[int, str] = {
    400: "bad_request",
    401: "unauthorized",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    408: "too_slow",
    409: "conflict",
    413: "too_large",
    421: "misdirected",
    422: "invalid",
    429: "rate_limited",
    500: "internal",
    503: "unavailable",
    507: "store_full",
}
"""Error code of each HTTP status."""

_REASONS = {
    "extra_forbidden": "this field is unknown; leave it out or correct its name",
    "missing": "this field is missing",
    "finite_number": "NaN and infinities are no numbers here; send null where there is no value",
}
_PATTERNS = {ID_PATTERN: ID_RULE, VERSION_PATTERN: VERSION_RULE}
"""In words what a pattern permits."""


class RefusedItemsError(DataError):
    """A batch with invalid items; each detail names an item and the reason."""

    def __init__(self, message: str, details: Sequence[Mapping[str, Any]]) -> None:
        super().__init__(message)
        self.details = details


def problem(
    status: int,
    message: str,
    *,
    details: Iterable[Any] = (),
    headers: Mapping[str, str] | None = None,
) -> JSONResponse:
    """An error answer."""
    error = {"code": CODES[status], "message": message, "details": list(details)}
    return JSONResponse({"error": error}, status_code=status, headers=headers)


def add_problem_handlers(app: FastAPI) -> None:
    """Install the handlers that turn exceptions into error answers."""
    app.add_exception_handler(ClearwattError, _refusal)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)


def status_of(error: ClearwattError) -> int:
    """HTTP status of one of our own errors."""
    statuses: dict[type[ClearwattError], int] = {
        UnknownIdError: 404,
        ConflictError: 409,
        DataError: 422,
        ConfigurationError: 422,
        StoreFullError: 507,
        StoreUnavailableError: 503,
        StoreDamagedError: 503,
    }
    return next((status for kind, status in statuses.items() if isinstance(error, kind)), 500)


def describe_errors(errors: Sequence[Any], *, skip: int = 1) -> list[dict[str, str]]:
    """Place and reason of each pydantic error; ``skip`` drops that many outer names."""
    return [
        {"where": _place(error["loc"][skip:]) or "body", "reason": reason(error)}
        for error in errors[:MOST_DETAILS]
    ]


def _place(names: Sequence[object]) -> str:
    """The place of an error; names of fields are the caller's, and may be long."""
    return ".".join(str(name)[:LONGEST_NAME] for name in names[:MOST_NAMES])


class UnexpectedErrorMiddleware:
    """Turns an unexpected exception into a 500 with a reference to the log."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on and catch exceptions."""
        started = False

        async def send_and_note(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            await self.app(scope, receive, send_and_note)
        except Exception as error:
            answer = unexpected_problem(error, scope.get("path", ""))
            if not started:
                await answer(scope, receive, send)


def unexpected_problem(error: Exception, path: str) -> JSONResponse:
    """Log an unexpected error, with places in the code but no values; returns a 500."""
    reference = secrets.token_hex(6)
    frames = traceback.extract_tb(error.__traceback__)
    places = [f"{Path(frame.filename).name}:{frame.lineno} {frame.name}" for frame in frames[-12:]]
    fields = {"reference": reference, "path": path, "error": type(error).__name__, "at": places}
    log.error("unexpected error", extra=fields)
    return problem(
        500, f"something went wrong here, not with the request; the log has it as {reference}"
    )


async def _refusal(request: Request, error: Exception) -> JSONResponse:
    if not isinstance(error, ClearwattError) or (status := status_of(error)) == 500:
        return unexpected_problem(error, request.url.path)
    headers = {"Retry-After": str(RETRY_AFTER)} if status in (503, 507) else None
    details = error.details if isinstance(error, RefusedItemsError) else ()
    return problem(status, str(error), details=details, headers=headers)


async def _invalid(_: Request, error: Exception) -> JSONResponse:
    found = error.errors() if isinstance(error, RequestValidationError) else ()
    details = describe_errors(found)
    count = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
    return problem(422, f"{details[0]['where']}: {details[0]['reason']}{count}", details=details)


async def _http(request: Request, error: Exception) -> JSONResponse:
    status = error.status_code if isinstance(error, HTTPException) else 500
    headers = dict(error.headers or {}) if isinstance(error, HTTPException) else {}
    if status == 405 and (allowed := _allowed_methods(request)):
        headers["Allow"] = ", ".join(allowed)
    messages = {
        400: "the body cannot be read; send JSON in UTF-8",
        404: "there is nothing at this address; /openapi.json lists what there is",
        405: "this address does not take this method; /openapi.json lists what it takes",
    }
    known = status if status in CODES else 400
    return problem(known, messages.get(status, "the request cannot be answered"), headers=headers)


def _allowed_methods(request: Request) -> list[str]:
    """All methods of an address; the framework lists those of one route only."""
    paths: dict[str, dict[str, Any]] = request.app.openapi()["paths"]
    fitting = [methods for path, methods in paths.items() if _fits(path, request.url.path)]
    return sorted({method.upper() for methods in fitting for method in methods})


def _fits(template: str, path: str) -> bool:
    return compile_path(template)[0].match(path) is not None


def reason(error: Mapping[str, Any]) -> str:
    """One sentence on a pydantic error; the input is shortened and escaped."""
    kind, message = str(error["type"]), str(error["msg"]).removeprefix("Value error, ")
    if kind in _REASONS:
        return _REASONS[kind]
    if kind == "json_invalid":
        return f"the body is not JSON: {error['ctx']['error']}"
    given = error.get("input")
    if kind == "string_pattern_mismatch":
        message = _PATTERNS.get(error["ctx"]["pattern"], message)
    if kind == "value_error" or not isinstance(given, str | int | float | None):
        return message
    shown = ascii(given[:60] if isinstance(given, str) else given)
    return f"{message} (given {shown})"
