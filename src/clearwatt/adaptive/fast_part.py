"""The fast part of an adaptive forecaster at an earlier moment, and going back to it.

Sums cannot be unlearned. If readings of an entity turn out to be wrong days later, what they have
changed is undone with a copy from before them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from clearwatt.adaptive.corrections import Corrections
from clearwatt.adaptive.lead_corrections import LeadCorrections
from clearwatt.adaptive.power_range import PowerRange
from clearwatt.adaptive.trust import Trust
from clearwatt.adaptive.update_counts import UpdateCounts
from clearwatt.arrays import Float64Array, to_single
from clearwatt.forecaster import Name

Places = int | list[int]
"""Positions of entities."""


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

    def with_entity(self, earlier: FastPart, name: Name) -> FastPart:
        """In which one entity is as it was; the others stay. The number of updates stays, too."""
        return self.with_entities(earlier, [name])

    def with_entities(self, earlier: FastPart, names: Sequence[Name]) -> FastPart:
        """Like `with_entity` for several at once."""
        there, here = (_places_of(names, part.names) for part in (earlier, self))
        sums, old = self.corrections, earlier.corrections
        trust, then = self.trust, earlier.trust
        return self._replace(
            corrections=replace(
                sums,
                moments=moved(sums.moments, old.moments, there, here, axis=1),
                products=moved(sums.products, old.products, there, here, axis=1),
            ),
            trust=replace(
                trust,
                products=moved(trust.products, then.products, there, here),
                weights=moved(trust.weights, then.weights, there, here),
                samples=moved(trust.samples, then.samples, there, here),
            ),
            leads=_moved_leads(self.leads, earlier.leads, there, here),
            limits=PowerRange(
                moved(self.limits.low, earlier.limits.low, there, here),
                moved(self.limits.high, earlier.limits.high, there, here),
            ),
            jumps=moved(self.jumps, earlier.jumps, there, here),
            progress=_moved_counts(self.progress, earlier.progress, there, here),
        )


def _places_of(names: Sequence[Name], held: Sequence[Name]) -> list[int]:
    places = {name: place for place, name in enumerate(held)}
    return [places[name] for name in names]


def moved(
    now: Float64Array, then: Float64Array, there: Places, here: Places, *, axis: int = 0
) -> Float64Array:
    """Values in which those of some entities are as they were; `axis` is that of the entities."""
    found, before = now.copy(), (slice(None),) * axis
    found[*before, here] = then[*before, there]
    return found


def _moved_leads(
    now: LeadCorrections, then: LeadCorrections, there: Places, here: Places
) -> LeadCorrections:
    sums, old = now.regressions, then.regressions
    return replace(
        now,
        regressions=replace(
            sums,
            moments=moved(sums.moments, old.moments, there, here, axis=1),
            products=moved(sums.products, old.products, there, here, axis=1),
        ),
        squares=moved(now.squares, then.squares, there, here, axis=1),
    )


def _moved_counts(
    now: UpdateCounts, then: UpdateCounts, there: Places, here: Places
) -> UpdateCounts:
    changed = {}
    for name, values in vars(now).items():
        if name != "updates":
            changed[name] = values.copy()
            changed[name][here] = getattr(then, name)[there]
    return replace(now, **changed)
