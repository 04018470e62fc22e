"""Novelty of inputs: how badly the main directions of the held inputs reconstruct a new one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
import torch

from clearwatt.arrays import Float32Array, Float64Array
from clearwatt.training.fleet import one_thread

EXPLAINED = 0.9
"""Share of the variance that the directions explain."""


@dataclass(frozen=True, eq=False)
class InputModel:
    """A linear autoencoder of what the networks see: principal components.

    It is CLeaR's first signal at a fraction of the cost of a network: fitting takes the
    eigenvectors of one small matrix.

    Args:
        mean: Mean of the held inputs, `v`.
        directions: Principal directions, `v x r`.
        error: Mean reconstruction error of the held inputs.
    """

    mean: Float64Array
    directions: Float64Array
    error: float

    @classmethod
    @one_thread()
    def fit(cls, seen: Float32Array) -> Self:
        """Principal components of inputs, `n x v`."""
        rows = torch.from_numpy(np.ascontiguousarray(seen)).double()
        mean = rows.mean(dim=0)
        centred = rows - mean
        values, vectors = torch.linalg.eigh(centred.T @ centred)
        shares = values.flip(0).cumsum(0) / values.sum().clamp(min=1e-12)
        count = min(len(values), int((shares < EXPLAINED).sum()) + 1)
        directions = vectors.flip(1)[:, :count].contiguous()
        left = centred.square().sum(dim=1) - (centred @ directions).square().sum(dim=1)
        error = float(left.clamp(min=0).sqrt().mean())
        return cls(mean.numpy(), directions.numpy(), error)

    @classmethod
    def everything(cls, width: int) -> Self:
        """A model to which no input is novel, before there are any to fit it to."""
        return cls(np.zeros(width), np.eye(width), 0.0)

    def errors(self, seen: Float32Array) -> Float64Array:
        """Reconstruction error of inputs `n x v`: distance to the directions, `n`."""
        centred = seen - self.mean
        left = np.square(centred).sum(axis=1) - np.square(centred @ self.directions).sum(axis=1)
        errors: Float64Array = np.sqrt(np.maximum(left, 0.0))
        return errors
