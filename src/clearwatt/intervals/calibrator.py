"""Quantiles around point forecasts, recalibrated day by day as measurements arrive.

A residual is normalised by what is usual in its cell (hour and level, `cells`) and by how large
residuals are these days (`recent`). Quantiles of normalised residuals come from a fading histogram
(`shape`), and a tracker per level moves each until the share of readings below it is right.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import asdict, replace
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from clearwatt.errors import ConfigurationError, DataError, StateError, require_whole
from clearwatt.intervals.batch import DAYS, Batch, Kept
from clearwatt.intervals.card import Card
from clearwatt.intervals.cells import PARTS, Cells, Places, Spread, Sums
from clearwatt.intervals.levels import KNOTS, LEVELS, Floats, checked_levels
from clearwatt.intervals.limits import limits_of
from clearwatt.intervals.pace import PACE, Pace
from clearwatt.intervals.recent import Recent
from clearwatt.intervals.shape import histogram, quantiles_of
from clearwatt.intervals.sheet import Sheet, within

_KNOTS = np.asarray(KNOTS)

NamedArrays = Sums | Recent | Batch | Card
R = TypeVar("R", bound=NamedArrays)

VERSION = 1
"""Of the saved state."""

WINDOW_DAYS = 7
"""How many days of samples a new model is tried on."""


class Calibrator:
    """The quantiles of all entities of a zone, learned from their residuals row by row.

    What it has learned is a function of the rows it was given and of the models that were swapped
    between them; how rows were grouped into calls makes no difference.
    """

    def __init__(
        self, cells: Cells, limits: Floats, *, lag: int, pace: Pace, sums: Sums, counts: Floats
    ) -> None:
        entities = len(cells.lowest)
        self.cells, self.limits, self.lag, self.pace = cells, limits, lag, pace
        self._sums, self._counts = sums, counts
        self._offsets = np.zeros((entities, len(KNOTS)))
        self._recent = Recent.usual(entities, pace.recent * cells.slots)
        self._wide = np.full(entities, pace.start_wide)
        self._cards = (self._card(),) * (lag + 1)
        self._batch = Batch.empty(cells, entities)
        self._held = 0  # whole days in the batch
        self._day: int | None = None  # the one whose rows are coming in
        self.revision = 0  # of what is said
        self._last: int | None = None

    @classmethod
    def start(
        cls,
        forecasts: Floats,
        y: Floats,
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
        residuals, bands = y - forecasts, cells.bands(forecasts)
        places = cells.places(bands, steps)
        rough = Sums.of(residuals, np.abs(residuals), places=places, cells=cells.count)
        distances = np.abs(residuals - rough.spread().location.reshape(-1).take(places))
        sums = Sums.of(residuals, distances, places=places, cells=cells.count)
        counts = histogram(sums.spread().normalised(residuals, places), bands)
        share = pace.start_days * cells.slots / np.maximum(sums.samples.sum(axis=1), 1.0)
        share = np.minimum(share, 1.0)
        sums = Sums(*(each * share[:, None] for each in sums))
        limits = limits_of(low, high, y.shape[1])
        return cls(
            cells, limits, lag=lag, pace=pace, sums=sums, counts=counts * share[:, None, None]
        )

    def quantiles(
        self,
        forecasts: Floats,
        steps: Places,
        levels: Sequence[float] | Floats = LEVELS,
        *,
        columns: Places | None = None,
    ) -> Floats:
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
        return Sheet(self.cells, self._cards[-1], self.limits)

    def observe(
        self,
        forecasts: Floats,
        y: Floats,
        steps: Places,
        *,
        levels: Sequence[float] | Floats | None = None,
    ) -> Floats | None:
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
        kept = self._kept(forecasts, y, steps)
        for piece in self._days(steps):
            day = int(steps[piece.start]) // self.cells.day
            if self._day is not None and day != self._day:
                self._learn_day()
            self._day, self._last = day, int(steps[piece.stop - 1])
            if said is not None and wanted is not None:
                rows = self._cards[0].quantiles(
                    forecasts[piece], steps[piece], cells=self.cells, levels=wanted
                )
                said[piece] = within(rows, self.limits)
            self._take(kept.between(piece))
            if self._last % self.cells.day == self.cells.day - 1:
                self._learn_day()
        return said

    def swap(self, columns: Places, forecasts: Floats, y: Floats, steps: Places) -> None:
        """Go on with a new model, by what it says of the last days.

        Quantiles of the entities are as wide from now on as they would have been with it, and
        wider for some days, because it may have been trained on what it is tried on.

        Args:
            columns: the entities whose forecasts it changes, k.
            forecasts: what it says of the `WINDOW_DAYS` before, w x k; there may be none.
            y: what was measured, w x k; NaN where nothing was.
            steps: absolute number of each row, w.
        """
        old = self._recent.of_columns(columns)
        cells, card = self.cells.of(columns), self._cards[-1]
        spread = Spread(card.location[columns], card.scale[columns])
        places = cells.places(cells.bands(forecasts), steps)
        units = spread.normalised(y - forecasts, places)
        age = (steps.max(initial=0) - steps) / self.cells.day
        weights = 0.5 ** (age / self.pace.recent) / self.cells.stride
        rough = Recent.of(units, np.zeros(len(columns)), weights)
        tried = Recent.of(units, self.pace.bias * rough.bias, weights)
        # A quarter of a day's worth of before, for a window in which little was measured.
        some = self.cells.slots / 4 / np.maximum(old.samples, 1.0)
        self._recent = self._recent.with_columns(columns, old.faded(some, tried))
        self._wide = self._wide.copy()
        self._wide[columns] = self.pace.swap_wide
        self._cards = tuple(self._renewed(card, columns) for card in self._cards)
        self.revision += 1

    def add(
        self,
        forecasts: Floats,
        y: Floats,
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
            pace=self.pace,
        )
        arrays, own = new._arrays(), self._arrays()
        arrays["batch.places"] = arrays["batch.places"] + self.cells.count * len(self._wide)
        self._restore(
            {name: np.concatenate([own[name], arrays[name]], axis=_axis(name)) for name in own}
        )
        self.revision += 1

    def copy(self) -> Calibrator:
        """Another that goes on from here by itself."""
        other = copy(self)
        other._batch = self._batch.copy()
        return other

    def state(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """Everything needed to go on, as plain values and arrays."""
        values = {
            "version": VERSION,
            "day": self.cells.day,
            "parts": self.cells.parts,
            "lag": self.lag,
            "pace": asdict(self.pace),
            "held": self._held,
            "open_day": self._day,
            "revision": self.revision,
            "last": self._last,
        }
        return values, self._arrays()

    @classmethod
    def restored(
        cls, values: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]
    ) -> Calibrator:
        """Back from `state`; it goes on as if it had never stopped."""
        if values.get("version") != VERSION:
            raise StateError(
                f"intervals were saved with version {values.get('version')}, this release reads "
                f"version {VERSION}; load them with the release that wrote them"
            )
        found = cls.__new__(cls)
        found.lag, found.pace = values["lag"], Pace(**values["pace"])
        found._held, found._day, found._last = values["held"], values["open_day"], values["last"]
        found.revision = values["revision"]
        found.cells = Cells(values["day"], values["parts"], np.empty(0), np.empty(0))
        found._restore(arrays)
        return found

    @property
    def state_bytes(self) -> int:
        """Bytes of what is kept, per entity."""
        return sum(each.nbytes for each in self._arrays().values()) // len(self._wide)

    def _arrays(self) -> dict[str, npt.NDArray[Any]]:
        named: dict[str, NamedArrays] = {
            "sums": self._sums,
            "recent": self._recent,
            "batch": self._batch,
            **{f"card{at}": card for at, card in enumerate(self._cards)},
        }
        return {
            "lowest": self.cells.lowest,
            "height": self.cells.height,
            "limits": self.limits,
            "counts": self._counts,
            "offsets": self._offsets,
            "wide": self._wide,
            **{
                f"{name}.{field}": array
                for name, record in named.items()
                for field, array in record._asdict().items()
            },
        }

    def _restore(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        def record(kind: Callable[..., R], name: str, fields: Sequence[str]) -> R:
            return kind(*(arrays[f"{name}.{field}"] for field in fields))

        self.cells = replace(self.cells, lowest=arrays["lowest"], height=arrays["height"])
        self.limits, self._counts = arrays["limits"], arrays["counts"]
        self._offsets, self._wide = arrays["offsets"], arrays["wide"]
        self._sums = record(Sums, "sums", Sums._fields)
        self._recent = record(Recent, "recent", Recent._fields)
        self._batch = record(Batch, "batch", Batch._fields).copy()
        self._cards = tuple(record(Card, f"card{at}", Card._fields) for at in range(self.lag + 1))

    def _check(self, forecasts: Floats, y: Floats, steps: Places) -> None:
        wanted = (len(steps), len(self._wide))
        for name, values in (("forecasts", forecasts), ("y", y)):
            if values.shape != wanted:
                raise DataError(
                    f"{name} have shape {values.shape}; {wanted[0]} steps of {wanted[1]} entities "
                    f"need shape {wanted}"
                )
        before = steps if self._last is None else np.concatenate([[self._last], steps])
        back = np.flatnonzero(np.diff(before) <= 0)
        if len(back):
            raise DataError(
                f"step {before[back[0] + 1]} comes after step {before[back[0]]}; give rows in "
                "order, each once"
            )

    def _days(self, steps: Places) -> Iterator[slice]:
        """The pieces of a block that belong to one day each."""
        cuts = np.flatnonzero(np.diff(steps // self.cells.day)) + 1
        ends = [0, *cuts.tolist(), len(steps)]
        return (slice(start, stop) for start, stop in pairwise(ends) if stop > start)

    def _kept(self, forecasts: Floats, y: Floats, steps: Places) -> Kept:
        """What of a block is learned from; none of this depends on what has been learned."""
        chosen = self.cells.learned(steps)
        forecasts, steps = forecasts[chosen], steps[chosen]
        places = self.cells.places(self.cells.bands(forecasts), steps)
        slots = steps % self.cells.day // self.cells.stride
        return Kept(chosen, slots, places, y[chosen] - forecasts)

    def _take(self, kept: Kept) -> None:
        """Hold rows of the day that is coming in, normalised by what was said of it."""
        if len(kept.chosen) == 0:
            return
        card, rows = self._cards[0], kept.slots + self._held * self.cells.slots
        units = card.spread.normalised(kept.residuals, kept.places)
        z = (units - card.bias) / card.size
        reach = z / (1.0 + card.wide)
        self._batch.write(rows, Batch(kept.places, kept.residuals, units, z, reach))

    def _learn_day(self) -> None:
        """Learn from a day that is over."""
        self._day = None
        slots, pace = self.cells.slots, self.pace
        units = self._batch.units[self._held * slots : (self._held + 1) * slots]
        newer = Recent.of(units, self._cards[0].bias)
        measured = newer.samples / slots
        self._recent = self._recent.faded(0.5 ** (measured / pace.recent), newer)
        self._wide = self._wide * 0.5 ** (measured / pace.narrowing)
        self._held += 1
        if self._held == DAYS:
            self._learn_usual()
            card = self._card()
        else:
            card = self._cards[-1]._replace(bias=self._bias, size=self._size, wide=self._wide)
        self._cards = (*self._cards[1:], card)
        self.revision += 1

    def _learn_usual(self) -> None:
        """Learn what is usual from a batch that is full, and move the trackers."""
        batch, cells, card = self._batch, self.cells, self._cards[-1]
        bands = batch.bands(cells)
        measured = np.count_nonzero(~np.isnan(batch.z), axis=0) / cells.slots
        missing = measured[:, None] * _KNOTS - card.below(batch.reach, bands) / cells.slots
        self._offsets = self._offsets + self.pace.step * missing
        fade = 0.5 ** (measured / self.pace.usual)
        distances = np.abs(batch.residuals - card.location.reshape(-1).take(batch.places))
        newer = Sums.of(batch.residuals, distances, places=batch.places, cells=cells.count)
        self._sums = self._sums.faded(fade, newer)
        self._counts = self._counts * fade[:, None, None]
        self._counts += histogram(batch.z, bands)
        self._batch, self._held = Batch.empty(cells, len(fade)), 0

    def _card(self) -> Card:
        """What is said from now on, all of it made anew."""
        return Card(
            *self._sums.spread(),
            bias=self._bias,
            size=self._size,
            wide=self._wide,
            table=np.sort(quantiles_of(self._counts) + self._offsets[:, None], axis=2),
        )

    def _renewed(self, card: Card, columns: Places) -> Card:
        """A card with how things are these days put right for some entities."""
        now = {"bias": self._bias, "size": self._size, "wide": self._wide}
        parts = {name: getattr(card, name).copy() for name in now}
        for name, part in parts.items():
            part[columns] = now[name][columns]
        return card._replace(**parts)

    @property
    def _bias(self) -> Floats:
        return self.pace.bias * self._recent.bias

    @property
    def _size(self) -> Floats:
        trust = self.pace.trust
        return np.asarray(1.0 - trust + trust * self._recent.size, np.float64)


def _axis(name: str) -> int:
    """Along which axis of a saved array the entities are."""
    return 1 if name == "limits" or name.startswith("batch.") else 0
