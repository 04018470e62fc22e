"""A small fleet prior for services of tests."""

from __future__ import annotations

from functools import cache

import numpy as np

from clearwatt.adaptive import FleetPrior, ZoneSamples, train_prior
from clearwatt.data.features import CALENDAR_COLUMNS

KINDS = ("consumer", "generator")


def samples(seed: int, *, days: int = 12, variables: tuple[str, ...] = ("wind", "sun")):
    """Hours of a zone with two consumers and two generators, as shares of their capacity."""
    rng = np.random.default_rng(seed)
    at = np.arange(days * 24)
    wind = 4 + np.abs(np.cumsum(rng.normal(0, 0.4, len(at))))
    sun = np.maximum(0, np.sin((at % 24 - 6) / 12 * np.pi)) * rng.uniform(0.6, 1, len(at))
    calendar = np.zeros((len(at), len(CALENDAR_COLUMNS)))
    calendar[:, 0], calendar[:, 1] = (f(2 * np.pi * at / 24) for f in (np.sin, np.cos))
    level = (20 + 10 * sun + wind) / 100
    made = np.clip(wind / 15 + 0.1 * sun, 0, 1)
    y = np.column_stack([level, level, made, made]) + rng.normal(0, 0.02, (len(at), 4))
    weather = np.column_stack([wind, sun])[:, : len(variables)]
    kinds = tuple((kind,) for kind in KINDS for _ in range(2))
    return ZoneSamples(
        np.hstack([weather, calendar]), y, at, (*variables, *CALENDAR_COLUMNS), kinds
    )


@cache
def small_prior(variables: tuple[str, ...] = ("wind", "sun")) -> FleetPrior:
    """A prior of the networks that a service has, trained on one zone."""
    return train_prior([samples(1, variables=variables)], day=24, source="a zone")
