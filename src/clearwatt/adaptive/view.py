"""What the networks see: inputs and their recent past, standardised."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import numpy.typing as npt

from clearwatt.arrays import Float64Array
from clearwatt.clock import HOURS_PER_DAY, Steps
from clearwatt.data.features import CALENDAR_COLUMNS
from clearwatt.data.inputs import is_neighbour
from clearwatt.errors import ConfigurationError
from clearwatt.training.standardisation import Standardisation

TIME_OF_DAY = ("hour_sin", "hour_cos", "minute_sin", "minute_cos")
YEARLY = ("week_sin", "week_cos", "day_of_year_sin", "day_of_year_cos")
ROUNDING = 1e-3
"""Largest error of an angle of minutes, in radians."""
CALENDAR = 0.25
"""Weight of each column of time of day and weekday in squared distances of inputs."""
FAR = 5.0
"""Inputs are clipped at this many deviations from the warm-up's mean."""


@dataclass(frozen=True, eq=False)
class View:
    """Turns input rows into what the networks see, causally: a row and the rows before it.

    Each weather input is followed by its mean over each of the `windows` before, less its present
    value, because power also depends on past weather. Hours and minutes, where both are inputs,
    become one time of day: a network that sees minutes alone repeats a pattern every hour.

    Args:
        kept: Which input columns are used.
        weather: Which of them are weather, so averaged over the windows.
        season: Positions of the time of year among the columns seen.
        windows: Lengths of the means, in steps.
        scale: Of the warm-up.
        time_of_day: Input columns `TIME_OF_DAY`, of which the first two are used; empty if steps
            are whole hours.
        neighbours: Positions of the weather of neighbouring zones among the columns seen.
    """

    kept: tuple[int, ...]
    weather: tuple[int, ...]
    season: tuple[int, ...]
    windows: tuple[int, ...]
    scale: Standardisation
    time_of_day: tuple[int, ...] = ()
    neighbours: tuple[int, ...] = ()

    @classmethod
    def fit(
        cls, x: Float64Array, at: Steps, *, columns: Sequence[str] | None, windows: Sequence[int]
    ) -> Self:
        """The view that fits the inputs of a warm-up.

        Args:
            x: Inputs, `n x d`.
            at: Step of each, `n`, ascending.
            columns: Names of the inputs, `d`; None: weather, then `CALENDAR_COLUMNS`.
            windows: Lengths of the means, in steps.
        """
        names = _names(x.shape[1], columns)
        varying = [i for i in range(len(names)) if np.ptp(x[:, i]) > 0]
        time_of_day = [i for name in TIME_OF_DAY for i in varying if names[i] == name]
        joined = len(time_of_day) == len(TIME_OF_DAY)
        kept = [i for i in varying if not (joined and i in time_of_day[2:])]
        circles = [place for place, i in enumerate(kept) if names[i] in CALENDAR_COLUMNS]
        bare = cls(
            kept=tuple(kept),
            weather=tuple(
                i for i in kept if names[i] not in CALENDAR_COLUMNS and not is_neighbour(names[i])
            ),
            season=tuple(place for place, i in enumerate(kept) if names[i] in YEARLY),
            windows=tuple(windows),
            scale=Standardisation.identity(0),
            time_of_day=tuple(time_of_day) if joined else (),
            neighbours=tuple(place for place, i in enumerate(kept) if is_neighbour(names[i])),
        )
        scale = Standardisation.fit(bare._columns(x, at))
        # A warm-up may cover only an arc of the circle, so its mean and deviation are not used.
        scale.mean[circles], scale.scale[circles] = 0.0, math.sqrt(0.5)
        return replace(bare, scale=scale)

    @property
    def width(self) -> int:
        """Number of columns the networks see."""
        return len(self.kept) + len(self.weather) * len(self.windows)

    @property
    def distances(self) -> tuple[float, ...]:
        """Weight of each column seen in squared distances of inputs, of which all weather has 1.

        Only the present weather and the calendar without the time of year have any, because few
        samples do not show what the rest matters.
        """
        weather = [place for place, i in enumerate(self.kept) if i in self.weather]
        other = {*weather, *self.season, *self.neighbours}
        weights = [0.0 if place in other else CALENDAR for place in range(len(self.kept))]
        for place in weather:
            weights[place] = 1 / len(weather)
        return (*weights, *[0.0] * (self.width - len(self.kept)))

    @property
    def reach(self) -> int:
        """How many steps back a row's view goes."""
        return max(self.windows, default=1) - 1

    def see(self, x: Float64Array, at: Steps, *, first: int = 0) -> npt.NDArray[np.float32]:
        """View of rows `n x d` from a first one on; means use only the rows given."""
        scaled = self.scale.apply(self._columns(x, at, first))
        np.maximum(scaled, -FAR, out=scaled)
        return np.minimum(scaled, FAR, out=scaled)

    def _columns(self, x: Float64Array, at: Steps, first: int = 0) -> Float64Array:
        weather, rows = x.take(self.weather, axis=1), x[first:]
        if self.time_of_day:
            rows = rows.copy()
            rows[:, self.time_of_day[:2]] = _time_of_day(rows.take(self.time_of_day, axis=1))
        sums = np.zeros((len(x) + 1, weather.shape[1]))
        np.add.accumulate(weather, axis=0, out=sums[1:])
        ends, now = np.arange(first + 1, len(x) + 1), weather[first:]
        parts = [rows.take(self.kept, axis=1)]
        for window in self.windows:
            starts = at.searchsorted(at[first:] - window, side="right")
            means = sums[first + 1 :] - sums.take(starts, axis=0)
            means /= (ends - starts)[:, None]
            means -= now
            parts.append(means)
        return np.concatenate(parts, axis=1)


def _time_of_day(x: Float64Array) -> Float64Array:
    """Sine and cosine of the time of day, `n x 2`, of columns `TIME_OF_DAY`, `n x 4`."""
    sine, cosine, *minute = np.ascontiguousarray(x.T)
    # Rounding must not turn the full hour into the end of the hour.
    past = np.mod(np.arctan2(*minute) + ROUNDING, 2 * np.pi) / HOURS_PER_DAY
    along, across = np.cos(past), np.sin(past)
    turned = [sine * along + cosine * across, cosine * along - sine * across]
    return np.stack(turned, axis=1)


def _names(width: int, columns: Sequence[str] | None) -> list[str]:
    """Names of the inputs; by default weather, then the calendar, as `prepare` lays them out."""
    if columns is None:
        weather = width - len(CALENDAR_COLUMNS)
        columns = [f"weather_{i}" for i in range(weather)] + list(CALENDAR_COLUMNS)
    if len(columns) != width:
        raise ConfigurationError(
            f"{len(columns)} names for {width} inputs; give columns, one name for each"
        )
    return list(columns)
