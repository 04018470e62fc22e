"""The quality check: a verdict for each reading, and a summary per entity."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from types import MappingProxyType

import numpy as np
import numpy.typing as npt
import pandas as pd

from clearwatt.data.dataset import Dataset
from clearwatt.data.plausibility import (
    PowerReadings,
    flatlines,
    out_of_range,
    run_lengths,
    spikes,
    stuck_at_zero,
)
from clearwatt.data.quality_rules import QualityRules, ReadingLimits
from clearwatt.data.schema import Entity
from clearwatt.errors import DataError

__all__ = [
    "EntityQuality",
    "QualityReport",
    "QualityRules",
    "ReadingLimits",
    "Reason",
    "assess",
    "assess_readings",
]


class Reason(IntEnum):
    """Why a reading is excluded from learning; where several apply, the lowest value counts."""

    OK = 0
    GAP = 1
    OUT_OF_RANGE = 2
    SPIKE = 3
    FLATLINE = 4
    STUCK_AT_ZERO = 5

    @property
    def label(self) -> str:
        """The reason in words."""
        return self.name.lower().replace("_", " ")


@dataclass(frozen=True, slots=True)
class EntityQuality:
    """The number of verdicts on one entity."""

    entity: str
    readings: int
    counts: Mapping[Reason, int]
    longest_gap: pd.Timedelta

    def share(self, reason: Reason) -> float:
        """The share of all time steps with this verdict."""
        return self.counts[reason] / self.readings

    @property
    def flagged_share(self) -> float:
        """The share of *measured* readings that are flagged; a gap is not measured."""
        flagged = sum(n for reason, n in self.counts.items() if reason > Reason.GAP)
        return flagged / max(self.readings - self.counts[Reason.GAP], 1)


@dataclass(frozen=True, eq=False)
class QualityReport:
    """A verdict per reading: ``codes`` is ``n x entities``, uint8, values of ``Reason``."""

    times: pd.DatetimeIndex
    entities: tuple[str, ...]
    codes: npt.NDArray[np.uint8]
    summary: tuple[EntityQuality, ...]

    @property
    def ok(self) -> npt.NDArray[np.bool_]:
        """Whether each reading may be learned from, ``n x entities``."""
        return np.equal(self.codes, Reason.OK)

    @property
    def flagged_share(self) -> float:
        """The share of measured readings that are flagged, over all entities."""
        measured = self.codes.size - self.count(Reason.GAP)
        return int(np.count_nonzero(self.codes > Reason.GAP)) / max(measured, 1)

    def count(self, reason: Reason) -> int:
        """The number of readings with this verdict."""
        return sum(entity.counts[reason] for entity in self.summary)

    def clean(self, dataset: Dataset) -> Dataset:
        """The data set with flagged readings removed (NaN)."""
        if not (
            self.times.equals(pd.DatetimeIndex(dataset.power.index))
            and self.entities == tuple(dataset.power.columns)
        ):
            raise DataError(
                f"this quality report is about other times or entities than {dataset.name!r}; "
                "assess that data set itself"
            )
        return dataclasses.replace(dataset, power=dataset.power.where(self.ok))


def assess(dataset: Dataset, rules: QualityRules | None = None) -> QualityReport:
    """Check every reading of a data set; docs/quality.md has the rules."""
    return assess_readings(dataset.power, dataset.entities, rules)


def assess_readings(
    power: pd.DataFrame, entities: Sequence[Entity], rules: QualityRules | None = None
) -> QualityReport:
    """Check the readings of a frame.

    A service passes the last ``rules.lookback`` of readings each time. The verdicts on the newest
    readings then equal those from the whole past, and are final after ``rules.settles_after``.

    Args:
        power: index ``time``, one column per entity, NaN = no reading.
        entities: the entities of the columns, in any order.
        rules: thresholds; the defaults suit 15-minute and hourly meters.
    """
    rules = rules or QualityRules()
    by_name = {entity.name: entity for entity in entities}
    columns = tuple(map(str, power.columns))
    unknown = [name for name in columns if name not in by_name]
    if unknown or len(power) == 0:
        what = f"no entity describes column {unknown[0]!r}" if unknown else "there are no readings"
        raise DataError(f"{what}; give readings together with their entities")
    readings = PowerReadings.of(power, tuple(by_name[name] for name in columns), rules)
    codes = np.zeros(readings.values.shape, dtype=np.uint8)
    # Later assignments overwrite earlier ones, so the strongest reason comes last.
    codes[stuck_at_zero(readings)] = Reason.STUCK_AT_ZERO
    codes[flatlines(readings)] = Reason.FLATLINE
    codes[spikes(readings)] = Reason.SPIKE
    codes[out_of_range(readings)] = Reason.OUT_OF_RANGE
    codes[np.isnan(readings.values)] = Reason.GAP
    summary = tuple(
        _summarise(name, row, readings.step) for name, row in zip(columns, codes, strict=True)
    )
    return QualityReport(pd.DatetimeIndex(power.index), columns, codes.T, summary)


def _summarise(name: str, codes: npt.NDArray[np.uint8], step: pd.Timedelta) -> EntityQuality:
    counted = np.bincount(codes, minlength=len(Reason))
    gap = (codes == Reason.GAP)[None]
    longest = int(run_lengths(gap)[1][gap].max(initial=0))
    counts = MappingProxyType({reason: int(counted[reason]) for reason in Reason})
    return EntityQuality(name, len(codes), counts, longest * step)
