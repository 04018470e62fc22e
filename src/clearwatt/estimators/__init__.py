"""The scikit-learn estimators."""

from clearwatt.estimators.clear_regressor import ClearRegressor, NotWarmedUpError

__all__ = ["ClearRegressor", "NotWarmedUpError"]
