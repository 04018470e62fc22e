"""The service fetches the weather of zones whose settings name a source.

What was fetched is known from the store alone: a zone is due if no issue of the current period is
stored. So nothing is lost or doubled if the process is killed at any moment.
"""

from __future__ import annotations

import logging
import socket
import time
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from clearwatt.clock import SECONDS_PER_DAY
from clearwatt.data.inputs import is_neighbour
from clearwatt.errors import ClearwattError, ConfigurationError
from clearwatt.service.records import ServiceEvent, WeatherIssue, Zone
from clearwatt.service.registry import Registry
from clearwatt.service.regular_work import RegularWork
from clearwatt.service.settings import ZoneSettings
from clearwatt.service.store import Store
from clearwatt.service.times import text
from clearwatt.service.weather_gaps import HOUR, day_of, missing_days
from clearwatt.weather import Coordinates, OpenMeteo, WeatherError, day_ahead_issues

POLL = 10.0
"""Seconds between two looks at the zones; most find nothing to do."""
PERIOD = 6 * HOUR
"""Seconds between two forecasts of a zone; global models run every six hours."""
PHASE = zlib.crc32(socket.gethostname().encode()) % 1800
"""Seconds after a period begins; so that not all services of the world ask at once."""
FORECAST_DAYS = 7
LONGEST_HISTORY = 3 * 366
"""Days before today for which past weather is fetched, if there are readings."""
STALE = 13 * HOUR
"""Age in seconds of weather from which on it is stale: two periods were missed."""
FIRST_WAIT, LONGEST_WAIT = 30.0, 1800.0
"""Seconds before a retry; doubled with each failure."""

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class PullState:
    """State of the weather of a zone; ``issued_at`` is that of the newest forecast."""

    zone: str
    issued_at: int | None
    stale: bool
    failures: int
    error: str | None


@dataclass(frozen=True)
class _PullZone:
    """A zone whose weather is fetched."""

    zone: Zone
    place: Coordinates

    @property
    def id(self) -> str:
        return self.zone.id

    @property
    def variables(self) -> tuple[str, ...]:
        return tuple(name for name in self.zone.variables if not is_neighbour(name))

    def issue(self, issued_at: int, frame: pd.DataFrame) -> WeatherIssue:
        """A table as an issue; weather of neighbours is missing."""
        values = frame.reindex(columns=list(self.zone.variables)).to_numpy(np.float32)
        times = pd.DatetimeIndex(frame.index).as_unit("s").asi8.astype(np.int64)
        return WeatherIssue(self.id, issued_at, times, values)


class _Trouble:
    """Failures of a zone: their number, the last error, and when to try again."""

    def __init__(self, since: float) -> None:
        self.since, self.failures, self.in_a_row, self.not_before = since, 0, 0, 0.0
        self.error: str | None = None

    def fail(self, error: ClearwattError, now: float) -> None:
        wait = min(FIRST_WAIT * 2 ** min(self.in_a_row, 16), LONGEST_WAIT)
        pause = error.pause if isinstance(error, WeatherError) else 0.0
        self.not_before = now + max(wait, pause)
        self.failures, self.in_a_row, self.error = self.failures + 1, self.in_a_row + 1, str(error)

    def succeed(self) -> None:
        self.in_a_row, self.error = 0, None


