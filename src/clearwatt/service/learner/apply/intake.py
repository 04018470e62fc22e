"""The readings of one journal entry: in time, late, or corrections."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from clearwatt.service.learner.apply.reporting_delay import ReportingDelays
from clearwatt.service.learner.apply.zone_state import ZoneState
from clearwatt.service.records import Readings
from clearwatt.service.times import EARLIEST

Positions = npt.NDArray[np.int64]


class LateReadings(NamedTuple):
    """Readings that came after their row had closed: columns (n), times (n), values (n)."""

    columns: Positions
    times: npt.NDArray[np.int64]
    values: npt.NDArray[np.float32]


class Intake:
    """The readings of one entry, classified.

    The newest reading before this entry decides whether a reading is late. The progress of learning
    does not, so that the result is independent of how entries are grouped.

    Args:
        state: The zone.
        readings: Of the entry.
        received: When they were accepted, by the wall clock.
    """

    def __init__(self, state: ZoneState, readings: Readings, *, received: float) -> None:
        self.state, self._received = state, received
        column_of = {int(number): column for column, number in enumerate(state.numbers)}
        known = [entity.number for entity in state.entities.values()]
        readings = readings[np.isin(readings["entity"], known)]  # the others were deleted
        numbers = readings["entity"]
        columns = np.array([column_of.get(int(number), -1) for number in numbers], np.int64)
        # Earlier readings of an entity that started from the fleet are its history.
        since = {state.entities[name].number: time for name, time in state.fleet.items()}
        first = np.array([since.get(int(number), EARLIEST) for number in numbers], np.int64)
        learns = (columns >= 0) & (readings["time"] >= first)
        kept = np.isin(numbers, list(since))
        self._waiting, self._kept = readings[~learns], readings[learns & kept]
        self._columns = columns[learns]
        self._times = np.ascontiguousarray(readings["time"][learns], np.int64)
        self._values = readings["value"][learns].astype(np.float32)
        self._late = np.zeros(len(self._times), np.bool_)
        self._has_reading = np.zeros(len(self._times), np.bool_)
        self._mended = np.zeros(len(self._times), np.bool_)
        if state.rows is not None:
            self._late = state.rows.overdue_mask(self._times, state.settings.lateness)
            self._has_reading = state.rows.has_reading(self._columns, self._times)
        self._arrivals = self._count_arrivals()

    @property
    def corrections(self) -> list[tuple[str, int]]:
        """Entities and times whose reading was replaced after its row had closed."""
        if self.state.rows is None:
            return []
        closed = self._has_reading & (self._times < self.state.rows.next)
        return [
            (self.state.columns[int(self._columns[place])], int(self._times[place]))
            for place in np.flatnonzero(closed)
        ]

    @property
    def reorders(self) -> bool:
        """Whether rows closed by now must be learned before these readings are entered."""
        changes_delay = self.state.known_after_with(self._arrivals) != self.state.known_after
        reordered = bool((self._late | self._has_reading).any())
        return changes_delay or reordered or self._changes_expected

    @property
    def _changes_expected(self) -> bool:
        """Whether rows wait for an entity from now on, because it is measured at last."""
        state, numbers = self.state, set(self._kept["entity"].tolist())
        return any(
            state.entities[name].number in numbers and not state.is_expected(name)
            for name in state.fleet
        )

    def enter(self) -> None:
        """Enter readings in time, apply corrections, and keep those that wait for a warm-up."""
        self.state.arrivals = self._arrivals
        waiting = np.concatenate([self._waiting, self._kept])
        for number in np.unique(waiting["entity"]):
            part = waiting[waiting["entity"] == number]
            self.state.waiting.setdefault(int(number), []).append(part)
        rows = self.state.rows
        if rows is None:
            return
        closed = self._times < rows.next
        self._release_corrected(closed)
        fits = ~self._late & ~(closed & ~self._has_reading)
        for place in np.flatnonzero(self._has_reading & closed & ~self._mended):
            self._correct(int(place))
        rows.put(
            self._columns[fits],
            self._times[fits],
            self._values[fits],
            lateness=self.state.settings.lateness,
            received=self._received,
        )

    def _count_arrivals(self) -> ReportingDelays:
        """Arrivals with those of this entry; corrections do not count."""
        first = ~self._has_reading & np.isfinite(self._values)
        waiting = self._waiting[np.isfinite(self._waiting["value"])]
        arrivals = self.state.arrivals.copy()
        arrivals.add(
            np.concatenate([waiting["entity"], self.state.numbers[self._columns[first]]]),
            np.concatenate([waiting["time"], self._times[first]]),
            received=self._received,
        )
        return arrivals

    def late_readings(self) -> LateReadings:
        """Readings of closed rows, which are learned separately."""
        rows = self.state.rows
        if rows is None:
            return LateReadings(self._columns[:0], self._times[:0], self._values[:0])
        closed = self._times < rows.next
        models = self.state.models
        streamed = closed & False if models is None else models.was_learned(self._times)
        beside = (
            (self._late | closed) & ~self._has_reading & ~(streamed & (self._times < rows.start))
        )
        beside |= self._mended
        beside &= np.isfinite(self._values)
        return LateReadings(self._columns[beside], self._times[beside], self._values[beside])

    def _release_corrected(self, closed: npt.NDArray[np.bool_]) -> None:
        """Release corrected readings from quarantine; they were not learned and count as late."""
        for place in np.flatnonzero(self._has_reading & closed):
            name = self.state.columns[int(self._columns[place])]
            held = self.state.quarantined.get(name, {})
            self._mended[place] = held.pop(int(self._times[place]), None) is not None

    def _correct(self, place: int) -> None:
        """Replace a learned reading; a missing value removes it."""
        state, models = self.state, self.state.models
        assert models is not None
        name = state.columns[int(self._columns[place])]
        value = float(self._values[place]) / state.power_size(name)
        models.correct(int(self._times[place]), name, value)
