"""The scikit-learn estimators."""

from clearwatt.estimators.adaptive_regressor import AdaptiveRegressor
from clearwatt.estimators.availability import NotWarmedUpError
from clearwatt.estimators.clear_regressor import ClearRegressor

__all__ = ["AdaptiveRegressor", "ClearRegressor", "NotWarmedUpError"]
