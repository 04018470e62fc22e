"""Corrections by lead: what has just been measured moves the forecasts of the next hours.

Networks, corrections and trust forecast as if measurements were known only after the delay, a day
by default. Errors of newer measurements tell how the coming hours will differ, the less the longer
the lead. For a few leads and each entity, a ridge regression with forgetting learns how much.
Leads between them are interpolated; from the delay on, nothing is corrected.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np

from clearwatt.adaptive.lead_errors import ERROR_TERMS, ErrorHistory, LatestErrors
from clearwatt.adaptive.lead_regression import LeadRegression
from clearwatt.adaptive.settings import LeadSettings
from clearwatt.arrays import Float64Array
from clearwatt.clock import Clock, Steps

LEAD_TERMS = ERROR_TERMS + 3
"""Number `p` of terms: the latest errors, the newest measurement less the forecast, the same with
the change of a day before, a level."""
NARROWEST = 0.02
"""Smallest error of a corrected forecast, as a share of that of the forecast."""


class CorrectedForecast(NamedTuple):
    """Forecasts that use what has just been measured."""

    power: Float64Array
    """`n x e`."""
    spread: Float64Array
    """Usual error as a share of that without corrections, `n x e`."""


@dataclass(frozen=True, eq=False)
class LeadCoefficients:
    """How the latest errors move forecasts, for `b` leads; immutable.

    Args:
        leads: Steps from the last known measurement, ascending, `b`.
        horizon: Lead from which on nothing is corrected.
        coefficients: `b x e x p`.
        spread: Usual error as a share of that without corrections, `b x e`.
    """

    leads: tuple[int, ...]
    horizon: int
    coefficients: Float64Array
    spread: Float64Array

    @property
    def is_current(self) -> bool:
        """Whether these are coefficients of today's terms; earlier releases had fewer."""
        return int(self.coefficients.shape[-1]) == LEAD_TERMS

    def select(self, places: Sequence[int]) -> Self:
        """Of the entities at some places."""
        own = list(places)
        return replace(self, coefficients=self.coefficients[:, own], spread=self.spread[:, own])

    def add_entities(self, entities: int) -> Self:
        """With further entities, whose forecasts are not corrected."""
        leads, _, terms = self.coefficients.shape
        none = np.zeros((leads, entities, terms))
        return replace(
            self,
            coefficients=np.concatenate([self.coefficients, none], axis=1),
            spread=np.concatenate([self.spread, np.ones((leads, entities))], axis=1),
        )

    def correct(
        self,
        power: Float64Array,
        leads: Steps,
        latest: LatestErrors,
        day_before: Float64Array,
    ) -> CorrectedForecast:
        """Forecasts corrected with what is known when they are issued.

        Args:
            power: Forecasts, `n x e`.
            leads: Steps since the issue, `n`.
            latest: What is known then, at `n` issues or at one.
            day_before: Measurements a day before the forecast steps, `n x e`; NaN: none.
        """
        # Errors of an entity that are older than the issue tell less: its lead is longer.
        ahead, where = np.unique(leads[:, None] + latest.ages, return_inverse=True)
        shares = self._shares(ahead)[where.reshape(power.shape)]
        coefficients = np.einsum("neb,bep->nep", shares, self.coefficients)
        moved = (lead_terms(power, latest, day_before) * coefficients).sum(axis=2)
        spread = 1.0 + np.einsum("neb,be->ne", shares, self.spread - 1.0)
        return CorrectedForecast(power + moved, spread)

    def _shares(self, leads: Steps) -> Float64Array:
        """Share of each learned lead in the correction of a lead, `n x b`."""
        nodes = [*self.leads, self.horizon]
        columns = np.eye(len(nodes))[: len(self.leads)]
        shares = np.empty((len(leads), len(self.leads)))
        for place, column in enumerate(columns):
            shares[:, place] = np.interp(leads, nodes, column)
        return shares


