"""The fast part of an adaptive forecaster at an earlier moment, and going back to it.

Sums cannot be unlearned. If readings of an entity turn out to be wrong days later, what they have
changed is undone with a copy from before them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from clearwatt.adaptive.corrections import Corrections
from clearwatt.adaptive.jumps import weights_in_force
from clearwatt.adaptive.lead_corrections import LeadCorrections
from clearwatt.adaptive.power_range import PowerRange
from clearwatt.adaptive.state import LearnerState, UpdateCounts
from clearwatt.adaptive.trust import Trust
from clearwatt.arrays import Float64Array, to_single
from clearwatt.forecaster import Name


class FastPart(NamedTuple):
    """What the measurements of the last days change besides networks and held samples.

    See `LearnerState` for the fields.
    """

    names: tuple[Name, ...]
    corrections: Corrections
    trust: Trust
    leads: LeadCorrections
    limits: PowerRange
    jumps: Float64Array
    progress: UpdateCounts

    @classmethod
    def of(cls, state: LearnerState) -> FastPart:
        """The fast part of a state; shares its arrays, which never change."""
        return cls._make(getattr(state, name) for name in cls._fields)

    def to_single(self) -> FastPart:
        """With its sums in single precision, to keep it in half the memory."""
        corrections, trust, leads = self.corrections, self.trust, self.leads
        sums = leads.regressions
        return self._replace(
            corrections=replace(
                corrections,
                moments=to_single(corrections.moments),
                products=to_single(corrections.products),
            ),
            trust=replace(trust, products=to_single(trust.products)),
            leads=replace(
                leads,
                regressions=replace(
                    sums, moments=to_single(sums.moments), products=to_single(sums.products)
                ),
                squares=to_single(leads.squares),
            ),
        )

    @property
    def nbytes(self) -> int:
        """Bytes of the sums."""
        sums = (self.corrections.moments, self.corrections.products, self.trust.products)
        return self.leads.nbytes + sum(each.nbytes for each in sums)


def with_fast_part(state: LearnerState, fast: FastPart, name: Name) -> LearnerState:
    """The state in which the fast part of one entity is as it was; the others stay as they are.

    It is in force from the next step on. The number of updates stays: it names versions.
    """
    there, here = fast.names.index(name), state.names.index(name)
    restored = state._replace(
        corrections=replace(
            state.corrections,
            moments=_moved(
                state.corrections.moments, fast.corrections.moments, there, here, axis=1
            ),
            products=_moved(
                state.corrections.products, fast.corrections.products, there, here, axis=1
            ),
        ),
        trust=replace(
            state.trust,
            products=_moved(state.trust.products, fast.trust.products, there, here),
            weights=_moved(state.trust.weights, fast.trust.weights, there, here),
            samples=_moved(state.trust.samples, fast.trust.samples, there, here),
        ),
        leads=_moved_leads(state.leads, fast.leads, there, here),
        limits=PowerRange(
            _moved(state.limits.low, fast.limits.low, there, here),
            _moved(state.limits.high, fast.limits.high, there, here),
        ),
        jumps=_moved(state.jumps, fast.jumps, there, here),
        progress=_moved_counts(state.progress, fast.progress, there, here),
    )
    last, since = state.past[-1], max(state.boundary, state.known + 1)
    weights = weights_in_force(restored)
    experts = replace(
        last,
        since=since,
        coefficients=_moved(last.coefficients, restored.corrections.solve(), here, here, axis=1),
        weights=_moved(last.weights, weights, here, here),
        limits=restored.limits,
        leads=restored.leads.coefficients,
    )
    past = tuple(each for each in state.past if each.since < since)
    return restored._replace(past=(*past, experts))


def _moved(
    now: Float64Array, then: Float64Array, there: int, here: int, *, axis: int = 0
) -> Float64Array:
    """Values in which those of one entity are as they were."""
    found = now.copy()
    np.moveaxis(found, axis, 0)[here] = np.moveaxis(then, axis, 0)[there]
    return found


def _moved_leads(
    now: LeadCorrections, then: LeadCorrections, there: int, here: int
) -> LeadCorrections:
    sums, old = now.regressions, then.regressions
    return replace(
        now,
        regressions=replace(
            sums,
            moments=_moved(sums.moments, old.moments, there, here, axis=1),
            products=_moved(sums.products, old.products, there, here, axis=1),
        ),
        squares=_moved(now.squares, then.squares, there, here, axis=1),
    )


def _moved_counts(now: UpdateCounts, then: UpdateCounts, there: int, here: int) -> UpdateCounts:
    changed = {}
    for name, values in vars(now).items():
        if name != "updates":
            changed[name] = values.copy()
            changed[name][here] = getattr(then, name)[there]
    return replace(now, **changed)
