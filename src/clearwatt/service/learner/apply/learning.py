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
from clearwatt.service.learner.apply.suspicion import set_aside, suspected_mask, watch_meters
from clearwatt.service.learner.apply.weather import LatestWeather, instants
from clearwatt.service.learner.apply.zone_models import (
    LateBlock,
    LearningResult,
    LiveRows,
    ModelChange,
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
    suspected = suspected_mask(state, late.times)[np.arange(len(late.times)), late.columns]
    for column, moment, value, good, doubted in zip(
        late.columns, late.times, late.values, plausible, suspected, strict=True
    ):
        name = state.columns[int(column)]
        if good and doubted:
            set_aside(state, builder, name, [(int(moment), float(value))])
        elif good:
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
    usable = plausible & ~suspected
    kept = LateReadings(late.columns[usable], late.times[usable], late.values[usable])
    yield from learn_past_readings(state, builder, kept)


def learn_past_readings(
    state: ZoneState,
    builder: OutcomeBuilder,
    late: LateReadings,
    *,
    weather: LatestWeather | None = None,
    moment: int | None = None,
) -> Stream[None]:
    """Learn from readings of closed rows, with the errors of the current models.

    ``weather`` is that of their time; by default what the zone still holds. ``moment`` is the time
    of the last row learned from; by default that of the last closed one.
    """
    if state.models is None or state.scaling is None or len(late.times) == 0:
        return
    times = np.unique(late.times)
    readings = np.full((len(times), len(state.columns)), np.nan, np.float32)
    readings[np.searchsorted(times, late.times), late.columns] = late.values
    x = inputs_at(state, times, weather=weather)
    y = mask_held(state, scale_readings(state, times, readings))
    usable = has_inputs(x) & np.asarray(np.isfinite(y).any(axis=1), np.bool_)
    if not usable.any():
        return
    if moment is None:
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
    settled = rows.count_settled(has_inputs(x), state.expected, state.settings.lateness)
    count = settled - state.rows_to_settle
    if count <= 0:
        return None
    first = len(rows.values) - len(times)
    codes = assess_rows(state, slice(first, first + settled))[:count]
    piece = slice(first, first + count)
    return ClosedRows(times[:count], x[:count], rows.values[piece].copy(), codes)


def assess_rows(state: ZoneState, piece: slice, *, since: int = 0) -> npt.NDArray[np.uint8]:
    """Quality codes (n x entities) of some rows, by them and the rows before, from ``since`` on."""
    assert state.rows is not None
    seen = slice(since, piece.stop)
    times, values = state.rows.times[seen], state.rows.values[seen]
    frame = pd.DataFrame(values, index=instants(times), columns=state.columns)
    return assess_readings(frame, state.descriptions, RULES).codes[piece.start - since :]


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
    released = watch_meters(state, builder, closed.times, closed.x, closed.readings)
    # Rows are closed all together, so that the last closed one depends on how they are grouped.
    moment = int(closed.times[0]) - state.zone.step
    yield from learn_past_readings(state, builder, released, moment=moment)
    readings = _without_suspected(state, builder, closed.times, readings)
    known, learns = scale_readings(state, closed.times, readings), WHOLE_ZONE not in state.held
    if learns:
        _flag_excluded(state, builder, closed.times)
    rows = RowBlock(
        closed.times,
        closed.x,
        covered=has_inputs(closed.x),
        known=known,
        targets=mask_held(state, known),
        readings=readings,
        learns=learns,
        known_after=state.known_after,
    )
    learned = yield from state.models.learn(rows, state.intervals, state.units)
    _record(state, builder, learned)


def _record(state: ZoneState, builder: OutcomeBuilder, learned: LearningResult) -> None:
    for rows in learned.live:
        _record_live(state, rows)
        check_accuracy(state, builder)
    for change in learned.changes:
        builder.change(change)
        if change.entity is not None and _learned_readings(change):
            state.leave_fleet(change.entity)


def _learned_readings(change: ModelChange) -> bool:
    """Whether networks have learned an entity's readings; of a back-cast past, most are others'.

    A history that comes later may then still replace what the entity started with.
    """
    return change.kind == "update" and change.details.get("trigger") != "backcast"


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


def _without_suspected(
    state: ZoneState, builder: OutcomeBuilder, times: Times, readings: Float32Array
) -> Float32Array:
    """The readings without those of suspected meters, which go to quarantine."""
    if not state.suspicions:
        return readings
    suspected = suspected_mask(state, times) & np.isfinite(readings)
    for column in np.flatnonzero(suspected.any(axis=0)):
        rows = suspected[:, column]
        own = zip(times[rows].tolist(), readings[rows, column].tolist(), strict=True)
        set_aside(state, builder, state.columns[int(column)], own)
    return np.where(suspected, np.float32(np.nan), readings)


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
    if rows.leads is not None:
        state.leads.add_rows(rows.leads, state.live, state.intervals, state.sizes)


def mask_held(state: ZoneState, measured: Float32Array) -> Float32Array:
    """Measurements to learn from: NaN for entities that are held, or all if the zone is."""
    held = [not state.held.isdisjoint({name, WHOLE_ZONE}) for name in state.columns]
    return np.where(held, np.float32(np.nan), measured)


def scale_readings(state: ZoneState, times: Times, readings: Float32Array) -> Float32Array:
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
