"""HTTP connection to the service that retries temporary failures."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from clearwatt.errors import ClearwattError
from clearwatt.http_retry import (
    TEMPORARY,
    Answer,
    RetryCallback,
    TemporaryFailure,
    http_client,
    retry,
    retry_after,
)

if TYPE_CHECKING:
    import httpx

JsonObject = dict[str, Any]
QueryValues = Mapping[str, str | int | float | list[str] | None]
FIRST_WAIT, LONGEST_WAIT = 0.2, 5.0
LONGEST_RETRY_AFTER = 60.0


class ServiceError(ClearwattError):
    """An error answer: HTTP ``status``, the service's error ``code`` and ``details``."""

    def __init__(
        self, message: str, *, status: int, code: str = "unknown", details: object = None
    ) -> None:
        super().__init__(message)
        self.status, self.code, self.details = status, code, details


class ServiceUnreachableError(ClearwattError):
    """No service answers at the address."""


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
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._http = http_client(self.url, headers=headers, timeout=timeout, what="a service")

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
        # Every call of the API may be repeated safely.
        return retry(
            lambda: self._request(method, path, query=query, content=content),
            patience=self._patience,
            first_wait=FIRST_WAIT,
            longest_wait=LONGEST_WAIT,
            on_retry=self._on_retry,
            sleep=self._sleep,
        )

    def _request(
        self,
        method: str,
        path: str,
        *,
        query: QueryValues | None,
        content: Mapping[str, Any] | None,
    ) -> Answer[JsonObject] | TemporaryFailure:
        import httpx

        parameters = {name: value for name, value in (query or {}).items() if value is not None}
        try:
            response = self._http.request(method, path, params=parameters, json=content)
        except httpx.TransportError as error:
            return TemporaryFailure(self._unreachable(error), pause=0.0)
        if response.is_success:
            return Answer(_json(response))
        failure = _service_error(response)
        if response.status_code not in TEMPORARY:
            raise failure
        return TemporaryFailure(failure, pause=min(retry_after(response), LONGEST_RETRY_AFTER))

    def _unreachable(self, error: Exception) -> ServiceUnreachableError:
        reason = str(error) or type(error).__name__
        return ServiceUnreachableError(
            f"no service answers at {self.url} ({reason}); start it with 'clearwatt serve' or "
            "check the address"
        )


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
