"""Client of Open-Meteo's forecast, previous-runs and historical-forecast interfaces."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, NamedTuple, Self

import pandas as pd

from clearwatt.clock import SECONDS_PER_DAY
from clearwatt.errors import ConfigurationError
from clearwatt.http_retry import (
    TEMPORARY,
    Answer,
    RetryCallback,
    TemporaryFailure,
    http_client,
    is_loopback,
    retry,
    retry_after,
)
from clearwatt.weather.answer import Question, WeatherError, read_answer
from clearwatt.weather.cache import AnswerCache, KeptAnswer
from clearwatt.weather.coordinates import Coordinates
from clearwatt.weather.variables import (
    HOUR,
    derive,
    needs_next_hour,
    request_columns,
    require_known,
)

if TYPE_CHECKING:
    import httpx

__all__ = ["Fetched", "OpenMeteo", "WeatherError"]

FORECAST = "https://api.open-meteo.com"
PREVIOUS_RUNS = "https://previous-runs-api.open-meteo.com"
HISTORICAL = "https://historical-forecast-api.open-meteo.com"
PATH = "/v1/forecast"
USER_AGENT = "clearwatt (weather for power forecasts)"
MOST_DAYS_AHEAD = 7
"""Previous runs that Open-Meteo keeps of each time, in days."""
MOST_FORECAST_DAYS = 16
PLACES_PER_REQUEST = 20
FIRST_WAIT, LONGEST_WAIT = 1.0, 60.0
PAUSE = 1.0
"""Least seconds between two requests to a server that is not on this machine."""
FRESH = 3600
"""Seconds for which a forecast, or the history of the last days, is taken from the cache."""
SETTLED = timedelta(days=3)
"""Age of history that does not change any more."""
TIMEOUT = 60.0


class Fetched(NamedTuple):
    """Weather of each place (hours x variables), and when it was fetched, in seconds since 1970."""

    frames: list[pd.DataFrame]
    fetched_at: float


@dataclass(frozen=True)
class _Request:
    host: str
    query: dict[str, str]
    question: Question
    since: float
    """The cache may answer if it has the answer from that time or later."""

    @property
    def text(self) -> str:
        return f"{self.host}{PATH}?" + "&".join(f"{k}={v}" for k, v in self.query.items())


class OpenMeteo:
    """Asks Open-Meteo for weather.

    Args:
        url: address of a mirror or of your own server, in place of Open-Meteo's three.
        cache: folder of answers; None: every answer is fetched.
        refresh: do not read from the cache, only write to it.
        patience: seconds to retry while the server is away or busy.
        on_retry: called before each pause with the error and the seconds until the next try.
        clock: the time, in seconds since 1970.
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        cache: Path | None = None,
        refresh: bool = False,
        patience: float = 180.0,
        on_retry: RetryCallback | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._url = None if url is None else url.rstrip("/")
        self._cache = None if cache is None else AnswerCache(cache)
        self._refresh, self._patience, self._on_retry = refresh, patience, on_retry
        self._clock, self._not_before = clock, 0.0
        self._http = http_client(
            self._url or FORECAST,
            headers={"User-Agent": USER_AGENT},
            timeout=TIMEOUT,
            what="a weather server",
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def forecast(
        self, places: Sequence[Coordinates], variables: Sequence[str], *, days: int = 7
    ) -> Fetched:
        """The newest forecast, hourly from today 00:00 UTC, for a number of days."""
        if not 1 <= days < MOST_FORECAST_DAYS:
            raise ConfigurationError(f"days is {days}; give 1 to {MOST_FORECAST_DAYS - 1}")
        dates = {"forecast_days": str(days + needs_next_hour(variables))}
        since = self._clock() - FRESH
        found = self._fetch_all(FORECAST, dates, places, variables, since=since)
        frames = [frame.iloc[: 24 * days + 1] for frame in found.frames]
        return Fetched([frame.loc[frame.notna().any(axis=1)] for frame in frames], found.fetched_at)

    def history(
        self,
        places: Sequence[Coordinates],
        variables: Sequence[str],
        *,
        first: date,
        last: date,
        days_ahead: int,
    ) -> list[pd.DataFrame]:
        """Past forecasts, hourly from ``first`` 00:00 to the midnight after ``last``, UTC.

        A value is that of a model run started at least ``days_ahead`` days before its time; with 0
        it is of the first hours of each run, which was published only afterwards.
        """
        if not 0 <= days_ahead <= MOST_DAYS_AHEAD:
            raise ConfigurationError(f"days ahead are {days_ahead}; give 0 to {MOST_DAYS_AHEAD}")
        # The midnight after the last day, and the hour after that, are on the next day.
        until = last + timedelta(days=1)
        now = self._clock()
        settled = until <= datetime.fromtimestamp(now, UTC).date() - SETTLED
        host = PREVIOUS_RUNS if days_ahead else HISTORICAL
        found = self._fetch_all(
            host,
            {"start_date": str(first), "end_date": str(until)},
            places,
            variables,
            suffix=f"_previous_day{days_ahead}" if days_ahead else "",
            since=0.0 if settled else now - FRESH,
        )
        hours = pd.date_range(
            first, periods=24 * ((until - first).days) + 1, freq="h", tz="UTC", name="time"
        )
        return [frame.reindex(hours) for frame in found.frames]

    def _fetch_all(
        self,
        host: str,
        dates: dict[str, str],
        places: Sequence[Coordinates],
        variables: Sequence[str],
        *,
        since: float,
        suffix: str = "",
    ) -> Fetched:
        """Weather of all places, many in one request."""
        require_known(variables)
        columns = request_columns(variables)
        frames: list[pd.DataFrame] = []
        fetched_at = float("inf")
        for at in range(0, len(places), PLACES_PER_REQUEST):
            question = Question(tuple(places[at : at + PLACES_PER_REQUEST]), columns, suffix)
            request = _Request(self._url or host, _query(question, dates), question, since)
            raw, moment = self._fetch(request)
            frames += [derive(frame, variables) for frame in raw]
            fetched_at = min(fetched_at, moment)
        return Fetched(frames, fetched_at)

    def _fetch(self, request: _Request) -> Fetched:
        if self._cache is not None and not self._refresh:
            kept = self._cache.find(request.text, since=request.since)
            if kept is not None:
                return Fetched(read_answer(kept.body, request.question), kept.fetched_at)
        fetched, body = retry(
            lambda: self._ask(request),
            patience=self._patience,
            first_wait=FIRST_WAIT,
            longest_wait=LONGEST_WAIT,
            on_retry=self._on_retry,
        )
        if self._cache is not None:
            self._cache.keep(request.text, KeptAnswer(body, fetched.fetched_at))
        return fetched

    def _ask(self, request: _Request) -> Answer[tuple[Fetched, object]] | TemporaryFailure:
        import httpx

        self._slow_down(request.host)
        asked_at = self._clock()
        try:
            response = self._http.get(f"{request.host}{PATH}", params=request.query)
        except httpx.TransportError as error:
            reason = str(error) or type(error).__name__
            return _temporary(f"no weather server answers at {request.host} ({reason})", 0.0)
        if not response.is_success:
            return self._failure(request.host, response)
        try:
            body = response.json()
        except ValueError:
            return _temporary(f"{request.host} answered something other than JSON", 0.0)
        return Answer((Fetched(read_answer(body, request.question), asked_at), body))

    def _slow_down(self, host: str) -> None:
        """Wait until the next request is polite."""
        time.sleep(max(0.0, self._not_before - time.monotonic()))
        self._not_before = time.monotonic() + (0.0 if is_loopback(host) else PAUSE)

    def _failure(self, host: str, response: httpx.Response) -> TemporaryFailure:
        reason = _reason(response)
        message = f"{host} answered {response.status_code}: {reason}"
        if response.status_code not in TEMPORARY and response.status_code < 500:
            raise WeatherError(message)
        pause = retry_after(response) or _pause_of(reason, self._clock())
        return _temporary(message, pause)


def _query(question: Question, dates: dict[str, str]) -> dict[str, str]:
    return {
        "latitude": ",".join(f"{place.latitude:.4f}" for place in question.places),
        "longitude": ",".join(f"{place.longitude:.4f}" for place in question.places),
        "hourly": ",".join(f"{name}{question.suffix}" for name in question.columns),
        "wind_speed_unit": "ms",
        "timezone": "GMT",
        "timeformat": "unixtime",
        **dates,
    }


def _temporary(message: str, pause: float) -> TemporaryFailure:
    return TemporaryFailure(WeatherError(message, temporary=True, pause=pause), pause)


def _reason(response: httpx.Response) -> str:
    """The reason that an error answer names, as documented: {"error": true, "reason": "…"}."""
    try:
        return str(response.json()["reason"])[:300]
    except (ValueError, KeyError, TypeError):
        return response.reason_phrase


def _pause_of(reason: str, now: float) -> float:
    """Seconds until the limit ends that Open-Meteo names; it sends no Retry-After of its own."""
    for word, period in (("minutely", 60), ("hourly", HOUR), ("daily", SECONDS_PER_DAY)):
        if word in reason.lower():
            return period - now % period + 1
    return 0.0
