"""The immutable value that the adaptive forecaster forecasts with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import numpy.typing as npt

from clearwatt.adaptive.breaks import current_levels, habits_at
from clearwatt.adaptive.ensemble import NetworkVersion
from clearwatt.adaptive.experts import Experts
from clearwatt.adaptive.frame import Frame
from clearwatt.adaptive.latest import LatestMeasurements
from clearwatt.adaptive.lead_corrections import CorrectedForecast
from clearwatt.adaptive.lead_errors import LONG, LatestErrors
from clearwatt.adaptive.recent import LagRows, places_of
from clearwatt.adaptive.steps import checked_steps
from clearwatt.arrays import Float64Array, checked_inputs, nan_array
from clearwatt.clock import Steps
from clearwatt.forecaster import Deployed, Forecast, Name
from clearwatt.packing import Packed, pack, unpack
from clearwatt.training.standardisation import Standardisation


@dataclass(frozen=True, eq=False)
class AdaptiveDeployed(Deployed):
    """Experts in force and the rows of the last days.

    Args:
        frame: What stays the same.
        names: Names of the entities, `e`.
        power: Scale of each entity's power.
        experts: Networks, corrections and trust.
        recent: Columns that forecasts need of the last days' rows, all recalled.
        known: Last step learned from.
        latest: What the last measurements tell; None: nothing. An entity that was measured after
            ``known`` has a negative age.
    """

    frame: Frame
    names: tuple[Name, ...]
    power: Standardisation
    experts: Experts
    recent: LagRows
    known: int
    latest: LatestErrors | None = None

    def forecast(self, x: npt.ArrayLike, at: npt.ArrayLike) -> Forecast:
        """Forecasts for inputs `n x d` of steps `n`, ascending; see `Deployed.forecast`."""
        rows = checked_inputs(x, self.frame.inputs).astype(np.float64)
        steps = checked_steps(at, len(rows))
        if not len(steps):
            return Forecast(
                steps, np.empty((0, len(self.names))), np.empty((0, len(self.names), 0))
            )
        seen = self._see(rows, steps)
        found = self.experts.forecast(
            seen, steps, self.recent, self.frame.schedule.clock, known=self.known
        )
        corrected = self._correct(found.power, steps)
        power, experts, day_ahead = (
            self._to_power(steps, each) for each in (corrected.power, found.experts, found.power)
        )
        return Forecast(steps, power, experts, day_ahead, corrected.spread)

    def _to_power(self, steps: Steps, deviations: Float64Array) -> Float64Array:
        """Deviations, `n x e` or `n x e x k`, in units of power."""
        if deviations.ndim == 3:
            power = undo_experts(self.power, deviations)
        else:
            power = self.power.undo(deviations)
        day = self.frame.schedule.clock.day
        habits = habits_at(self.experts.ensemble.breaks, steps, day)
        if habits is None:
            return power
        return power * habits.reshape(*habits.shape, *[1] * (power.ndim - 2))

    def _correct(self, power: Float64Array, steps: Steps) -> CorrectedForecast:
        """Forecasts of the next hours, moved by what has just been measured."""
        leads, spread = self.experts.leads, np.ones_like(power)
        if self.latest is None or leads is None or not leads.is_current:
            return CorrectedForecast(power, spread)
        ahead = (steps - self.known)[:, None] + self.latest.ages
        moved = (ahead > 0) & (ahead < self.frame.schedule.clock.delay)
        moved &= (steps > self.known)[:, None]
        near = moved.any(axis=1)
        if not near.any():
            return CorrectedForecast(power, spread)
        found = leads.correct(
            power[near],
            steps[near] - self.known,
            self.latest,
            self._measured_at(steps[near] - self.frame.schedule.clock.day),
        )
        own, power = moved[near], power.copy()
        power[near] = np.where(own, self.experts.limits.clip(found.power), power[near])
        spread[near] = np.where(own, found.spread, 1.0)
        return CorrectedForecast(power, spread)

    def _measured_at(self, at: Steps) -> Float64Array:
        """Measurements held of some steps, `n x e`; NaN where there is none."""
        places, there = places_of(at, self.recent.at)
        if not len(self.recent.at):
            return nan_array(len(at), len(self.names))
        measured = self.experts.limits.limit_outliers(self.recent.measured[places])
        return np.where(there[:, None], measured, np.nan)

    def with_latest(self, measurements: LatestMeasurements) -> AdaptiveDeployed:
        """With what newer measurements tell that are not learned from yet.

        Nothing changes if they are no newer, or if they are of other entities.
        """
        latest, passed = measurements.of_entities(self.names), measurements.known - self.known
        if latest is None or passed < 0:
            return self
        ages = np.where(latest.ages < LONG, latest.ages - passed, LONG)
        return replace(self, latest=latest._replace(ages=ages))

    def networks(
        self, x: npt.ArrayLike, at: npt.ArrayLike, *, kernels: bool = False
    ) -> Float64Array:
        """Forecasts of the networks alone, `n x e`.

        Intervals start from their errors on the warm-up.

        Args:
            x: Inputs, `n x d`.
            at: Steps, `n`.
            kernels: Whether kernel regressions take the place of some networks, as in forecasts.
        """
        rows = checked_inputs(x, self.frame.inputs).astype(np.float64)
        steps = checked_steps(at, len(rows))
        seen = self.frame.view.see(rows, steps)
        return self._to_power(steps, self.experts.ensemble.mean_forecast(seen, kernels=kernels))

    def select(self, places: Sequence[int]) -> AdaptiveDeployed:
        """The deployed value of some entities."""
        chosen = list(places)
        return replace(
            self,
            names=tuple(self.names[place] for place in chosen),
            power=self.power.select(chosen),
            experts=self.experts.select(chosen),
            recent=self.recent.select(chosen),
            latest=None if self.latest is None else self.latest.select(chosen),
        )

    def with_version(self, place: int, version: NetworkVersion) -> AdaptiveDeployed:
        """With other networks of one entity, at the level that they know of."""
        ensemble = self.experts.ensemble
        then, now = current_levels([version.breaks, ensemble.versions[place].breaks])
        mean, scale = self.power.mean.copy(), self.power.scale.copy()
        mean[place] *= then / now
        scale[place] *= then / now
        experts = replace(self.experts, ensemble=ensemble.with_version(place, version))
        return replace(self, power=Standardisation(mean, scale), experts=experts)

    def pack(self) -> Packed:
        """As plain values and tensors."""
        return pack(self)

    @classmethod
    def unpack(cls, packed: Packed) -> Self:
        """Back from `pack`."""
        return unpack(cls, *packed)

    def _see(self, rows: Float64Array, steps: npt.NDArray[np.int64]) -> npt.NDArray[np.float32]:
        held, view = self.recent, self.frame.view
        low, high = np.searchsorted(held.at, [steps[0] - view.reach, steps[0]])
        x = np.concatenate([held.x[low:high], rows])
        at = np.concatenate([held.at[low:high], steps])
        return view.see(x, at, first=int(high - low))


def undo_experts(power: Standardisation, experts: Float64Array) -> Float64Array:
    """Experts' forecasts, `n x e x k`, in units of power."""
    return power.undo(experts.swapaxes(1, 2)).swapaxes(1, 2)
