"""Equations 3-5 and the live error.

Arrays are n, or n x d for a reconstruction: a vector's squared error is averaged over its features
before it is averaged over time. Samples without a target (NaN) are left out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from clearwatt.arrays import Float64Array
from clearwatt.errors import DataError


@dataclass(frozen=True)
class LiveError:
    """Errors of forecasts, each by the model deployed when it was made."""

    rmse: float
    mae: float


def fitting_error(
    targets: npt.ArrayLike, outputs: npt.ArrayLike, *, last_update: int | None = None
) -> float:
    """FE (Equation 3): RMSE of the final model over the updating phase.

    Args:
        targets: d(t) of the updating phase.
        outputs: Outputs of the final model for it.
        last_update: Samples of the phase up to the component's own last update, t_final - t_0;
            later ones did not influence it and do not count. None, or 0 where no update
            happened: the whole phase, as for the baselines.
    """
    squares = _squared_errors(targets, outputs)
    return _root_mean(squares[: last_update or None], "fitting error")


def prediction_error(targets: npt.ArrayLike, outputs: npt.ArrayLike) -> float:
    """PE (Equation 4): RMSE of the final model over the test phase."""
    return _root_mean(_squared_errors(targets, outputs), "prediction error")


def forgetting_ratio(
    targets: npt.ArrayLike, final_outputs: npt.ArrayLike, initial_outputs: npt.ArrayLike
) -> float:
    """FR (Equation 5): relative growth of the error on the warm-up data, never below zero.

    Args:
        targets: d(t) of the warm-up.
        final_outputs: Outputs of the final model for it.
        initial_outputs: Outputs of the warm-up model (Baseline_L).
    """
    final = _root_mean(_squared_errors(targets, final_outputs), "forgetting ratio")
    initial = _root_mean(_squared_errors(targets, initial_outputs), "forgetting ratio")
    if initial == 0:
        return 0.0 if final == 0 else float("inf")
    return max(0.0, final / initial - 1)


def live_error(targets: npt.ArrayLike, forecasts: npt.ArrayLike) -> LiveError:
    """RMSE and MAE of live forecasts."""
    squares = _squared_errors(targets, forecasts)
    errors = np.sqrt(squares)
    return LiveError(_root_mean(squares, "live error"), float(np.nanmean(errors)))


def _squared_errors(targets: npt.ArrayLike, outputs: npt.ArrayLike) -> Float64Array:
    """Squared errors of n samples, averaged over features; NaN where there is no target."""
    wanted = np.asarray(targets, dtype=np.float64)
    given = np.asarray(outputs, dtype=np.float64)
    if wanted.shape != given.shape:
        raise DataError(
            f"targets have shape {wanted.shape} and outputs {given.shape}; they must match"
        )
    squares = np.square(wanted - given)
    return squares if squares.ndim == 1 else squares.reshape(len(squares), -1).mean(axis=1)


def _root_mean(squares: Float64Array, what: str) -> float:
    counted = squares[~np.isnan(squares)]
    if len(counted) == 0:
        raise DataError(f"no measured sample to take the {what} of")
    return float(np.sqrt(counted.mean()))
