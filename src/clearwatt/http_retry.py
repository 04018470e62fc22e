"""Requests over HTTP that are repeated while the other side is away or busy."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from clearwatt.errors import ClearwattError, ConfigurationError, MissingExtraError

if TYPE_CHECKING:
    import httpx

T = TypeVar("T")
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
"""Statuses worth a retry."""
LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})


@dataclass(frozen=True)
class Answer(Generic[T]):
    """The result of an attempt."""

    value: T


class TemporaryFailure(NamedTuple):
    """A failure worth a retry after at least ``pause`` seconds."""

    error: ClearwattError
    pause: float


def retry(
    attempt: Callable[[], Answer[T] | TemporaryFailure],
    *,
    patience: float | None,
    first_wait: float,
    longest_wait: float,
    on_retry: RetryCallback | None = None,
    sleep: Callable[[float], None] | None = None,
) -> T:
    """The answer of an attempt, which is repeated with growing pauses while it fails temporarily.

    Args:
        attempt: makes one request.
        patience: seconds after which the last error is raised; None: no limit.
        first_wait: seconds before the second attempt; doubled before each further one.
        longest_wait: upper limit of these seconds; a failure may ask for a longer pause.
        on_retry: called before each pause.
        sleep: waits for a number of seconds; default: `time.sleep`.
    """
    began, wait = time.monotonic(), first_wait
    while True:
        answer = attempt()
        if isinstance(answer, Answer):
            return answer.value
        error, pause = answer.error, max(wait, answer.pause)
        if patience is not None and time.monotonic() + pause > began + patience:
            raise error
        if on_retry is not None:
            on_retry(error, pause)
        (sleep or time.sleep)(pause)
        wait = min(2 * wait, longest_wait)


def retry_after(response: httpx.Response) -> float:
    """Seconds that the header Retry-After asks to wait, as number or date; 0 without one."""
    given = response.headers.get("Retry-After", "0")
    try:
        return max(0.0, float(given))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(given).timestamp() - time.time())
    except ValueError:
        return 0.0


def is_loopback(url: str) -> bool:
    """Whether an address is on this machine."""
    import httpx

    return httpx.URL(url).host in LOOPBACK


def http_client(url: str, *, headers: dict[str, str], timeout: float, what: str) -> httpx.Client:
    """A client of the server at ``url``; ``what`` names the server in error messages."""
    try:
        import httpx
    except ImportError as error:
        raise MissingExtraError("httpx", "service") from error
    if not url.startswith(("http://", "https://")):
        raise ConfigurationError(
            f"{url!r} is not the address of {what}; write it as http://127.0.0.1:8000"
        )
    try:
        # A proxy from the environment cannot reach the loopback address of this machine.
        local = is_loopback(url)
        return httpx.Client(base_url=url, headers=headers, timeout=timeout, trust_env=not local)
    except (httpx.InvalidURL, UnicodeError) as error:
        raise ConfigurationError(f"{url!r} is not a usable address: {error}") from error
