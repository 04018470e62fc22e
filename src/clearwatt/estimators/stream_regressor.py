"""StreamRegressor: base class of the estimators, with what they have in common."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from numbers import Integral
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import Tags
from sklearn.utils.validation import validate_data

from clearwatt.arrays import Float64Array
from clearwatt.errors import ConfigurationError
from clearwatt.estimators.availability import NotWarmedUpError
from clearwatt.estimators.nested_parameters import (
    SEPARATOR,
    nested_parameters,
    replace_parameters,
    require_part,
)
from clearwatt.estimators.targets import (
    entity_names,
    require_measured,
    require_same,
    target_columns,
)
from clearwatt.intervals import LEVELS, PowerLimits, checked_limits, plain_limits


class CheckedSamples(NamedTuple):
    """Inputs (n x d) and targets (n x entities) of a warm-up; names of the entities, if any."""

    inputs: Float64Array
    targets: Float64Array
    names: list[str] | None


class StreamRegressor(RegressorMixin, BaseEstimator):
    """A regressor that `fit` warms up and `partial_fit` updates.

    A subclass has the parameters `limits` and `random_state`.
    """

    limits: PowerLimits | None
    _single: bool
    _limits: Float64Array

    @abstractmethod
    def __sklearn_is_fitted__(self) -> bool:
        """Whether the estimator is warmed up."""

    def __sklearn_tags__(self) -> Tags:
        """Several targets are allowed, and NaN among them, but not among the inputs."""
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.non_deterministic = False
        return tags

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters; if deep, also those of their parts, as `strategy__recent_updates`."""
        parameters: dict[str, Any] = super().get_params(deep=deep)
        if deep:
            for name in list(parameters):
                with suppress(ConfigurationError):  # an invalid part has no parameters
                    parameters |= nested_parameters(name, self._part(name))
        return parameters

    def set_params(self, **parameters: object) -> Self:
        """Set parameters, and those of their parts; a part that is not valid is an error."""
        parts: dict[str, dict[str, object]] = {}
        for path in [path for path in parameters if SEPARATOR in path]:
            name, _, below = path.partition(SEPARATOR)
            parts.setdefault(name, {})[below] = parameters.pop(path)
        super().set_params(**parameters)
        for name, values in parts.items():
            if not hasattr(self, name):
                raise ConfigurationError(
                    f"{type(self).__name__} has no parameter {name!r}; it has "
                    f"{', '.join(self.get_params(deep=False))}"
                )
            part = require_part(name, self._part(name))
            setattr(self, name, replace_parameters(part, values))
        return self

    def _part(self, name: str) -> object:
        """The value of a parameter, or what it stands for if it is None or a name."""
        return getattr(self, name)

    def require_warm_up(self, method: str) -> None:
        """Raise a NotWarmedUpError that names the method, unless the estimator is fitted."""
        if not self.__sklearn_is_fitted__():
            raise NotWarmedUpError(f"{method} before fit: call fit with warm-up data first")

    @contextmanager
    def _restore_on_error(self) -> Iterator[None]:
        """Restore the estimator's attributes if the with-block raises."""
        before = dict(vars(self))
        try:
            yield
        except BaseException:
            self.__dict__ = before
            raise

    def _check_warm_up(self, X: npt.ArrayLike, y: npt.ArrayLike) -> CheckedSamples:
        """The samples of a warm-up, checked; sets the limits and the number of targets."""
        inputs = validate_data(self, X, dtype=np.float64, ensure_min_samples=2)
        names = entity_names(y)
        targets, self._single = target_columns(y, inputs, estimator=self)
        require_measured(targets)
        self._limits = checked_limits(self.limits, targets.shape[1])
        return CheckedSamples(inputs, targets, names)

    def _check_block(
        self, X: npt.ArrayLike, y: npt.ArrayLike, entities: Sequence[int | str | None]
    ) -> tuple[Float64Array, Float64Array]:
        """Inputs (n x d) and targets (n x entities) of a block of the stream, checked."""
        inputs = self._check_inputs(X)
        targets, _ = target_columns(y, inputs, estimator=self)
        require_same(y, targets, list(entities))
        return inputs, targets

    def _check_inputs(self, X: npt.ArrayLike) -> Float64Array:
        """Inputs (n x d) with the features of the warm-up.

        A list of samples, as River passes it, cannot have names: its order is taken as it is,
        without a warning for each sample.
        """
        names = getattr(self, "feature_names_in_", None)
        if isinstance(X, list) and names is not None and np.shape(X)[1:] == names.shape:
            X = pd.DataFrame(X, columns=names)
        inputs: Float64Array = validate_data(self, X, dtype=np.float64, reset=False)
        return inputs

    def _drop_entity_axis(self, values: Float64Array) -> Float64Array:
        """Values (n x entities ...) as n ... if y was one-dimensional."""
        return values[:, 0] if self._single else values

    def _pack_fit(self) -> dict[str, Any]:
        """Parameters and features as plain values, for `save`."""
        parameters = self.get_params(deep=False)
        if not isinstance(parameters["random_state"], Integral | None):
            parameters["random_state"] = None  # a generator is used up, and cannot be saved
        if self.limits is not None:
            parameters["limits"] = plain_limits(self.limits)
        names = getattr(self, "feature_names_in_", None)
        return {
            "parameters": parameters,
            "n_features_in": self.n_features_in_,
            "feature_names_in": None if names is None else list(names),
            "single": self._single,
        }

    def _unpack_fit(self, values: dict[str, Any]) -> None:
        """Set the features from values that `_pack_fit` returned."""
        self.n_features_in_ = values["n_features_in"]
        if values["feature_names_in"] is not None:
            self.feature_names_in_ = np.array(values["feature_names_in"], dtype=object)
        self._single = values["single"]


def quantile_levels(quantiles: bool | Sequence[float] | None) -> Sequence[float] | None:
    """Levels that a caller of `predict` asks for; None: no quantiles."""
    if quantiles is None or quantiles is False:
        return None
    return LEVELS if quantiles is True else quantiles
