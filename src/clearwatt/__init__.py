"""ClearWatt: power forecasts that keep learning."""

__version__ = "0.1.0"

__all__ = ["__version__"]
