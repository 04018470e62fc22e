"""The scores of a component of a trial."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from clearwatt.errors import DataError
from clearwatt.experiment.metrics import fitting_error, forgetting_ratio, prediction_error
from clearwatt.experiment.records import ComponentScore, DailyError


def score_component(
    targets: Sequence[npt.ArrayLike],
    outputs: Sequence[npt.ArrayLike],
    *,
    initial: npt.ArrayLike,
    steps: Sequence[int],
) -> ComponentScore:
    """FE and FR of a component, without its prediction error.

    Args:
        targets: of the warm-up and of the updating phase.
        outputs: of the final model, for the same phases.
        initial: outputs of the warm-up model for the warm-up.
        steps: of the component's updates.
    """
    last = max(steps, default=None)
    return ComponentScore(
        fitting_error=_finite(lambda: fitting_error(targets[1], outputs[1], last_update=last)),
        forgetting_ratio=_finite(lambda: forgetting_ratio(targets[0], outputs[0], initial)),
        updates=len(steps),
    )


def measured_rmse(targets: npt.ArrayLike, outputs: npt.ArrayLike) -> float | None:
    """RMSE; None if nothing was measured."""
    return _finite(lambda: prediction_error(targets, outputs))


def round_daily(values: npt.NDArray[np.floating[Any]]) -> DailyError:
    """Values with six digits; None in place of NaN."""
    return tuple(
        float(f"{value:.6g}") if math.isfinite(value) else None for value in values.tolist()
    )


def _finite(compute: Callable[[], float]) -> float | None:
    """The metric; None if no sample was measured or it is not finite."""
    try:
        value = compute()
    except DataError:
        return None
    return value if math.isfinite(value) else None
