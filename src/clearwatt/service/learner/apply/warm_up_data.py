"""Data of a warm-up from received readings: arrays and scaling."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pandas as pd

from clearwatt.data.dataset import Dataset
from clearwatt.data.quality import assess_readings
from clearwatt.data.scaling import Scaling, fit_scaling
from clearwatt.errors import DataError
from clearwatt.service.learner.apply.weather import instants
from clearwatt.service.quality import RULES, describe
from clearwatt.service.records import Readings, RegisteredEntity, Zone
from clearwatt.service.times import text as written

EntityReadings = tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]
"""Times (n) and readings (n) of one entity."""

FEWEST_SAMPLES = 100
"""Minimum number of usable readings of an entity for a warm-up."""


LONGEST_HISTORY = 400_000
"""Maximum span of a warm-up in steps (eleven years of quarter hours)."""


NAMED = 5
"""Maximum number of entities that a message names."""


class UnfitHistoryError(DataError):
    """Entities whose history cannot be learned from, with the reason for each."""

    def __init__(self, reasons: Mapping[str, str]) -> None:
        super().__init__(name_reasons(reasons))
        self.reasons = dict(reasons)


def name_reasons(reasons: Mapping[str, str]) -> str:
    """The first entities with their reasons, in words."""
    named = [f"{name} {reason}" for name, reason in list(reasons.items())[:NAMED]]
    others = f"; and {len(reasons) - NAMED} more" if len(reasons) > NAMED else ""
    return "; ".join(named) + others


@dataclass(frozen=True, eq=False)
class WarmUpData:
    """Samples of a warm-up: times (n), inputs (n x d), scaled targets (n x entities).

    ``codes`` (m x entities) are the quality verdicts on ``power``, the readings on their clock (m).
    """

    scaling: Scaling
    times: npt.NDArray[np.int64]
    x: npt.NDArray[np.float32]
    y: npt.NDArray[np.float32]
    clock: npt.NDArray[np.int64]
    power: npt.NDArray[np.float32]
    codes: npt.NDArray[np.uint8]


def sort_readings(
    readings: Readings, *, step: int, start: int | None, end: int | None
) -> EntityReadings:
    """Readings of one entity in order of time, the last of each time, within start <= t <= end."""
    times, values = readings["time"], readings["value"]
    inside = np.ones(len(times), np.bool_)
    if start is not None:
        inside &= times >= start
    if end is not None:
        inside &= times <= end
    times, values = times[inside], values[inside]
    order = np.argsort(times, kind="stable")
    times, values = times[order], values[order]
    last = np.append(times[1:] != times[:-1], True)[: len(times)]
    return times[last], values[last].astype(np.float32)


def arrange_history(
    entities: Sequence[RegisteredEntity],
    series: Sequence[EntityReadings],
    *,
    weather: pd.DataFrame,
    zone: Zone,
    scaling: Scaling | None,
    extend: bool,
) -> WarmUpData:
    """Arrange the history of entities of one zone.

    Args:
        entities: the entities.
        series: their readings.
        weather: weather of the same time.
        zone: their zone.
        scaling: scaling of the zone or of the imported models, if any.
        extend: whether to add the sizes of these entities, from their history, to the scaling.
    """
    clock, power = _align_entities(entities, series, zone.step)
    _check_lengths(clock, weather)
    described = tuple(describe(entity) for entity in entities)
    frame = pd.DataFrame(power, index=instants(clock), columns=[e.id for e in entities])
    report = assess_readings(frame, described, RULES)
    frame = frame.where(report.ok)
    _check_samples(entities, frame.to_numpy())
    if scaling is None or extend:
        dataset = Dataset("warm-up", frame, {zone.id: weather}, described)
        fitted = fit_scaling(dataset, timezone=zone.timezone)
        known = fitted if scaling is None else scaling
        scaling = replace(known, power={**known.power, **fitted.power})
    x = scaling.inputs(zone.id, weather, instants(clock))
    y = scaling.scale_power(frame.to_numpy(), [entity.id for entity in entities])
    usable = np.isfinite(x).all(axis=1)
    _check_samples(entities, y[usable])
    return WarmUpData(scaling, clock[usable], x[usable], y[usable], clock, power, report.codes)


def _align_entities(
    entities: Sequence[RegisteredEntity], series: Sequence[EntityReadings], step: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]:
    filled = [times for times, _ in series if len(times)]
    if not filled:
        raise DataError(
            f"there are no readings of {', '.join(e.id for e in entities)} in that time; send its "
            "history to /v1/measurements first"
        )
    first = min(int(times[0]) for times in filled)
    last = max(int(times[-1]) for times in filled)
    earliest = last - LONGEST_HISTORY * step
    if first < earliest:
        raise UnfitHistoryError(
            {
                entity.id: f"has a history that begins at {written(int(times[0]))}, more than "
                f"{LONGEST_HISTORY} steps before it ends; give a later start"
                for entity, (times, _) in zip(entities, series, strict=True)
                if len(times) and times[0] < earliest
            }
        )
    clock = np.arange(first, last + 1, step, dtype=np.int64)
    power = np.full((len(clock), len(entities)), np.nan, np.float32)
    for column, (times, values) in enumerate(series):
        power[(times - first) // step, column] = values
    return clock, power


def _check_lengths(clock: npt.NDArray[np.int64], weather: pd.DataFrame) -> None:
    if len(clock) < 2:
        raise DataError("one reading is no history; send at least a few weeks to learn from")
    if len(weather) < 2:
        raise DataError(
            "there is no weather for the time of these readings; send it to /v1/weather first"
        )


def _check_samples(entities: Sequence[RegisteredEntity], y: npt.NDArray[np.float32]) -> None:
    counts = np.isfinite(y).sum(axis=0)
    few = {
        entity.id: f"has {count} readings that can be learned from (measured, plausible, with "
        f"weather); a warm-up needs {FEWEST_SAMPLES}"
        for entity, count in zip(entities, counts, strict=True)
        if count < FEWEST_SAMPLES
    }
    if few:
        raise UnfitHistoryError(few)
