"""Fault injection: typical meter faults added to clean data, and how many are detected."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from clearwatt.arrays import Float32Array
from clearwatt.data.dataset import Dataset
from clearwatt.data.quality import QualityReport, Reason
from clearwatt.errors import ConfigurationError

FAULTS = tuple(reason for reason in Reason if reason is not Reason.OK)
# Shortest and longest fault in hours, drawn log-uniformly. None: one reading, rarely two, as
# from a corrupted telegram.
_HOURS: Mapping[Reason, tuple[float, float] | None] = {
    Reason.GAP: (0.25, 72),
    Reason.OUT_OF_RANGE: (0.25, 6),
    Reason.SPIKE: None,
    Reason.FLATLINE: (6, 96),
    Reason.STUCK_AT_ZERO: (2, 48),
}
_TRIES = 50


@dataclass(frozen=True, slots=True)
class Detection:
    """The number of readings with one kind of fault, and how many of them were flagged."""

    fault: Reason
    readings: int
    flagged: int

    @property
    def share(self) -> float:
        """The share flagged for any reason; 1 where there was no fault."""
        return self.flagged / self.readings if self.readings else 1.0


def inject_faults(
    dataset: Dataset,
    *,
    per_entity: int = 2,
    faults: Sequence[Reason] = FAULTS,
    seed: int = 0,
) -> tuple[Dataset, npt.NDArray[np.uint8]]:
    """A copy of a data set with faults.

    Every entity has each of ``faults`` ``per_entity`` times, at random places that do not touch.
    A plant has faults only while it runs, because zero instead of zero is no fault.

    Returns:
        The faulty data set and the truth, ``n x entities`` of ``Reason``; a fault is a measured
        reading whose value changed.
    """
    if per_entity < 1:
        raise ConfigurationError(f"per_entity is {per_entity}; give 1 or more")
    if Reason.OK in faults or not faults:
        raise ConfigurationError(
            "faults names no fault; choose from " + ", ".join(reason.name for reason in FAULTS)
        )
    clean = dataset.power.to_numpy(dtype=np.float32)
    faulty, truth = clean.copy(), np.zeros(clean.shape, dtype=np.uint8)
    times = pd.DatetimeIndex(dataset.power.index)
    per_hour = float(pd.Timedelta(hours=1) / (times[1] - times[0]))
    sizes = {entity.name: entity.capacity for entity in dataset.entities}
    for at, name in enumerate(dataset.power.columns):
        # One random stream per entity, so that leaving one out does not change the others.
        rng = np.random.default_rng([seed, *name.encode()])
        peak = float(np.nanmax(np.abs(clean[:, at])))
        column = _FaultyColumn(faulty[:, at], truth[:, at], sizes[name] or peak)
        for fault in (fault for fault in faults for _ in range(per_entity)):
            column.inject(fault, rng=rng, per_hour=per_hour)
    truth[(faulty == clean) | np.isnan(clean)] = Reason.OK
    power = pd.DataFrame(faulty, index=dataset.power.index, columns=dataset.power.columns)
    return dataclasses.replace(dataset, power=power), truth


@dataclass(frozen=True, eq=False)
class _FaultyColumn:
    """One entity's readings and truth (both ``n``, changed in place) and its size."""

    values: Float32Array
    truth: npt.NDArray[np.uint8]
    size: float

    def inject(self, fault: Reason, *, rng: np.random.Generator, per_hour: float) -> None:
        """Add one fault where there is room for it; none if the series is too short or idle."""
        length = _length(fault, rng=rng, per_hour=per_hour)
        for _ in range(_TRIES):
            start = int(rng.integers(1, max(len(self.values) - length - 1, 2)))
            if self._free(start, length):
                where = slice(start, start + length)
                self.values[where] = self._faulty_values(fault, self.values[where], rng)
                self.truth[where] = fault
                return

    def _free(self, start: int, length: int) -> bool:
        around = slice(start - 1, start + length + 1)
        room = start + length < len(self.values)
        running = abs(self.values[start]) > 0.05 * self.size
        return bool(room and running and not self.truth[around].any())

    def _faulty_values(
        self, fault: Reason, values: Float32Array, rng: np.random.Generator
    ) -> Float32Array | float:
        if fault is Reason.GAP:
            return np.nan
        if fault is Reason.STUCK_AT_ZERO:
            return 0.0
        if fault is Reason.FLATLINE:
            return float(values[0])
        if fault is Reason.OUT_OF_RANGE:
            return self.size * rng.uniform(2, 10, len(values)).astype(np.float32)
        jump = self.size * rng.uniform(0.6, 1.5) * rng.choice([-1, 1])
        return values + np.float32(jump)


def _length(fault: Reason, *, rng: np.random.Generator, per_hour: float) -> int:
    hours = _HOURS[fault]
    if hours is None:
        return int(rng.choice([1, 2], p=[0.8, 0.2]))
    return max(1, round(float(np.exp(rng.uniform(*np.log(hours)))) * per_hour))


def detection(report: QualityReport, truth: npt.NDArray[np.uint8]) -> tuple[Detection, ...]:
    """The detection of each kind of fault, from verdicts and the truth of ``inject_faults``."""
    flagged = report.codes != Reason.OK
    return tuple(
        Detection(
            fault,
            readings=int(np.count_nonzero(truth == fault)),
            flagged=int(np.count_nonzero(flagged & (truth == fault))),
        )
        for fault in FAULTS
    )
