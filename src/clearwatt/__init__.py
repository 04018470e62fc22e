"""ClearWatt: power forecasts that keep learning."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clearwatt.estimators import ClearRegressor

__version__ = "0.1.0"

__all__ = ["ClearRegressor", "__version__"]


def __getattr__(name: str) -> object:
    """Import the estimator, and with it torch and scikit-learn, only when it is asked for."""
    if name == "ClearRegressor":
        from clearwatt.estimators import ClearRegressor

        return ClearRegressor
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
