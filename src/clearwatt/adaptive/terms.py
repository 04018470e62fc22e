"""Terms that the corrections explain a residual of the networks with."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Literal, NamedTuple

import numpy as np

from clearwatt.adaptive.power_range import PowerRange
from clearwatt.adaptive.recent import LagRows, places_of
from clearwatt.adaptive.view import FAR
from clearwatt.arrays import Float32Array, Float64Array, nan_array
from clearwatt.clock import DAYS_PER_WEEK, Clock, Steps

HARMONICS = 2
"""Waves per day; one more for the week."""

TermSet = Literal["level", "calendar", "errors", "lags", "all"]
_WAVES = tuple(range(2, 4 + 2 * HARMONICS))
_ERRORS = tuple(range(_WAVES[-1] + 1, _WAVES[-1] + 3))
_LAGS = tuple(range(_ERRORS[-1] + 1, _ERRORS[-1] + 3))
TERM_SETS: Mapping[TermSet, tuple[int, ...]] = MappingProxyType(
    {
        "level": (0,),
        "calendar": (0, 1, *_WAVES),
        "errors": (0, 1, *_ERRORS),
        "lags": (0, 1, *_ERRORS, *_LAGS),
        "all": (0, 1, *_WAVES, *_ERRORS, *_LAGS),
    }
)
"""Columns of `terms_of` by set: few terms adapt within days, many explain more within weeks."""
TERMS = len(TERM_SETS["all"])
"""Number of terms `p`."""
PERSISTENCES = 2
"""Past measurements that are forecasts themselves: same hour, same weekday."""


class Lags(NamedTuple):
    """Measurements and errors at the same hour and at the same weekday, latest known ones."""

    persistences: Float64Array
    """Measurements, `n x e x 2`; NaN where there is none."""
    errors: Float64Array
    """Measured less forecast by the networks as issued, `n x e x 2`. Where one is missing, the
    other; NaN where there is none."""
    estimates: Float64Array
    """Measurements, `n x e x 2`. Where one is missing, the networks' forecast of it as issued with
    the error of the other; NaN where there was no forecast."""


def lags_of(
    at: Steps,
    recent: LagRows,
    limits: PowerRange,
    clock: Clock,
    *,
    known: int | Steps | None = None,
) -> Lags:
    """What is known of the same hour before these steps.

    Args:
        at: Steps to be forecast, `n`.
        recent: Rows of the last days.
        limits: Limits outliers.
        clock: Length of a day, delay.
        known: Last step known, of all forecasts or of each. A step too far ahead for its lag to be
            known looks back by another period; None: every lag is known.
    """
    periods = np.array([[clock.same_hour], [clock.same_weekday]])
    ahead = 1 if known is None else np.maximum(1, -(-(at - known) // periods))
    places, there = places_of(at - periods * ahead, recent.at)
    measured = nan_array(PERSISTENCES, len(at), recent.slow.shape[1])
    errors = measured.copy()
    held = places[there]
    measured[there] = limits.limit_outliers(recent.measured[held])
    errors[there] = measured[there] - recent.slow[held]
    missing = there[:, :, None] & np.isnan(errors)
    estimates = measured
    if missing.any():
        issued = np.zeros_like(measured)
        issued[there] = recent.slow[held]
        others = errors[::-1]
        errors = np.where(missing, others, errors)
        estimates = np.where(missing, issued + np.nan_to_num(others), measured)
    return Lags(*(each.transpose(1, 2, 0) for each in (measured, errors, estimates)))


def lag_inputs(persistences: Float64Array) -> Float32Array:
    """Past measurements, of any shape, as networks see them; 0, the mean, where there is none."""
    limited = np.minimum(np.maximum(persistences, -FAR), FAR)
    limited[np.isnan(limited)] = 0.0
    return limited.astype(np.float32)


def terms_of(slow: Float64Array, at: Steps, lags: Lags, clock: Clock) -> Float64Array:
    """Terms, `n x e x p`, for forecasts `n x e` of the networks. Missing terms are 0.

    A level; the forecast itself; hour and weekday; the errors of the same hour a day and a week
    before; the differences between the measurements then and the forecast now.
    """
    terms = np.empty((*slow.shape, TERMS))
    terms[..., 0] = 1.0
    terms[..., 1] = slow
    terms[..., _WAVES[0] : _WAVES[-1] + 1] = waves(clock)[at % (DAYS_PER_WEEK * clock.day), None]
    terms[..., _ERRORS[0] : _ERRORS[-1] + 1] = lags.errors
    terms[..., _LAGS[0] :] = lags.estimates - slow[:, :, None]
    tail = terms[..., _ERRORS[0] :]
    tail[np.isnan(tail)] = 0.0
    return terms


@cache
def waves(clock: Clock) -> Float64Array:
    """Each step of a week as points on circles, whatever hour or weekday step 0 is, `n x 6`."""
    at, week = np.arange(DAYS_PER_WEEK * clock.day), DAYS_PER_WEEK * clock.day
    day = 2 * np.pi * (at % clock.day) / clock.day
    angles = [day * wave for wave in range(1, HARMONICS + 1)] + [2 * np.pi * at / week]
    return np.stack([turn(angle) for angle in angles for turn in (np.sin, np.cos)], axis=1)
