"""The promotion gate: a trained model must not be worse than the one in service.

Both are compared on samples that were kept from training: recent novel ones, which the update is
for, and recent familiar ones, which it must not forget.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from clearwatt.arrays import BoolArray
from clearwatt.clear.detection import Reals
from clearwatt.errors import ConfigurationError

FEWEST = 20
"""Held-back samples below which a mean error says too little to compare."""


@dataclass(frozen=True, slots=True)
class Side:
    """Mean errors on the held-back samples of one buffer, by either model.

    ``usual`` is what the deployed model is expected to get wrong. Familiar samples are those it
    happened to get right, so its error on them flatters it; the larger of the two counts.
    """

    samples: int
    deployed: float
    candidate: float
    usual: float = 0.0

    @property
    def reference(self) -> float:
        """What the candidate is held against."""
        return max(self.deployed, self.usual)

    def exceeds(self, margin: float) -> bool:
        """Whether the candidate is worse by more than the margin; anything beats a broken model."""
        return math.isfinite(self.reference) and not self.candidate <= (1 + margin) * self.reference


@dataclass(frozen=True, slots=True)
class Comparison:
    """A candidate beside the model in service; a side with too few samples is None."""

    margin: float
    novel: Side | None
    familiar: Side | None

    @property
    def refusal(self) -> str | None:
        """Why the candidate must not replace the model in service; None: it may."""
        sides = {"novel": self.novel, "familiar": self.familiar}
        found = [
            f"its mean error on {side.samples} held-back {name} samples is {side.candidate:.4g} "
            f"against {side.reference:.4g} of the model in service"
            for name, side in sides.items()
            if side is not None and side.exceeds(self.margin)
        ]
        if not found:
            return None
        return f"{' and '.join(found)}, worse by more than the margin of {100 * self.margin:g} %"

    def scaled(self, factor: float) -> Comparison:
        """The same with errors in another unit."""
        return replace(
            self, novel=_scaled(self.novel, factor), familiar=_scaled(self.familiar, factor)
        )


@dataclass(frozen=True)
class Gate:
    """When an updated model is put into service.

    Args:
        margin: how much worse its mean error may be, as a share of the deployed model's.
        share: of the samples since the last update, the part that is held back from training.
    """

    margin: float = 0.5
    share: float = 0.1

    def __post_init__(self) -> None:
        if not 0 <= self.margin < float("inf"):
            raise ConfigurationError(f"margin is {self.margin}; it must be 0 or more, and finite")
        if not 0 < self.share <= 0.5:
            raise ConfigurationError(
                f"share is {self.share}; hold back more than 0 and at most 0.5 of the samples"
            )

    def held_back(self, samples: int) -> BoolArray:
        """Which of so many samples to keep from training: every k-th, or none of too few."""
        held = np.zeros(samples, np.bool_)
        every = round(1 / self.share)
        if samples // every >= FEWEST:
            held[every - 1 :: every] = True
        return held

    def compare(
        self,
        deployed: tuple[Reals, Reals],
        candidate: tuple[Reals, Reals],
        *,
        usual: float = 0.0,
    ) -> Comparison:
        """Compare two models by their errors on all novel (n) and all familiar (n) samples.

        ``usual`` is the mean error the deployed model had when it was put into service.
        """
        sides = [
            _side(before, after, self.held_back(len(before)), usual=expected)
            for before, after, expected in zip(deployed, candidate, (0.0, usual), strict=True)
        ]
        return Comparison(self.margin, *sides)


def _side(deployed: Reals, candidate: Reals, held: BoolArray, *, usual: float) -> Side | None:
    if not held.any():
        return None
    before, after = (float(e[held].mean(dtype=np.float64)) for e in (deployed, candidate))
    return Side(int(held.sum()), before, after, usual)


def _scaled(side: Side | None, factor: float) -> Side | None:
    if side is None:
        return None
    errors = {name: getattr(side, name) * factor for name in ("deployed", "candidate", "usual")}
    return replace(side, **errors)
