"""ClearWatt: power forecasts that keep learning."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clearwatt.estimators import AdaptiveRegressor, ClearRegressor

__version__ = "0.1.0"

__all__ = ["AdaptiveRegressor", "ClearRegressor", "__version__"]


def __getattr__(name: str) -> object:
    """Import an estimator, and with it torch and scikit-learn, only when it is asked for."""
    if name in ("AdaptiveRegressor", "ClearRegressor"):
        from clearwatt import estimators

        return getattr(estimators, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
