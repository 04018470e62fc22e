"""State of a calibrator: pending rows, running statistics, and a quantile model per day.

Days are known by their order only; the calibrator knows which steps they are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from clearwatt.arrays import Float64Array
from clearwatt.intervals.cells import CellSums, Indices, ResidualCells
from clearwatt.intervals.long_term import LongTermStatistics, fade_factors
from clearwatt.intervals.pending import DAYS, PendingResiduals, ResidualRows
from clearwatt.intervals.quantile_model import QuantileModel
from clearwatt.intervals.rates import CalibrationRates
from clearwatt.intervals.recent import DailyResiduals, RecentStatistics, fading_sums

NamedArrays = CellSums | RecentStatistics | PendingResiduals | QuantileModel
R = TypeVar("R", bound=NamedArrays)


class CalibratorState:
    """Everything that changes with measurements.

    ``models`` are the quantiles of today and of each day to come: the first is used today, the
    last is the newest, ``lag`` days later. ``held`` counts the days of the pending rows that have
    been learned from, ``settled`` the pending rows that are normalised.
    """

    def __init__(
        self,
        cells: ResidualCells,
        *,
        lag: int,
        rates: CalibrationRates,
        long_term: LongTermStatistics,
    ) -> None:
        entities = len(cells.lowest)
        self.cells, self.rates, self.long_term = cells, rates, long_term
        self.recent = RecentStatistics.neutral(entities, rates.recent * cells.slots)
        self.wide = np.full(entities, rates.start_wide)
        self.models: tuple[QuantileModel, ...] = (self._new_model(),) * (lag + 1)
        self.pending = PendingResiduals.empty(cells, entities)
        self.held = self.settled = 0

    @property
    def free_days(self) -> int:
        """Number of days, including the current one, whose rows can be added."""
        return DAYS - self.held

    def add_rows(self, new: ResidualRows, days: Indices | int) -> None:
        """Add rows of the current day (``days`` 0), the next (1), and so on (k)."""
        self.pending.write(new, new.slots + (self.held + days) * self.cells.slots)

    def learn(self, days: int) -> list[QuantileModel]:
        """Learn from days that are over, all rows added; returns the model used on each.

        All days are computed together, because a call costs more than a day. The result is the
        same to the last bit for one day at a time.
        """
        if days == 0:
            return []
        seen = DailyResiduals.from_units(self._units(days))
        after, wide = self._recent_after(seen)
        new = zip(self._bias(after), self._size(after), wide, strict=True)
        models = [
            *self.models,
            *(self.models[-1]._replace(bias=bias, size=size, wide=w) for bias, size, w in new),
        ]
        self._normalise(seen.units, models[:days], (self.held + days) * self.cells.slots)
        self.recent, self.wide = RecentStatistics(*(each[-1] for each in after)), wide[-1]
        self.held += days
        if self.held == DAYS:
            self._update_long_term()
            models[-1] = self._new_model()
        self.models = tuple(models[days:])
        return models[:days]

    def normalise_today(self, slots: int) -> None:
        """Normalise the first rows of the current day by the model used today."""
        self._normalise(self._units(1), self.models[:1], self.held * self.cells.slots + slots)

    def replace_models(self, columns: Indices, units: Float64Array, weights: Float64Array) -> None:
        """Replace the recent statistics of entities that have new forecasting models.

        Args:
            columns: The entities, k.
            units: The new models' residuals of the last days in units of their cells, w x k.
            weights: Of each row, w.
        """
        old = self.recent.select(columns)
        rough = RecentStatistics.add_up(units, np.zeros(len(columns)), weights)
        new = RecentStatistics.add_up(units, self._bias(rough), weights)
        # Statistics of before count for a quarter of a day, in case few rows are measured.
        some = self.cells.slots / 4 / np.maximum(old.samples, 1.0)
        self.recent = self.recent.replace(columns, old.fade(some, new))
        self.wide = self.wide.copy()
        self.wide[columns] = self.rates.swap_wide
        self.models = tuple(self._with_recent(model, columns) for model in self.models)

    def copy(self) -> CalibratorState:
        """An independent copy."""
        other = copy(self)
        other.pending = self.pending.copy()
        return other

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """All arrays by the names under which they are saved."""
        named: dict[str, NamedArrays] = {
            "sums": self.long_term.sums,
            "recent": self.recent,
            "batch": self.pending,
            **{f"card{at}": model for at, model in enumerate(self.models)},
        }
        return {
            "counts": self.long_term.counts,
            "offsets": self.long_term.offsets,
            "wide": self.wide,
            **{
                f"{name}.{field}": array
                for name, record in named.items()
                for field, array in record._asdict().items()
            },
        }

    @classmethod
    def from_arrays(
        cls,
        arrays: Mapping[str, npt.NDArray[Any]],
        *,
        cells: ResidualCells,
        lag: int,
        rates: CalibrationRates,
        held: int,
        settled: int,
    ) -> CalibratorState:
        """The opposite of `arrays`."""

        def record(kind: Callable[..., R], name: str, fields: Sequence[str]) -> R:
            return kind(*(arrays[f"{name}.{field}"] for field in fields))

        state = cls.__new__(cls)
        state.cells, state.rates, state.wide = cells, rates, arrays["wide"]
        state.held, state.settled = held, settled
        sums = record(CellSums, "sums", CellSums._fields)
        state.long_term = LongTermStatistics(sums, arrays["counts"], arrays["offsets"])
        state.recent = record(RecentStatistics, "recent", RecentStatistics._fields)
        state.pending = record(PendingResiduals, "batch", PendingResiduals._fields).copy()
        state.models = tuple(
            record(QuantileModel, f"card{at}", QuantileModel._fields) for at in range(lag + 1)
        )
        return state

    def _units(self, days: int) -> Float64Array:
        """Residuals of days to learn from in units of their cells: days x slots x m."""
        slots, pending = self.cells.slots, self.pending
        # The long-term part of the newest model stays until all pending days are over.
        ends = [self.held + day for day in (*range(min(days, len(self.models))), days)]
        parts = [slice(start * slots, stop * slots) for start, stop in pairwise(ends)]
        units = [
            model.spread.normalise(pending.residuals[part], pending.places[part])
            for model, part in zip(self.models, parts, strict=False)
        ]
        return np.concatenate(units).reshape(days, slots, -1)

    def _recent_after(self, seen: DailyResiduals) -> tuple[RecentStatistics, Float64Array]:
        """Recent statistics and widening after each day: days x m."""
        slots, before = self.cells.slots, self.recent
        fade, narrow = (
            fade_factors(slots, half_life, slots).take(seen.counts)
            for half_life in (self.rates.recent, self.rates.narrowing)
        )
        samples = fading_sums(before.samples, fade, seen.counts)
        residuals = fading_sums(before.residuals, fade, seen.residuals())
        bias = self._bias(RecentStatistics(samples, residuals, residuals))
        used = np.array([*(model.bias for model in self.models), *bias][: len(bias)])
        distances = fading_sums(before.distances, fade, seen.distances(used))
        wide = np.multiply.accumulate(np.concatenate([self.wide[None], narrow]))[1:]
        return RecentStatistics(samples, residuals, distances), wide

    def _normalise(self, units: Float64Array, models: Sequence[QuantileModel], end: int) -> None:
        """Normalise pending rows up to ``end``, of days (days x slots x m), by their models."""
        first = self.held * self.cells.slots
        bias, size, wide = (
            np.array([getattr(model, name) for model in models])[:, None]
            for name in ("bias", "size", "wide")
        )
        z = (units - bias) / size
        for target, values in ((self.pending.z, z), (self.pending.reach, z / (1.0 + wide))):
            rows = values.reshape(-1, values.shape[2])
            target[self.settled : end] = rows[self.settled - first : end - first]
        self.settled = end

    def _update_long_term(self) -> None:
        """Add all pending rows to the long-term statistics."""
        self.long_term = self.long_term.update(
            self.pending, self.models[-1], cells=self.cells, rates=self.rates
        )
        self.pending.clear()
        self.held = self.settled = 0

    def _new_model(self) -> QuantileModel:
        """A quantile model from the statistics of now."""
        return QuantileModel(
            *self.long_term.sums.spread(),
            bias=self._bias(self.recent),
            size=self._size(self.recent),
            wide=self.wide,
            table=self.long_term.table(),
        )

    def _with_recent(self, model: QuantileModel, columns: Indices) -> QuantileModel:
        """A model with its recent part replaced for some entities."""
        now = {"bias": self._bias(self.recent), "size": self._size(self.recent), "wide": self.wide}
        parts = {name: getattr(model, name).copy() for name in now}
        for name, part in parts.items():
            part[columns] = now[name][columns]
        return model._replace(**parts)

    def _bias(self, recent: RecentStatistics) -> Float64Array:
        return self.rates.bias * recent.bias

    def _size(self, recent: RecentStatistics) -> Float64Array:
        trust = self.rates.trust
        return np.asarray(1.0 - trust + trust * recent.size, np.float64)
