"""Model inputs from weather: for each time the latest issue that covers it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from threading import Lock

import numpy as np
import numpy.typing as npt
import pandas as pd

from clearwatt.data.inputs import CALENDAR_COLUMNS
from clearwatt.data.scaling import Scaling
from clearwatt.errors import ClearwattError
from clearwatt.service.learner.apply.weather import instants
from clearwatt.service.records import WeatherIssue, Zone
from clearwatt.service.store import Store
from clearwatt.service.times import Times

UNISSUED = -1
KEPT = 8
"""Ranges cached per zone: requests for entities of a zone often share the range."""
LONGEST_KEPT = 2000
"""Steps of the longest range that is cached."""


@dataclass(frozen=True, slots=True, eq=False)
class Inputs:
    """Model inputs (n x d) for times (n); NaN where no issue gives a variable.

    ``issued`` (n) is when the weather of each time was issued, `UNISSUED` where it is incomplete;
    ``trouble`` is the error if the weather could not be read.
    """

    times: Times
    x: npt.NDArray[np.float32]
    issued: Times
    trouble: str | None = None

    @property
    def complete(self) -> npt.NDArray[np.bool_]:
        """Which times have every input (n)."""
        return np.not_equal(self.issued, UNISSUED)

    def part(self, rows: slice) -> Inputs:
        """Some of the times."""
        return Inputs(self.times[rows], self.x[rows], self.issued[rows], self.trouble)


class Coverage:
    """Cache of a zone's inputs for recent ranges, until its weather changes."""

    def __init__(self, store: Store) -> None:
        self._store, self._lock = store, Lock()
        self._kept: dict[str, dict[tuple[int, int], tuple[Scaling, Inputs]]] = {}
        self._changes: Counter[str] = Counter()

    def inputs(self, zone: Zone, scaling: Scaling, times: Times) -> Inputs:
        """Inputs for times (n, ascending); NaN if the store cannot be read."""
        key, changes = (int(times[0]), int(times[-1])), self._changes[zone.id]
        kept = self._kept.get(zone.id, {}).get(key)
        if kept is not None and kept[0] is scaling:
            return kept[1]
        try:
            issues = self._store.weather(zone.id, start=key[0], end=key[1] + 1)
            found = find_inputs(zone, scaling, issues, times)
        except ClearwattError as error:
            return Inputs(times, *_missing_inputs(zone, times), trouble=str(error))
        with self._lock:
            # Inputs read before a change of the weather must not be cached after it.
            if changes == self._changes[zone.id] and len(times) <= LONGEST_KEPT:
                ranges = self._kept.setdefault(zone.id, {})
                ranges.pop(key, None)
                ranges[key] = scaling, found
                while len(ranges) > KEPT:
                    del ranges[next(iter(ranges))]
        return found

    def forget(self, zone: str) -> None:
        """Delete the cached inputs of a zone."""
        with self._lock:
            self._changes[zone] += 1
            self._kept.pop(zone, None)


def find_inputs(
    zone: Zone, scaling: Scaling, issues: Sequence[WeatherIssue], times: Times
) -> Inputs:
    """Inputs for times (n) from any number of issues.

    Each time is interpolated within one issue, the latest that covers it, so that no value mixes
    two runs of the weather model. Only times that no issue covers use all issues merged.
    """
    moments = instants(times)
    x, issued = _missing_inputs(zone, times)
    for issued_at, frame in _frames(zone, issues):
        still = np.flatnonzero(issued == UNISSUED)
        found = scaling.inputs(zone.id, frame, moments[still])
        whole = ~np.isnan(found).any(axis=1)
        better = np.isnan(found).sum(axis=1) < np.isnan(x[still]).sum(axis=1)
        x[still[better]] = found[better]
        issued[still[whole]] = issued_at
        if whole.all():
            break
    return Inputs(times, x, issued)


def _missing_inputs(zone: Zone, times: Times) -> tuple[npt.NDArray[np.float32], Times]:
    width = len(zone.variables) + len(CALENDAR_COLUMNS)
    return np.full((len(times), width), np.nan, np.float32), np.full(len(times), UNISSUED)


def _frames(zone: Zone, issues: Sequence[WeatherIssue]) -> Iterator[tuple[int, pd.DataFrame]]:
    """Issues, the latest first, then all of them merged, with the issue time of the latest."""
    latest_first = sorted(issues, key=lambda issue: issue.issued_at, reverse=True)
    for issue in latest_first:
        yield issue.issued_at, _frame(zone, issue.times, issue.values)
    if len(latest_first) > 1:
        times, chosen = np.unique(
            np.concatenate([issue.times for issue in latest_first]), return_index=True
        )
        values = np.concatenate([issue.values for issue in latest_first])[chosen]
        yield latest_first[0].issued_at, _frame(zone, times, values)


def _frame(zone: Zone, times: Times, values: npt.NDArray[np.float32]) -> pd.DataFrame:
    return pd.DataFrame(values, index=instants(times), columns=list(zone.variables))
