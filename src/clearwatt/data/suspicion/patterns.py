"""Rules about patterns of a day's readings: a counter, spikes to one value, few values."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from clearwatt.arrays import BoolArray, Float64Array, Int64Array
from clearwatt.data.suspicion.copies import NOTHING
from clearwatt.data.suspicion.evidence import Case, Finding, finding, quantile
from clearwatt.data.suspicion.statistics import SAME

_RISES = 0.25
"""Least share of a day's steps that rise, of a counter."""
_STEADY = 0.9
"""The same if a single day is to show it."""
_STEPS = 20
"""Fewest steps of a day that shows it alone; few of them may all rise by chance (wind)."""
_RESETS = 1
"""Steps of a day that fall, at most: a counter that begins anew."""
_RUNS = 0.5
"""Least share of a counter's readings in a day that are not zero."""
_FEW = (2, 12)
"""Fewest values, zero left out, that several readings of a day have, and most distinct ones."""
_COARSE = 0.2
"""Least size of the largest one, in shares of the peak; on dark days, any meter has few."""
_REPEATED = 0.75
"""Least share of these readings that another one of the day equals."""
_USUALLY_REPEATED = 0.4
"""The same on most trusted days, at most."""
_FEWEST = 6
"""Readings other than zero that tell how many of them are repeated."""
_SPIKE = 0.1
"""Least size of a single reading above or below both others beside it, in shares of the peak."""
_SPIKES = 4
"""Spikes to one value in the last days."""
Days = npt.NDArray[np.floating]


class Repetitions(NamedTuple):
    """Readings of days other than zero: the share that another one of the day equals (h x e).

    NaN for a day with few of them. Then the values of several readings, and of any (h x e).
    """

    share: Float64Array
    repeated: Int64Array
    distinct: Int64Array


def counter(case: Case) -> Finding:
    """Readings rise for two days and do not fall but for a reset, as energy does, not power.

    One day is enough if nearly every step of it rises. If a trusted day was like that (wind), all
    of the last days must be.
    """
    evidence, peak = case.evidence, case.largest
    days = np.concatenate([evidence.earlier, evidence.power[None]])
    rising = _rises_only(days, peak, _RISES)
    usual = _rises_only(evidence.trusted, peak, _RISES).any(axis=0)
    always = rising.all(axis=0) & (evidence.ages[0] == len(evidence.ages))
    twice = rising[-2:].all(axis=0) & (evidence.ages[-1] == 1) & ~usual
    once = _rises_only(days[-1:], peak, _STEADY)[0] & ~usual & (days.shape[1] > _STEPS)
    before = np.where(always, len(evidence.ages), twice)
    return finding(always | twice | once, before=before.astype(np.int64))


def few_values(case: Case) -> Finding:
    """On two days, nearly all readings other than zero have few values, each of several readings.

    A curtailed plant has many readings of one value; the others differ.
    """
    evidence, peak = case.evidence, case.largest
    days = np.concatenate([evidence.earlier[-1:], evidence.power[None]])
    found, trusted = repetitions(days, peak), repetitions(evidence.trusted, peak)
    few = (found.repeated >= _FEW[0]) & (found.distinct <= _FEW[1]) & (found.share >= _REPEATED)
    few &= np.fmax.reduce(np.abs(days), axis=1) >= _COARSE * peak
    usual = quantile(trusted.share, 0.9) > _USUALLY_REPEATED
    shows = few.all(axis=0) & ~usual & (evidence.ages[-1] == 1)
    return finding(shows, before=np.ones(len(shows), np.int64))


def spikes(case: Case) -> Finding:
    """In the last days, this one included, single readings jump to one value again and again.

    That is twice as often as on all trusted days: a wind farm may reach its rated power for an
    hour.
    """
    evidence, peak = case.evidence, case.largest
    days = np.concatenate([evidence.earlier, evidence.power[None]])
    tops = np.where(is_spike(days, peak), days, np.nan)
    value = _repeated_value(tops.reshape(-1, len(peak)), SAME * peak)
    hits = (np.abs(tops - value) <= SAME * peak).sum(axis=1)
    equal = np.abs(evidence.trusted - value) <= SAME * peak
    before = (is_spike(evidence.trusted, peak) & equal).sum(axis=(0, 1))
    oldest = np.array([*evidence.ages.tolist(), 0])[(hits > 0).argmax(axis=0)]
    shows = (hits.sum(axis=0) >= np.maximum(_SPIKES, 2 * before)) & (hits[-1] > 0)
    return finding(shows, size=value, before=oldest)


def _repeated_value(values: Days, tolerance: Float64Array) -> Float64Array:
    """A value (e) that `_SPIKES` of the values (n x e) are equal to; NaN without one."""
    ranked = np.sort(values, axis=0)
    equal = ranked[_SPIKES - 1 :] - ranked[: 1 - _SPIKES] <= tolerance
    first = np.take_along_axis(ranked, equal.argmax(axis=0)[None], axis=0)[0]
    return np.asarray(np.where(equal.any(axis=0), first, np.nan), np.float64)


def is_spike(days: Days, peak: Float64Array | float) -> BoolArray:
    """Which readings (h x n x e) are far above or below both others beside them."""
    steps = np.diff(days, axis=1)
    up, down = steps[:, :-1], -steps[:, 1:]
    size = np.where(np.sign(up) == np.sign(down), np.minimum(np.abs(up), np.abs(down)), 0)
    found = np.zeros(days.shape, np.bool_)
    found[:, 1:-1] = (size > 0) & (size >= _SPIKE * peak)
    return found


def repetitions(days: Days, peak: Float64Array | float) -> Repetitions:
    """How often readings (h x n x e) are equal on a day; `peak` is the largest trusted one, `e`."""
    ranked = np.sort(np.where(np.abs(days) > NOTHING * peak, days, np.nan), axis=1)
    equal = np.diff(ranked, axis=1) <= SAME * peak
    ends = np.zeros_like(equal[:, :1])
    first = np.concatenate([equal, ends], axis=1) & ~np.concatenate([ends, equal], axis=1)
    count, values = np.isfinite(ranked).sum(axis=1), first.sum(axis=1)
    share = (equal.sum(axis=1) + values) / np.maximum(count, 1)
    return Repetitions(np.where(count >= _FEWEST, share, np.nan), values, count - equal.sum(axis=1))


def _rises_only(days: Days, peak: Float64Array, share: float) -> BoolArray:
    """On which days readings rise in a share of the steps, and fall once at most, `h x e`.

    At most half of them are zero: a plant that trips every noon rises only, too.
    """
    steps, least = np.diff(days, axis=1), SAME * peak
    rises, falls = (steps > least).sum(axis=1), (steps < -least).sum(axis=1)
    runs = (np.abs(days) > NOTHING * peak).mean(axis=1) >= _RUNS
    return np.asarray(runs & (rises >= share * steps.shape[1]) & (falls <= _RESETS), np.bool_)
