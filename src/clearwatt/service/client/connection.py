"""HTTP connection to the service that retries temporary failures."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, NamedTuple

from clearwatt.errors import ClearwattError, ConfigurationError, MissingExtraError

if TYPE_CHECKING:
    import httpx

JsonObject = dict[str, Any]
QueryValues = Mapping[str, str | int | float | list[str] | None]
RetryCallback = Callable[[ClearwattError, float], None]
"""Called with the error and the seconds until the next try."""

TEMPORARY = frozenset(
    {
        HTTPStatus.TOO_MANY_REQUESTS,
        HTTPStatus.BAD_GATEWAY,
        HTTPStatus.SERVICE_UNAVAILABLE,
        HTTPStatus.GATEWAY_TIMEOUT,
        HTTPStatus.INSUFFICIENT_STORAGE,
    }
)
"""Statuses worth a retry; every call of the API may be repeated safely."""
FIRST_WAIT, LONGEST_WAIT = 0.2, 5.0
LONGEST_RETRY_AFTER = 60.0
LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})


class ServiceError(ClearwattError):
    """An error answer: HTTP ``status``, the service's error ``code`` and ``details``."""

    def __init__(
        self, message: str, *, status: int, code: str = "unknown", details: object = None
    ) -> None:
        super().__init__(message)
        self.status, self.code, self.details = status, code, details


class ServiceUnreachableError(ClearwattError):
    """No service answers at the address."""


class _TemporaryFailure(NamedTuple):
    """A failure worth a retry after at least ``pause`` seconds."""

    error: ClearwattError
    pause: float


class Connection:
    """Sends requests to one service and returns its answers as JSON values."""

    def __init__(
        self,
        url: str,
        token: str | None,
        *,
        timeout: float,
        patience: float | None,
        on_retry: RetryCallback | None,
        sleep: Callable[[float], None],
    ) -> None:
        self.url = url.rstrip("/")
        self._patience, self._on_retry, self._sleep = patience, on_retry, sleep
        self._http = _http_client(self.url, token, timeout)

    def close(self) -> None:
        """Close the connection."""
        self._http.close()

    def get(self, path: str, query: QueryValues | None = None) -> JsonObject:
        """GET a path; parameters that are None are left out."""
        return self._call("GET", path, query=query)

    def post(self, path: str, content: Mapping[str, Any] | None = None) -> JsonObject:
        """POST a JSON object."""
        return self._call("POST", path, content=content)

    def put(self, path: str, content: Mapping[str, Any]) -> JsonObject:
        """PUT a JSON object."""
        return self._call("PUT", path, content=content)

    def delete(self, path: str) -> JsonObject:
        """DELETE a path."""
        return self._call("DELETE", path)

    def _call(
        self,
        method: str,
        path: str,
        *,
        query: QueryValues | None = None,
        content: Mapping[str, Any] | None = None,
    ) -> JsonObject:
        began = time.monotonic()
        wait = FIRST_WAIT
        while True:
            answer = self._request(method, path, query=query, content=content)
            if isinstance(answer, dict):
                return answer
            error, pause = answer.error, max(wait, answer.pause)
            if self._patience is not None and time.monotonic() + pause > began + self._patience:
                raise error
            if self._on_retry is not None:
                self._on_retry(error, pause)
            self._sleep(pause)
            wait = min(2 * wait, LONGEST_WAIT)

    def _request(
        self,
        method: str,
        path: str,
        *,
        query: QueryValues | None,
        content: Mapping[str, Any] | None,
    ) -> JsonObject | _TemporaryFailure:
        import httpx

        parameters = {name: value for name, value in (query or {}).items() if value is not None}
        try:
            response = self._http.request(method, path, params=parameters, json=content)
        except httpx.TransportError as error:
            return _TemporaryFailure(self._unreachable(error), pause=0.0)
        if response.is_success:
            return _json(response)
        failure = _service_error(response)
        if response.status_code not in TEMPORARY:
            raise failure
        return _TemporaryFailure(failure, pause=_retry_after(response))

    def _unreachable(self, error: Exception) -> ServiceUnreachableError:
        reason = str(error) or type(error).__name__
        return ServiceUnreachableError(
            f"no service answers at {self.url} ({reason}); start it with 'clearwatt serve' or "
            "check the address"
        )


def _http_client(url: str, token: str | None, timeout: float) -> httpx.Client:
    try:
        import httpx
    except ImportError as error:
        raise MissingExtraError("httpx", "service") from error
    if not url.startswith(("http://", "https://")):
        raise ConfigurationError(
            f"{url!r} is not the address of a service; write it as http://127.0.0.1:8000"
        )
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    try:
        # A proxy from the environment cannot reach the loopback address of this machine.
        local = httpx.URL(url).host in LOOPBACK
        return httpx.Client(base_url=url, headers=headers, timeout=timeout, trust_env=not local)
    except (httpx.InvalidURL, UnicodeError) as error:
        raise ConfigurationError(f"{url!r} is not a usable address: {error}") from error


def _retry_after(response: httpx.Response) -> float:
    try:
        seconds = float(response.headers.get("Retry-After", "0"))
    except ValueError:  # HTTP also allows a date here; the service never sends one
        return 0.0
    return min(max(0.0, seconds), LONGEST_RETRY_AFTER)


def _json(response: httpx.Response) -> JsonObject:
    try:
        answer = response.json()
    except ValueError:
        answer = None
    if not isinstance(answer, dict):
        raise ServiceError(
            f"{response.url} answered something other than JSON; is it a ClearWatt service?",
            status=response.status_code,
        )
    return answer


def _service_error(response: httpx.Response) -> ServiceError:
    status = response.status_code
    try:
        error = response.json()["error"]
        return ServiceError(
            str(error["message"]),
            status=status,
            code=str(error["code"]),
            details=error.get("details"),
        )
    except (ValueError, KeyError, TypeError):
        return ServiceError(
            f"{response.url} answered {status} {response.reason_phrase} without saying why; is it "
            "a ClearWatt service?",
            status=status,
        )
