"""Which forecast to trust: experts weighed by their recent errors, for each entity on its own."""

from __future__ import annotations

import numpy as np

from clearwatt.arrays import Float64Array
from clearwatt.errors import require_whole

ITERATIONS = 20
LEAST = 1e-4
"""A weight from which an expert can still come back."""


class Aggregation:
    """The convex mixture of `k` experts with the least squared error lately, for `e` entities.

    All that is kept of the past are the sums of the products of the experts' errors, each sample
    counting half as much for every `half_life` that has passed since. Because errors count in
    pairs, two experts that miss alike share one vote, and two that miss in opposite ways are worth
    more than the better of them. Feedback may come as late as it likes: errors are of what was
    issued.

    Args:
        entities: How many are weighed side by side.
        experts: How many forecasts there are of each.
        half_life: Steps until an error counts half.
        caution: Samples' worth of belief that all experts are equally good.
    """

    def __init__(self, entities: int, experts: int, *, half_life: float, caution: float) -> None:
        require_whole(entities=entities, experts=experts)
        self.half_life, self.caution = half_life, caution
        self.products: Float64Array = np.zeros((entities, experts, experts))
        self.weights: Float64Array = np.full((entities, experts), 1 / experts)

    def combine(self, experts: Float64Array) -> Float64Array:
        """The mixture, `n x e`, of forecasts `n x e x k`."""
        mixed: Float64Array = np.einsum("nek,ek->ne", experts, self.weights)
        return mixed

    def learn(
        self, experts: Float64Array, measured: Float64Array, *, ages: Float64Array, passed: float
    ) -> None:
        """Take in the errors of what was issued, and weigh anew.

        Args:
            experts: Forecasts as issued, `n x e x k`, in units of the entity's deviation.
            measured: What came, `n x e`; NaN where nothing did.
            ages: Steps since each of them, `n`.
            passed: Steps since the last call.
        """
        known = np.isfinite(measured)[:, :, None]
        errors = np.where(known, experts - measured[:, :, None], 0.0)
        errors *= (0.5 ** (ages / (2 * self.half_life)))[:, None, None]
        fade = 0.5 ** (passed / self.half_life)
        self.products = fade * self.products + np.einsum("nek,nel->ekl", errors, errors)
        prior = self.caution * np.eye(experts.shape[2])
        self.weights = least_on_simplex(self.products + prior, self.weights)


def least_on_simplex(matrices: Float64Array, start: Float64Array) -> Float64Array:
    """Weights `e x k`, not negative and summing to 1, of (nearly) least `w^T A w`.

    Exponentiated gradient descent from `start`: few cheap steps, since a day changes little.

    Args:
        matrices: Positive definite, `e x k x k`.
        start: Weights to begin with, `e x k`.
    """
    weights = _normalised(np.maximum(start, LEAST))
    rate = 2 / np.abs(matrices).max(axis=(1, 2))[:, None]
    for _ in range(ITERATIONS):
        slope = (matrices @ weights[:, :, None])[:, :, 0]
        lead = slope - slope.min(axis=1, keepdims=True)
        weights = _normalised(weights * np.exp(-rate * lead))
    return weights


def _normalised(weights: Float64Array) -> Float64Array:
    normalised: Float64Array = weights / weights.sum(axis=1, keepdims=True)
    return normalised
