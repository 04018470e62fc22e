"""Counts of samples and novelty since the last update of each entity's networks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np
import numpy.typing as npt

Counts = npt.NDArray[np.int64]


def _none() -> Counts:
    """In place of counts that were not saved."""
    return np.empty(0, np.int64)


@dataclass(frozen=True, eq=False)
class UpdateCounts:
    """Counts since the last update of each of `e` entities.

    Args:
        updates: Updates so far.
        updated: Step of the last update.
        samples: Samples since then.
        novel: Novel ones among them.
        rows: Rows since then.
        novel_inputs: Rows with novel inputs among them.
        leader: Kind of expert that is trusted most.
        measured: Step of the newest reading. Earlier releases did not save it: then the step of
            the last update.
        returned: Step of the first reading after the last long silence; 0: there was none.
    """

    updates: Counts
    updated: Counts
    samples: Counts
    novel: Counts
    rows: Counts
    novel_inputs: Counts
    leader: Counts
    measured: Counts = field(default_factory=_none)
    returned: Counts = field(default_factory=_none)

    def __post_init__(self) -> None:
        if len(self.measured) != len(self.updated):
            object.__setattr__(self, "measured", self.updated.copy())
        if len(self.returned) != len(self.updated):
            object.__setattr__(self, "returned", np.zeros_like(self.updated))

    @classmethod
    def begin(cls, entities: int, step: int) -> Self:
        """After the warm-up, up to a step."""
        zero = np.zeros(entities, np.int64)
        return cls(zero, zero + step, zero, zero, zero, zero, zero, zero + step, zero)

    def after_update(self, place: int, step: int) -> Self:
        """After an update of one entity."""
        at = np.arange(len(self.updates)) == place
        zero = {
            name: np.where(at, 0, getattr(self, name))
            for name in ("samples", "novel", "rows", "novel_inputs")
        }
        return replace(
            self, updates=self.updates + at, updated=np.where(at, step, self.updated), **zero
        )

    def select(self, places: Sequence[int]) -> Self:
        """Of the entities at some places."""
        return type(self)(**{name: each[list(places)] for name, each in vars(self).items()})

    def add_entities(self, other: Self) -> Self:
        """Of these entities, then of others."""
        parts = {name: [vars(each)[name] for each in (self, other)] for name in vars(self)}
        return type(self)(**{name: np.concatenate(pair) for name, pair in parts.items()})
