"""How the grid changes: what strikes whom, from when to when, how strongly; known in advance.

What is drawn depends on the seed, the drift and the entity alone, so scaling one drift or
switching it off changes nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from clearwatt.data.schema import Drift
from clearwatt.data.simulate.randomness import Floats, stream
from clearwatt.data.simulate.roster import Member
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
class Change:
    """One drift of one entity, or of the whole grid, in steps of the simulated span.

    ``planned`` is its strength at factor 1, ``strength`` the one that acts.
    """

    what: str
    entity: str | None
    start: int
    ramp: int
    end: int | None
    planned: float
    strength: float
    description: str

    def effect(self, n: int) -> Floats:
        """Return the acting strength (n): it grows over the ramp and is 0 again after the end."""
        steps = np.arange(n)
        done = np.clip((steps - self.start + 1) / max(self.ramp, 1), 0.0, 1.0)
        return self.strength * (done if self.end is None else np.where(steps < self.end, done, 0.0))

    def record(self, times: pd.DatetimeIndex) -> Drift:
        """Return the entry of the drift log."""
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
class Changes:
    """The drifts of one entity over a span of ``steps``; one that does not strike is zero."""

    steps: int
    by_name: Mapping[str, Change]

    def effect(self, what: str) -> Floats:
        """Return the acting strength of a drift (n)."""
        change = self.by_name.get(what)
        return np.zeros(self.steps) if change is None else change.effect(self.steps)

    def planned(self, what: str) -> float:
        """Return a drift's strength at factor 1, whatever its factor: the grid is built for it."""
        change = self.by_name.get(what)
        return 0.0 if change is None else change.planned

    def log(self, times: pd.DatetimeIndex) -> list[Drift]:
        """Return the log entries of the drifts that act."""
        return [change.record(times) for change in self.by_name.values() if change.strength > 0.0]


def resolve_factors(drifts: Mapping[str, float] | None) -> dict[str, float]:
    """Return the factor of every drift, 1 where ``drifts`` does not say.

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


def plan(member: Member, factors: Mapping[str, float], *, steps: int, seed: int) -> Changes:
    """Return the drifts that strike ``member``."""
    changes = (_draw(rule, member, factors[rule.what], steps=steps, seed=seed) for rule in RULES)
    return Changes(steps, {change.what: change for change in changes if change is not None})


def grid_changes(factors: Mapping[str, float], *, steps: int) -> Changes:
    """Return the drifts of the whole grid."""
    seasons, nwp = factors[SEASONS], factors[NWP_CHANGE]
    start = int(NWP_CHANGE_START * steps)
    return Changes(
        steps,
        {
            SEASONS: Change(
                SEASONS, None, 0, 0, None, 1.0, seasons, "the annual cycle of sun, air and habits"
            ),
            NWP_CHANGE: Change(
                NWP_CHANGE, None, start, 0, None, 1.0, nwp, "the weather model is replaced"
            ),
        },
    )


def _draw(rule: Rule, member: Member, factor: float, *, steps: int, seed: int) -> Change | None:
    rng = stream(seed, "drift", rule.what, member.name)
    chance, when, size, length = rng.random(4).tolist()
    first = member.number == 1 and member.kind == rule.always
    if member.subtype not in rule.subtypes or not (first or chance < rule.share):
        return None
    start = int(_between(rule.start, when) * steps)
    days = None if rule.days is None else _between(rule.days, length)
    planned = _between(rule.strength, size)
    return Change(
        what=rule.what,
        entity=member.name,
        start=start,
        ramp=steps - start if rule.ramp_days is None else int(rule.ramp_days * STEPS_PER_DAY),
        end=None if days is None else start + int(days * STEPS_PER_DAY),
        planned=planned,
        strength=planned * factor,
        description=rule.description.format(percent=f"{planned * factor:.1%}"),
    )


def _between(bounds: tuple[float, float], share: float) -> float:
    low, high = bounds
    return low + (high - low) * share
