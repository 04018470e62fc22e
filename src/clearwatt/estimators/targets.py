"""Checks of the targets that an estimator is given: one entity or several."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils import check_array, check_consistent_length

from clearwatt.arrays import Float64Array
from clearwatt.errors import DataError


def target_columns(
    y: npt.ArrayLike, inputs: Float64Array, *, estimator: BaseEstimator
) -> tuple[Float64Array, bool]:
    """Targets as n x entities, and whether y was one-dimensional; NaN: not measured."""
    if y is None:
        raise DataError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is None"
        )
    targets: Float64Array = check_array(
        y,
        dtype=np.float64,
        ensure_2d=False,
        ensure_all_finite="allow-nan",
        input_name="y",
        estimator=estimator,
    )
    if targets.ndim > 2:
        raise DataError(f"y has shape {targets.shape}; give n or n x entities")
    check_consistent_length(inputs, targets)
    return targets.reshape(len(targets), -1), targets.ndim == 1


def entity_names(y: npt.ArrayLike) -> list[str] | None:
    """Column names of a data frame of targets, which become the names of entities."""
    columns = getattr(y, "columns", None)
    if columns is None:
        return None
    names = [str(column) for column in columns]
    twice = [name for name in dict.fromkeys(names) if names.count(name) > 1]
    if twice:
        raise DataError(f"y has more than one column named {twice[0]!r}; rename or drop one")
    return names


def require_same(y: npt.ArrayLike, targets: Float64Array, entities: list[int | str | None]) -> None:
    """Refuse targets of other entities than those of the warm-up."""
    if targets.shape[1] != len(entities):
        raise DataError(
            f"y has {targets.shape[1]} columns; this model was warmed up with {len(entities)}"
        )
    names = entity_names(y)
    if names is not None and isinstance(entities[0], str) and names != entities:
        raise DataError(
            f"y has the columns {names}; this model was warmed up with {entities}; give the "
            "same ones in the same order"
        )


def require_measured(targets: Float64Array) -> None:
    """Refuse an entity with fewer than two measurements."""
    for entity, column in enumerate(targets.T):
        measured = int((~np.isnan(column)).sum())
        if measured < 2:
            raise DataError(
                f"Input y contains NaN in all but {measured} rows of entity {entity}; "
                "the warm-up needs at least 2 measurements of each"
            )
