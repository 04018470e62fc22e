"""Replay of a data set into a running service, as if it were live.

A replay first asks the service for its newest readings, so an interrupted one continues from there;
the service recognises readings it already has.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from pydantic import ValidationError

from clearwatt.data import Dataset
from clearwatt.data.neighbours import with_columns_of
from clearwatt.errors import ConfigurationError, DataError
from clearwatt.service.api.problems import describe_errors
from clearwatt.service.api.schemas.base import Accepted
from clearwatt.service.api.schemas.entities import NewEntity
from clearwatt.service.api.schemas.zones import NewZone
from clearwatt.service.client.calls import Client, Series
from clearwatt.service.client.deliveries import (
    DAY,
    DeliveryFaults,
    entities_of,
    readings_between,
    unix_seconds,
    weather_issues,
    zones_of,
)
from clearwatt.service.records import Readings, RegisteredEntity, WeatherIssue
from clearwatt.service.times import seconds as parse_seconds
from clearwatt.service.times import text, texts

ReplayStage = Literal["history", "warm-up", "live"]

WARMUP_SHARE = 10_000 / 67_764
"""Share of a data set used for the warm-up, as in the paper."""
LEAST_HISTORY = 120
"""Least steps of history by default: a warm-up needs 100 readings, and some may be missing."""
MOST_READINGS = 5_000
"""Upper limit of readings per request."""
TICK = 0.1
"""Minimum seconds between requests; faster steps are sent together."""
POLL = 0.5
"""Seconds between two queries for the progress of a warm-up."""
ENTITIES_PER_REQUEST = 1_000


@dataclass(frozen=True)
class Plan:
    """Settings of a replay.

    Args:
        speed: multiple of real time; infinite: as fast as the service accepts.
        warmup: number of leading steps sent as history for the warm-up; None: the paper's share.
        disorder: simulated faults of delivery.
        settings: zone settings that differ from the service's defaults.
    """

    speed: float = math.inf
    warmup: int | None = None
    disorder: DeliveryFaults = field(default_factory=DeliveryFaults)
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.speed > 0:
            raise ConfigurationError(f"speed is {self.speed}; give a number above 0, or 'max'")

    def history(self, steps: int) -> int:
        """Number of leading steps used as history."""
        share = max(round(steps * WARMUP_SHARE), min(steps, LEAST_HISTORY))
        length = share if self.warmup is None else self.warmup
        if not 0 <= length <= steps:
            raise ConfigurationError(
                f"a warm-up of {length} steps does not fit a data set of {steps}; take fewer"
            )
        return length

    def steps_at_once(self, step: int, entities: int) -> int:
        """Number of steps sent in one request."""
        if math.isinf(self.speed):
            return max(1, MOST_READINGS // entities)
        return max(1, math.ceil(self.speed * TICK / step))


@dataclass(frozen=True)
class ReplayProgress:
    """Progress of a replay: position in the data set and counts of readings sent."""

    stage: ReplayStage
    time: int
    start: int
    end: int
    elapsed: float
    sent: int = 0
    new: int = 0
    duplicates: int = 0
    corrections: int = 0

    @property
    def rate(self) -> float:
        """Readings sent per second."""
        return self.sent / self.elapsed if self.elapsed else 0.0


class Replay:
    """Registers a data set, sends its history, requests the warm-up, then sends the rest."""

    def __init__(self, client: Client, dataset: Dataset, plan: Plan) -> None:
        self._client, self._dataset, self._plan = client, dataset, plan
        self._times = unix_seconds(dataset.times)
        self._step = int(dataset.step.total_seconds())
        self._history = plan.history(len(self._times))
        self._issues: deque[WeatherIssue] = deque()
        self._began = time.monotonic()
        self._counts = {"sent": 0, "new": 0, "duplicates": 0, "corrections": 0}

    def run(self) -> Iterator[ReplayProgress]:
        """Run the replay; yields its progress after each request."""
        self._began = time.monotonic()
        self._register()
        self._issues = deque(weather_issues(self._dataset))
        first = self._first_step()
        self._skip_weather(first)
        yield from self._send_steps("history", first, self._history)
        yield from self._warm_up()
        yield from self._send_steps("live", max(first, self._history), len(self._times))
        yield self._progress("live", len(self._times) - 1)

    def _register(self) -> None:
        # A registered zone goes on with the neighbours and the clock it was registered with.
        registered = {zone.id: zone for zone in self._client.zones().zones}
        columns = {name: zone.variables for name, zone in registered.items()}
        self._dataset = with_columns_of(self._dataset, columns)
        for zone in zones_of(self._dataset):
            known = registered.get(zone.id)
            with _explain_refusal(f"zone {zone.id!r}"):
                new = NewZone(
                    id=zone.id,
                    step=zone.step,
                    variables=list(zone.variables),
                    timezone=zone.timezone if known is None else known.timezone,
                    name=zone.name,
                    settings=dict(self._plan.settings),
                )
            self._client.add_zone(new)
        entities = [_new_entity(entity) for entity in entities_of(self._dataset)]
        for first in range(0, len(entities), ENTITIES_PER_REQUEST):
            self._client.add_entities(entities[first : first + ENTITIES_PER_REQUEST])

    def _first_step(self) -> int:
        """The first step to send: a margin before the newest reading of the slowest zone."""
        marks = [self._client.zone(zone).watermark for zone in self._dataset.zones]
        newest_times = [parse_seconds(mark) for mark in marks if mark is not None]
        if len(newest_times) < len(marks):
            return 0
        # The last request may have ended within a step, and its window may have been shuffled.
        newest = min(newest_times) - max(DAY, 2 * self._plan.disorder.within)
        return int(np.searchsorted(self._times, newest))

    def _skip_weather(self, first: int) -> None:
        """Leave out weather issued, and therefore sent, well before the first step."""
        since = int(self._times[first]) - 3 * DAY if first < len(self._times) else math.inf
        while first and self._issues and self._issues[0].issued_at < since:
            self._issues.popleft()

    def _send_steps(self, stage: ReplayStage, first: int, stop: int) -> Iterator[ReplayProgress]:
        together = self._steps_at_once(stage)
        began, start = time.monotonic(), first
        while first < stop:
            # Windows start at multiples of their length, so that every run shuffles them alike.
            until = min((first // together + 1) * together, stop)
            if stage == "live":
                self._wait(began, int(self._times[until - 1] - self._times[start]) + self._step)
            self._send_weather(until)
            readings = readings_between(self._dataset, first, until)
            self._send_readings(self._plan.disorder.apply(readings, first // together))
            yield self._progress(stage, until - 1)
            first = until

    def _steps_at_once(self, stage: ReplayStage) -> int:
        plan = self._plan if stage == "live" else Plan()
        together = plan.steps_at_once(self._step, len(self._dataset.entities))
        return max(together, -(-self._plan.disorder.within // self._step))

    def _wait(self, began: float, streamed: int) -> None:
        """Wait until ``streamed`` seconds of data are due at the speed of the plan."""
        due = began + streamed / self._plan.speed
        time.sleep(max(0.0, due - time.monotonic()))

    def _send_weather(self, until: int) -> None:
        """Send the weather issued by the end of the last step before ``until``."""
        now = int(self._times[until - 1]) + self._step
        while self._issues and self._issues[0].issued_at <= now:
            self._send_issue(self._issues.popleft())

    def _send_issue(self, issue: WeatherIssue) -> None:
        names = [str(name) for name in self._dataset.weather[issue.zone].columns]
        self._client.send_weather(
            issue.zone,
            issued_at=text(issue.issued_at),
            times=texts(issue.times),
            values=dict(zip(names, issue.values.T.tolist(), strict=True)),
        )

    def _send_readings(self, readings: Readings) -> None:
        for part in np.array_split(readings, -(-len(readings) // MOST_READINGS)):
            receipt = self._client.send_measurements(_series(part, self._dataset.names))
            self._counts["sent"] += len(part)
            for name in ("new", "duplicates", "corrections"):
                self._counts[name] += getattr(receipt, name)

    def _warm_up(self) -> Iterator[ReplayProgress]:
        """Request the warm-up of every entity without a model, and wait for it."""
        if not self._history:
            return
        pending = [zone for zone in self._dataset.zones if self._needs_warmup(zone)]
        commands = [self._client.warmup(zone=zone) for zone in pending]
        while commands := [command for command in commands if not self._is_done(command)]:
            yield self._progress("warm-up", self._history - 1)
            time.sleep(POLL)

    def _needs_warmup(self, zone: str) -> bool:
        states = ("waiting", "from the fleet")
        found = (self._client.entities(zone=zone, state=each, limit=1).total for each in states)
        return any(count > 0 for count in found)

    def _is_done(self, command: Accepted) -> bool:
        kinds = ("warmup", "command refused")
        for event in self._client.events(zone=command.zone, kinds=kinds).events:
            if event.key == command.event:
                if event.kind == "command refused" and not self._has_models(command.zone):
                    raise DataError(f"zone {command.zone!r} cannot warm up: {event.message}")
                return True
        return False

    def _has_models(self, zone: str) -> bool:
        """Whether a zone has models; entities without history may have none."""
        return self._client.zone(zone).state in ("learning", "held")

    def _progress(self, stage: ReplayStage, at: int) -> ReplayProgress:
        return ReplayProgress(
            stage=stage,
            time=int(self._times[at]),
            start=int(self._times[0]),
            end=int(self._times[-1]),
            elapsed=time.monotonic() - self._began,
            **self._counts,
        )


def _new_entity(entity: RegisteredEntity) -> NewEntity:
    with _explain_refusal(f"entity {entity.id!r}"):
        return NewEntity(
            id=entity.id,
            zone=entity.zone,
            kind=entity.kind,
            capacity=entity.capacity,
            unit=entity.unit,
            name=entity.name,
            extra=dict(entity.extra),
        )


@contextmanager
def _explain_refusal(subject: str) -> Iterator[None]:
    """Raise DataError with the reason of the API if it would refuse what is to be registered."""
    try:
        yield
    except ValidationError as error:
        (first, *_) = describe_errors(error.errors(), skip=0)
        raise DataError(
            f"the service does not take {subject}: {first['where']}: {first['reason']}; rename it "
            "in the data set"
        ) from None


def _series(readings: Readings, names: tuple[str, ...]) -> list[Series]:
    """Readings grouped by entity, each group in order of arrival."""
    order = np.argsort(readings["entity"], kind="stable")
    readings = readings[order]
    cuts = np.flatnonzero(np.diff(readings["entity"])) + 1
    return [
        Series(
            entity=names[int(part["entity"][0])],
            times=texts(part["time"]),
            values=part["value"].tolist(),
        )
        for part in np.split(readings, cuts)
    ]
