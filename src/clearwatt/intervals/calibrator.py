"""Quantiles around point forecasts, recalibrated day by day as measurements arrive.

A residual is normalised by what is usual in its cell (hour and level, `cells`) and by how large
residuals are these days (`recent`). Quantiles of normalised residuals come from a fading histogram
(`shape`), and a tracker per level moves each until the share of readings below it is right.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import asdict
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from clearwatt.arrays import Float64Array
from clearwatt.errors import ConfigurationError, DataError, StateError, require_whole
from clearwatt.intervals.batch import Kept
from clearwatt.intervals.card import Card
from clearwatt.intervals.cells import PARTS, Cells, Places, Spread
from clearwatt.intervals.learner import Learner
from clearwatt.intervals.levels import LEVELS, checked_levels
from clearwatt.intervals.limits import limits_of
from clearwatt.intervals.pace import PACE, Pace
from clearwatt.intervals.sheet import Sheet, within
from clearwatt.intervals.usual import Usual

VERSION = 2
"""Of the saved state."""


class Calibrator:
    """The quantiles of all entities of a zone, learned from their residuals row by row.

    What it has learned is a function of the rows it was given and of the models that were swapped
    between them; how rows were grouped into calls makes no difference.
    """

    def __init__(self, learner: Learner, limits: Float64Array, *, lag: int) -> None:
        self.cells, self.limits, self.lag = learner.cells, limits, lag
        self._learner = learner
        self._day: int | None = None  # the one whose rows are coming in
        self._last: int | None = None  # the step of the last row
        self.revision = 0  # of what is said

    @classmethod
    def start(
        cls,
        forecasts: Float64Array,
        y: Float64Array,
        steps: Places,
        *,
        day: int,
        parts: int = PARTS,
        lag: int = 1,
        low: npt.ArrayLike | None = None,
        high: npt.ArrayLike | None = None,
        pace: Pace = PACE,
    ) -> Calibrator:
        """Begin with what the models say of their warm-up.

        Args:
            forecasts: n x m.
            y: measurements, n x m; NaN where there is none.
            steps: absolute number of each row, n, ascending.
            day: steps of a day.
            parts: of a day that are told apart; 1 where nobody knows the time of day.
            lag: whole days between the last row known when quantiles are given and the day they
                are given for: 1 for a day ahead.
            low: the lowest power possible, of all or of each entity; None: no limit.
            high: the highest.
            pace: how fast it learns.
        """
        require_whole(day=day, parts=parts)
        if lag < 0:
            raise ConfigurationError(f"lag is {lag}; it must be 0 or more days")
        cells = Cells.over(forecasts, day=day, parts=min(parts, day))
        places = cells.places(cells.bands(forecasts), steps)
        usual = Usual.of(y - forecasts, places, cells=cells, pace=pace)
        limits = limits_of(low, high, y.shape[1])
        return cls(Learner(cells, lag=lag, pace=pace, usual=usual), limits, lag=lag)

    def quantiles(
        self,
        forecasts: Float64Array,
        steps: Places,
        levels: Sequence[float] | Float64Array = LEVELS,
        *,
        columns: Places | None = None,
    ) -> Float64Array:
        """Quantiles (n x m x levels) around forecasts of rows to come, by all that is known.

        They ascend with their levels and stay within the limits.

        Args:
            forecasts: n x m, or n x the columns.
            steps: absolute number of each row, n.
            levels: ascending, between 0 and 1.
            columns: which entities; None: all.
        """
        return self.sheet.quantiles(forecasts, steps, levels, columns=columns)

    @property
    def sheet(self) -> Sheet:
        """What is said of rows to come, by all that is known; it does not change any more."""
        return Sheet(self.cells, self._learner.cards[-1], self.limits)

    def observe(
        self,
        forecasts: Float64Array,
        y: Float64Array,
        steps: Places,
        *,
        levels: Sequence[float] | Float64Array | None = None,
    ) -> Float64Array | None:
        """Take in rows: what the models in force said, and what was measured.

        Args:
            forecasts: n x m.
            y: measurements, n x m; NaN where there is none.
            steps: absolute number of each row, n, ascending from call to call.
            levels: of the quantiles to return.

        Returns:
            With levels the quantiles (n x m x levels) that were said of these rows, ``lag`` whole
            days and more before their measurements came.
        """
        self._check(forecasts, y, steps)
        wanted = None if levels is None else checked_levels(levels)
        said = None if wanted is None else np.empty((*y.shape, len(wanted)))
        cuts = self._cuts(steps)
        first = 0  # of the block's days that are still to be looked at
        while first < len(cuts) - 1:
            if self._day not in (None, int(steps[cuts[first]]) // self.cells.day):
                self._learn(1)
            days = cuts[first : first + self._learner.room + 1]
            cards = self._advance(forecasts, y, steps, cuts=days)
            if said is not None and wanted is not None:
                for card, (start, stop) in zip(cards, pairwise(days), strict=True):
                    rows = card.quantiles(
                        forecasts[start:stop], steps[start:stop], cells=self.cells, levels=wanted
                    )
                    said[start:stop] = within(rows, self.limits)
            first += len(days) - 1
        return said

    def swap(
        self, columns: Places, forecasts: Float64Array, y: Float64Array, steps: Places
    ) -> None:
        """Go on with a new model, by what it says of the last days.

        Quantiles of the entities are as wide from now on as they would have been with it, and
        wider for some days, because it may have been trained on what it is tried on.

        Args:
            columns: the entities whose forecasts it changes, k.
            forecasts: what it says of the `WINDOW_DAYS` before, w x k; there may be none.
            y: what was measured, w x k; NaN where nothing was.
            steps: absolute number of each row, w.
        """
        if self._day is not None and self._last is not None:
            # What was said of the rows before is not what will be said of those to come.
            self._learner.settle(self.cells.come(self._last))
        cells, card = self.cells.of(columns), self._learner.cards[-1]
        spread = Spread(card.location[columns], card.scale[columns])
        places = cells.places(cells.bands(forecasts), steps)
        age = (steps[-1:] - steps) / self.cells.day
        weights = 0.5 ** (age / self._learner.pace.recent) / self.cells.stride
        self._learner.renew(columns, spread.normalised(y - forecasts, places), weights)
        self.revision += 1

    def add(
        self,
        forecasts: Float64Array,
        y: Float64Array,
        steps: Places,
        *,
        low: float | None = None,
        high: float | None = None,
    ) -> None:
        """Let another entity join with its warm-up: forecasts (n), measurements (n), steps (n)."""
        new = Calibrator.start(
            forecasts[:, None],
            y[:, None],
            steps,
            day=self.cells.day,
            parts=self.cells.parts,
            lag=self.lag,
            low=low,
            high=high,
            pace=self._learner.pace,
        )
        arrays, own = new._arrays(), self._arrays()
        arrays["batch.places"] = arrays["batch.places"] + self.cells.count * len(self.cells.lowest)
        both = {name: np.concatenate([own[name], arrays[name]], axis=_axis(name)) for name in own}
        self._take_back(self.state()[0], both)
        self.revision += 1

    def copy(self) -> Calibrator:
        """Another that goes on from here by itself."""
        other = copy(self)
        other._learner = self._learner.copy()
        return other

    def state(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """Everything needed to go on, as plain values and arrays."""
        values = {
            "version": VERSION,
            "day": self.cells.day,
            "parts": self.cells.parts,
            "lag": self.lag,
            "pace": asdict(self._learner.pace),
            "held": self._learner.held,
            "settled": self._learner.settled,
            "open_day": self._day,
            "revision": self.revision,
            "last": self._last,
        }
        return values, self._arrays()

    @classmethod
    def from_state(
        cls, values: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]
    ) -> Calibrator:
        """Back from `state`; it goes on as if it had never stopped."""
        if values.get("version") != VERSION:
            raise StateError(
                f"intervals were saved with version {values.get('version')}, this release reads "
                f"version {VERSION}; load them with the release that wrote them"
            )
        found = cls.__new__(cls)
        found._day, found._last = values["open_day"], values["last"]
        found.revision = values["revision"]
        found._take_back(values, arrays)
        return found

    @property
    def state_bytes(self) -> int:
        """Bytes of what is kept, per entity."""
        return sum(each.nbytes for each in self._arrays().values()) // len(self.cells.lowest)

    def _arrays(self) -> dict[str, npt.NDArray[Any]]:
        return {
            "lowest": self.cells.lowest,
            "height": self.cells.height,
            "limits": self.limits,
            **self._learner.arrays(),
        }

    def _take_back(self, values: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """Put what was learned in place of what is there."""
        self.cells = Cells(values["day"], values["parts"], arrays["lowest"], arrays["height"])
        self.limits, self.lag = arrays["limits"], values["lag"]
        self._learner = Learner.restored(
            arrays,
            cells=self.cells,
            lag=self.lag,
            pace=Pace(**values["pace"]),
            held=values["held"],
            settled=values["settled"],
        )

    def _check(self, forecasts: Float64Array, y: Float64Array, steps: Places) -> None:
        wanted = (len(steps), len(self.cells.lowest))
        for name, values in (("forecasts", forecasts), ("y", y)):
            if values.shape != wanted:
                raise DataError(
                    f"{name} have shape {values.shape}; {wanted[0]} steps of {wanted[1]} entities "
                    f"need shape {wanted}"
                )
        if np.isinf(y).any():
            raise DataError("y is infinite in places; give NaN where nothing was measured")
        before = steps if self._last is None else np.concatenate([[self._last], steps])
        back = np.flatnonzero(np.diff(before) <= 0)
        if len(back):
            raise DataError(
                f"step {before[back[0] + 1]} comes after step {before[back[0]]}; give rows in "
                "order, each once"
            )

    def _cuts(self, steps: Places) -> list[int]:
        """Where the days of a block begin and end."""
        inner = np.flatnonzero(np.diff(steps // self.cells.day)) + 1
        return [0, *inner.tolist(), len(steps)] if len(steps) else []

    def _kept(self, forecasts: Float64Array, y: Float64Array, steps: Places) -> Kept | None:
        """What of some rows is learned from, if anything is."""
        chosen = self.cells.learned(steps)
        if len(chosen) == 0:  # so are most single rows
            return None
        forecasts, y, steps = forecasts[chosen], y[chosen], steps[chosen]
        places = self.cells.places(self.cells.bands(forecasts), steps)
        slots = steps % self.cells.day // self.cells.stride
        return Kept(chosen, slots, places, y - forecasts)

    def _advance(
        self, forecasts: Float64Array, y: Float64Array, steps: Places, *, cuts: list[int]
    ) -> list[Card]:
        """Take in the days of a block between cuts, no more than there is room for.

        Returns:
            What was said of each.
        """
        rows = slice(cuts[0], cuts[-1])
        kept = self._kept(forecasts[rows], y[rows], steps[rows])
        if kept is not None:
            days = np.searchsorted(cuts[1:-1], kept.chosen + cuts[0], side="right")
            self._learner.hold(kept, days)
        self._last = int(steps[cuts[-1] - 1])
        over = cuts[-1] < len(steps) or self._last % self.cells.day == self.cells.day - 1
        cards = self._learn(len(cuts) - 1 - (not over))
        self._day = None if over else self._last // self.cells.day
        return cards if over else [*cards, self._learner.cards[0]]

    def _learn(self, days: int) -> list[Card]:
        self.revision += days
        return self._learner.learn(days)


def _axis(name: str) -> int:
    """Along which axis of a saved array the entities are."""
    return 1 if name == "limits" or name.startswith("batch.") else 0
