"""Corrections by lead: what was measured since a forecast was made moves the next hours.

A day-ahead forecast is made with measurements that are a day old. If newer ones are known, their
residuals tell how the coming hours will differ, the less the longer the lead. For each lead and
entity, ridge regressions with forgetting learn how much; trust weighs them, the day-ahead
forecast, and the last measurement.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pandas as pd

from clearwatt.adaptive.lead_regression import LeadRegression
from clearwatt.adaptive.trust import Trust
from clearwatt.arrays import Float64Array, Int64Array
from clearwatt.clock import HOURS_PER_DAY, Clock, Steps

RESIDUAL_HOURS = (1, 3, 6, 24)
"""Lengths of the means of the last residuals."""


@dataclass(frozen=True)
class LeadCorrectionSettings:
    """How corrections by lead are learned.

    Args:
        half_lives: Days after which a sample counts half, one regression each.
        ridge: Prior belief that there is nothing to correct, in samples.
        every: Hours from one solution to the next.
        trust: Days after which an error counts half in the weighing.
        caution: Prior belief that all experts are equally good, in samples.
    """

    half_lives: tuple[float, ...] = (20.0, 90.0)
    ridge: float = 5.0
    every: int = 6
    trust: float = 60.0
    caution: float = 5.0


class LeadCorrections:
    """Corrects the forecasts of a stream, `n x e`, made for one lead.

    Args:
        clock: Steps per day; its delay is the lead: the measurement of a step is known so many
            steps later.
        scale: Usual size of each entity's power, `e`.
        settings: How it learns.
    """

    def __init__(
        self,
        clock: Clock,
        scale: Float64Array,
        settings: LeadCorrectionSettings | None = None,
    ) -> None:
        self._settings = settings or LeadCorrectionSettings()
        self._clock, self._scale = clock, scale

    def correct(self, base: Float64Array, measured: Float64Array, at: Steps) -> Float64Array:
        """Forecasts corrected with what is known at each step, `n x e`.

        Args:
            base: Forecasts to be corrected, `n x e`.
            measured: `n x e`; NaN where there is none.
            at: Step of each row, `n`, ascending.
        """
        base, measured = base / self._scale, measured / self._scale
        terms, last = self._terms(base, measured, at)
        count = len(self._settings.half_lives)
        experts = np.concatenate(
            [base[..., None], last[..., None], np.empty((*base.shape, count))], axis=2
        )
        power = self._run(terms, experts, measured, at)
        return np.asarray(power * self._scale, np.float64)

    def _run(
        self, terms: Float64Array, experts: Float64Array, measured: Float64Array, at: Steps
    ) -> Float64Array:
        """Forecast and learn, period by period."""
        own, day, entities = self._settings, self._clock.day, measured.shape[1]
        regressions = [
            LeadRegression.empty(
                entities, terms.shape[2], ridge=own.ridge, half_life=half_life * day
            )
            for half_life in own.half_lives
        ]
        trust = Trust.equal(
            entities, experts.shape[2], half_life=own.trust * day, caution=own.caution
        )
        power, learned, before = np.empty_like(measured), 0, int(at[0])
        for start, stop in pairwise(self._periods(at)):
            now = int(at[start])
            known = self._clock.count_known(at, now)
            new = slice(learned, min(known, start))
            if new.stop > new.start:
                ages, passed = (now - at[new]).astype(np.float64), float(now - before)
                residuals = (measured[new] - experts[new, :, 0]).T
                there = np.isfinite(residuals)
                used = np.where(there[..., None], terms[new].swapaxes(0, 1), 0.0)
                residuals = np.where(there, residuals, 0.0)
                regressions = [
                    each.learn(used, residuals, ages=ages, passed=passed) for each in regressions
                ]
                trust = trust.learn(experts[new], measured[new], ages=ages, passed=passed)
                learned, before = new.stop, now
            rows = slice(start, stop)
            for place, each in enumerate(regressions, start=2):
                moved = np.einsum("nep,ep->ne", terms[rows], each.solve())
                experts[rows, :, place] = experts[rows, :, 0] + moved
            power[rows] = (experts[rows] * trust.weights).sum(axis=2)
        return power

    def _periods(self, at: Steps) -> list[int]:
        """First rows of the periods, and the number of rows."""
        refresh = max(1, self._settings.every * self._clock.day // HOURS_PER_DAY)
        changes: Int64Array = np.flatnonzero(np.diff(at // refresh)) + 1
        return [0, *changes.tolist(), len(at)]

    def _terms(
        self, base: Float64Array, measured: Float64Array, at: Steps
    ) -> tuple[Float64Array, Float64Array]:
        """Terms of the regressions, `n x e x p`, and the last known measurement, `n x e`."""
        clock = np.arange(at[0] - self._clock.delay, at[-1] + 1)
        places = at - self._clock.delay - clock[0]
        hour = max(1, self._clock.day // HOURS_PER_DAY)
        residuals = pd.DataFrame(measured - base, at).reindex(clock)
        means = [
            residuals.rolling(hours * hour, min_periods=1).mean().to_numpy(np.float64)[places]
            for hours in RESIDUAL_HOURS
        ]
        newest = residuals.ffill(limit=self._clock.day).to_numpy(np.float64)[places]
        values = pd.DataFrame(measured, at).reindex(clock).ffill(limit=self._clock.day)
        last = values.to_numpy(np.float64)[places]
        last = np.where(np.isnan(last), base, last)
        columns = [np.ones_like(base), base, newest, *means, last - base]
        return np.nan_to_num(np.stack(columns, axis=2)), last
