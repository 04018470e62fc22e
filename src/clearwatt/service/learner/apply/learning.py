"""Learning from closed rows: quality checks, then the zone's models, then live errors."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from clearwatt.arrays import Float32Array
from clearwatt.data.quality import Reason, assess_readings
from clearwatt.service.learner.apply.accuracy import check_accuracy
from clearwatt.service.learner.apply.intake import LateReadings
from clearwatt.service.learner.apply.live import DAY
from clearwatt.service.learner.apply.outcome_builder import OutcomeBuilder
from clearwatt.service.learner.apply.weather import LatestWeather, instants
from clearwatt.service.learner.apply.zone_models import (
    LateBlock,
    LearningResult,
    LiveRows,
    RowBlock,
)
from clearwatt.service.learner.apply.zone_state import WHOLE_ZONE, ZoneState
from clearwatt.service.quality import RULES, plausible_power
from clearwatt.service.records import Flag
from clearwatt.service.times import Times
from clearwatt.training.streams import Stream


class ClosedRows(NamedTuple):
    """Closed rows: times (n), inputs (n x d), readings and quality codes (n x entities)."""

    times: Times
    x: Float32Array
    readings: Float32Array
    codes: npt.NDArray[np.uint8]

    def part(self, start: int, stop: int) -> ClosedRows:
        """A range of the rows."""
        piece = slice(start, stop)
        return ClosedRows(self.times[piece], self.x[piece], self.readings[piece], self.codes[piece])


def advance(state: ZoneState, builder: OutcomeBuilder) -> Stream[None]:
    """Learn from every row that can be closed."""
    closed = _closed_rows(state)
    if closed is None or state.rows is None or state.models is None:
        return
    for start, stop in _pieces(closed.times, state.models.rows_at_once):
        yield from _learn(state, builder, closed.part(start, stop))
    state.rows.close(len(closed.times), keep=state.rows_to_keep)
    state.weather.forget_before(state.rows.start)


def learn_late(
    state: ZoneState, builder: OutcomeBuilder, late: LateReadings, *, key: str
) -> Stream[None]:
    """Learn from readings whose rows are closed already."""
    if len(late.times) == 0 or state.models is None:
        return
    plausible = np.array(
        [
            in_range(state, column, value)
            for column, value in zip(late.columns, late.values, strict=True)
        ]
    )
    for column, moment, value, good in zip(
        late.columns, late.times, late.values, plausible, strict=True
    ):
        name = state.columns[int(column)]
        if good:
            builder.add_flag(name, int(moment), Flag.LATE, "came after its row had closed")
        else:
            _quarantine(
                state,
                builder,
                name,
                moment=int(moment),
                value=float(value),
                reason=Reason.OUT_OF_RANGE,
            )
    for column in np.unique(late.columns):
        name, count = state.columns[int(column)], int((late.columns == column).sum())
        builder.event(
            f"late:{state.zone.id}:{key}:{name}",
            "late",
            f"{count} readings of {name} came later than {state.settings.lateness} s behind the "
            "newest of the zone; they are learned from beside the stream",
            entity=name,
            time=int(late.times[late.columns == column].max()),
            details={"readings": count},
        )
    kept = LateReadings(late.columns[plausible], late.times[plausible], late.values[plausible])
    yield from learn_past_readings(state, builder, kept)


def learn_past_readings(
    state: ZoneState,
    builder: OutcomeBuilder,
    late: LateReadings,
    *,
    weather: LatestWeather | None = None,
) -> Stream[None]:
    """Learn from readings of closed rows, with the errors of the current models.

    ``weather`` is that of their time; by default what the zone still holds.
    """
    if state.models is None or state.scaling is None or len(late.times) == 0:
        return
    times = np.unique(late.times)
    readings = np.full((len(times), len(state.columns)), np.nan, np.float32)
    readings[np.searchsorted(times, late.times), late.columns] = late.values
    x = inputs_at(state, times, weather=weather)
    y = _mask_held(state, _targets(state, times, readings))
    usable = has_inputs(x) & np.asarray(np.isfinite(y).any(axis=1), np.bool_)
    if not usable.any():
        return
    moment = int(times[-1]) if state.rows is None else state.rows.next - state.rows.step
    late_rows = LateBlock(times[usable], x[usable], y[usable], moment)
    learned = yield from state.models.learn_late(late_rows, state.intervals, state.units)
    _record(state, builder, learned)


def inputs_at(
    state: ZoneState, times: Times, *, weather: LatestWeather | None = None
) -> Float32Array:
    """The inputs (n x d) at these times, by default by the weather held; NaN without weather."""
    assert state.scaling is not None
    known = state.weather if weather is None else weather
    frame = known.frame(int(times[0]), int(times[-1])) if len(times) else None
    if frame is None or len(frame) == 0:
        width = len(state.scaling.columns(state.zone.id))
        return np.full((len(times), width), np.nan, np.float32)
    return state.scaling.inputs(state.zone.id, frame, instants(times))


def has_inputs(x: Float32Array) -> npt.NDArray[np.bool_]:
    """Which rows (n) have all their inputs (n x d)."""
    return np.asarray(np.isfinite(x).all(axis=1), np.bool_)


def _closed_rows(state: ZoneState) -> ClosedRows | None:
    rows = state.rows
    if rows is None or state.models is None or len(rows.open_times) == 0:
        return None
    times = rows.open_times
    x = inputs_at(state, times)
    settled = rows.count_settled(has_inputs(x), state.settings.lateness)
    count = settled - state.rows_to_settle
    if count <= 0:
        return None
    first = len(rows.values) - len(times)
    known = rows.values[: first + settled]
    frame = pd.DataFrame(known, index=instants(rows.times[: len(known)]), columns=state.columns)
    codes = assess_readings(frame, state.descriptions, RULES).codes
    piece = slice(first, first + count)
    return ClosedRows(times[:count], x[:count], rows.values[piece].copy(), codes[piece])


def _pieces(times: Times, longest: int) -> list[tuple[int, int]]:
    """Ranges of rows, cut at midnight and after ``longest`` rows."""
    cuts = [0]
    for place in range(1, len(times)):
        if times[place] // DAY != times[place - 1] // DAY or place - cuts[-1] >= longest:
            cuts.append(place)
    return list(zip(cuts, [*cuts[1:], len(times)], strict=True))


def _learn(state: ZoneState, builder: OutcomeBuilder, closed: ClosedRows) -> Stream[None]:
    assert state.models is not None
    readings = _trusted_readings(state, builder, closed)
    known, learns = _targets(state, closed.times, readings), WHOLE_ZONE not in state.held
    if learns:
        _flag_excluded(state, builder, closed.times)
    rows = RowBlock(
        closed.times,
        closed.x,
        covered=has_inputs(closed.x),
        known=known,
        targets=_mask_held(state, known),
        readings=readings,
        learns=learns,
    )
    learned = yield from state.models.learn(rows, state.intervals, state.units)
    _record(state, builder, learned)


def _record(state: ZoneState, builder: OutcomeBuilder, learned: LearningResult) -> None:
    for rows in learned.live:
        _record_live(state, rows)
        check_accuracy(state, builder)
    for change in learned.changes:
        builder.change(change)


def _trusted_readings(
    state: ZoneState, builder: OutcomeBuilder, closed: ClosedRows
) -> Float32Array:
    """The readings without implausible ones, which are quarantined."""
    bad = closed.codes > Reason.GAP
    flagged = np.array([name in state.flagged for name in state.columns], np.bool_)
    for column in np.flatnonzero(np.any(bad, axis=0) | flagged):
        name = state.columns[int(column)]
        for place in range(len(closed.times)):
            if not bad[place, column]:
                state.flagged.discard(name)
                continue
            reason = Reason(int(closed.codes[place, column]))
            value, moment = float(closed.readings[place, column]), int(closed.times[place])
            _quarantine(state, builder, name, moment=moment, value=value, reason=reason)
    return np.where(bad, np.float32(np.nan), closed.readings)


def _quarantine(
    state: ZoneState,
    builder: OutcomeBuilder,
    name: str,
    *,
    moment: int,
    value: float,
    reason: Reason,
) -> None:
    state.quarantined.setdefault(name, {})[moment] = value
    builder.add_flag(name, moment, Flag.QUARANTINED, reason.label)
    if name not in state.flagged:  # one event at the beginning, not one per reading
        state.flagged.add(name)
        builder.event(
            f"quarantine:{name}:{moment}",
            "quarantine",
            f"readings of {name} are set aside from here on: {reason.label}",
            entity=name,
            time=moment,
            details={"reason": reason.label},
        )


def _record_live(state: ZoneState, rows: LiveRows) -> None:
    """Record forecasts and input errors of rows, by the models deployed before them."""
    assert state.scaling is not None
    state.live.record(
        rows.times,
        reconstruction=rows.input_errors,
        forecasts=state.scaling.restore_power(rows.forecasts, state.columns).astype(np.float32),
        readings=rows.readings,
        delay=state.settings.delay,
    )


def _mask_held(state: ZoneState, measured: Float32Array) -> Float32Array:
    """Measurements to learn from: NaN for entities that are held, or all if the zone is."""
    held = [not state.held.isdisjoint({name, WHOLE_ZONE}) for name in state.columns]
    return np.where(held, np.float32(np.nan), measured)


def _targets(state: ZoneState, times: Times, readings: Float32Array) -> Float32Array:
    """Scaled readings; NaN in excluded windows."""
    assert state.scaling is not None
    y = state.scaling.scale_power(readings, state.columns)
    for column, name in enumerate(state.columns):
        y[state.exclusion_mask(name, times), column] = np.nan
    return y


def _flag_excluded(state: ZoneState, builder: OutcomeBuilder, times: Times) -> None:
    if not state.exclusions:
        return
    for name in state.columns:
        for moment in times[state.exclusion_mask(name, times)]:
            builder.add_flag(name, int(moment), Flag.EXCLUDED, "in an excluded window")


def in_range(state: ZoneState, column: int, value: float) -> bool:
    """Whether a reading is within the plausible power of its entity."""
    low, high = plausible_power(state.descriptions[int(column)])
    return low <= value <= high
