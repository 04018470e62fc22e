"""Errors as the API tells them: a code, a sentence with the remedy, details; never a traceback."""

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
from clearwatt.service.registry import UnknownIdError
from clearwatt.service.store import ConflictError, StoreFullError, StoreUnavailableError

log = logging.getLogger(__name__)

MOST_DETAILS = 100
"""Details an answer lists; the message says how many there are."""
RETRY_AFTER = 5
"""Seconds after which a store that was away or full is worth another try."""

CODES: Mapping[int, str] = {
    400: "bad_request",
    401: "unauthorized",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    409: "conflict",
    413: "too_large",
    421: "misdirected",
    422: "invalid",
    429: "rate_limited",
    500: "internal",
    503: "unavailable",
    507: "store_full",
}
"""The code of each status the API answers errors with."""

_REASONS = {
    "extra_forbidden": "this field is unknown; leave it out or correct its name",
    "missing": "this field is missing",
    "finite_number": "NaN and infinities are no numbers here; send null where there is no value",
}


class RefusedItemsError(DataError):
    """A batch with items that cannot be taken; each detail names one and says why."""

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
    """An answer that says what is wrong."""
    error = {"code": CODES[status], "message": message, "details": list(details)}
    return JSONResponse({"error": error}, status_code=status, headers=headers)


def add_problem_handlers(app: FastAPI) -> None:
    """Have an app tell its errors this way."""
    app.add_exception_handler(ClearwattError, _refusal)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)


def status_of(error: ClearwattError) -> int:
    """The HTTP status of an error that was raised on purpose."""
    statuses: dict[type[ClearwattError], int] = {
        UnknownIdError: 404,
        ConflictError: 409,
        DataError: 422,
        ConfigurationError: 422,
        StoreFullError: 507,
        StoreUnavailableError: 503,
    }
    return next((status for kind, status in statuses.items() if isinstance(error, kind)), 500)


def describe_errors(errors: Sequence[Any], *, skip: int = 1) -> list[dict[str, str]]:
    """What pydantic found, each with where and why; ``skip`` leaves out outer names of where."""
    return [
        {"where": ".".join(map(str, error["loc"][skip:])) or "body", "reason": reason(error)}
        for error in errors[:MOST_DETAILS]
    ]


class UnexpectedErrorMiddleware:
    """Turns what nobody foresaw into a 500 with a reference that is in the log."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on and catch."""
        started = False

        async def watched(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            await self.app(scope, receive, watched)
        except Exception as error:
            answer = unexpected_problem(error, scope.get("path", ""))
            if not started:
                await answer(scope, receive, send)


def unexpected_problem(error: Exception, path: str) -> JSONResponse:
    """Log an unforeseen error, by places in the code and without values, and answer with a 500."""
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
    if status == 405 and (allowed := _allowed(request)):
        headers["Allow"] = ", ".join(allowed)
    messages = {
        400: "the body cannot be read; send JSON in UTF-8",
        404: "there is nothing at this address; /openapi.json lists what there is",
        405: "this address does not take this method; /openapi.json lists what it takes",
    }
    known = status if status in CODES else 400
    return problem(known, messages.get(status, "the request cannot be answered"), headers=headers)


def _allowed(request: Request) -> list[str]:
    """The methods an address takes; the framework names those of one route only."""
    paths: dict[str, dict[str, Any]] = request.app.openapi()["paths"]
    fitting = [methods for path, methods in paths.items() if _fits(path, request.url.path)]
    return sorted({method.upper() for methods in fitting for method in methods})


def _fits(template: str, path: str) -> bool:
    return compile_path(template)[0].match(path) is not None


def reason(error: Mapping[str, Any]) -> str:
    """One sentence; what was given is cut short and has no characters that cannot be shown."""
    kind, message = str(error["type"]), str(error["msg"]).removeprefix("Value error, ")
    if kind in _REASONS:
        return _REASONS[kind]
    if kind == "json_invalid":
        return f"the body is not JSON: {error['ctx']['error']}"
    given = error.get("input")
    if kind == "value_error" or not isinstance(given, str | int | float | None):
        return message
    shown = ascii(given[:60] if isinstance(given, str) else given)
    return f"{message} (given {shown})"
