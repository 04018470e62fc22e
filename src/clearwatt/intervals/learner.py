"""What a calibrator learns with: rows that have come, what they taught, and what is said of days.

It knows days by their order alone; which steps they are is the calibrator's to know.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from clearwatt.arrays import Float64Array
from clearwatt.intervals.batch import DAYS, Batch, Kept
from clearwatt.intervals.card import Card
from clearwatt.intervals.cells import Cells, Places, Sums
from clearwatt.intervals.pace import Pace
from clearwatt.intervals.recent import Days, Recent, followed
from clearwatt.intervals.usual import Usual, fades

NamedArrays = Sums | Recent | Batch | Card
R = TypeVar("R", bound=NamedArrays)


class Learner:
    """Everything that changes with measurements; ``cards`` are what is said of each day to come.

    The first card is in force today, the last is the newest; there are ``lag`` days between them.
    """

    def __init__(self, cells: Cells, *, lag: int, pace: Pace, usual: Usual) -> None:
        entities = len(cells.lowest)
        self.cells, self.pace, self.usual = cells, pace, usual
        self.recent = Recent.usual(entities, pace.recent * cells.slots)
        self.wide = np.full(entities, pace.start_wide)
        self.cards: tuple[Card, ...] = (self._card(),) * (lag + 1)
        self.batch = Batch.empty(cells, entities)
        self.held = 0  # days of the batch that have been learned from
        self.settled = 0  # rows of the batch whose z is known

    @property
    def room(self) -> int:
        """How many days, with the one whose rows are coming in, can be held."""
        return DAYS - self.held

    def hold(self, kept: Kept, days: Places | int) -> None:
        """Take in rows; ``days`` (k) are 0 for the day whose rows are coming in, 1 for the next."""
        self.batch.write(kept, kept.slots + (self.held + days) * self.cells.slots)

    def learn(self, days: int) -> list[Card]:
        """Learn from days that are over, all of them held; returns what was said of each.

        All are looked at together, because a day is little to do and a call takes time. What
        comes out is the same to the last bit for one at a time.
        """
        if days == 0:
            return []
        seen = Days.of(self._units(days))
        after, wide = self._followed(seen)
        new = zip(self._bias(after), self._size(after), wide, strict=True)
        cards = [
            *self.cards,
            *(self.cards[-1]._replace(bias=bias, size=size, wide=w) for bias, size, w in new),
        ]
        self._settle(seen.units, cards[:days], (self.held + days) * self.cells.slots)
        self.recent, self.wide = Recent(*(each[-1] for each in after)), wide[-1]
        self.held += days
        if self.held == DAYS:
            self._learn_usual()
            cards[-1] = self._card()
        self.cards = tuple(cards[days:])
        return cards[:days]

    def settle(self, slots: int) -> None:
        """Normalise the first slots of the day whose rows are coming in by what is said of it."""
        self._settle(self._units(1), self.cards[:1], self.held * self.cells.slots + slots)

    def renew(self, columns: Places, units: Float64Array, weights: Float64Array) -> None:
        """Put right how things are these days for new models of some entities.

        Args:
            columns: the entities, k.
            units: their residuals of the last days in units of their cells, w x k.
            weights: of each row, w.
        """
        old = self.recent.of_columns(columns)
        rough = Recent.of(units, np.zeros(len(columns)), weights)
        tried = Recent.of(units, self._bias(rough), weights)
        # A quarter of a day's worth of before, for a window in which little was measured.
        some = self.cells.slots / 4 / np.maximum(old.samples, 1.0)
        self.recent = self.recent.with_columns(columns, old.faded(some, tried))
        self.wide = self.wide.copy()
        self.wide[columns] = self.pace.swap_wide
        self.cards = tuple(self._renewed(card, columns) for card in self.cards)

    def copy(self) -> Learner:
        """Another that goes on from here by itself."""
        other = copy(self)
        other.batch = self.batch.copy()
        return other

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Everything it has learned."""
        named: dict[str, NamedArrays] = {
            "sums": self.usual.sums,
            "recent": self.recent,
            "batch": self.batch,
            **{f"card{at}": card for at, card in enumerate(self.cards)},
        }
        return {
            "counts": self.usual.counts,
            "offsets": self.usual.offsets,
            "wide": self.wide,
            **{
                f"{name}.{field}": array
                for name, record in named.items()
                for field, array in record._asdict().items()
            },
        }

    @classmethod
    def restored(
        cls,
        arrays: Mapping[str, npt.NDArray[Any]],
        *,
        cells: Cells,
        lag: int,
        pace: Pace,
        held: int,
        settled: int,
    ) -> Learner:
        """Back from `arrays`."""

        def record(kind: Callable[..., R], name: str, fields: Sequence[str]) -> R:
            return kind(*(arrays[f"{name}.{field}"] for field in fields))

        found = cls.__new__(cls)
        found.cells, found.pace, found.wide = cells, pace, arrays["wide"]
        found.held, found.settled = held, settled
        sums = record(Sums, "sums", Sums._fields)
        found.usual = Usual(sums, arrays["counts"], arrays["offsets"])
        found.recent = record(Recent, "recent", Recent._fields)
        found.batch = record(Batch, "batch", Batch._fields).copy()
        found.cards = tuple(record(Card, f"card{at}", Card._fields) for at in range(lag + 1))
        return found

    def _units(self, days: int) -> Float64Array:
        """Residuals of days to learn from in units of their cells: days x slots x m."""
        slots, batch = self.cells.slots, self.batch
        # What is usual stays as it is in the newest card until the batch is full.
        ends = [self.held + day for day in (*range(min(days, len(self.cards))), days)]
        parts = [slice(start * slots, stop * slots) for start, stop in pairwise(ends)]
        units = [
            card.spread.normalised(batch.residuals[part], batch.places[part])
            for card, part in zip(self.cards, parts, strict=False)
        ]
        return np.concatenate(units).reshape(days, slots, -1)

    def _followed(self, seen: Days) -> tuple[Recent, Float64Array]:
        """How things are, and how much wider quantiles, after each day: days x m."""
        slots, before = self.cells.slots, self.recent
        fade, narrow = (
            fades(slots, half_life, slots).take(seen.counts)
            for half_life in (self.pace.recent, self.pace.narrowing)
        )
        samples = followed(before.samples, fade, seen.counts)
        residuals = followed(before.residuals, fade, seen.residuals())
        bias = self._bias(Recent(samples, residuals, residuals))
        said = np.array([*(card.bias for card in self.cards), *bias][: len(bias)])
        distances = followed(before.distances, fade, seen.distances(said))
        wide = np.multiply.accumulate(np.concatenate([self.wide[None], narrow]))[1:]
        return Recent(samples, residuals, distances), wide

    def _settle(self, units: Float64Array, cards: Sequence[Card], end: int) -> None:
        """Normalise rows of the batch up to an end, of days (days x slots x m) by their cards."""
        first = self.held * self.cells.slots
        bias, size, wide = (
            np.array([getattr(card, name) for card in cards])[:, None]
            for name in ("bias", "size", "wide")
        )
        z = (units - bias) / size
        for kept, values in ((self.batch.z, z), (self.batch.reach, z / (1.0 + wide))):
            rows = values.reshape(-1, values.shape[2])
            kept[self.settled : end] = rows[self.settled - first : end - first]
        self.settled = end

    def _learn_usual(self) -> None:
        """Learn what is usual from a batch that is full, and begin another."""
        self.usual = self.usual.learned(
            self.batch, self.cards[-1], cells=self.cells, pace=self.pace
        )
        self.batch.clear()
        self.held = self.settled = 0

    def _card(self) -> Card:
        """What is said from now on, all of it made anew."""
        return Card(
            *self.usual.sums.spread(),
            bias=self._bias(self.recent),
            size=self._size(self.recent),
            wide=self.wide,
            table=self.usual.table(),
        )

    def _renewed(self, card: Card, columns: Places) -> Card:
        """A card with how things are these days put right for some entities."""
        now = {"bias": self._bias(self.recent), "size": self._size(self.recent), "wide": self.wide}
        parts = {name: getattr(card, name).copy() for name in now}
        for name, part in parts.items():
            part[columns] = now[name][columns]
        return card._replace(**parts)

    def _bias(self, recent: Recent) -> Float64Array:
        return self.pace.bias * recent.bias

    def _size(self, recent: Recent) -> Float64Array:
        trust = self.pace.trust
        return np.asarray(1.0 - trust + trust * recent.size, np.float64)