@dataclass(frozen=True, eq=False)
class LeadCorrections:
    """The sums from which the coefficients of `b` leads are solved, for `e` entities.

    Args:
        leads: Steps from the last known measurement, ascending, `b`.
        clock: Length of a day; its delay is the lead from which on nothing is corrected.
        caution: Prior belief that corrections are worthless, in squared deviations.
        regressions: Of errors on what was known before them, `b x e`.
        squares: Sums of `r^2`, `r c` and `c^2` of errors `r` and their forecast corrections `c`,
            `b x e x 3`.
    """

    leads: tuple[int, ...]
    clock: Clock
    caution: float
    regressions: LeadRegression
    squares: Float64Array

    @classmethod
    def empty(
        cls,
        settings: LeadSettings,
        *,
        clock: Clock,
        entities: int,
        leads: Sequence[int] | None = None,
    ) -> Self:
        """Corrections that have seen nothing, by default for `learned_leads`."""
        chosen = learned_leads(clock.delay) if leads is None else tuple(leads)
        shape, half_life = (len(chosen), entities), settings.half_life * clock.day
        regressions = LeadRegression.empty(
            *shape, LEAD_TERMS, ridge=settings.ridge, half_life=half_life
        )
        return cls(chosen, clock, settings.caution, regressions, np.zeros((*shape, 3)))

    def learn(
        self,
        power: Float64Array,
        measured: Float64Array,
        at: Steps,
        history: ErrorHistory,
        *,
        now: int,
        passed: float,
    ) -> Self:
        """The corrections after new samples.

        Args:
            power: Forecasts, `n x e`.
            measured: `n x e`; NaN where there is none, or none that is new.
            at: Steps, `n`.
            history: Errors from `reach` steps before the first of them on.
            now: Step up to which samples are aged.
            passed: Steps since the last call.
        """
        if not self.leads:
            return self
        issued = at - np.array(self.leads)[:, None]
        latest = history.known_at(issued)
        errors = (measured - power).T
        # What was measured at the issue itself tells what it is worth this long ahead.
        known = np.isfinite(errors) & (latest.ages == 0).swapaxes(1, 2)
        errors = np.where(known, errors, 0.0)
        found = lead_terms(power, latest, history.day_before(at, issued))
        terms = np.where(known[..., None], found.swapaxes(1, 2), 0.0)
        # As far as the regressions did not know these samples, so far they can be trusted.
        forecast = (terms @ self.regressions.solve()[..., None])[..., 0]
        pairs = [errors * errors, errors * forecast, forecast * forecast]
        ages = (now - at).astype(np.float64)
        weights = self.regressions.fade(ages)
        return replace(
            self,
            regressions=self.regressions.learn(terms, errors, ages=ages, passed=passed),
            squares=self.regressions.fade(passed) * self.squares
            + np.stack([pair @ weights for pair in pairs], axis=2),
        )

    @property
    def reach(self) -> int:
        """Steps before a sample whose errors are needed to learn from it."""
        return max(self.leads, default=0) + self.clock.day

    @cached_property
    def coefficients(self) -> LeadCoefficients:
        """Those of the regressions, smaller as far as these have been wrong."""
        errors, both, own = np.moveaxis(self.squares, 2, 0)
        share = np.clip(both / (own + self.caution), 0.0, 1.0)
        left = np.maximum(errors - 2 * share * both + share**2 * own, 0.0)
        spread = np.sqrt((left + self.caution) / (errors + self.caution))
        return LeadCoefficients(
            self.leads,
            self.clock.delay,
            self.regressions.solve() * share[..., None],
            np.clip(spread, NARROWEST, 1.0),
        )

    def select(self, places: Sequence[int]) -> Self:
        """Of the entities at some places."""
        sums, own = self.regressions, list(places)
        fewer = replace(sums, moments=sums.moments[:, own], products=sums.products[:, own])
        return replace(self, regressions=fewer, squares=self.squares[:, own])

    def add_entities(self, entities: int) -> Self:
        """With further entities that have no samples yet."""
        none = np.zeros((len(self.leads), entities, 3))
        return replace(
            self,
            regressions=self.regressions.add(entities, axis=1),
            squares=np.concatenate([self.squares, none], axis=1),
        )

    @property
    def nbytes(self) -> int:
        """Bytes of the sums."""
        return (
            self.regressions.moments.nbytes + self.regressions.products.nbytes + self.squares.nbytes
        )


def lead_terms(power: Float64Array, latest: LatestErrors, day_before: Float64Array) -> Float64Array:
    """Terms of the regressions, `... x n x e x p`.

    Args:
        power: Forecasts, `n x e`.
        latest: What is known at any issues, `...`, of each of them.
        day_before: Measurements a day before the forecast steps, `... x n x e`; NaN: none.
    """
    newest = latest.measured - power
    change = day_before - latest.day_before
    terms = np.ones((*newest.shape, LEAD_TERMS))
    terms[..., :ERROR_TERMS] = latest.errors
    terms[..., ERROR_TERMS] = np.where(np.isnan(newest), 0.0, newest)
    # Without a change of a day before, the newest measurement stays as it is.
    terms[..., ERROR_TERMS + 1] = terms[..., ERROR_TERMS] + np.where(
        np.isnan(newest) | np.isnan(change), 0.0, change
    )
    return terms


def learned_leads(horizon: int) -> tuple[int, ...]:
    """Leads below a horizon, denser where they are short: 1, 2, 3, 4, 6, 8, 12, 16, 24, ..."""
    powers = [2**power for power in range(horizon.bit_length())]
    wanted = {*powers, *(3 * power for power in powers)}
    return tuple(sorted(lead for lead in wanted if lead < horizon))
