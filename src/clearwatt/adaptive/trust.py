"""Trust: experts weighed by their recent errors, for each entity on its own."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import Self

import numpy as np

from clearwatt.arrays import Float64Array

ITERATIONS = 20
SETTLING = 50
"""Solutions one after the other when nothing was solved before."""
LEAST = 1e-4
"""Smallest weight at the start of a solution, so that an expert can come back."""


@dataclass(frozen=True, eq=False)
class Trust:
    """The convex mixture of `k` experts with the least squared error lately, for `e` entities.

    All that is held of the past are the sums of the products of the experts' errors with
    exponential forgetting. Because errors count in pairs, two experts that miss alike share one
    vote, and two that miss in opposite ways are worth more than the better of them.

    Args:
        half_life: Steps until an error counts half.
        caution: Prior belief that all experts are equally good, in samples.
        products: Sums of products of errors, `e x k x k`.
        weights: Weight of each expert, `e x k`.
        samples: Number of samples in the sums, forgotten alike, `e`.
    """

    half_life: float
    caution: float
    products: Float64Array
    weights: Float64Array
    samples: Float64Array

    @classmethod
    def equal(cls, entities: int, experts: int, *, half_life: float, caution: float) -> Self:
        """All experts count alike."""
        products = np.zeros((entities, experts, experts))
        weights = np.full((entities, experts), 1 / experts)
        return cls(half_life, caution, products, weights, np.zeros(entities))

    @classmethod
    def expected(
        cls, products: Float64Array, samples: float, *, half_life: float, caution: float
    ) -> Self:
        """Trust before any sample, from what is expected of the errors.

        Args:
            products: Mean product of each two experts' errors, `e x k x k`.
            samples: Number of samples that the expectation counts as.
            half_life: Steps until an error counts half.
            caution: Prior belief that all experts are equally good, in samples.
        """
        entities, experts = products.shape[:2]
        start = cls.equal(entities, experts, half_life=half_life, caution=caution)
        sums = samples * products
        weights = start.weights
        for _ in range(SETTLING):
            weights = least_on_simplex(sums + caution * _identity(experts), weights)
        counts = np.full(entities, samples)
        return replace(start, products=sums, weights=weights, samples=counts)

    @property
    def usual_error(self) -> Float64Array:
        """Root of the mean squared error of the mixture lately, `e`; before any sample, 1."""
        column = self.weights[:, :, None]
        squares = (column.swapaxes(1, 2) @ self.products @ column)[:, 0, 0]
        usual: Float64Array = np.sqrt((squares + self.caution) / (self.samples + self.caution))
        return usual

    def learn(
        self, experts: Float64Array, measured: Float64Array, *, ages: Float64Array, passed: float
    ) -> Self:
        """Trust after the errors of forecasts as they were issued.

        Args:
            experts: Forecasts as issued, `n x e x k`, in units of the entity's deviation.
            measured: `n x e`; NaN where nothing was measured.
            ages: Steps since each sample, `n`.
            passed: Steps since the last call.
        """
        errors = (experts - measured[:, :, None]).swapaxes(0, 1)
        known = np.isfinite(errors)
        errors = np.where(known, errors, 0.0)
        shares = 0.5 ** (ages / self.half_life)
        errors *= np.sqrt(shares)[:, None]
        fade = 0.5 ** (passed / self.half_life)
        samples = fade * self.samples + known[:, :, 0] @ shares
        products = fade * self.products + errors.swapaxes(1, 2) @ errors
        prior = self.caution * _identity(experts.shape[2])
        weights = least_on_simplex(products + prior, self.weights)
        return replace(self, products=products, weights=weights, samples=samples)

    def add_entities(self, entities: int) -> Self:
        """With further entities of which nothing is known."""
        experts = self.weights.shape[1]
        return self.concatenate(
            self.equal(entities, experts, half_life=self.half_life, caution=self.caution)
        )

    def concatenate(self, other: Self) -> Self:
        """Of these entities, then of others."""
        return replace(
            self,
            products=np.concatenate([self.products, other.products]),
            weights=np.concatenate([self.weights, other.weights]),
            samples=np.concatenate([self.samples, other.samples]),
        )


@cache
def _identity(size: int) -> Float64Array:
    return np.eye(size)


def least_on_simplex(matrices: Float64Array, start: Float64Array) -> Float64Array:
    """Weights `e x k`, not negative and summing to 1, of (nearly) least `w^T A w`.

    Exponentiated gradient descent from `start`: few cheap steps, since a day changes little.

    Args:
        matrices: Positive definite, `e x k x k`.
        start: Initial weights, `e x k`.
    """
    weights = np.maximum(start, LEAST)
    weights /= weights.sum(axis=1, keepdims=True)
    rate = 2 / np.abs(matrices).max(axis=(1, 2))
    scaled = matrices * -rate[:, None, None]
    column, gain = weights[:, :, None], np.empty((*weights.shape, 1))
    for _ in range(ITERATIONS):
        # Weights sum to 1, so a gain lies within 2 of 0 and its exponential cannot overflow.
        np.matmul(scaled, column, out=gain)
        column *= np.exp(gain, out=gain)
        column /= np.add.reduce(column, axis=1, keepdims=True)
    return weights
