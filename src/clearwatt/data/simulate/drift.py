"""The drifts of a grid: which entity they affect, from when to when, and how strongly.

Random draws depend only on the seed, the drift and the entity. So scaling one drift, or switching
it off, changes nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from clearwatt.arrays import Float64Array
from clearwatt.data.schema import Drift
from clearwatt.data.simulate.entity_specs import EntitySpec
from clearwatt.data.simulate.randomness import random_stream
from clearwatt.data.simulate.rules import (
    DRIFT_NAMES,
    NWP_CHANGE,
    NWP_CHANGE_START,
    RULES,
    SEASONS,
    Rule,
)
from clearwatt.errors import ConfigurationError

STEPS_PER_DAY = 96


@dataclass(frozen=True, slots=True)
class SimulatedDrift:
    """One drift of one entity, or of the whole grid, in steps of the simulated span.

    ``nominal`` is the strength at factor 1, ``strength`` that at the configured factor.
    """

    what: str
    entity: str | None
    start: int
    ramp: int
    end: int | None
    nominal: float
    strength: float
    description: str

    def effect(self, n: int) -> Float64Array:
        """The strength at each step (n): it grows over the ramp and is 0 after the end."""
        steps = np.arange(n)
        done = np.clip((steps - self.start + 1) / max(self.ramp, 1), 0.0, 1.0)
        return self.strength * (done if self.end is None else np.where(steps < self.end, done, 0.0))

    def record(self, times: pd.DatetimeIndex) -> Drift:
        """The entry of the drift log."""
        end = None if self.end is None or self.end >= len(times) else times[self.end]
        return Drift(
            what=self.what,
            entity=self.entity,
            start=times[self.start],
            end=end,
            strength=self.strength,
            description=self.description,
        )


@dataclass(frozen=True, slots=True)
class DriftEffects:
    """The drifts of one entity over ``steps`` steps; the effect of an absent drift is zero."""

    steps: int
    by_name: Mapping[str, SimulatedDrift]

    def effect(self, what: str) -> Float64Array:
        """The strength of a drift at each step (n)."""
        change = self.by_name.get(what)
        return np.zeros(self.steps) if change is None else change.effect(self.steps)

    def nominal(self, what: str) -> float:
        """The strength of a drift at factor 1, which the capacity is designed for."""
        change = self.by_name.get(what)
        return 0.0 if change is None else change.nominal

    def capacity_share(self) -> Float64Array:
        """The capacity in use (n) relative to the full one, after additions and retirements."""
        added = 1.0 + self.effect("capacity_added")
        built = added / (1.0 + self.nominal("capacity_added"))
        return built * np.clip(1.0 - self.effect("capacity_retired"), 0.0, 1.0)

    def log(self, times: pd.DatetimeIndex) -> list[Drift]:
        """The log entries of the drifts with a strength above zero."""
        return [change.record(times) for change in self.by_name.values() if change.strength > 0.0]


def resolve_factors(drifts: Mapping[str, float] | None) -> dict[str, float]:
    """The factor of every drift, 1 where ``drifts`` has none.

    Raises:
        ConfigurationError: If a name is unknown, or a factor negative or not finite.
    """
    given = dict(drifts or {})
    unknown = sorted(set(given) - set(DRIFT_NAMES))
    if unknown:
        raise ConfigurationError(
            f"unknown drift {unknown[0]!r}; the drifts are {', '.join(DRIFT_NAMES)}"
        )
    for name, factor in given.items():
        if not _is_factor(factor):
            raise ConfigurationError(
                f"factor {factor!r} of drift {name!r} must be a finite number of at least 0 "
                "(0 switches it off, 1 is the default)"
            )
    return {name: float(given.get(name, 1.0)) for name in DRIFT_NAMES}


def _is_factor(value: object) -> bool:
    return isinstance(value, int | float) and math.isfinite(value) and value >= 0.0


def entity_changes(
    spec: EntitySpec, factors: Mapping[str, float], *, steps: int, seed: int
) -> DriftEffects:
    """The drifts of one entity."""
    changes = (_draw(rule, spec, factors[rule.what], steps=steps, seed=seed) for rule in RULES)
    return DriftEffects(steps, {change.what: change for change in changes if change is not None})


def grid_changes(factors: Mapping[str, float], *, steps: int) -> DriftEffects:
    """The drifts of the whole grid."""
    seasons, nwp = factors[SEASONS], factors[NWP_CHANGE]
    start = int(NWP_CHANGE_START * steps)
    return DriftEffects(
        steps,
        {
            SEASONS: SimulatedDrift(
                SEASONS, None, 0, 0, None, 1.0, seasons, "the annual cycle of sun, air and habits"
            ),
            NWP_CHANGE: SimulatedDrift(
                NWP_CHANGE, None, start, 0, None, 1.0, nwp, "the weather model is replaced"
            ),
        },
    )


def _draw(
    rule: Rule, spec: EntitySpec, factor: float, *, steps: int, seed: int
) -> SimulatedDrift | None:
    rng = random_stream(seed, "drift", rule.what, spec.name)
    chance, when, size, length = rng.random(4).tolist()
    first = spec.number == 1 and spec.kind == rule.always
    if spec.subtype not in rule.subtypes or not (first or chance < rule.share):
        return None
    start = int(_interpolate(rule.start, when) * steps)
    days = None if rule.days is None else _interpolate(rule.days, length)
    nominal = _interpolate(rule.strength, size)
    return SimulatedDrift(
        what=rule.what,
        entity=spec.name,
        start=start,
        ramp=steps - start if rule.ramp_days is None else int(rule.ramp_days * STEPS_PER_DAY),
        end=None if days is None else start + int(days * STEPS_PER_DAY),
        nominal=nominal,
        strength=nominal * factor,
        description=rule.description.format(percent=f"{nominal * factor:.1%}"),
    )


def _interpolate(bounds: tuple[float, float], share: float) -> float:
    low, high = bounds
    return low + (high - low) * share