class WeatherPull(RegularWork):
    """Fetches weather in a thread from when it is entered; an error never ends it.

    Args:
        store: the store of the service.
        registry: its zones.
        url: address of a mirror of Open-Meteo; None: Open-Meteo's.
        stored: called with the zone after new weather is stored.
        clock: the time, in seconds since 1970.
    """

    thread_name = "weather"
    complaint = "weather not fetched"

    def __init__(
        self,
        store: Store,
        registry: Registry,
        *,
        url: str | None = None,
        stored: Callable[[str], None],
        clock: Callable[[], float] = time.time,
    ) -> None:
        super().__init__(POLL)
        self._store, self._registry, self._stored, self._clock = store, registry, stored, clock
        self._source = OpenMeteo(url, patience=0.0, clock=clock)
        self._places: dict[str, tuple[Zone, Coordinates | None]] = {}
        self._troubles: dict[str, _Trouble] = {}
        self._complete: dict[str, tuple[object, object]] = {}
        self._last_event: int | None = None
        self._stale: set[str] = set()
        self.states: tuple[PullState, ...] = ()
        """States after the last round."""

    def run_round(self) -> None:
        """Fetch what is due: newest forecasts first, then weather of days with readings."""
        zones = self._pull_zones()
        now = self._clock()
        groups: dict[tuple[str, ...], list[_PullZone]] = {}
        for zone in zones:
            if self._may_ask(zone, now) and not self._is_fresh(zone, now):
                groups.setdefault(zone.variables, []).append(zone)
        for group in groups.values():
            self._pull_forecasts(group)
        for zone in zones:
            if self._may_ask(zone, self._clock()) and not self._stopped.is_set():
                self._pull_history(zone)
        self._report(zones)

    def _pull_zones(self) -> list[_PullZone]:
        """The zones with a source of weather; settings are read again after a change."""
        after, self._last_event = self._last_event, self._newest_event()
        if after is not None and after != self._last_event:
            for event in self._store.events(kinds=["settings"], after=after, limit=1000):
                self._places.pop(event.zone or "", None)
        zones = self._registry.snapshot.zones
        self._forget_deleted(zones)
        for name, zone in zones.items():
            if name not in self._places or self._places[name][0] != zone:
                self._places[name] = zone, self._place(zone)
        return [
            _PullZone(zone, place)
            for _, (zone, place) in sorted(self._places.items())
            if place is not None
        ]

    def _forget_deleted(self, zones: Mapping[str, Zone]) -> None:
        """Forget zones that are deleted; another zone may get the id."""
        for name in self._places.keys() - zones.keys():
            self._stale.discard(name)
            for known in (self._places, self._troubles, self._complete):
                known.pop(name, None)

    def _newest_event(self) -> int:
        newest = self._store.events(kinds=["settings"], limit=1)
        return newest[0].seq if newest else 0

    def _place(self, zone: Zone) -> Coordinates | None:
        current = self._store.status(zone.id).settings or zone.settings
        try:
            settings = ZoneSettings.read(dict(current))
        except ConfigurationError as error:
            _LOG.warning("settings not read", extra={"zone": zone.id, "reason": str(error)})
            return None
        if settings.weather is None or settings.coordinates is None:
            return None
        return settings.coordinates.coordinates

    def _may_ask(self, zone: _PullZone, now: float) -> bool:
        return now >= self._trouble(zone).not_before

    def _trouble(self, zone: _PullZone) -> _Trouble:
        return self._troubles.setdefault(zone.id, _Trouble(self._clock()))

    def _is_fresh(self, zone: _PullZone, now: float) -> bool:
        newest = self._store.newest_issue(zone.id, reaching=int(now) + SECONDS_PER_DAY)
        return newest is not None and newest >= (now - PHASE) // PERIOD * PERIOD + PHASE

    def _pull_forecasts(self, zones: Sequence[_PullZone]) -> None:
        """Fetch and store the newest forecast of zones with the same variables."""
        try:
            found = self._source.forecast(
                [zone.place for zone in zones], zones[0].variables, days=FORECAST_DAYS
            )
        except ClearwattError as error:
            if len(zones) > 1 and not _is_temporary(error):
                for zone in zones:  # one place may be the reason
                    self._pull_forecasts([zone])
                return
            for zone in zones:
                self._fail(zone, error)
            return
        for zone, frame in zip(zones, found.frames, strict=True):
            if frame.empty:
                self._fail(zone, WeatherError("the forecast has no values"))
            else:
                self._keep_forecast(zone, int(found.fetched_at), frame)

    def _keep_forecast(self, zone: _PullZone, issued_at: int, frame: pd.DataFrame) -> None:
        try:
            self._keep(zone, issued_at, frame)
            self._trouble(zone).succeed()
        except ClearwattError as error:  # the zone may be deleted, or the disk full
            self._fail(zone, error)

    def _pull_history(self, zone: _PullZone) -> None:
        """Fetch the weather of past days that have readings and no weather."""
        earliest = self._store.first_reading(zone.id)
        if earliest is None:
            return
        today = day_of(self._clock())
        first = max(day_of(earliest), day_of(self._clock() - LONGEST_HISTORY * SECONDS_PER_DAY))
        if self._complete.get(zone.id) == (first, today):
            return
        spans = self._store.weather_spans(zone.id)
        yesterday = day_of(self._clock() - SECONDS_PER_DAY)
        try:
            for begin, end in missing_days(spans, first=first, last=yesterday):
                for part in day_ahead_issues(
                    self._source, [zone.place], zone.variables, first=begin, last=end
                ):
                    for issue in part[0]:
                        self._keep(zone, issue.issued_at, issue.weather)
                    if self._stopped.is_set():
                        return
        except ClearwattError as error:
            self._fail(zone, error)
            if _is_temporary(error):
                return
        # Days without any value are asked for again tomorrow.
        self._complete[zone.id] = (first, today)

    def _keep(self, zone: _PullZone, issued_at: int, frame: pd.DataFrame) -> None:
        if self._store.add_weather(zone.issue(issued_at, frame), at=self._clock()):
            self._stored(zone.id)

    def _fail(self, zone: _PullZone, error: ClearwattError) -> None:
        self._trouble(zone).fail(error, self._clock())
        _LOG.warning("weather not fetched", extra={"zone": zone.id, "reason": str(error)})

    def _report(self, zones: Sequence[_PullZone]) -> None:
        now = self._clock()
        self.states = tuple(self._state(zone, now) for zone in zones)
        for state in self.states:
            if state.stale and state.zone not in self._stale:
                self._record(state, now)
                self._stale.add(state.zone)
            elif not state.stale and state.zone in self._stale:
                self._record(state, now)
                self._stale.discard(state.zone)

    def _state(self, zone: _PullZone, now: float) -> PullState:
        trouble = self._trouble(zone)
        newest = self._store.newest_issue(zone.id, reaching=int(now))
        since = trouble.since if newest is None else newest
        stale = now - since > STALE
        return PullState(zone.id, newest, stale, trouble.failures, trouble.error)

    def _record(self, state: PullState, now: float) -> None:
        """Record that weather became stale, or came again."""
        newest = "never came" if state.issued_at is None else f"is of {text(state.issued_at)}"
        if state.stale:
            kind, reason = "weather stale", state.error or "the source has nothing newer"
            message = f"the newest weather of zone {state.zone} {newest}: {reason}"
        else:
            kind = "weather restored"
            message = f"the weather of zone {state.zone} is up to date again, it {newest}"
        key = f"{kind}:{state.zone}:{state.issued_at or 0}"
        self._store.add_event(ServiceEvent(key, kind, message, now, zone=state.zone))


def _is_temporary(error: ClearwattError) -> bool:
    """Whether another try makes sense; errors of the store end by themselves."""
    return error.temporary if isinstance(error, WeatherError) else True
