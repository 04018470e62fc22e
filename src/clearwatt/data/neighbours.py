"""Weather of neighbouring zones as further columns of a zone's weather.

Weather models place a front too early here and too late there: what they say for other places
tells how far to trust them here. A column `neighbour.ZONE.VARIABLE` is such weather. It may be
missing: then the zone's own value stands for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import reduce
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from clearwatt.arrays import Float32Array
from clearwatt.data.dataset import Dataset
from clearwatt.data.inputs import interpolate_weather, is_neighbour, neighbour_column

MOST_ZONES = 6
"""Neighbours of a zone; more hardly help and cost time."""
MOST_COLUMNS = 100
"""Weather columns of a zone, its own included, as a service takes them."""
MOST_LETTERS = 100
"""Letters of a column's name, as a service takes them."""
SHARE = 7
"""Neighbours are chosen by the first seventh of the weather: with the usual phases, the warm-up."""
LEAST_SIMILARITY = 0.2
"""Least mean correlation of two zones' weather to call them neighbours."""
LEAST_SHARE = 0.3
"""Least share of its first values that a zone must have to be compared with others."""
EVERY = 3
"""Rows are thinned by this factor to compare zones; weather changes slowly."""


def with_neighbours(dataset: Dataset, *, most: int = MOST_ZONES) -> Dataset:
    """The data set whose zones have the weather of up to ``most`` neighbours as further columns.

    The neighbours of a zone are those whose weather is most correlated with its own. A zone that
    has such columns stays as it is.
    """
    if len(dataset.zones) == 1 or most < 1:
        return dataset
    weather = dict(dataset.weather)
    beginnings = _beginnings(weather)
    for zone, frame in dataset.weather.items():
        if not any(is_neighbour(str(name)) for name in frame.columns):
            names = _neighbours(zone, beginnings, most)
            weather[zone] = _with_columns(frame, {name: dataset.weather[name] for name in names})
    return replace(dataset, weather=weather)


def without_neighbours(dataset: Dataset) -> Dataset:
    """The data set whose zones have their own weather alone."""
    weather = {zone: _own_weather(frame) for zone, frame in dataset.weather.items()}
    return replace(dataset, weather=weather)


def with_columns_of(dataset: Dataset, columns: Mapping[str, Sequence[str]]) -> Dataset:
    """The data set with the neighbours that zones had before, so that it continues an earlier one.

    Args:
        dataset: A data set, with or without neighbours.
        columns: Zone -> names of its weather columns. A neighbour that the data set does not have
            is missing throughout. Zones with other variables of their own stay as they are.
    """
    weather = dict(dataset.weather)
    for zone, names in columns.items():
        wanted, _ = split_columns(names)
        if zone in weather and [names[at] for at in wanted] == list(_own_weather(weather[zone])):
            weather[zone] = weather[zone].reindex(columns=list(names))
    return replace(dataset, weather=weather)


def split_columns(columns: Sequence[str]) -> tuple[list[int], list[int]]:
    """Positions of a zone's own inputs, and of those of its neighbours."""
    own = [at for at, name in enumerate(columns) if not is_neighbour(name)]
    return own, [at for at, name in enumerate(columns) if is_neighbour(name)]


def fill_neighbours(
    weather: Float32Array, columns: Sequence[str], otherwise: npt.NDArray[np.float64]
) -> Float32Array:
    """Weather ``n x variables`` in which the zone's own values stand for missing neighbours.

    Args:
        weather: Values; NaN where there is none.
        columns: Names of the variables.
        otherwise: Value of each column if the zone has no variable of that name.
    """
    own, others = split_columns(columns)
    filled = weather.copy()
    for at in others:
        missing = np.isnan(weather[:, at])
        if missing.any():
            same = [place for place in own if columns[at].endswith(f".{columns[place]}")]
            longest = max(same, key=lambda place: len(columns[place]), default=None)
            filled[missing, at] = otherwise[at] if longest is None else weather[missing, longest]
    return filled


class _Beginning(NamedTuple):
    """First weather of a zone, to compare it with others, on a clock that all share."""

    columns: int
    scaled: dict[str, npt.NDArray[np.float64]]
    """Variable -> values less their mean, of length 1; 0 where there is none."""


def _beginnings(weather: Mapping[str, pd.DataFrame]) -> dict[str, _Beginning]:
    """The beginning of each zone that has nearly all of its values."""
    parts = {zone: _own_weather(frame) for zone, frame in weather.items()}
    parts = {zone: frame.iloc[: max(2, len(frame) // SHARE)] for zone, frame in parts.items()}
    clock = reduce(pd.Index.union, (frame.index for frame in parts.values()))[::EVERY]
    times = pd.DatetimeIndex(clock)
    found = {
        zone: _scale(frame, interpolate_weather(frame, times)) for zone, frame in parts.items()
    }
    return {zone: each for zone, each in found.items() if each is not None}


def _scale(frame: pd.DataFrame, found: Float32Array) -> _Beginning | None:
    values = found.astype(np.float64)
    if np.isfinite(values).mean(axis=0).min() < LEAST_SHARE:
        return None
    centred = np.nan_to_num(values - np.nanmean(values, axis=0))
    lengths = np.sqrt(np.square(centred).sum(axis=0))
    scaled = centred / np.where(lengths > 0, lengths, 1.0)
    return _Beginning(
        frame.shape[1], dict(zip(map(str, frame.columns), scaled.T.copy(), strict=True))
    )


def _neighbours(zone: str, beginnings: Mapping[str, _Beginning], most: int) -> list[str]:
    """Zones with the most similar weather, the most similar first."""
    own = beginnings.get(zone)
    if own is None:
        return []
    similar = {name: _similarity(own, other) for name, other in beginnings.items() if name != zone}
    names = sorted(similar, key=lambda name: -similar[name])[:most]
    chosen = [name for name in names if similar[name] >= LEAST_SIMILARITY]
    widths = own.columns + np.cumsum([beginnings[name].columns for name in chosen], dtype=np.int64)
    return chosen[: int(np.searchsorted(widths, MOST_COLUMNS, side="right"))]


def _similarity(own: _Beginning, other: _Beginning) -> float:
    """Mean correlation of the variables that two zones share; 0 if they share none."""
    shared = own.scaled.keys() & other.scaled.keys()
    products = [float(own.scaled[name] @ other.scaled[name]) for name in sorted(shared)]
    return sum(products) / max(1, len(products))


def _own_weather(frame: pd.DataFrame) -> pd.DataFrame:
    own, _ = split_columns([str(name) for name in frame.columns])
    return frame.iloc[:, own]


def _with_columns(frame: pd.DataFrame, others: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    times = pd.DatetimeIndex(frame.index)
    parts = [frame]
    for zone, other in others.items():
        own = _own_weather(other)
        same = own.index.equals(frame.index)
        values = own.to_numpy(np.float32) if same else interpolate_weather(own, times)
        names = [neighbour_column(zone, str(name)) for name in own.columns]
        taken = {name for part in parts for name in part.columns}
        fits = [len(name) <= MOST_LETTERS and name not in taken for name in names]
        parts.append(pd.DataFrame(values, frame.index, names).loc[:, fits])
    return pd.concat(parts, axis=1)
