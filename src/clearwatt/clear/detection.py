"""Novelty detection: two error signals, a threshold each, and the trigger of an update."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from clearwatt.errors import ConfigurationError

Reals = npt.NDArray[np.floating[Any]]
"""Single precision, or double if verdicts must not depend on the other samples."""

_LARGEST = float(np.finfo(np.float32).max)


def reconstruction_errors(x: Reals, reconstruction: Reals) -> Reals:
    """Root mean square over the features of each sample: n x d, n x d -> n."""
    residual = x - reconstruction
    errors: Reals = np.sqrt(np.einsum("nd,nd->n", residual, residual) / np.float32(x.shape[1]))
    return errors


def prediction_errors(y: Reals, prediction: Reals) -> Reals:
    """Absolute error of each sample: n, n -> n."""
    errors: Reals = np.abs(y - prediction)
    return errors


def threshold(errors: Reals, alpha: float) -> float:
    """τ = α · ē, the scaled mean error of the current model."""
    if not alpha > 0:
        raise ConfigurationError(f"alpha is {alpha}; the threshold factor must be above 0")
    return alpha * float(errors.mean(dtype=np.float64))


def is_novel(errors: Reals, tau: float) -> npt.NDArray[np.bool_]:
    """Which samples exceed the threshold: n -> n.

    NaN is novel: a familiar NaN would make all later thresholds NaN.
    """
    novel: npt.NDArray[np.bool_] = ~(errors <= errors.dtype.type(min(tau, _LARGEST)))
    return novel


def run_to_trigger(novel: npt.NDArray[np.bool_], room: int) -> int | None:
    """Number of samples until a novelty buffer with `room` free places is full.

    Includes the sample that fills it; None if the block does not fill it.
    """
    if room > len(novel):
        return None
    filling = np.flatnonzero(novel)
    return int(filling[room - 1]) + 1 if len(filling) >= room else None
