"""Scaling of inputs and power: fitted on the warm-up only, saved, and inverted for forecasts."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from clearwatt.arrays import Float32Array
from clearwatt.data.dataset import Dataset
from clearwatt.data.inputs import (
    CALENDAR_COLUMNS,
    MAX_GAP,
    calendar,
    interpolate_weather,
    time_zone,
)
from clearwatt.data.neighbours import fill_neighbours
from clearwatt.data.schema import Entity
from clearwatt.data.validation import name_list
from clearwatt.errors import DataError, StateError
from clearwatt.files import read_versioned_json, write_text_atomically

_FORMAT = "clearwatt-scaling"
_VERSION = 1
# Float32 readings of one constant differ by less than this, relative to their size.
_CONSTANT = 1e-6


@dataclass(frozen=True, slots=True)
class Extrema:
    """The range of one weather variable in the warm-up; it is scaled to [0, 1]."""

    low: float
    high: float

    def __post_init__(self) -> None:
        if not (math.isfinite(self.low) and math.isfinite(self.high) and self.low <= self.high):
            raise DataError(f"extrema [{self.low}, {self.high}] are not a finite, ordered range")

    @property
    def span(self) -> float:
        """The divisor; not zero where the variable was constant."""
        size = max(abs(self.low), abs(self.high))
        if self.high - self.low > _CONSTANT * size:
            return self.high - self.low
        return size or 1.0


@dataclass(frozen=True)
class Scaling:
    """The scaling of raw readings to model inputs and targets, fitted on the warm-up only.

    ``weather`` is zone -> variable -> extrema (variables in column order), ``power`` is entity ->
    the power that is scaled to 1. Values beyond the warm-up's range are *not* clipped, because
    novelty detection needs them.
    """

    weather: Mapping[str, Mapping[str, Extrema]]
    power: Mapping[str, float]
    timezone: str = "UTC"
    max_gap: pd.Timedelta = MAX_GAP

    def __post_init__(self) -> None:
        time_zone(self.timezone)
        for entity, size in self.power.items():
            if not (math.isfinite(size) and size > 0):
                raise DataError(f"power of {entity!r} is scaled by {size}; it must be positive")

    def columns(self, zone: str) -> tuple[str, ...]:
        """The names of the ``d`` inputs of a zone: its weather variables, then the calendar."""
        return (*self._extrema(zone), *CALENDAR_COLUMNS)

    def inputs(self, zone: str, frame: pd.DataFrame, times: pd.DatetimeIndex) -> Float32Array:
        """The inputs of a zone from its raw weather forecast.

        Returns:
            ``n x d``; NaN where the forecast does not cover the time. Missing weather of neighbours
            is replaced by the zone's own.
        """
        extrema = self._extrema(zone)
        _check_variables(zone, expected=tuple(extrema), given=tuple(map(str, frame.columns)))
        low = np.array([e.low for e in extrema.values()])
        span = np.array([e.span for e in extrema.values()])
        weather = interpolate_weather(frame[list(extrema)], times, max_gap=self.max_gap)
        weather = fill_neighbours(weather, tuple(extrema), low + span / 2)
        scaled = ((weather - low) / span).astype(np.float32)
        return np.hstack([scaled, calendar(times, timezone=self.timezone)])

    def scale_power(self, power: npt.ArrayLike, entities: Sequence[str]) -> Float32Array:
        """Raw power (``n x entities``, or one row) divided by each entity's size."""
        return (np.asarray(power, dtype=np.float64) / self._sizes(entities)).astype(np.float32)

    def restore_power(self, scaled: npt.ArrayLike, entities: Sequence[str]) -> Float32Array:
        """The inverse of ``scale_power``: forecasts in the unit of the power readings."""
        return (np.asarray(scaled, dtype=np.float64) * self._sizes(entities)).astype(np.float32)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; ``max_gap`` is in seconds."""
        weather = {z: {v: [e.low, e.high] for v, e in vs.items()} for z, vs in self.weather.items()}
        return {
            "weather": weather,
            "power": dict(self.power),
            "timezone": self.timezone,
            "max_gap": self.max_gap.total_seconds(),
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Scaling:
        """The opposite of `to_dict`."""
        weather = {
            zone: MappingProxyType(
                {name: Extrema(float(low), float(high)) for name, (low, high) in bounds.items()}
            )
            for zone, bounds in values["weather"].items()
        }
        power = {entity: float(size) for entity, size in values["power"].items()}
        max_gap = pd.Timedelta(seconds=values["max_gap"])
        return cls(MappingProxyType(weather), MappingProxyType(power), values["timezone"], max_gap)

    def save(self, path: str | Path) -> None:
        """Write the scaling as JSON; floats are restored exactly."""
        values = self.to_dict()
        content = {
            "format": _FORMAT,
            "version": _VERSION,
            "timezone": values["timezone"],
            "max_gap_seconds": values["max_gap"],
            "weather": values["weather"],
            "power": values["power"],
        }
        write_text_atomically(path, json.dumps(content, indent=1, allow_nan=False) + "\n")

    @classmethod
    def load(cls, path: str | Path) -> Scaling:
        """The scaling that ``save`` wrote."""
        try:
            content = read_versioned_json(Path(path), format_name=_FORMAT, version=_VERSION)
            return cls.from_dict({**content, "max_gap": content["max_gap_seconds"]})
        except FileNotFoundError:
            raise StateError(f"{path}: no such file; save a scaling there first") from None
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            message = f"{path} is not a version {_VERSION} scaling ({error}); fit and save it again"
            raise StateError(message) from error

    def _extrema(self, zone: str) -> Mapping[str, Extrema]:
        if zone not in self.weather:
            known = name_list(self.weather)
            raise DataError(f"zone {zone!r} was not in the warm-up; the scaling knows {known}")
        return self.weather[zone]

    def _sizes(self, entities: Sequence[str]) -> npt.NDArray[np.float64]:
        unknown = [name for name in entities if name not in self.power]
        if unknown:
            raise DataError(f"the scaling was not fitted on {name_list(unknown)}; fit it with them")
        return np.array([self.power[name] for name in entities])


def _check_variables(zone: str, *, expected: tuple[str, ...], given: tuple[str, ...]) -> None:
    """Require the variables of the warm-up, in any order."""
    missing = [name for name in expected if name not in given]
    extra = [name for name in given if name not in expected]
    if missing or extra:
        parts = [f"lacks {name_list(missing)}"] if missing else []
        parts += [f"has {name_list(extra)} too"] if extra else []
        raise DataError(
            f"weather of zone {zone!r} {' and '.join(parts)}, unlike the warm-up that the scaling "
            "was fitted on; fit a new scaling or give the same variables"
        )


def fit_scaling(
    dataset: Dataset,
    warmup: int | None = None,
    *,
    timezone: str | None = None,
    max_gap: pd.Timedelta = MAX_GAP,
) -> Scaling:
    """Fit the scaling on the warm-up, and on nothing after it.

    Args:
        dataset: the data set, or the slice of it that is the warm-up. Remove bad readings first
            (``QualityReport.clean``): a spike would become the peak of an unrated entity.
        warmup: the number of leading power steps that are the warm-up; all of them by default.
        timezone: the time zone of the calendar inputs; that of the data set by default.
        max_gap: the longest gap in the weather that is bridged.

    Returns:
        Weather extrema over the warm-up's inputs, power by rated capacity or, where that is
        unknown, by the largest absolute reading of the warm-up. Neither power nor weather after the
        last step of the warm-up is used.
    """
    power = dataset.power.iloc[: _warmup_length(dataset, warmup)]
    times = pd.DatetimeIndex(power.index)
    weather = {
        zone: _fit_extrema(zone, frame, times, max_gap=max_gap)
        for zone, frame in dataset.weather.items()
    }
    empty = [e.name for e in dataset.entities if not power[e.name].notna().any()]
    if empty:
        raise DataError(
            f"no reading of {name_list(empty)} in the warm-up (until {times[-1]}); take a longer "
            "warm-up or leave these entities out"
        )
    sizes = {entity.name: _power_size(entity, power[entity.name]) for entity in dataset.entities}
    zone = timezone or dataset.timezone
    return Scaling(MappingProxyType(weather), MappingProxyType(sizes), zone, max_gap)


def _warmup_length(dataset: Dataset, warmup: int | None) -> int:
    available = len(dataset.power)
    length = available if warmup is None else warmup
    if not 2 <= length <= available:
        raise DataError(
            f"a warm-up of {length} steps does not fit data set {dataset.name!r} of {available} "
            "steps; take at least 2 and no more than there are"
        )
    return length


def _fit_extrema(
    zone: str, frame: pd.DataFrame, times: pd.DatetimeIndex, *, max_gap: pd.Timedelta
) -> Mapping[str, Extrema]:
    # Interpolation between two hours would use the later one, which may be after the warm-up.
    values = interpolate_weather(frame.loc[: times[-1]], times, max_gap=max_gap)
    names = [str(name) for name in frame.columns]
    unknown = np.isnan(values).all(axis=0)
    if unknown.any():  # a neighbour without weather has the range of the zone itself
        filled = fill_neighbours(values, names, np.zeros(len(names)))
        values[:, unknown] = filled[:, unknown]
    absent = [names[at] for at in np.flatnonzero(np.isnan(values).all(axis=0))]
    if absent:
        raise DataError(
            f"weather of zone {zone!r} has no value of {name_list(absent)} in the warm-up "
            f"(until {times[-1]}); take a longer warm-up or drop the variable"
        )
    lows, highs = np.nanmin(values, axis=0), np.nanmax(values, axis=0)
    extrema = (Extrema(float(low), float(high)) for low, high in zip(lows, highs, strict=True))
    return MappingProxyType(dict(zip(names, extrema, strict=True)))


def _power_size(entity: Entity, readings: pd.Series[float]) -> float:
    if entity.capacity is not None:
        return float(entity.capacity)
    peak = float(readings.abs().max())
    if peak == 0:
        raise DataError(
            f"{entity.name!r} has no rated capacity and reads zero throughout the warm-up; "
            "state its capacity or take a longer warm-up"
        )
    return peak
