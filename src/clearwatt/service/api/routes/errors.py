"""Error answers in the description of routes."""

from __future__ import annotations

from typing import Any

from clearwatt.service.api.schemas.base import ProblemAnswer

_WORDS = {
    400: "The body cannot be read",
    401: "A valid token is needed",
    403: "The token's role does not allow this",
    404: "There is no such id",
    409: "It conflicts with what is stored",
    408: "The body did not arrive in time",
    413: "The body is too large",
    421: "The request names another host and has no token",
    422: "Something in the request is not valid; nothing was done",
    429: "Too many requests; wait for Retry-After seconds",
    500: "A fault of the service; the log has its reference",
    503: "The store does not answer; wait for Retry-After seconds",
    507: "The disk is full; nothing was written",
}
ALWAYS = (400, 401, 403, 408, 413, 421, 422, 429, 500, 503)

Responses = dict[int | str, dict[str, Any]]


def error_responses(*also: int) -> Responses:
    """Error responses of a route: the common ones and ``also``."""
    return {
        status: {"model": ProblemAnswer, "description": _WORDS[status]}
        for status in sorted({*ALWAYS, *also})
    }
