"""Calibrators of the next hours: one for each of a few leads below a day."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from clearwatt.arrays import Float64Array
from clearwatt.clock import Steps
from clearwatt.intervals.calibrator import Calibrator
from clearwatt.intervals.lead_scale import LeadScale
from clearwatt.intervals.limits import limits_array
from clearwatt.intervals.near_quantiles import NearQuantiles


class NearCalibrators:
    """Quantiles around forecasts that know measurements up to `b` leads before their steps.

    Args:
        leads: Steps from the newest measurement, ascending, `b`.
        horizon: Lead from which on the quantiles are those of a day ahead.
        calibrators: Of each lead, without limits.
        scales: Factors on the width at each lead.
        limits: Lowest and highest power, `2 x m`.
    """

    def __init__(
        self,
        leads: Sequence[int],
        horizon: int,
        calibrators: list[Calibrator],
        scales: list[LeadScale],
        limits: Float64Array,
    ) -> None:
        self.leads, self.horizon = tuple(leads), horizon
        self.calibrators, self.scales, self.limits = calibrators, scales, limits

    @classmethod
    def start(
        cls, day_ahead: Calibrator, leads: Sequence[int], *, horizon: int, levels: Sequence[float]
    ) -> NearCalibrators:
        """Begin as wide as a day ahead; the ends of the levels are those that scales follow."""
        calibrators = [_without_limits(day_ahead) for _ in leads]
        entities = day_ahead.limits.shape[1]
        scale = LeadScale.start(entities, levels, day=day_ahead.cells.day)
        return cls(leads, horizon, calibrators, [scale] * len(leads), day_ahead.limits)

    def observe(
        self, power: Float64Array, measured: Float64Array, at: Steps, *, levels: Sequence[float]
    ) -> Float64Array:
        """Learn from days that have ended.

        Args:
            power: Forecasts of each lead, `b x n x m`.
            measured: `n x m`; NaN where there is none.
            at: Steps of whole days, `n`, ascending from call to call.
            levels: Of the quantiles to return, and of the interval that scales follow.

        Returns:
            The quantiles that were given at each lead, `b x n x m x levels`, within the limits.
        """
        given = []
        for place, own in enumerate(power):
            found = self.calibrators[place].observe(own, measured, at, levels=levels)
            assert found is not None
            given.append(self._scale(place, found, own, measured, at))
        return np.stack(given)

    def _scale(
        self,
        place: int,
        quantiles: Float64Array,
        power: Float64Array,
        measured: Float64Array,
        at: Steps,
    ) -> Float64Array:
        """Quantiles of a lead, `n x m x levels`, scaled day by day and within the limits."""
        scale, scaled = self.scales[place], np.empty_like(quantiles)
        days = (np.flatnonzero(np.diff(at // scale.day)) + 1).tolist()
        for start, stop in pairwise([0, *days, len(at)]):
            rows = slice(start, stop)
            found = scale.apply(quantiles[rows], power[rows])
            scaled[rows] = np.clip(found, *self.limits[..., None])
            scale = scale.learn(scaled[rows], measured[rows])
        self.scales[place] = scale
        return scaled

    @property
    def snapshot(self) -> NearQuantiles:
        """The quantiles of later rows, from all that is known."""
        return NearQuantiles(
            self.leads,
            self.horizon,
            tuple(each.snapshot.model for each in self.calibrators),
            np.stack([scale.logarithm for scale in self.scales]),
        )

    def add(
        self,
        forecasts: Float64Array,
        y: Float64Array,
        steps: Steps,
        *,
        limits: tuple[float, float],
    ) -> None:
        """Add another entity with its warm-up: forecasts, measurements and steps (n)."""
        for each in self.calibrators:
            each.add(forecasts, y, steps)
        self.scales = [each.add_entity() for each in self.scales]
        self.limits = np.concatenate([self.limits, np.array(limits)[:, None]], axis=1)

    def remove(self, column: int) -> None:
        """Remove an entity."""
        for each in self.calibrators:
            each.remove(column)
        self.scales = [each.remove_entity(column) for each in self.scales]
        self.limits = np.delete(self.limits, column, axis=1)

    def restart(self, column: int, day_ahead: Mapping[str, npt.NDArray[Any]]) -> None:
        """Begin anew with one entity, as wide as a day ahead; see `Calibrator.learned`."""
        for place, own in enumerate(self.calibrators):
            own.go_back(column, day_ahead)
            logarithm = self.scales[place].logarithm.copy()
            logarithm[column] = 0.0
            self.scales[place] = replace(self.scales[place], logarithm=logarithm)

    def state(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """The state as plain values and arrays."""
        own = [each.state() for each in self.calibrators]
        values = {
            "leads": list(self.leads),
            "horizon": self.horizon,
            "outside": self.scales[0].outside,
            "calibrators": [each for each, _ in own],
        }
        arrays = {
            f"{place}.{name}": each
            for place, (_, held) in enumerate(own)
            for name, each in held.items()
        }
        logarithm = np.stack([each.logarithm for each in self.scales])
        return values, {**arrays, "logarithm": logarithm, "limits": self.limits}

    @classmethod
    def from_state(
        cls, values: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]
    ) -> NearCalibrators:
        """The opposite of `state`."""
        calibrators = []
        for place, own in enumerate(values["calibrators"]):
            start = f"{place}."
            held = {k.removeprefix(start): v for k, v in arrays.items() if k.startswith(start)}
            calibrators.append(Calibrator.from_state(own, held))
        day, outside = calibrators[0].cells.day, values["outside"]
        scales = [LeadScale(each, outside, day) for each in arrays["logarithm"]]
        return cls(values["leads"], values["horizon"], calibrators, scales, arrays["limits"])


def _without_limits(calibrator: Calibrator) -> Calibrator:
    """A copy without limits that has not begun a day."""
    copy = calibrator.restarted()
    copy.limits = limits_array(None, None, calibrator.limits.shape[1])
    return copy
