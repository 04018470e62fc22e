"""The experts and the trust in them, as solved at the end of a period."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np

from clearwatt.adaptive.ensemble import Ensemble, mean_of_groups
from clearwatt.adaptive.lead_corrections import LeadCoefficients
from clearwatt.adaptive.power_range import PowerRange
from clearwatt.adaptive.recent import LagRows
from clearwatt.adaptive.terms import lag_inputs, lags_of, terms_of
from clearwatt.arrays import Float32Array, Float64Array
from clearwatt.clock import Clock, Steps


class Opinions(NamedTuple):
    """Forecasts of `n` steps with all their parts, in units of the entity's deviation."""

    lagged: Float32Array
    """Past measurements that some networks see, `n x e x l`."""
    slow: Float64Array
    """Mean forecast of the networks without them, `n x e`."""
    terms: Float64Array
    """Terms of the corrections, `n x e x p`."""
    experts: Float64Array
    """Forecast of each expert, `n x e x k`."""
    power: Float64Array
    """Their mixture, `n x e`."""

    @classmethod
    def concatenate(cls, parts: Sequence[Opinions]) -> Opinions:
        """The forecasts of several parts, at least one, in their order."""
        if len(parts) == 1:
            return parts[0]
        return cls._make(np.concatenate(each) for each in zip(*parts, strict=True))


@dataclass(frozen=True, eq=False)
class Experts:
    """What forecasts are made with in one period; immutable, and small.

    Args:
        since: In force for forecasts that can use the measurement of this step.
        ensemble: The networks.
        coefficients: Of the corrections, `c x e x p`.
        weights: Trust in each expert, `e x k`.
        limits: Range of each entity's power.
        leads: Corrections by lead; None: none.
    """

    since: int
    ensemble: Ensemble
    coefficients: Float64Array
    weights: Float64Array
    limits: PowerRange
    leads: LeadCoefficients | None = None

    def select(self, places: Sequence[int]) -> Self:
        """The experts of the entities at some places."""
        versions = tuple(self.ensemble.versions[place] for place in places)
        return replace(
            self,
            ensemble=replace(self.ensemble, versions=versions),
            coefficients=self.coefficients[:, places],
            weights=self.weights[places],
            limits=self.limits.select(places),
            leads=None if self.leads is None else self.leads.select(places),
        )

    def forecast(
        self,
        seen: Float32Array,
        at: Steps,
        recent: LagRows,
        clock: Clock,
        *,
        known: int | Steps | None = None,
    ) -> Opinions:
        """Forecasts of some steps.

        Args:
            seen: What the networks see, `n x v`.
            at: Steps, `n`.
            recent: Rows of the last days, for what is known of the same hours before.
            clock: Length of a day, delay.
            known: Last step measured; see `lags_of`.
        """
        lags = lags_of(at, recent, self.limits, clock, known=known)
        shape = self.ensemble.architecture
        lagged = lag_inputs(lags.estimates[..., : shape.lags])
        groups = self.ensemble.forecast(seen, lagged)
        slow = mean_of_groups(groups[..., shape.without_lags])
        terms = terms_of(slow, at, lags, clock)
        corrected = (terms.swapaxes(0, 1) @ self.coefficients.transpose(1, 2, 0)).swapaxes(0, 1)
        corrected += slow[:, :, None]
        missing = np.isnan(lags.persistences)
        persisted = np.where(missing, slow[:, :, None], lags.persistences)
        experts = np.concatenate([groups, corrected, persisted], axis=2)
        power = self.limits.clip((experts * self.weights).sum(axis=2))
        return Opinions(lagged, slow, terms, experts, power)
