"""Times of samples, dates or numbers, as steps of a clock."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from clearwatt.clock import Steps
from clearwatt.errors import DataError

DAY = pd.Timedelta(days=1)
HOURLY = 24


@dataclass(frozen=True)
class Timeline:
    """How the times of a model's samples are counted in steps.

    Args:
        day: Steps per day.
        origin: Time of step 0, as text; None if samples have step numbers or no times at all.
        numbered: Whether samples have step numbers.
    """

    day: int
    origin: str | None = None
    numbered: bool = False

    @classmethod
    def of(cls, given: npt.ArrayLike | None, steps_per_day: int | None) -> Timeline:
        """The timeline of a warm-up, whose times (n) may be dates, step numbers or None."""
        if given is None or not _is_dates(given):
            return cls(steps_per_day or HOURLY, numbered=given is not None)
        times = _dates(given)
        step = DAY / steps_per_day if steps_per_day else _usual_step(times)
        if step <= pd.Timedelta(0) or DAY % step != pd.Timedelta(0):
            raise DataError(
                f"the times are mostly {step} apart, which does not divide a day; give "
                "steps_per_day"
            )
        return cls(int(DAY / step), origin=times[0].normalize().isoformat())

    @property
    def has_times(self) -> bool:
        """Whether samples have times or step numbers."""
        return self.origin is not None or self.numbered

    def steps(self, given: npt.ArrayLike, rows: int) -> Steps:
        """Steps (n) of times or step numbers; a DataError names what does not fit."""
        if len(np.atleast_1d(np.asarray(given))) != rows:
            raise DataError(f"at has shape {np.shape(given)}; give a time for each of {rows} rows")
        if self.origin is None:
            return self._numbers(given)
        if not _is_dates(given):
            raise DataError("this model was warmed up with dates; give dates, not step numbers")
        times = _dates(given)
        try:
            offsets = (times - pd.Timestamp(self.origin)) / (DAY / self.day)
        except TypeError as error:
            raise DataError(
                f"{times[0]} and the warm-up's {self.origin} differ in having a time zone; "
                "give both the same way"
            ) from error
        steps = np.asarray(np.round(offsets), np.int64)
        wrong = np.flatnonzero(np.abs(offsets - steps) > 1e-6)
        if len(wrong):
            raise DataError(
                f"{times[wrong[0]]} is not a multiple of {DAY / self.day} after {self.origin}; "
                "resample to even steps"
            )
        return steps

    def _numbers(self, given: npt.ArrayLike) -> Steps:
        if not self.numbered:
            raise DataError(
                "this model was warmed up without times; fit it with times, or predict without"
            )
        numbers = np.asarray(given)
        if not np.issubdtype(numbers.dtype, np.integer):
            raise DataError(
                f"at has type {numbers.dtype}; this model was warmed up with step numbers, so give "
                "whole numbers"
            )
        return numbers.astype(np.int64)


def times_of(x: object, at: npt.ArrayLike | None) -> npt.ArrayLike | None:
    """Times of samples: those given, else the index of a data frame, if it has dates."""
    index = getattr(x, "index", None)
    return index if at is None and isinstance(index, pd.DatetimeIndex) else at


def _is_dates(given: npt.ArrayLike) -> bool:
    if isinstance(given, pd.DatetimeIndex):
        return True
    first = next(iter(np.atleast_1d(np.asarray(given))), None)
    return isinstance(first, np.datetime64 | pd.Timestamp | str)


def _dates(given: npt.ArrayLike) -> pd.DatetimeIndex:
    return given if isinstance(given, pd.DatetimeIndex) else pd.DatetimeIndex(np.asarray(given))


def _usual_step(times: pd.DatetimeIndex) -> pd.Timedelta:
    """The most frequent difference between two times."""
    differences = pd.Series(times).diff().dropna()
    if differences.empty:
        raise DataError("one time tells no step length; give more samples or steps_per_day")
    return pd.Timedelta(differences.mode().iloc[0])
