"""The promotion gate: a trained model must not be worse than the deployed one.

Both are compared on samples held back from training: recent novel ones, which the update has to
learn, and recent familiar ones, which it must not forget.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from clearwatt.arrays import BoolArray
from clearwatt.clear.detection import Reals
from clearwatt.errors import ConfigurationError

FEWEST = 20
"""Minimum number of held-back samples for a comparison."""


@dataclass(frozen=True, slots=True)
class BufferErrors:
    """Mean errors of both models on the held-back samples of one buffer.

    ``usual`` is the expected error of the deployed model. Its error on familiar samples is too
    low, because they are selected by a low error; so the larger of the two counts.
    """

    samples: int
    deployed: float
    candidate: float
    usual: float = 0.0

    @property
    def reference(self) -> float:
        """The error that the candidate is compared with."""
        return max(self.deployed, self.usual)

    def exceeds(self, margin: float) -> bool:
        """Whether the candidate is worse by more than the margin; any error beats infinity."""
        return math.isfinite(self.reference) and not self.candidate <= (1 + margin) * self.reference


@dataclass(frozen=True, slots=True)
class Comparison:
    """Comparison of a candidate with the deployed model; a buffer with too few samples has None."""

    margin: float
    novel: BufferErrors | None
    familiar: BufferErrors | None

    @property
    def refusal(self) -> str | None:
        """Why the candidate must not be deployed; None: it may."""
        buffers = {"novel": self.novel, "familiar": self.familiar}
        found = [
            f"its mean error on {own.samples} held-back {name} samples is {own.candidate:.4g} "
            f"against {own.reference:.4g} of the model in service"
            for name, own in buffers.items()
            if own is not None and own.exceeds(self.margin)
        ]
        if not found:
            return None
        return f"{' and '.join(found)}, worse by more than the margin of {100 * self.margin:g} %"

    def in_unit(self, factor: float) -> Comparison:
        """The same with errors in another unit."""
        return replace(
            self, novel=_scaled(self.novel, factor), familiar=_scaled(self.familiar, factor)
        )


@dataclass(frozen=True)
class Gate:
    """The condition for deploying an updated model.

    Args:
        margin: How much higher its mean error may be, as a share of the deployed model's error.
        share: Share of the samples since the last update that is held back from training.
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

    def held_back_mask(self, samples: int) -> BoolArray:
        """Mask of the samples to hold back: every k-th, or none if there are too few."""
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

        ``usual`` is the mean error of the deployed model at its deployment.
        """
        buffers = [
            _buffer_errors(before, after, self.held_back_mask(len(before)), usual=expected)
            for before, after, expected in zip(deployed, candidate, (0.0, usual), strict=True)
        ]
        return Comparison(self.margin, *buffers)


def _buffer_errors(
    deployed: Reals, candidate: Reals, held: BoolArray, *, usual: float
) -> BufferErrors | None:
    if not held.any():
        return None
    before, after = (float(e[held].mean(dtype=np.float64)) for e in (deployed, candidate))
    return BufferErrors(int(held.sum()), before, after, usual)


def _scaled(own: BufferErrors | None, factor: float) -> BufferErrors | None:
    if own is None:
        return None
    errors = {name: getattr(own, name) * factor for name in ("deployed", "candidate", "usual")}
    return replace(own, **errors)
